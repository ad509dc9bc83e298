"""Barriers that overtake, on Spark: slots die while checkpoints hold records on their way; none is lost or doubled."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, JobClient, Row, Types, WatermarkStrategy
from funke.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.state import ValueStateDescriptor
from funke.engine.errors import FunkeError
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint, read_checkpoint
from funke.engine.types.keys.key_groups import FIRST_KEY_HASH, NEWEST_KEY_HASH
from funke.table import StreamTableEnvironment
from tests.harness.exact_files import committed, sink, wait_until
from tests.harness.first_key_hash import first_key_hash_start

pytestmark = pytest.mark.spark

RECORDS, KEYS = 2_400, 7
PER_CHECKPOINT = 300
EXPECTED = Counter(f"{value % KEYS}:{value // KEYS + 1}" for value in range(RECORDS))


class CountSlowly(KeyedProcessFunction):
    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder = folder
        self.seconds = seconds

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        (self.folder / f"pid-{runtime_context.get_attempt_number()}-{os.getpid()}").touch()

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        time.sleep(self.seconds)
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value % KEYS}:{count}"


def start(folder: Path, seconds: float, parallelism: int = 2, is_join: bool = False, **options: str) -> JobClient:
    configuration = Configuration()
    settings = {
        "execution.checkpointing.interval": "100 ms",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "execution.checkpointing.unaligned": "true",
        "execution.checkpointing.num-retained": "20",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "5",
        "restart-strategy.fixed-delay.delay": "50 ms",
        "taskmanager.memory.segment-size": "1 kb",
        **options,
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)
    rate = RateLimiterStrategy.per_checkpoint(PER_CHECKPOINT)

    def numbers_called(name: str) -> DataStream:
        source = DataGeneratorSource(lambda index: index, RECORDS, Types.LONG(), rate_limiter_strategy=rate)
        return env.from_source(source, WatermarkStrategy.no_watermarks(), name)

    numbers = joined(env, numbers_called("a"), numbers_called("b")) if is_join else numbers_called("numbers")
    counts = numbers.rebalance().map(lambda number: number, Types.LONG()).key_by(lambda number: number % KEYS)
    counts.process(CountSlowly(folder, seconds), Types.STRING()).sink_to(sink(folder / "out"))
    return env.execute_async("unaligned")


def joined(env: StreamExecutionEnvironment, *inputs: DataStream) -> DataStream:
    """The numbers that both inputs have, which is all of them, as a query finds them."""
    t_env = StreamTableEnvironment.create(env)
    for name, numbers in zip("ab", inputs):
        t_env.create_temporary_view(name, numbers.map(Row, Types.ROW([Types.LONG()])))
    pairs = t_env.sql_query("SELECT a.f0 FROM a JOIN b ON a.f0 = b.f0")
    return t_env.to_data_stream(pairs).map(lambda row: row[0], Types.LONG())


def overtaken(folder: Path) -> list[Checkpoint]:
    """The checkpoints that have records which were on their way."""
    results = [read_checkpoint(str(path.parent)) for path in (folder / "checkpoints").glob("*/chk-*/_metadata")]
    return [checkpoint for checkpoint in results if checkpoint.channels_of]


@pytest.mark.parametrize(
    ("key_hash", "is_join", "options"),
    [
        (NEWEST_KEY_HASH, False, {}),
        (
            FIRST_KEY_HASH,
            False,
            {"execution.checkpointing.aligned-checkpoint-timeout": "20 ms", "state.backend.type": "rocksdb"},
        ),
        (NEWEST_KEY_HASH, True, {"state.backend.type": "rocksdb"}),
    ],
    ids=["at once", "after a while, by an old hash for keys", "to a join"],
)
def test_slots_die_while_records_are_on_their_way(
    spark: Any, tmp_path: Path, key_hash: int, is_join: bool, options: dict[str, str]
) -> None:
    if key_hash == FIRST_KEY_HASH:
        options = {**options, "execution.state-recovery.path": first_key_hash_start(tmp_path / "old")}
    client = start(tmp_path, 0.002, is_join=is_join, **options)
    for attempt in range(2):
        current = len(overtaken(tmp_path))
        wait_until(lambda current=current: len(overtaken(tmp_path)) > current)
        assert {checkpoint.key_hash for checkpoint in overtaken(tmp_path)} == {key_hash}
        pids = [int(path.name.rpartition("-")[2]) for path in tmp_path.glob(f"pid-{attempt}-*")]
        os.kill(pids[attempt % 2], signal.SIGKILL)
        wait_until(lambda attempt=attempt: client.get_metrics()["numRestarts"] > attempt)
    client.get_job_execution_result().result()
    assert committed(tmp_path / "out") == EXPECTED


def test_such_a_checkpoint_is_for_the_same_job_alone(spark: Any, tmp_path: Path) -> None:
    client = start(tmp_path, 0.002)
    wait_until(lambda: overtaken(tmp_path))
    client.cancel().result()
    path = max(overtaken(tmp_path), key=lambda checkpoint: checkpoint.checkpoint_id).path
    recovery = {"execution.state-recovery.path": path, "execution.state-recovery.claim-mode": "NO_CLAIM"}
    for changes in ({"parallelism": 3}, {"funke.exchange": "blocking"}):
        with pytest.raises(FunkeError, match=r"have overtaken records.*change it with a savepoint"):
            start(tmp_path, 0.0, **recovery, **changes)  # type: ignore[arg-type]
    start(tmp_path, 0.0, **recovery).get_job_execution_result().result()
    assert committed(tmp_path / "out") == EXPECTED
