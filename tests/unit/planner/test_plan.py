"""At which level the vertices of a job run, and in which slots."""

from __future__ import annotations

from funke.engine.connectors.spark.source import SparkBatchSource
from funke.engine.graph.operations import ReadSource
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import Plan, to_plan
from tests.unit.graph.sample_graphs import GraphBuilder


def planned(builder: GraphBuilder) -> Plan:
    return to_plan(to_job_graph(builder.graph))


def layout(plan: Plan) -> list[tuple[int, list[str]]]:
    placed = [(plan.placements[vertex.id], vertex) for vertex in plan.graph.vertices]
    return [(placement.level, [operator.name for operator in vertex.operators]) for placement, vertex in placed]


def test_a_chain_runs_where_its_source_is_read() -> None:
    builder = GraphBuilder()
    builder.sink(builder.map(builder.map(builder.source(), "a"), "b"))
    plan = planned(builder)
    assert layout(plan) == [(0, ["Source: numbers", "a", "b", "Sink: out"])]
    assert (plan.slots, plan.levels) == (2, 0)


def test_what_spark_reads_needs_a_level_behind_it() -> None:
    builder = GraphBuilder()
    builder.sink(builder._add(ReadSource(SparkBatchSource(lambda spark: spark.range(3))), "numbers", []))
    assert planned(builder).levels == 1


def test_the_level_is_the_longest_way_from_a_source() -> None:
    builder = GraphBuilder()
    source = builder.source()
    once = builder.reduce(source, "once")
    twice = builder.reduce(once, "twice")
    builder.union_map(source, twice, name="both")
    plan = planned(builder)
    levels = {vertex.operators[0].name: plan.placements[vertex.id].level for vertex in plan.graph.vertices}
    assert levels == {"Source: numbers": 0, "once": 1, "twice": 2, "both": 3}


def test_slots_of_a_group_begin_behind_those_of_the_groups_before() -> None:
    builder = GraphBuilder(2)
    builder.reduce(builder.reduce(builder.source()), "side", slot_sharing_group="side", parallelism=3)
    plan = planned(builder)
    others = plan.graph.vertices[1:]
    assert [(plan.placements[each.id].first_slot, each.parallelism) for each in others] == [(0, 2), (2, 3)]
    assert plan.slots == 5
