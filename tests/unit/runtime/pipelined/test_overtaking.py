"""Barriers that overtake: a job that starts from such a checkpoint loses and doubles nothing that was on its way."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import KeyedProcessFunction
from funke.datastream.state import ValueStateDescriptor
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.connectors.generator import GeneratorSource
from funke.engine.errors import StateError
from funke.engine.graph.operations import Map, Process, ReadSource, WriteSink
from funke.engine.graph.partitioners import Custom, Forward, Hash, Rebalance
from funke.engine.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint, read_checkpoint
from funke.engine.jobs.checkpoints.savepoints import SavepointRequest
from funke.engine.jobs.checkpoints.start_point import require_same_channels
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import to_plan
from funke.engine.runtime.pipelined.network_settings import NetworkSettings
from funke.engine.runtime.snapshots.snapshot_files import open_snapshot_file
from funke.engine.runtime.snapshots.snapshot_taking import SnapshotTaker
from funke.engine.state.snapshot.file_format import SnapshotReader
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.watermark_spec import WatermarkSpec
from tests.harness.stream_threads import StreamRun, give_up, run_stream, write_at_once
from tests.unit.graph.sample_graphs import GraphBuilder
from tests.unit.runtime.pipelined.test_streams import DEBLOATED, TINY, Shape

UNALIGNED = CheckpointSettings(interval_ms=3, timeout_ms=60_000, retained=1000, is_unaligned=True)
SHAPES = int(os.environ.get("FUNKE_TEST_SHAPES", "15"))


@pytest.fixture(autouse=True)
def no_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SnapshotTaker, "start", write_at_once)


class CountEach(KeyedProcessFunction):
    """Tells how often each value has come so far."""

    def open(self, context: Any) -> None:
        self._count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self._count.update((self._count.value() or 0) + 1)
        yield value, self._count.value()


def counted_before(checkpoint: Checkpoint) -> Counter[int]:
    """How often each value had come when a checkpoint was taken."""
    counts: Counter[int] = Counter()
    with ExitStack() as closing:
        for handle in checkpoint.located():
            file = closing.enter_context(open_snapshot_file(handle.path, handle.inline))
            reader = SnapshotReader(file, handle.path)
            for operator_id in reader.operator_ids:
                for _, part in reader.keyed(operator_id):
                    for table in part.tables.values():
                        counts.update(table)
    return counts


def require_each_once(run: StreamRun, start: Checkpoint | None, expected: dict[int, int]) -> None:
    """What was counted before and behind a checkpoint is everything, and nothing twice."""
    counts = Counter() if start is None else counted_before(start)
    for value, count in run.collected:
        counts[value] += 1
        assert count == counts[value], "in state"
    assert counts == expected


def value_itself(value: int) -> int:
    return value


def counting(builder: GraphBuilder, counted: StreamNode, edges: tuple[StreamEdge, ...]) -> StreamGraph:
    """Makes a node of a graph count what comes, and collects that."""
    counted.operation = Process(CountEach(), value_itself)
    counted.inputs = tuple(replace(edge, partitioner=Hash(value_itself)) for edge in edges)
    builder._add(WriteSink(CollectSink("counts")), "counts", [counted], Forward())
    return builder.graph


def counted_shape(seed: int, parallelism: int) -> tuple[StreamGraph, dict[int, int]]:
    shape = Shape(seed, parallelism, records=150)
    (out,) = [node for node in shape.builder.graph.nodes.values() if node.name == "out"]
    return counting(shape.builder, out, out.inputs), shape.expected


@settings(max_examples=SHAPES)
@given(
    seed=some.integers(0, 10**6),
    parallelism=some.integers(1, 3),
    alignment_ms=some.sampled_from([0, 2]),
    network=some.sampled_from([TINY, DEBLOATED]),
)
def test_of_no_shape_anything_is_lost_or_doubled(
    seed: int, parallelism: int, alignment_ms: int, network: NetworkSettings
) -> None:
    graph, expected = counted_shape(seed, parallelism)
    run = run_stream(graph, network, replace(UNALIGNED, alignment_ms=alignment_ms))
    require_each_once(run, None, expected)
    overtaken = [checkpoint for checkpoint in run.checkpoint_coordinator.store.completed if checkpoint.channels_of]
    for checkpoint in random.Random(seed).sample(overtaken, min(2, len(overtaken))):
        again = run_stream(counted_shape(seed, parallelism)[0], network, start=checkpoint)
        require_each_once(again, checkpoint, expected)


RECORDS = 600


def pressed_graph(seconds: float = 0.002, parallelism: int = 2) -> StreamGraph:
    """A subtask that takes its time, so that much waits before it."""
    builder = GraphBuilder(parallelism)
    # A few at a time, so that there are checkpoints between them however slow the machine is.
    generated = GeneratorSource(int, RECORDS, records_per_checkpoint=40 if seconds else None)
    numbers = builder._add(ReadSource(generated), "numbers", [])
    passed = builder._add(Map(value_itself), "passed", [numbers], Rebalance())

    def slow(value: int) -> int:
        time.sleep(seconds)
        return value

    to_the_last = Custom(lambda key, count: count - 1, value_itself)
    slowed = builder._add(Map(slow), "slowed", [passed], to_the_last)
    out = builder._add(Map(value_itself), "out", [slowed])
    return counting(builder, out, out.inputs)


def overtaken_in(run: StreamRun) -> list[Checkpoint]:
    return [checkpoint for checkpoint in run.checkpoint_coordinator.store.completed if checkpoint.channels_of]


ALL_ONCE = dict.fromkeys(range(RECORDS), 1)


def test_a_checkpoint_has_what_its_barriers_overtook() -> None:
    run = run_stream(pressed_graph(), TINY, UNALIGNED)
    assert dict(run.collected) == ALL_ONCE
    checkpoints = overtaken_in(run)
    assert len(checkpoints) > 3
    for checkpoint in random.Random(5).sample(checkpoints, 3):
        assert any(not handle.operator_ids for handle in checkpoint.snapshots)
        again = run_stream(pressed_graph(0.0), TINY, start=checkpoint)
        require_each_once(again, checkpoint, ALL_ONCE)


def test_what_was_put_back_is_overtaken_again() -> None:
    """A job fails and starts again and again, each time from a checkpoint with records on their way."""
    start: Checkpoint | None = None
    for _ in range(3):
        run = run_stream(pressed_graph(), TINY, UNALIGNED, start=start)
        require_each_once(run, start, ALL_ONCE)
        start = overtaken_in(run)[1]


def test_barriers_wait_in_line_for_a_while() -> None:
    """While nobody is slow barriers come through in time; then they overtake."""
    quick = run_stream(pressed_graph(0.0), TINY, replace(UNALIGNED, alignment_ms=20_000))
    assert dict(quick.collected) == ALL_ONCE and not overtaken_in(quick)
    slow = run_stream(pressed_graph(), TINY, replace(UNALIGNED, alignment_ms=20))
    assert dict(slow.collected) == ALL_ONCE
    assert overtaken_in(slow) and slow.checkpoint_coordinator.statistics.failed == 0
    again = run_stream(pressed_graph(0.0), TINY, start=overtaken_in(slow)[0])
    require_each_once(again, overtaken_in(slow)[0], ALL_ONCE)


def test_savepoints_wait_in_line(tmp_path: Any) -> None:
    results: list[str] = []

    def ask(checkpoint_coordinator: CheckpointCoordinator) -> None:
        request = SavepointRequest(str(tmp_path / "savepoint"))
        results.append(checkpoint_coordinator.requests.ask(request).result(60))

    run = run_stream(pressed_graph(), TINY, UNALIGNED, disturb=ask)
    assert dict(run.collected) == ALL_ONCE and overtaken_in(run)
    savepoint = read_checkpoint(results[0])
    assert not savepoint.channels_of and all(handle.operator_ids for handle in savepoint.snapshots)
    again = run_stream(pressed_graph(0.0, parallelism=3), TINY, start=savepoint)
    require_each_once(again, savepoint, ALL_ONCE)


def test_one_that_is_given_up_stops_nothing() -> None:
    run = run_stream(pressed_graph(), TINY, replace(UNALIGNED, tolerable_failures=10**6), disturb=give_up)
    assert dict(run.collected) == ALL_ONCE and run.checkpoint_coordinator.statistics.failed > 0


def test_a_job_of_another_shape_is_asked_to_use_a_savepoint() -> None:
    checkpoint = overtaken_in(run_stream(pressed_graph(), TINY, UNALIGNED))[0]
    same, wider = (to_plan(to_job_graph(pressed_graph(parallelism=width))).fingerprint for width in (2, 3))
    checkpoint = replace(checkpoint, channels_of=same)
    require_same_channels(checkpoint, same)
    for other in (wider, None):
        with pytest.raises(StateError, match=r"channels that this job does not have.*with a savepoint"):
            require_same_channels(checkpoint, other)


class Noting(KeyedProcessFunction):
    """Tells how far event time has come for each value."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        time.sleep(self.seconds)
        yield value, ctx.timer_service().current_watermark()

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


def test_what_was_on_its_way_is_no_earlier_and_no_later_than_it_was() -> None:
    class Stamps(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return int(value)

    def graph(seconds: float) -> StreamGraph:
        builder = GraphBuilder(2)
        watermarks = WatermarkSpec("monotonous", timestamp_assigner=Stamps())
        numbers = ReadSource(GeneratorSource(int, RECORDS, records_per_checkpoint=20 if seconds else None), watermarks)
        source = builder._add(numbers, "numbers", [], parallelism=1)
        noted = builder._add(Process(Noting(seconds), lambda value: 1), "noted", [source], Hash(lambda value: 1))
        builder._add(WriteSink(CollectSink("out")), "out", [noted], Forward())
        return builder.graph

    run = run_stream(graph(0.002), TINY, UNALIGNED)
    first = dict(run.collected)
    for checkpoint in overtaken_in(run)[-3:]:
        (value, watermark), *_ = run_stream(graph(0.0), TINY, start=checkpoint).collected
        assert watermark == first[value] > 0
