"""Flink's nine conditions for chaining, the names of chains, and what cannot be chained."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import GraphError
from funke.engine.graph.partitioners import Broadcast, Forward, Global, Partitioner, Rebalance, Rescale, Shuffle
from funke.engine.graph.stream_graph import ChainingStrategy, StreamGraph
from funke.engine.planner.chaining import max_parallelism_of, slot_sharing_groups, to_job_graph
from funke.engine.types.output_tag import OutputTag
from tests.unit.graph.sample_graphs import GraphBuilder


def chain_names(graph: StreamGraph) -> list[str]:
    return [vertex.name for vertex in to_job_graph(graph).vertices]


def two_maps(builder: GraphBuilder | None = None, upstream: Any = None, **downstream: Any) -> list[str]:
    builder = builder or GraphBuilder()
    first = builder.map(builder.source(), "first", **(upstream or {}))
    builder.map(first, "second", **downstream)
    return chain_names(builder.graph)


def test_neighbours_are_chained_when_nothing_forbids_it() -> None:
    assert two_maps() == ["Source: numbers -> first -> second"]


def test_condition_1_downstream_has_one_input_edge() -> None:
    builder = GraphBuilder()
    left, right = builder.source("left"), builder.source("right")
    builder.union_map(left, right, name="both")
    assert chain_names(builder.graph) == ["Source: left", "Source: right", "both"]


def test_condition_2_both_operators_exist_so_an_edge_always_names_two_nodes() -> None:
    builder = GraphBuilder()
    builder.sink(builder.map(builder.source()))
    graph = builder.graph
    for node in graph.nodes.values():
        for edge in node.inputs:
            assert {edge.source, edge.target} <= graph.nodes.keys()


def test_condition_3_same_slot_sharing_group() -> None:
    assert two_maps(slot_sharing_group="other") == ["Source: numbers -> first", "second"]
    assert two_maps(slot_sharing_group="default") == ["Source: numbers -> first -> second"]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (ChainingStrategy.ALWAYS, ["Source: numbers -> first -> second"]),
        (ChainingStrategy.HEAD, ["Source: numbers", "first -> second"]),
        (ChainingStrategy.NEVER, ["Source: numbers", "first", "second"]),
    ],
)
def test_condition_4_upstream_may_be_always_or_head(strategy: ChainingStrategy, expected: list[str]) -> None:
    assert two_maps(upstream={"chaining": strategy}) == expected


@pytest.mark.parametrize("strategy", [ChainingStrategy.HEAD, ChainingStrategy.NEVER])
def test_condition_5_downstream_must_be_always(strategy: ChainingStrategy) -> None:
    assert two_maps(chaining=strategy) == ["Source: numbers -> first", "second"]


@pytest.mark.parametrize("partitioner", [Rebalance(), Rescale(), Shuffle(), Broadcast(), Global()])
def test_condition_6_the_partitioner_must_be_forward(partitioner: Partitioner) -> None:
    assert two_maps(partitioner=partitioner) == ["Source: numbers -> first", "second"]
    assert two_maps(partitioner=Forward()) == ["Source: numbers -> first -> second"]


def test_condition_7_batch_jobs_chain_forward_edges_too() -> None:
    # Only an edge whose exchange mode is BATCH may not be chained; no edge here has that mode.
    assert two_maps(GraphBuilder(is_batch=True)) == ["Source: numbers -> first -> second"]


def test_condition_8_equal_parallelism() -> None:
    builder = GraphBuilder()
    first = builder.map(builder.source(), "first")
    builder.map(first, "second", parallelism=3)
    job = to_job_graph(builder.graph)
    assert [vertex.name for vertex in job.vertices] == ["Source: numbers -> first", "second"]
    assert [type(edge.partitioner) for edge in job.edges] == [Rebalance]


def test_condition_9_chaining_is_enabled_for_the_graph() -> None:
    assert two_maps(GraphBuilder(is_chaining_enabled=False)) == ["Source: numbers", "first", "second"]


def test_different_max_parallelism_is_chained_unless_switched_off() -> None:
    assert two_maps(max_parallelism=64) == ["Source: numbers -> first -> second"]
    strict = GraphBuilder(is_chaining_across_max_parallelism_enabled=False)
    assert two_maps(strict, max_parallelism=64) == ["Source: numbers -> first", "second"]


def test_a_keyed_operator_begins_a_chain_and_takes_its_sink_along() -> None:
    builder = GraphBuilder()
    builder.sink(builder.reduce(builder.map(builder.source())))
    job = to_job_graph(builder.graph)
    assert [vertex.name for vertex in job.vertices] == ["Source: numbers -> Map", "Reduce -> Sink: out"]
    assert [(edge.source_vertex, edge.target_vertex, edge.partitioner.label) for edge in job.edges] == [(1, 3, "HASH")]


def test_a_chain_that_branches_names_its_branches_in_parentheses() -> None:
    builder = GraphBuilder()
    parsed = builder.map(builder.source(), "parse")
    builder.sink(builder.map(parsed, "left"), "a")
    builder.sink(parsed, "b")
    assert chain_names(builder.graph) == ["Source: numbers -> parse -> (left -> Sink: a, Sink: b)"]


def test_a_side_output_is_chained_like_a_main_output() -> None:
    builder = GraphBuilder()
    split = builder.process(builder.source(), "split")
    builder.map(split, "late", tag=OutputTag("late"))
    (vertex,) = to_job_graph(builder.graph).vertices
    tags = {operator.name: operator.fed_by_tag for operator in vertex.operators}
    assert tags == {"Source: numbers": None, "split": None, "late": OutputTag("late")}


def test_forward_between_different_parallelisms_is_rejected_with_both_names() -> None:
    builder = GraphBuilder()
    first = builder.map(builder.source(), "first")
    builder.map(first, "second", parallelism=7, partitioner=Forward(), user_line="job.py:5")
    with pytest.raises(GraphError, match=r"'first' has 2 and 'second' has 7.*\n.*job\.py:5"):
        to_job_graph(builder.graph)


def test_slot_sharing_groups_are_inherited_when_all_inputs_agree() -> None:
    builder = GraphBuilder()
    red, blue = builder.source("red", slot_sharing_group="red"), builder.source("blue", slot_sharing_group="blue")
    follower = builder.map(red)
    mixed = builder.union_map(red, blue)
    own = builder.map(red, slot_sharing_group="default")
    groups = slot_sharing_groups(builder.graph)
    assert [groups[node.id] for node in (follower, mixed, own)] == ["red", "default", "default"]


@pytest.mark.parametrize(("parallelism", "expected"), [(1, 128), (85, 128), (86, 256), (100, 256), (30000, 32768)])
def test_default_max_parallelism_grows_with_the_parallelism(parallelism: int, expected: int) -> None:
    builder = GraphBuilder(parallelism)
    assert max_parallelism_of(builder.graph, builder.source()) == expected


def test_a_max_parallelism_below_the_parallelism_is_rejected() -> None:
    builder = GraphBuilder(4)
    builder.map(builder.source(max_parallelism=2))
    with pytest.raises(GraphError, match="is 2; it must lie between its parallelism 4"):
        to_job_graph(builder.graph)


class TestOperatorIds:
    """The names under which operators keep their state."""

    def ids(self, *uids: str | None) -> list[str]:
        builder = GraphBuilder()
        node = builder.source()
        for uid in uids:
            node = builder.map(node, uid=uid)
        return [op.operator_id for vertex in to_job_graph(builder.graph).vertices for op in vertex.operators]

    def test_they_are_32_hexadecimal_digits_and_the_same_in_every_run(self) -> None:
        assert self.ids("a", None) == self.ids("a", None)
        assert all(len(each) == 32 and int(each, 16) >= 0 for each in self.ids("a", None))

    def test_a_uid_keeps_its_id_when_the_program_changes_around_it(self) -> None:
        assert self.ids("counter")[1] == self.ids(None, None, "counter")[3]

    def test_without_a_uid_the_position_in_the_graph_decides(self) -> None:
        source, first, second = self.ids(None, None)
        assert len({source, first, second}) == 3

    def test_the_same_uid_twice_is_rejected(self) -> None:
        with pytest.raises(GraphError, match="uid 'x' is used by two operators"):
            self.ids("x", "x")

    def test_both_lines_of_a_uid_that_is_used_twice_are_named(self) -> None:
        builder = GraphBuilder()
        first = builder.map(builder.source(), uid="x", user_line="job.py:4")
        builder.map(first, uid="x", user_line="job.py:9")
        expected = r"give each its own\n  'Map' in your job: job\.py:4\n  'Map' in your job: job\.py:9$"
        with pytest.raises(GraphError, match=expected):
            to_job_graph(builder.graph)

    def test_a_uid_hash_is_taken_as_it_is(self) -> None:
        builder = GraphBuilder()
        builder.map(builder.source(), uid_hash="0" * 32)
        assert to_job_graph(builder.graph).vertices[0].operators[1].operator_id == "0" * 32
