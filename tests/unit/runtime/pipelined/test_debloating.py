"""Debloating: what is on its way to a subtask follows from the rate at which it takes it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.connectors.sequence import SequenceSource
from funke.engine.graph.operations import Map, ReadSource, WriteSink
from funke.engine.graph.partitioners import Custom, Global
from funke.engine.runtime.blocks.router import create_router
from funke.engine.runtime.pipelined.channels import BufferPool, InChannel
from funke.engine.runtime.pipelined.debloating import BlockSize, Debloater
from funke.engine.runtime.pipelined.network_settings import DebloatSettings, NetworkSettings
from funke.engine.types.keys.key_groups import KeyGroups
from tests.harness.stream_threads import run_stream
from tests.unit.graph.sample_graphs import GraphBuilder
from tests.unit.runtime.pipelined.test_channels import Pair, processed

SEGMENT = 32 << 10


# The size that is announced


def sized(bytes_per_s: float, buffers: int, looks: int, **settings: Any) -> BlockSize:
    size = BlockSize(DebloatSettings(**settings), SEGMENT)
    for _ in range(looks):
        size.learn(bytes_per_s, buffers)
    return size


def test_a_size_is_what_can_be_consumed_in_time_over_all_buffers() -> None:
    assert sized(50_000, 10, 100).bytes == pytest.approx(5_000, rel=0.25)
    assert sized(50_000, 10, 100, target_s=0.5).bytes == pytest.approx(2_500, rel=0.25)


def test_a_size_has_two_ends() -> None:
    assert sized(10**9, 10, 100).bytes == SEGMENT
    assert sized(1, 10, 100).bytes == 256
    assert sized(1, 10, 100, least_bytes=64).bytes == 64


def test_small_changes_are_ignored() -> None:
    size = sized(50_000, 10, 200, threshold=0.0)
    assert size.bytes == 5_000
    size._settings = DebloatSettings(threshold=0.25)
    assert not any(size.learn(60_000, 10) for _ in range(100)), "a fifth more"
    assert size.bytes == 5_000
    assert any(size.learn(70_000, 10) for _ in range(100)), "two fifths more"


def test_more_samples_make_it_slower() -> None:
    assert sized(100, 1, 5, samples=1).bytes < sized(100, 1, 5, samples=20).bytes <= sized(100, 1, 5, samples=200).bytes


@pytest.mark.parametrize(("before", "after"), [(20_000, 200_000), (200_000, 20_000)])
def test_a_rate_that_was_wrong_is_mended(before: float, after: float) -> None:
    size = sized(before, 10, 200)
    for _ in range(60):
        size.learn(after, 10)
    assert size.bytes == pytest.approx(after / 10, rel=0.25)


# The rate of a subtask


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def block(channel: InChannel, size: int) -> None:
    channel.put(0, [], size)


def test_time_without_anything_to_take_does_not_count() -> None:
    clock, channel = Clock(), InChannel(0, 0, 0, BufferPool(0), 1, SEGMENT)
    announced: list[int] = []
    channel.on_announced = announced.append
    debloater = Debloater(DebloatSettings(samples=1, first_bytes=SEGMENT), SEGMENT, [channel], clock)
    clock.now = 100.0
    debloater.wake()
    block(channel, 1_000)
    channel.take()
    clock.now = 100.5
    debloater.rest()
    clock.now = 200.0
    debloater.sample()
    assert announced == [2_000], "1 000 bytes in half a second"
    block(channel, 3_000)
    assert debloater.metrics() == {"estimatedTimeToConsumeBuffersMs": 1_500, "debloatedBufferSize": 2_000}
    debloater.wake()
    clock.now = 300.0
    debloater.sample()
    assert announced == [2_000], "nothing was taken, so the sample goes on"
    channel.take()
    clock.now = 310.0
    debloater.sample()
    assert announced == [2_000, 256], "also the time in which it could not take anything counts"


# A sender that always has more, and a receiver with a rate of its own, on a clock of the test


class Stream:
    RECORD = "x" * 100

    def __init__(self, records_per_s: float, settings: DebloatSettings | None) -> None:
        self.cost_s = 1 / records_per_s
        self.clock = Clock()
        self.pair = Pair(1, exclusive=2, floating=8, segment_bytes=SEGMENT)
        self.sender, self.receiver = self.pair.outs[0], self.pair.ins[0]
        self.router = create_router(Global(), 0, 1, 1, KeyGroups(128), self._send)
        self.debloater: Debloater | None = None
        if settings is not None:
            self.debloater = Debloater(settings, SEGMENT, self.pair.ins, self.clock)
            self.debloater.wake()
            self.sender.on_announced = lambda size: self.router.bound(0, size)
            self.sender.on_announced(settings.first_bytes)
        self.count = 0
        self.blocks: list[int] = []

    def _send(self, to: int, parts: list[Any]) -> int:
        self.count += len(parts[0].values)
        return self.sender.send(parts)

    def run(self, seconds: float) -> None:
        sampled_at = 0.0
        while self.clock.now < seconds:
            while not self.sender.queue:
                self.router.process_batch([self.RECORD] * 20, None)
                self.pair.transfer()
            _, parts = processed(self.receiver)
            self.blocks.append(len(parts[0].values))
            self.clock.now += self.blocks[-1] * self.cost_s
            if self.debloater is not None and self.clock.now - sampled_at >= 0.2:
                sampled_at = self.clock.now
                self.debloater.sample()
            self.pair.transfer()

    @property
    def on_their_way(self) -> int:
        """Records that have been sent and not taken."""
        return self.count - sum(self.blocks)


def test_what_is_on_its_way_to_a_slow_subtask_shrinks() -> None:
    slow, as_it_is = Stream(100, DebloatSettings()), Stream(100, None)
    slow.run(60)
    as_it_is.run(60)
    assert 50 <= slow.on_their_way <= 200, "about a second's work"
    assert as_it_is.on_their_way > 1_000
    assert slow.debloater is not None and slow.debloater.metrics()["estimatedTimeToConsumeBuffersMs"] < 2_000


def test_a_fast_subtask_has_full_blocks() -> None:
    fast = Stream(50_000, DebloatSettings(samples=1))
    fast.run(2)
    assert fast.debloater is not None and fast.debloater.metrics()["debloatedBufferSize"] == SEGMENT
    assert sum(fast.blocks[-20:]) / 20 * len(fast.RECORD) == pytest.approx(SEGMENT, rel=0.15)


# Slots as threads


class Counting:
    """Records between a source and a slow subtask in another slot."""

    count = 0
    most = 0


def make(value: int) -> int:
    Counting.count += 1
    return value


def take_slowly(value: int) -> int:
    time.sleep(0.0005)
    Counting.most = max(Counting.most, Counting.count - value)
    return value


def most_on_their_way(debloat: DebloatSettings | None) -> tuple[int, dict[str, float]]:
    Counting.count = Counting.most = 0
    builder = GraphBuilder(2)
    source = builder._add(ReadSource(SequenceSource(0, 1_999)), "numbers", [], parallelism=1)
    numbers = builder._add(Map(make), "made", [source], parallelism=1)
    slow = builder._add(Map(take_slowly), "slow", [numbers], Custom(lambda key, count: 1, lambda value: value))
    builder._add(WriteSink(CollectSink("out")), "out", [slow])
    run = run_stream(builder.graph, NetworkSettings(debloat=debloat))
    assert run.collected == list(range(2_000))
    return Counting.most, run.coordinator.statistics.subtasks[slow.id, 1].task_metrics


def test_debloating_holds_a_fast_source_back() -> None:
    most, metrics = most_on_their_way(DebloatSettings(target_s=0.05, period_s=0.01, samples=3, first_bytes=64))
    assert most < 1_000
    assert 256 <= metrics["debloatedBufferSize"] < SEGMENT
    assert metrics["estimatedTimeToConsumeBuffersMs"] == 0, "all is consumed"
    most, metrics = most_on_their_way(None)
    assert most > 1_500
    assert "debloatedBufferSize" not in metrics
