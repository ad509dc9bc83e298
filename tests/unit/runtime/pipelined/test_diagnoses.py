"""Jobs that are slow for a reason, without Spark: the cause is named while they run."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from funke.engine.config.settings import Settings
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.connectors.generator import GeneratorSource
from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext
from funke.engine.errors import JobCancelledError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.graph.operations import Map, ReadSource, Reduce, WriteSink
from funke.engine.graph.partitioners import Custom, Forward, Hash, Rebalance
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.attempts import held_slots
from funke.engine.jobs.attempts.job_executions import JobExecutions
from funke.engine.jobs.attempts.stream_coordinator import StreamCoordinator
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from funke.engine.jobs.views.back_pressure import PressureGauge
from funke.engine.jobs.views.bottleneck import Bottleneck, find_bottleneck
from funke.engine.jobs.views.job_metrics import job_metrics
from funke.engine.jobs.views.view_making import planned_view, with_executions, with_pressures
from funke.engine.operators.keyed import hot_keys
from funke.engine.planner.chaining import to_job_graph
from funke.engine.runtime.pipelined import slot_loop
from funke.engine.runtime.pipelined.network_settings import NetworkSettings
from tests.harness.stream_threads import run_stream
from tests.unit.graph.sample_graphs import GraphBuilder

# Into another slot, in blocks: what stays in its slot is one block however much it is.
TO_THE_SECOND = Custom(lambda key, count: 1, lambda value: value)
NETWORK = NetworkSettings(segment_bytes=256, channel_buffers=1, floating_buffers=1, measured_s=0.4)


def diagnosed(graph: StreamGraph, is_found: Callable[[Bottleneck], bool], go_on: Callable[[], None]) -> Bottleneck:
    """Runs a job until the cause is named, and ends it; what was said."""
    coordinators: list[StreamCoordinator] = []
    results: list[Bottleneck] = []
    job_graph = to_job_graph(graph)

    def look() -> Bottleneck | None:
        (coordinator,) = coordinators
        plan = coordinator._plan
        executions = JobExecutions(job_graph, plan)
        executions.begin(0)
        executions.enter(ExecutionState.RUNNING)
        seen = with_executions(planned_view("j" * 32, graph, job_graph, plan, {}), executions, {})
        metrics = job_metrics(coordinator.statistics, plan)
        seen = with_pressures(seen, PressureGauge(Settings()).look(metrics.tasks))
        return find_bottleneck(replace(seen, metrics=metrics, held=coordinator.statistics.held))

    def watch(checkpoint_coordinator: CheckpointCoordinator) -> None:
        end = time.monotonic() + 60
        try:
            while time.monotonic() < end and not results:
                time.sleep(0.05)
                said = look()
                if said is not None and is_found(said):
                    results.append(said)
        finally:
            coordinators[0].cancel()
            go_on()

    with contextlib.suppress(JobCancelledError):  # unless it has come to its end by itself
        run_stream(graph, NETWORK, disturb=watch, on_start=coordinators.append)
    assert results, "nobody was named"
    return results[0]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot_loop, "_REPORT_S", 0.1)
    monkeypatch.setattr(hot_keys, "_PAUSE_S", 0.05)


class Slow:
    """A function that takes its time until it is told to hurry."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def hurry(self) -> None:
        self.seconds = 0.0

    def __call__(self, value: Any) -> Any:
        time.sleep(self.seconds)
        return value


def numbers(builder: GraphBuilder, last: int = 100_000) -> Any:
    return builder._add(ReadSource(GeneratorSource(int, last, 3_000)), "numbers", [], parallelism=1)


# Functions are packed by value like those of programs: a thread of the test shares what modules hold.
SLOW = Slow(0.002)
HELD = threading.Event()


def sleeping(value: int) -> int:
    return int(SLOW(value))


def holding(value: int) -> int:
    if value == 50:
        HELD.wait(60)
    return value


def later(left: int, right: int) -> int:
    return max(int(SLOW(left)), right)


def skewed(value: int) -> str:
    return "EU" if value % 10 < 8 else f"other {value % 97}"


class SlowSink(Sink):
    """Waits for a database that is far away."""

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        return SlowWriter()


class SlowWriter(SinkWriter):
    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        for _ in values:
            time.sleep(SLOW.seconds)


def test_a_function_that_sleeps_is_named_with_its_line() -> None:
    SLOW.seconds = 0.002
    builder = GraphBuilder(1)
    slow = builder._add(Map(sleeping), "slow", [numbers(builder)], TO_THE_SECOND, parallelism=2)
    builder._add(WriteSink(CollectSink("out")), "out", [slow], Forward(), parallelism=2)
    bottleneck = diagnosed(builder.graph, lambda said: bool(said.user_line), SLOW.hurry)
    assert '"slow' in bottleneck.sentence and '"Source: numbers" waits' in bottleneck.sentence
    assert bottleneck.user_line is not None and bottleneck.user_line.startswith("test_diagnoses.py:")


def test_a_skewed_key_is_named_with_its_share() -> None:
    SLOW.seconds = 0.002
    builder = GraphBuilder(2)
    reduced = builder._add(Reduce(later, skewed), "latest", [numbers(builder)], Hash(skewed), parallelism=2)
    builder._add(WriteSink(CollectSink("out")), "out", [reduced])
    bottleneck = diagnosed(builder.graph, lambda said: said.key is not None, SLOW.hurry)
    assert bottleneck.key == "'EU'" and bottleneck.key_share is not None and 0.6 < bottleneck.key_share < 0.95
    assert "of its records have the key 'EU'" in bottleneck.sentence and '"latest' in bottleneck.sentence


def test_a_skewed_key_is_named_where_nobody_keeps_state_by_it() -> None:
    SLOW.seconds = 0.002
    builder = GraphBuilder(2)
    slow = builder._add(Map(sleeping), "slow", [numbers(builder)], Hash(skewed), parallelism=2)
    builder._add(WriteSink(CollectSink("out")), "out", [slow])
    bottleneck = diagnosed(builder.graph, lambda said: said.key is not None, SLOW.hurry)
    assert bottleneck.key == "'EU'" and bottleneck.key_share is not None and 0.6 < bottleneck.key_share < 0.95
    assert "of its records have the key 'EU'" in bottleneck.sentence and '"slow' in bottleneck.sentence


def test_a_slow_sink_is_named() -> None:
    SLOW.seconds = 0.002
    builder = GraphBuilder(1)
    builder._add(WriteSink(SlowSink()), "pg", [numbers(builder)], TO_THE_SECOND, parallelism=2)
    bottleneck = diagnosed(builder.graph, lambda said: bool(said.user_line), SLOW.hurry)
    assert bottleneck.sentence.startswith('"Sink: pg" is the bottleneck: busy ') and "in write" in bottleneck.sentence


def test_a_function_that_holds_everything_is_named_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_slots, "_HELD_S", 0.5)
    HELD.clear()
    builder = GraphBuilder(1)
    held = builder._add(Map(holding), "hold", [numbers(builder, 100)], Rebalance(), parallelism=1)
    builder._add(WriteSink(CollectSink("out")), "out", [held])
    bottleneck = diagnosed(builder.graph, lambda said: said.is_held, HELD.set)
    line = holding.__code__.co_firstlineno + 2
    assert bottleneck.user_line == f"test_diagnoses.py:{line} in holding"
    assert (
        '"hold' in bottleneck.sentence
        and "holds everything up: its subtask 0 has been at one block" in bottleneck.sentence
    )
