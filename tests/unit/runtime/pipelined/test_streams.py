"""Streams of many shapes, with tiny buffers, slow subtasks and checkpoints at any time, end with the right output."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.datastream import CoMapFunction, KeyedProcessFunction
from funke.datastream.state import ValueStateDescriptor
from funke.engine.config.settings import Settings
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.connectors.feedback import FeedbackSink, FeedbackSource
from funke.engine.connectors.generator import GeneratorSource
from funke.engine.connectors.sequence import SequenceSource
from funke.engine.errors import JobExecutionError
from funke.engine.graph.operations import CoMap, Filter, Map, Process, ReadSource, WriteSink
from funke.engine.graph.partitioners import Broadcast, Custom, Forward, Hash, Partitioner, Rebalance, Rescale, Shuffle
from funke.engine.graph.stream_graph import StreamEdge, StreamNode
from funke.engine.jobs.attempts.stream_coordinator import StreamCoordinator
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoints.savepoints import SavepointRequest
from funke.engine.jobs.views.back_pressure import Diagnosis, PressureGauge, PressureStatus, PressureView, status_of
from funke.engine.jobs.views.job_metrics import job_metrics
from funke.engine.runtime.pipelined import slot_loop
from funke.engine.runtime.pipelined.connection import Connection
from funke.engine.runtime.pipelined.messages import Reports
from funke.engine.runtime.pipelined.network_settings import DebloatSettings, NetworkSettings
from funke.engine.runtime.snapshots.snapshot_taking import SnapshotTaker
from funke.engine.types.information.type_catalog import Types
from tests.harness.certificates import own_tls, tls_pair
from tests.harness.stream_threads import give_up, run_stream, write_at_once
from tests.unit.graph.sample_graphs import GraphBuilder

TINY = NetworkSettings(segment_bytes=64, channel_buffers=1, floating_buffers=1)
DEBLOATED = replace(TINY, debloat=DebloatSettings(0.001, 0.001, 2, 0.0, first_bytes=32, least_bytes=1))
PARTITIONERS: list[Callable[[], Partitioner]] = [
    Rebalance,
    Shuffle,
    Rescale,
    lambda: Hash(lambda value: value % 7),
    Broadcast,
]


@pytest.fixture(autouse=True)
def no_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SnapshotTaker, "start", write_at_once)


def slowly(seed: int, seconds: float) -> Callable[[Any], Any]:
    """Now and then takes its time."""
    chance = random.Random(seed)

    def pass_on(value: Any) -> Any:
        if seconds and chance.random() < 0.02:
            time.sleep(seconds)
        return value

    return pass_on


# How often a number, which is smaller than ROUND, may go through loops, and what is added to it each time.
LOOPS, ROUND = 3, 1000


class Shape:
    """A random graph, and how often each number of each source reaches the sink."""

    def __init__(self, seed: int, parallelism: int, records: int) -> None:
        chance = random.Random(seed)
        self.builder = GraphBuilder(parallelism)
        # Each stream with the number of copies that it has of every record, by how often it went through a loop.
        streams: list[tuple[StreamNode, list[int]]] = []
        for number in range(chance.randint(1, 3)):
            source = self.builder._add(ReadSource(SequenceSource(0, records - 1)), f"source {number}", [])
            streams.append((source, [1] + [0] * LOOPS))
        for number in range(chance.randint(1, 5)):
            inputs = chance.sample(streams, chance.randint(1, min(2, len(streams))))
            partitioner = chance.choice(PARTITIONERS)()
            width = chance.randint(1, parallelism)
            seconds = chance.choice([0, 0, 0.0005])
            nodes, copies = [node for node, _ in inputs], [sum(each) for each in zip(*(copies for _, copies in inputs))]
            is_broadcast = isinstance(partitioner, Broadcast)
            is_loop = not is_broadcast and chance.random() < 0.4
            if is_loop:
                head = ReadSource(FeedbackSource(f"loop {number}"))
                nodes.append(self.builder._add(head, f"head {number}", [], parallelism=1))
                copies = list(accumulate(copies))
            node = self.builder._add(
                Map(slowly(seed + number, seconds)), f"map {number}", nodes, partitioner, parallelism=width
            )
            if is_loop:
                self._close(number, node, chance.choice(PARTITIONERS[:3])(), chance.randint(1, parallelism))
            streams.append((node, [each * (width if is_broadcast else 1) for each in copies]))
        ends = streams[-chance.randint(1, 2) :]
        self.builder._add(WriteSink(CollectSink("out")), "out", [node for node, _ in ends], Rebalance())
        counts = [sum(each) for each in zip(*(copies for _, copies in ends))]
        self.expected = {
            number + ROUND * rounds: count for number in range(records) for rounds, count in enumerate(counts) if count
        }

    def _close(self, number: int, body: StreamNode, partitioner: Partitioner, width: int) -> None:
        """What has not been round often enough goes round again."""
        again = self.builder._add(Filter(lambda value: value < ROUND * LOOPS), f"again {number}", [body])
        more = self.builder._add(Map(lambda value: value + ROUND), f"more {number}", [again], partitioner)
        more.parallelism = width
        self.builder._add(WriteSink(FeedbackSink(f"loop {number}")), f"tail {number}", [more])


# More of them in `make soak`.
SHAPES = int(os.environ.get("FUNKE_TEST_SHAPES", "25"))


@settings(max_examples=SHAPES)
@given(
    seed=some.integers(0, 10**6),
    parallelism=some.integers(1, 3),
    with_checkpoints=some.booleans(),
    network=some.sampled_from([TINY, DEBLOATED]),
)
def test_no_shape_deadlocks_and_no_record_is_lost(
    seed: int, parallelism: int, with_checkpoints: bool, network: NetworkSettings
) -> None:
    shape = Shape(seed, parallelism, records=150)
    checkpoints = CheckpointSettings(interval_ms=3, timeout_ms=60_000) if with_checkpoints else None
    run = run_stream(shape.builder.graph, network, checkpoints)
    assert Counter(run.collected) == shape.expected


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_under_tls_it_is_the_same(tmp_path: Path, version: str) -> None:
    tls = own_tls(tmp_path, version)
    shape = Shape(seed=7, parallelism=3, records=ROUND)
    checkpoints = CheckpointSettings(interval_ms=3, timeout_ms=60_000)
    run = run_stream(shape.builder.graph, TINY, checkpoints, pair=lambda: tls_pair(tls))
    assert Counter(run.collected) == shape.expected


class Count(KeyedProcessFunction):
    def open(self, context: Any) -> None:
        self._count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield value % 5, count


def counting_graph(records: int, per_checkpoint: int | None = None, per_second: int | None = None) -> Any:
    builder = GraphBuilder(2)
    numbers = GeneratorSource(int, records, per_second, records_per_checkpoint=per_checkpoint)
    source = builder._add(ReadSource(numbers), "numbers", [], uid="numbers")
    slow = builder._add(Map(slowly(1, 0.003)), "slow", [source], Rebalance(), uid="slow")

    def key(value: int) -> int:
        return value % 5

    counted = builder._add(Process(Count(), key), "count", [slow], Hash(key), uid="count")
    builder._add(WriteSink(CollectSink("out")), "out", [counted], Forward(), uid="out")
    return builder.graph


def final_counts(results: list[tuple[int, int]]) -> dict[int, int]:
    return {key: max(count for other, count in results if other == key) for key in range(5)}


def test_every_checkpoint_is_a_cut_through_the_stream() -> None:
    # A few at a time, so that there are checkpoints between them however slow the machine is.
    first = run_stream(counting_graph(3_000, 300), TINY, CheckpointSettings(interval_ms=5, retained=1000))
    assert final_counts(first.collected) == dict.fromkeys(range(5), 600)
    checkpoints = [
        checkpoint for checkpoint in first.checkpoint_coordinator.store.completed if checkpoint.kind == "checkpoint"
    ]
    assert len(checkpoints) > 3
    for checkpoint in random.Random(3).sample(checkpoints, 4):
        again = run_stream(counting_graph(3_000), TINY, start=checkpoint)
        # Each key has been counted once for each of its records, before the checkpoint or behind it.
        assert final_counts(again.collected) == dict.fromkeys(range(5), 600)
        assert len(again.collected) < 3_000


def test_savepoints_are_taken_while_the_barriers_of_checkpoints_are_on_their_way(tmp_path: Path) -> None:
    results: list[str] = []

    def ask(checkpoint_coordinator: CheckpointCoordinator) -> None:
        with contextlib.suppress(JobExecutionError):  # the job has ended
            while True:
                request = SavepointRequest(str(tmp_path / f"savepoint-{len(results)}"))
                results.append(checkpoint_coordinator.requests.ask(request).result(20))

    run = run_stream(
        counting_graph(2_000, per_second=2_000), TINY, CheckpointSettings(interval_ms=1, max_concurrent=3), disturb=ask
    )
    assert final_counts(run.collected) == dict.fromkeys(range(5), 400)
    assert len(results) > 3


def test_a_checkpoint_that_is_given_up_stops_nothing() -> None:
    graph = counting_graph(2_000, per_second=2_000)
    run = run_stream(graph, TINY, CheckpointSettings(interval_ms=5, tolerable_failures=10**6), disturb=give_up)
    assert final_counts(run.collected) == dict.fromkeys(range(5), 400)
    assert run.checkpoint_coordinator.statistics.failed > 0


def test_a_connection_that_is_lost_in_the_middle_of_a_block_ends_the_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = threading.Event()
    flush = Connection.flush

    def flush_half(connection: Connection) -> bool:
        queue = connection._queue
        # The second piece of a frame is a block.
        if threading.current_thread().name.startswith("slot") and len(queue) > 1 and len(queue[1]) > 50:
            lost.set()
            connection._socket.send(queue[0] + bytes(queue[1][:25]))
            connection.shut_down()
        return flush(connection)

    monkeypatch.setattr(Connection, "flush", flush_half)
    with pytest.raises(ConnectionError):
        run_stream(counting_graph(2_000))
    assert lost.is_set()


def test_sources_of_one_slot_take_turns() -> None:
    builder = GraphBuilder(1)
    first = builder._add(ReadSource(SequenceSource(0, 199_999)), "first", [])
    second = builder._add(ReadSource(SequenceSource(1_000_000, 1_199_999)), "second", [])
    builder._add(WriteSink(CollectSink("out")), "out", [first, second], Rebalance())
    result = run_stream(builder.graph).collected
    assert len(result) == 400_000
    assert min(map(result.index, (0, 1_000_000))) < result.index(1_100_000) < result.index(199_999)


class Either(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


def test_the_watermark_of_each_input_is_among_the_metrics_of_its_operator() -> None:
    builder = GraphBuilder(1)
    left, right = (
        builder._add(ReadSource(SequenceSource(1, 10)), name, [], parallelism=1) for name in ("left", "right")
    )
    edges = tuple(
        StreamEdge(source.id, 3, Rebalance(), input_index=index) for index, source in enumerate((left, right))
    )
    builder.graph.add(StreamNode(3, CoMap(Either()), "both", edges))
    builder._add(WriteSink(CollectSink("out")), "out", [builder.graph.nodes[2]], Rebalance())
    run = run_stream(builder.graph)
    operators = job_metrics(run.coordinator.statistics, run.coordinator._plan).operators
    names = [{name for name in each[0] if name.startswith("currentInput")} for each in operators.values()]
    several = {"currentInputWatermark", "currentInput1Watermark", "currentInput2Watermark"}
    assert several in names and {"currentInputWatermark"} in names


def test_a_slow_subtask_presses_back_on_those_before_it() -> None:
    builder = GraphBuilder(1)
    source = builder._add(ReadSource(SequenceSource(0, 300)), "numbers", [])
    slow = builder._add(Map(slowly(1, 0.0)), "slow", [source], Rebalance(), parallelism=2)
    behind = builder._add(Map(lambda value: time.sleep(0.006)), "slower", [slow], Rebalance(), parallelism=2)
    builder._add(WriteSink(CollectSink("out")), "out", [behind])
    run = run_stream(builder.graph, TINY)
    measured = {subtask: report.task_metrics for subtask, report in run.coordinator.statistics.subtasks.items()}
    first, last = measured[source.id, 0], measured[behind.id, 0]
    assert first["backPressuredTimeMsPerSecond"] > first["busyTimeMsPerSecond"]
    # Behind it there is the sink, which hardly works.
    assert status_of(last["backPressuredTimeMsPerSecond"] / 1000) is PressureStatus.OK
    assert last["busyTimeMsPerSecond"] > last["backPressuredTimeMsPerSecond"]
    assert not first["isBackPressured"] and not last["isBackPressured"], "they have ended"
    for each in measured.values():
        spent = sum(value for name, value in each.items() if name.endswith("TimeMsPerSecond"))
        assert spent == pytest.approx(1000)
        usages = [value for name, value in each.items() if name.endswith("Usage")]
        assert len(usages) == 4 and all(0 <= usage <= 1 for usage in usages)


HAS_BEEN_SEEN = threading.Event()


def hold(value: Any) -> Any:
    """Takes as long as nobody has seen that others wait for it."""
    assert HAS_BEEN_SEEN.wait(30)
    return value


def test_who_is_pressed_and_who_presses_is_seen_while_the_job_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_REPORT_S", "_LONGEST_WAIT_S"):
        monkeypatch.setattr(slot_loop, name, 0.02)
    HAS_BEEN_SEEN.clear()
    pressed: list[PressureView] = []
    counts: set[Diagnosis] = set()
    take_reports = StreamCoordinator._take_reports

    def look(coordinator: StreamCoordinator, message: Reports) -> None:
        take_reports(coordinator, message)
        seen = PressureGauge(Settings()).look(job_metrics(coordinator.statistics, coordinator._plan).tasks)
        pressed.extend(each for each in seen.get(source.id, {}).values() if each.status is PressureStatus.HIGH)
        counts.update(each.diagnosis for each in seen.get(slow.id, {}).values())
        if len(pressed) > 50 and any(each.is_back_pressured for each in pressed):
            HAS_BEEN_SEEN.set()

    monkeypatch.setattr(StreamCoordinator, "_take_reports", look)
    builder = GraphBuilder(1)
    source = builder._add(ReadSource(GeneratorSource(int, 600, 3_000)), "numbers", [])
    to_the_second = Custom(lambda key, count: 1, lambda value: value)
    slow = builder._add(Map(hold), "slow", [source], to_the_second, parallelism=2)
    builder._add(WriteSink(CollectSink("out")), "out", [slow], Forward(), parallelism=2)
    run_stream(builder.graph, replace(TINY, measured_s=0.02))
    assert any(each.is_back_pressured for each in pressed)
    assert {each.diagnosis for each in pressed} == {Diagnosis.PRESSED}
    assert counts == {Diagnosis.FINE, Diagnosis.ROOT}


SEEN_WAITING = threading.Event()


def sleep_until_seen(value: Any) -> Any:
    if not SEEN_WAITING.is_set():
        time.sleep(0.002)
    return value


def test_a_source_that_waits_for_its_turn_is_pressed_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one slot: outputs never are full, because what has come far is worked on first."""
    monkeypatch.setattr(slot_loop, "_REPORT_S", 0.02)
    SEEN_WAITING.clear()
    take_reports = StreamCoordinator._take_reports
    consumer: list[PressureView] = []

    def look(coordinator: StreamCoordinator, message: Reports) -> None:
        take_reports(coordinator, message)
        seen = PressureGauge(Settings()).look(job_metrics(coordinator.statistics, coordinator._plan).tasks)
        (waiting,) = seen.get(source.id, {0: None}).values()
        if waiting is not None and waiting.status is PressureStatus.HIGH and waiting.is_back_pressured:
            consumer.extend(seen[slow.id].values())
            SEEN_WAITING.set()

    monkeypatch.setattr(StreamCoordinator, "_take_reports", look)
    builder = GraphBuilder(1)
    source = builder._add(ReadSource(SequenceSource(0, 30_000)), "numbers", [])
    slow = builder._add(Map(sleep_until_seen), "slow", [source], Rebalance())
    builder._add(WriteSink(CollectSink("out")), "out", [slow])
    assert len(run_stream(builder.graph, replace(NetworkSettings(), measured_s=0.5)).collected) == 30_001
    assert consumer and consumer[0].status is PressureStatus.OK and consumer[0].diagnosis is Diagnosis.ROOT


