"""Where PyFlink chains Python functions, results reach the next one unchanged; everywhere else they are made to fit."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.graph import operations as op
from funke.engine.graph.partitioners import Forward, Global, Hash, Rebalance, Shuffle
from funke.engine.graph.stream_graph import ChainingStrategy, StreamGraph
from funke.engine.planner.chaining import to_job_graph
from funke.engine.types.output_tag import OutputTag
from funke.engine.types.watermark_spec import TimestampAssigner, WatermarkSpec
from tests.unit.graph.sample_graphs import GraphBuilder, first_field


class ByValue(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def unchanged(graph: StreamGraph) -> list[str]:
    """The operators whose results nobody makes fit."""
    return [each.name for vertex in to_job_graph(graph).vertices for each in vertex.operators if each.passes_unchanged]


def two_maps(builder: GraphBuilder | None = None, upstream: Any = None, **downstream: Any) -> list[str]:
    builder = builder or GraphBuilder()
    first = builder.map(builder.source(), "first", **(upstream or {}))
    builder.map(first, "second", **downstream)
    return unchanged(builder.graph)


def behind(operation: op.Operation, **settings: Any) -> list[str]:
    """What passes unchanged when the operation, named `first`, is followed by a map."""
    builder = GraphBuilder()
    builder.map(builder._add(operation, "first", [builder.source()], **settings), "second")
    return unchanged(builder.graph)


def in_front_of(operation: op.Operation, **settings: Any) -> list[str]:
    builder = GraphBuilder()
    builder._add(operation, "second", [builder.map(builder.source(), "first")], **settings)
    return unchanged(builder.graph)


def test_between_two_functions_of_one_chain() -> None:
    assert two_maps() == ["first"]
    assert two_maps(partitioner=Forward()) == ["first"]
    assert two_maps(upstream={"chaining": ChainingStrategy.HEAD}) == ["first"]
    assert two_maps(upstream={"slot_sharing_group": "a"}, slot_sharing_group="a") == ["first"]


def test_whatever_funke_chains() -> None:
    assert two_maps(GraphBuilder(is_chaining_enabled=False)) == ["first"]
    assert two_maps(GraphBuilder(is_chaining_across_max_parallelism_enabled=False)) == ["first"]


@pytest.mark.parametrize(
    "downstream",
    [
        {"partitioner": Rebalance()},
        {"partitioner": Shuffle()},
        {"partitioner": Global()},
        {"parallelism": 3},
        {"max_parallelism": 64},
        {"slot_sharing_group": "default"},
        {"chaining": ChainingStrategy.HEAD},
        {"chaining": ChainingStrategy.NEVER},
    ],
    ids=lambda value: type(value).__name__,
)
def test_not_where_pyflink_ends_the_chain(downstream: dict[str, Any]) -> None:
    assert two_maps(**downstream) == []


def test_not_when_chaining_is_switched_off() -> None:
    assert two_maps(upstream={"chaining": ChainingStrategy.NEVER}) == []
    assert two_maps(GraphBuilder(is_python_chaining_enabled=False)) == []


def test_not_when_there_are_several_receivers_or_side_outputs() -> None:
    builder = GraphBuilder()
    first = builder.map(builder.source(), "first")
    builder.map(first, "second")
    builder.map(first, "third")
    assert unchanged(builder.graph) == []
    assert two_maps(upstream={"has_side_outputs": True}) == []


def test_neither_into_a_union_nor_out_of_a_side_output_nor_into_a_sink() -> None:
    builder = GraphBuilder()
    left, right = builder.map(builder.source(), "left"), builder.map(builder.source(), "right")
    builder.sink(builder.map(builder.union_map(left, right, name="both"), "third"))
    assert unchanged(builder.graph) == ["both"]
    assert two_maps(tag=OutputTag("late"), upstream={"has_side_outputs": True}) == []


@pytest.mark.parametrize(
    "operation",
    [
        op.FlatMap(str),
        op.Filter(bool),
        op.Process(object()),
        op.OneByOne(op.Map(str)),
        op.AsyncWait(object(), 0, 1, None, True),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_functions_without_keys_chain_on_both_sides(operation: op.Operation) -> None:
    assert behind(operation) == in_front_of(operation) == ["first"]


@pytest.mark.parametrize(
    "operation",
    [
        op.Reduce(max, first_field),
        op.Process(object(), first_field),
        op.Window(object(), object(), first_field),
        op.CoMap(object()),
        op.CoFlatMap(object()),
        op.CoProcess(object()),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_keyed_functions_and_those_of_two_streams_begin_a_chain(operation: op.Operation) -> None:
    assert behind(operation, partitioner=Hash(first_field)) == ["first"]
    assert in_front_of(operation, partitioner=Hash(first_field)) == []


@pytest.mark.parametrize(
    "operation", [op.BuiltInMap(str), op.BroadcastProcess(object(), ())], ids=lambda value: type(value).__name__
)
def test_what_flink_runs_in_java_or_apart_is_no_part_of_a_chain(operation: op.Operation) -> None:
    assert behind(operation) == in_front_of(operation) == []


def test_a_timestamp_assigner_sees_the_value_as_it_is_and_what_leaves_it_is_made_to_fit() -> None:
    assert in_front_of(op.AssignTimestamps(WatermarkSpec(timestamp_assigner=ByValue()))) == ["first"]
    assert in_front_of(op.AssignTimestamps(WatermarkSpec())) == []
    assert behind(op.AssignTimestamps(WatermarkSpec(timestamp_assigner=ByValue()))) == []
