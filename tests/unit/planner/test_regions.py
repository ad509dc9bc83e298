"""Which parts of a job restart alone, and in which slots they run."""

from __future__ import annotations

from funke.engine.connectors.feedback import FeedbackSource
from funke.engine.graph.operations import ReadSource
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import Plan, to_plan
from tests.unit.graph.sample_graphs import GraphBuilder


def planned(builder: GraphBuilder) -> Plan:
    return to_plan(to_job_graph(builder.graph), has_regions=True)


def sink_of(plan: Plan, vertex_id: int) -> str:
    return plan.by_id[vertex_id].operators[-1].name.removeprefix("Sink: ")


def names(plan: Plan) -> list[tuple[set[str], range]]:
    """The sinks of each region, and its slots."""
    return [
        ({sink_of(plan, each) for each in region.vertices if not plan.outputs_of(each)}, region.slots)
        for region in plan.regions
    ]


def test_unconnected_parts_have_slots_of_their_own() -> None:
    builder = GraphBuilder(2)
    for name, width in (("wide", 3), ("narrow", 1)):
        builder.sink(builder.reduce(builder.source(parallelism=width), parallelism=width), name, parallelism=width)
    plan = planned(builder)
    assert names(plan) == [({"wide"}, range(3)), ({"narrow"}, range(3, 4))]
    first_slots = {sink_of(plan, each): placement.first_slot for each, placement in plan.placements.items()}
    assert (first_slots["wide"], first_slots["narrow"], plan.slots) == (0, 3, 4)
    shared = to_plan(plan.graph)
    assert shared.slots == 3 and [region.slots for region in shared.regions] == [range(3)]


def test_whatever_an_exchange_connects_is_one_region() -> None:
    builder = GraphBuilder(2)
    sources = [builder.source(), builder.source()]
    for name in ("first", "second"):
        builder.sink(builder.reduce(sources[0]), name)
    builder.sink(builder.union_map(*sources), "both")
    assert names(planned(builder)) == [({"first", "second", "both"}, range(2))]


def test_slot_sharing_groups_divide_a_region_further() -> None:
    builder = GraphBuilder(2)
    builder.sink(builder.reduce(builder.source(), slot_sharing_group="own"), "first")
    builder.sink(builder.source(), "second")
    assert names(planned(builder)) == [({"first"}, range(4)), ({"second"}, range(4, 6))]


def test_a_job_with_iterations_is_one_region() -> None:
    builder = GraphBuilder(1)
    builder.sink(builder._add(ReadSource(FeedbackSource("loop")), "head", []), "first")
    builder.sink(builder.source(parallelism=1), "second")
    assert names(planned(builder)) == [({"first", "second"}, range(1))]


def test_of_very_many_parts_several_are_one_region() -> None:
    builder = GraphBuilder(1)
    for number in range(18):
        builder.sink(builder.source(parallelism=1), f"sink {number}")
    result = names(planned(builder))
    assert (
        len(result) == 16 and result[0] == ({"sink 0", "sink 16"}, range(1)) and result[2] == ({"sink 2"}, range(2, 3))
    )
