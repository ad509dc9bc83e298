"""Barriers that overtake the records of a join's inputs: each pair comes once, before a restart or behind it."""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import ExitStack
from typing import Any

import pytest

from funke.common import Row, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.state import ValueStateDescriptor
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint
from funke.engine.runtime.pipelined.network_settings import NetworkSettings
from funke.engine.runtime.snapshots.snapshot_files import open_snapshot_file
from funke.engine.runtime.snapshots.snapshot_taking import SnapshotTaker
from funke.engine.state.snapshot.file_format import SnapshotReader
from funke.table import Schema, StreamTableEnvironment
from tests.harness.backends import choice_of
from tests.harness.case_runs import graph_started_by
from tests.harness.stream_threads import run_stream, write_at_once

UNALIGNED = CheckpointSettings(interval_ms=3, timeout_ms=60_000, retained=1000, is_unaligned=True)
# Every block is sent by itself, and few wait before they are taken.
NARROW = NetworkSettings(segment_bytes=64, channel_buffers=1, floating_buffers=1)
ROWS = 96
NUMBERS = Types.ROW_NAMED(["id", "k"], [Types.LONG(), Types.LONG()])

# Two rows of each input have the same key.
PAIRS = Counter((one, other) for one in range(ROWS) for other in range(one // 2 * 2, one // 2 * 2 + 2))
QUERIES = {
    "regular": ("SELECT a.id, b.id FROM a JOIN b ON a.k = b.k", PAIRS),
    "interval": (
        "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' SECOND",
        Counter(pair for pair in PAIRS if pair[0] >= pair[1]),
    ),
    "several": (
        "SELECT /*+ MULTI_JOIN(a, b, c) */ a.id, b.id FROM a JOIN b ON a.k = b.k "
        "JOIN (SELECT DISTINCT k FROM c WHERE MOD(k, 2) = 0) c ON a.k = c.k",
        Counter(pair for pair in PAIRS if pair[0] // 2 % 2 == 0),
    ),
}


@pytest.fixture(autouse=True)
def no_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SnapshotTaker, "start", write_at_once)


class Ids(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        # Not 0: there event time begins.
        return int(value["id"]) + 1


class CountPairs(KeyedProcessFunction):
    """Gives each pair with how often it has come so far."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def open(self, context: Any) -> None:
        self._count = context.get_state(ValueStateDescriptor("count of pairs", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        time.sleep(self._seconds)
        self._count.update((self._count.value() or 0) + 1)
        yield value, self._count.value()


def graph_of(query: str, seconds: float) -> StreamGraph:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    t_env = StreamTableEnvironment.create(env)
    rate = RateLimiterStrategy.per_checkpoint(16) if seconds else None
    schema = Schema.new_builder().column("id", "BIGINT").column("k", "BIGINT")
    schema = schema.column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime").watermark("ts", "SOURCE_WATERMARK()")
    watermarks = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Ids())
    for name in ("a", "b", "c"):
        source = DataGeneratorSource(
            lambda index: Row(id=index, k=index // 2), ROWS, NUMBERS, rate_limiter_strategy=rate
        )
        numbers = env.from_source(source, watermarks, name, NUMBERS)
        t_env.create_temporary_view(name, numbers, schema.build())
    joined = t_env.to_changelog_stream(t_env.sql_query(query))
    pairs = joined.map(lambda row: (row[0], row[1])).key_by(lambda pair: pair)
    return graph_started_by(lambda: pairs.process(CountPairs(seconds)).execute_and_collect())


def counted_before(checkpoint: Checkpoint) -> Counter[Any]:
    """How often each pair had come when a checkpoint was taken."""
    counts: Counter[Any] = Counter()
    with ExitStack() as closing:
        for handle in checkpoint.located():
            file = closing.enter_context(open_snapshot_file(handle.path, handle.inline))
            reader = SnapshotReader(file, handle.path)
            for operator_id in reader.operator_ids:
                for _, part in reader.keyed(operator_id):
                    for table, entries in part.tables.items():
                        if table.name == "count of pairs":
                            counts.update(entries)
    return counts


@pytest.mark.parametrize(
    ("name", "backend"),
    [("regular", "hashmap"), ("regular", "rocksdb"), ("interval", "rocksdb"), ("several", "hashmap")],
)
def test_each_pair_comes_once(name: str, backend: str) -> None:
    query, expected = QUERIES[name]
    run = run_stream(graph_of(query, 0.001), NARROW, UNALIGNED, backend=choice_of(backend))
    assert Counter(pair for pair, _ in run.collected) == expected
    overtaken = [each for each in run.checkpoint_coordinator.store.completed if each.channels_of]
    assert overtaken
    for checkpoint in random.Random(7).sample(overtaken, min(2, len(overtaken))):
        counts = counted_before(checkpoint)
        again = run_stream(graph_of(query, 0.0), NARROW, start=checkpoint, backend=choice_of(backend))
        counts.update(pair for pair, _ in again.collected)
        assert counts == expected
