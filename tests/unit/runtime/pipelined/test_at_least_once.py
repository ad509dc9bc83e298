"""At least once: a barrier blocks no channel; behind a checkpoint nothing is lost, and some records may come again."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint
from funke.engine.runtime.monitoring.counter_rates import CounterRates
from funke.engine.runtime.pipelined.channels import InChannel
from funke.engine.runtime.pipelined.connection import BARRIER, BLOCK
from funke.engine.runtime.pipelined.messages import TakeCheckpoint
from funke.engine.runtime.pipelined.network_settings import NetworkSettings
from funke.engine.runtime.pipelined.task import Task
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand
from funke.engine.runtime.snapshots.snapshot_taking import SnapshotTaker
from tests.harness.stream_threads import StreamRun, run_stream, write_at_once
from tests.unit.runtime.pipelined.test_overtaking import (
    SHAPES,
    counted_before,
    counted_shape,
    pressed_graph,
    require_each_once,
)
from tests.unit.runtime.pipelined.test_streams import DEBLOATED, TINY

AT_LEAST_ONCE = CheckpointSettings(interval_ms=3, timeout_ms=60_000, retained=1000, is_exactly_once=False)


@pytest.fixture(autouse=True)
def no_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SnapshotTaker, "start", write_at_once)


def with_state(run: StreamRun) -> list[Checkpoint]:
    """The checkpoints of a run but for the last, which holds no state: all input was read."""
    return [checkpoint for checkpoint in run.checkpoint_coordinator.store.completed if checkpoint.snapshots]


def counts_behind(start: Checkpoint, run: StreamRun) -> Counter[int]:
    """How often each value was counted in all, in the state of a checkpoint and behind it."""
    counts = counted_before(start)
    for value, count in run.collected:
        counts[value] = max(counts[value], count)
    return counts


@settings(max_examples=SHAPES)
@given(
    seed=some.integers(0, 10**6),
    parallelism=some.integers(1, 3),
    network=some.sampled_from([TINY, DEBLOATED]),
)
def test_of_no_shape_anything_is_lost(seed: int, parallelism: int, network: NetworkSettings) -> None:
    graph, expected = counted_shape(seed, parallelism)
    run = run_stream(graph, network, AT_LEAST_ONCE)
    require_each_once(run, None, expected)
    checkpoints = with_state(run)
    for checkpoint in random.Random(seed).sample(checkpoints, min(2, len(checkpoints))):
        counts = counts_behind(checkpoint, run_stream(counted_shape(seed, parallelism)[0], network, start=checkpoint))
        assert {value: count for value, count in expected.items() if counts[value] < count} == {}


def test_with_single_inputs_records_come_once() -> None:
    """There is one channel, and no record of it can overtake its barrier."""
    run = run_stream(pressed_graph(0.0002, parallelism=1), TINY, AT_LEAST_ONCE)
    checkpoints = with_state(run)
    assert checkpoints
    expected = Counter(value for value, _ in run.collected)
    for checkpoint in random.Random(1).sample(checkpoints, min(3, len(checkpoints))):
        require_each_once(run_stream(pressed_graph(0, parallelism=1), TINY, start=checkpoint), checkpoint, expected)


class TwoChannels:
    """A task with two channels, to which the test sends barriers and blocks."""

    def __init__(self, is_exactly_once: bool) -> None:
        subtask: Any = SimpleNamespace(
            source=None, rates=CounterRates(), vertex=SimpleNamespace(id=1), index=0, busy_s=0.0, flush=lambda: None
        )
        self.task = Task(subtask, NetworkSettings())
        self._command = CheckpointCommand(0, "folder", is_exactly_once=is_exactly_once)
        for number in range(2):
            self.task.add_input(InChannel(number, number, 0, self.task.pool, 2, 1024))

    def put_barrier(self, channel: int, number: int) -> None:
        command = replace(self._command, checkpoint_id=number)
        self.task.ins[channel].put(BARRIER, pickle.dumps(TakeCheckpoint(command)), 0)

    def put_block(self, channel: int) -> None:
        self.task.ins[channel].put(BLOCK, [], 100)

    def take_all(self, aborted: frozenset[int] = frozenset()) -> list[int | None]:
        """Takes what can be taken: None for a block, the number of a checkpoint whose barriers have all come."""
        events: list[int | None] = []
        while self.task.has_input:
            channel, kind, content = self.task.take()
            if kind == BLOCK:
                channel.processed()
                events.append(None)
            elif (taking := self.task.on_barrier(channel, content, set(aborted))) is not None:
                self.task.send_barrier(taking)
                events.append(taking.command.checkpoint_id)
        return events

    def capture(self, number: int) -> int:
        """The slot's state is captured; the bytes that the task took between the barriers."""
        processed_bytes = self.task.end_alignment(number).processed_bytes
        self.task.release(number)
        return processed_bytes


@pytest.mark.parametrize(("is_exactly_once", "blocks", "size"), [(True, [], 0), (False, [None], 100)])
def test_what_follows_a_barrier_is_taken_before_the_other_barrier_has_come(
    is_exactly_once: bool, blocks: list[int | None], size: int
) -> None:
    task = TwoChannels(is_exactly_once)
    task.put_barrier(0, 1)
    task.put_block(0)
    assert task.take_all() == blocks
    task.put_barrier(1, 1)
    assert task.take_all() == [1]
    task.put_block(1)
    assert task.take_all() == [], "it waits for the other subtasks of its slot"
    assert task.capture(1) == size
    assert task.take_all() == [None] * (2 - len(blocks))


def test_barriers_of_the_next_checkpoint_may_come_before_the_last_one_of_this() -> None:
    task = TwoChannels(is_exactly_once=False)
    task.put_barrier(0, 1)
    task.put_barrier(0, 2)
    task.put_block(0)
    assert task.take_all() == [None]
    task.put_barrier(1, 1)
    task.put_barrier(1, 2)
    assert task.take_all() == [1]
    task.capture(1)
    assert task.take_all() == [2]
    assert task.task.aligning is not None
    task.capture(2)
    assert task.task.aligning is None


def test_a_checkpoint_that_was_given_up_leaves_the_others_alone() -> None:
    task = TwoChannels(is_exactly_once=False)
    task.put_barrier(0, 1)
    task.put_barrier(0, 2)
    assert task.take_all() == []
    task.task.give_up({1})
    task.put_barrier(1, 1)
    task.put_barrier(1, 2)
    assert task.take_all(frozenset({1})) == [2]
