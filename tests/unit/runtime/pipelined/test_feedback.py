"""Iterations that stream: what is fed back goes round until nothing is left of it, also over restarts."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from funke.datastream import KeyedProcessFunction
from funke.datastream.state import ValueStateDescriptor
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.connectors.feedback import FeedbackSink, FeedbackSource
from funke.engine.connectors.generator import GeneratorSource
from funke.engine.connectors.sequence import SequenceSource
from funke.engine.errors import JobCancelledError
from funke.engine.graph.operations import AsyncWait, Filter, Map, Operation, Process, ReadSource, WriteSink
from funke.engine.graph.partitioners import Forward, Hash, Rebalance
from funke.engine.graph.stream_graph import StreamGraph, StreamNode
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint, read_checkpoint
from funke.engine.jobs.checkpoints.savepoints import SavepointRequest
from funke.engine.operators.functions.async_functions import NO_RETRY_STRATEGY, AsyncFunction
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.exchange_mode import exchange_mode
from funke.engine.runtime.pipelined.network_settings import NetworkSettings
from funke.engine.runtime.snapshots.snapshot_taking import SnapshotTaker
from funke.engine.types.information.type_catalog import Types
from tests.harness.stream_threads import give_up, run_stream, write_at_once
from tests.unit.graph.sample_graphs import GraphBuilder

TINY = NetworkSettings(segment_bytes=64, channel_buffers=1, floating_buffers=1)
ROUNDS = 4


@pytest.fixture(autouse=True)
def no_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SnapshotTaker, "start", write_at_once)


class Loop:
    """A stream with a head, whose body is built upon it."""

    def __init__(self, source: Any, parallelism: int = 2) -> None:
        self.builder = GraphBuilder(parallelism)
        first = self.add(ReadSource(source), "numbers")
        head = self.add(ReadSource(FeedbackSource("loop")), "head", parallelism=1)
        self.entry = [first, head]

    def add(self, operation: Operation, name: str, upstreams: Any = (), partitioner: Any = None, **more: Any) -> Any:
        return self.builder._add(operation, name, list(upstreams), partitioner, uid=name, **more)

    def closed_with(self, fed_back: StreamNode, out: StreamNode) -> StreamGraph:
        self.add(WriteSink(FeedbackSink("loop")), "tail", [fed_back], Forward())
        self.add(WriteSink(CollectSink("out")), "out", [out], Rebalance())
        return self.builder.graph


def countdown(parallelism: int, *numbers: int) -> StreamGraph:
    loop = Loop(SequenceSource(*numbers), parallelism)
    less = loop.add(Map(lambda number: number - 1), "less", loop.entry, Rebalance())
    return loop.closed_with(loop.add(Filter(lambda number: number > 0), "more", [less], Rebalance()), less)


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("network", [TINY, NetworkSettings()])
def test_records_go_round_until_the_condition_ends_them(parallelism: int, network: NetworkSettings) -> None:
    run = run_stream(countdown(parallelism, 1, 50), network)
    assert Counter(run.collected) == {number: 50 - number for number in range(50)}


def test_iterations_stream() -> None:
    mode = exchange_mode(to_job_graph(countdown(1, 1, 2)))
    assert str(mode) == "pipelined: nothing stands against it"


def test_what_takes_its_time_in_the_loop_is_waited_for() -> None:
    class Slow(AsyncFunction):
        async def async_invoke(self, value: int) -> list[int]:
            await asyncio.sleep(0.05)
            return [value - 1]

    loop = Loop(SequenceSource(3, 3))
    less = loop.add(AsyncWait(Slow(), 0, 5, NO_RETRY_STRATEGY, True), "less", loop.entry, Rebalance())
    graph = loop.closed_with(loop.add(Filter(lambda number: number > 0), "more", [less], Rebalance()), less)
    assert run_stream(graph).collected == [2, 1, 0]


class AtTheEnd(KeyedProcessFunction):
    """What was not fed back yet is, when event time ends."""

    def process_element(self, value: int, ctx: Any) -> Any:
        if value < 100:
            ctx.timer_service().register_event_time_timer(10_000 + value)
        else:
            yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield 100 + ctx.get_current_key()


def test_what_the_end_of_event_time_sends_back_goes_round() -> None:
    def key(value: int) -> int:
        return value

    loop = Loop(SequenceSource(0, 20))
    timed = loop.add(Process(AtTheEnd(), key), "timed", loop.entry, Hash(key))
    again = loop.add(Filter(lambda value: value < 200), "again", [timed], Rebalance())
    graph = loop.closed_with(loop.add(Map(lambda value: value + 100), "more", [again], Rebalance()), timed)
    assert sorted(run_stream(graph, TINY).collected) == [*range(100, 121), *range(200, 221)]


class Visits(KeyedProcessFunction):
    """Sends each value on with all that its key has seen; none comes twice."""

    def open(self, context: Any) -> None:
        self._seen = context.get_state(ValueStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: Any) -> Any:
        seen = self._seen.value() or frozenset()
        assert value not in seen, f"{value} has come twice"
        seen |= {value}
        self._seen.update(seen)
        yield value, seen


def visits(records: int, per_checkpoint: int | None = None, per_second: int | None = None) -> StreamGraph:
    """Each number visits its key several times, and is more by 1000 each time."""
    loop = Loop(GeneratorSource(int, records, per_second, records_per_checkpoint=per_checkpoint))

    def key(value: int) -> int:
        return value % 5

    visited = loop.add(Process(Visits(), key), "visits", loop.entry, Hash(key))
    more = loop.add(Map(lambda visit: visit[0] + 1000), "more", [visited], Rebalance())
    again = loop.add(Filter(lambda value: value < 1000 * ROUNDS), "again", [more], Rebalance())
    return loop.closed_with(again, visited)


def all_visits(records: int) -> set[int]:
    return {number + 1000 * visit for number in range(records) for visit in range(ROUNDS)}


def last_seen(collected: list[tuple[int, frozenset[int]]]) -> set[int]:
    longest: dict[int, frozenset[int]] = {}
    for value, seen in collected:
        longest[value % 5] = max(longest.get(value % 5, frozenset()), seen, key=len)
    return set().union(*longest.values())


def positions(checkpoint: Checkpoint) -> tuple[int, int]:
    """How many numbers were handed out, and how many records were going round and had not been read again."""
    states = [checkpoint.source(operator_id) for operator_id in checkpoint.sources]
    numbers, head = sorted(states, key=lambda state: isinstance(state.position, list))
    left = sum(split.weight - read for splits in head.unfinished.values() for split, read in splits)
    return numbers.position, left + sum(len(values) for values, _ in head.position)


def test_every_checkpoint_has_what_goes_round() -> None:
    # A few at a time, so that there are checkpoints between them however slow the machine is.
    settings = CheckpointSettings(interval_ms=5, retained=1000)
    first = run_stream(visits(600, per_checkpoint=60), TINY, settings)
    assert last_seen(first.collected) == all_visits(600)
    # With numbers of all keys still to come, so that all keys tell what they have seen.
    checkpoints = [each for each in first.checkpoint_coordinator.store.completed if positions(each)[0] <= 540]
    assert len(checkpoints) > 3
    assert any(positions(checkpoint)[1] for checkpoint in checkpoints)
    for checkpoint in random.Random(3).sample(checkpoints, 4):
        again = run_stream(visits(600), TINY, start=checkpoint)
        assert last_seen(again.collected) == all_visits(600)


def test_a_job_that_is_stopped_with_a_savepoint_goes_on_where_it_was(tmp_path: Path) -> None:
    stopped = SavepointRequest(str(tmp_path / "savepoint"), afterwards="stop")

    def stop(checkpoint_coordinator: CheckpointCoordinator) -> None:
        time.sleep(0.2)
        checkpoint_coordinator.requests.ask(stopped)

    first = run_stream(visits(600, per_second=300), TINY, disturb=stop)
    assert len(first.collected) < 600 * ROUNDS
    again = run_stream(visits(600), TINY, start=read_checkpoint(stopped.future.result(10)))
    assert last_seen(again.collected) == all_visits(600)


def test_checkpoints_that_are_given_up_lose_nothing_of_what_goes_round() -> None:
    settings = CheckpointSettings(interval_ms=2, tolerable_failures=10**6)
    run = run_stream(visits(600, per_second=600), TINY, settings, disturb=give_up)
    assert last_seen(run.collected) == all_visits(600)
    assert run.checkpoint_coordinator.statistics.failed > 0


def test_a_loop_that_never_ends_is_cancelled() -> None:
    loop = Loop(SequenceSource(1, 10))
    same = loop.add(Map(abs), "same", loop.entry, Rebalance())
    graph = loop.closed_with(same, loop.add(Filter(lambda number: False), "none", [same]))
    with pytest.raises(JobCancelledError):
        run_stream(graph, TINY, on_start=lambda coordinator: threading.Timer(0.3, coordinator.cancel).start())