def test_what_a_source_reads_ahead_of_a_function_that_takes_long_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_REPORT_S", "_LONGEST_WAIT_S"):
        monkeypatch.setattr(slot_loop, name, 0.02)
    HAS_BEEN_SEEN.clear()
    read: list[int] = []
    take_reports = StreamCoordinator._take_reports

    def look(coordinator: StreamCoordinator, message: Reports) -> None:
        take_reports(coordinator, message)
        read.append(coordinator.statistics.records_read)
        if read[-1] and read[-100:].count(read[-1]) == 100:  # nothing more is read
            HAS_BEEN_SEEN.set()

    monkeypatch.setattr(StreamCoordinator, "_take_reports", look)
    builder = GraphBuilder(1)
    source = builder._add(ReadSource(SequenceSource(0, 20_000)), "numbers", [])
    to_the_second = Custom(lambda key, count: 1, lambda value: value)
    held = builder._add(Map(hold), "held", [source], to_the_second, parallelism=2)
    builder._add(WriteSink(CollectSink("out")), "out", [held], Forward(), parallelism=2)
    run = run_stream(builder.graph, TINY)
    assert len(run.collected) == 20_001
    ahead = next(count for count in read if read.count(count) >= 100)
    assert 0 < ahead < 10_000, "some buffers full"


def test_a_failing_function_fails_the_job_with_its_name() -> None:
    builder = GraphBuilder(2)
    source = builder._add(ReadSource(SequenceSource(0, 1000)), "numbers", [])
    builder._add(
        WriteSink(CollectSink("out")), "out", [builder.map(source, "divide", function=lambda n: 1 // (n - 500))]
    )
    with pytest.raises(Exception, match="operator 'divide' failed: ZeroDivisionError"):
        run_stream(builder.graph, TINY)
