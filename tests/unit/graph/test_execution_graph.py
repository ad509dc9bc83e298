"""The execution graph: subtasks, tasks and slots, by the worked cases of Flink's documentation."""

from __future__ import annotations

from funke.engine.graph.execution_graph import ExecutionGraph, ExecutionState, to_execution_graph
from funke.engine.planner.chaining import to_job_graph
from tests.unit.graph.sample_graphs import GraphBuilder


def executed(builder: GraphBuilder) -> ExecutionGraph:
    return to_execution_graph(to_job_graph(builder.graph))


def test_a_vertex_has_one_subtask_per_parallel_instance() -> None:
    builder = GraphBuilder(100)
    builder.map(builder.source())
    (vertex,) = executed(builder).vertices
    assert len(vertex.subtasks) == 100
    assert vertex.subtasks[99].title == "Source: numbers -> Map (100/100)"
    assert {subtask.state for subtask in vertex.subtasks} == {ExecutionState.CREATED}


def test_results_have_a_partition_per_producer_and_a_part_per_consumer() -> None:
    builder = GraphBuilder(2)
    builder.reduce(builder.source(), parallelism=3)
    graph = executed(builder)
    (result,) = graph.results
    assert (result.partitions, result.subpartitions, result.partitioner.label) == (2, 3, "HASH")
    assert [vertex.outputs for vertex in graph.vertices] == [(0,), ()]
    assert [vertex.inputs for vertex in graph.vertices] == [(), (0,)]


def test_terminal_states() -> None:
    assert [state.name for state in ExecutionState if state.is_terminal] == ["FINISHED", "CANCELED", "FAILED"]


def test_source_1_flat_map_2_aggregate_2_sink_2_take_five_threads() -> None:
    builder = GraphBuilder(2)
    source = builder.source(parallelism=1)
    builder.sink(builder.reduce(builder.map(source, "flatMap"), "keyAgg"))
    graph = executed(builder)
    assert [vertex.vertex.name for vertex in graph.vertices] == ["Source: numbers", "flatMap", "keyAgg -> Sink: out"]
    assert graph.tasks == 5


def test_source_map_and_aggregate_2_sink_1_take_five_tasks() -> None:
    builder = GraphBuilder(2)
    builder.sink(builder.reduce(builder.map(builder.source())), parallelism=1)
    graph = executed(builder)
    assert [vertex.vertex.name for vertex in graph.vertices] == ["Source: numbers -> Map", "Reduce", "Sink: out"]
    assert graph.tasks == 5


def test_slots_needed_are_the_highest_parallelism_when_all_share() -> None:
    builder = GraphBuilder(4)
    builder.sink(builder.reduce(builder.map(builder.source()), parallelism=3), parallelism=1)
    assert executed(builder).slots == 4


def test_raising_the_parallelism_from_2_to_6_uses_all_slots_of_two_workers_with_three() -> None:
    available = 2 * 3
    for parallelism, idle in ((1, 5), (2, 4), (6, 0)):
        builder = GraphBuilder(parallelism)
        builder.sink(builder.reduce(builder.source()))
        assert available - executed(builder).slots == idle


def test_parallelism_1_leaves_eight_of_nine_slots_idle() -> None:
    builder = GraphBuilder(1)
    builder.sink(builder.map(builder.source()))
    assert 3 * 3 - executed(builder).slots == 8


def test_slot_sharing_groups_add_up() -> None:
    builder = GraphBuilder(2)
    source = builder.source()
    builder.sink(builder.map(source, slot_sharing_group="heavy", parallelism=3))
    assert executed(builder).slots == 2 + 3
