"""Which part of a job runs in ingest tasks, which in slots, and at which level."""

from __future__ import annotations

from funke.engine.graph.partitioners import Forward
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.segments import Plan, to_plan
from funke.engine.types.output_tag import OutputTag
from tests.unit.graph.sample_graphs import GraphBuilder


class Counting:
    """Keeps a field, so it needs a slot."""

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, value: int) -> int:
        self.seen += 1
        return value


def planned(builder: GraphBuilder) -> Plan:
    return to_plan(to_job_graph(builder.graph))


def layout(plan: Plan) -> list[tuple[int, list[str]]]:
    return [(segment.level, [operator.name for operator in segment.operators]) for segment in plan.segments]


def test_pure_functions_at_the_head_run_in_the_ingest_task() -> None:
    builder = GraphBuilder()
    builder.map(builder.map(builder.source(), "a"), "b")
    plan = planned(builder)
    assert layout(plan) == [(0, ["Source: numbers", "a", "b"])]
    assert plan.slots == 0


def test_the_first_function_with_state_and_all_behind_it_run_in_slots() -> None:
    builder = GraphBuilder()
    pure = builder.map(builder.source(), "pure")
    counting = builder.map(pure, "counting", function=Counting())
    builder.sink(builder.map(counting, "pure again"))
    plan = planned(builder)
    assert layout(plan) == [(0, ["Source: numbers", "pure"]), (1, ["counting", "pure again", "Sink: out"])]
    (cut,) = plan.exchanges
    assert (cut.source_segment, cut.target_segment, cut.partitioner) == (0, 1, Forward())
    assert plan.by_id[1].operators[0].fed_by is None


def test_every_branch_behind_the_ingest_part_becomes_a_segment() -> None:
    builder = GraphBuilder()
    source = builder.source()
    builder.sink(source, "a")
    builder.process(source, "b")
    plan = planned(builder)
    assert layout(plan) == [(0, ["Source: numbers"]), (1, ["Sink: a"]), (1, ["b"])]
    assert [exchange.target_segment for exchange in plan.outputs_of(0)] == [1, 2]


def test_the_level_is_the_longest_way_from_a_source() -> None:
    builder = GraphBuilder()
    source = builder.source()
    once = builder.reduce(source, "once")
    twice = builder.reduce(once, "twice")
    builder.union_map(source, twice, name="both")
    levels = {segment.operators[0].name: segment.level for segment in planned(builder).segments}
    assert levels == {"Source: numbers": 0, "once": 1, "twice": 2, "both": 3}


def test_a_side_output_that_crosses_the_cut_keeps_its_tag() -> None:
    builder = GraphBuilder()
    split = builder.process(builder.source(), "split")
    builder.reduce(split, "late", tag=OutputTag("late"))
    plan = planned(builder)
    assert [exchange.tag for exchange in plan.exchanges] == [OutputTag("late"), None]


def test_slots_of_a_group_begin_behind_those_of_the_groups_before() -> None:
    builder = GraphBuilder(2)
    builder.reduce(builder.reduce(builder.source()), "side", slot_sharing_group="side", parallelism=3)
    plan = planned(builder)
    assert [(segment.first_slot, segment.parallelism) for segment in plan.segments[1:]] == [(0, 2), (2, 3)]
    assert plan.slots == 5
