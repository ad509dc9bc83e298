"""State in RocksDB and state of functions through real jobs: failures change nothing of what comes out."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, Types, WatermarkStrategy
from funke.datastream import EmbeddedRocksDBStateBackend, KeyedProcessFunction, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.functions import CheckpointedFunction, CheckpointListener, FlatMapFunction
from funke.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from tests.harness.exact_files import committed, sink

pytestmark = pytest.mark.spark

RECORDS = 400
KEYS = 7


def new_environment(folder: Path) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("state.checkpoints.dir", str(folder))
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "5")
    configuration.set_string("restart-strategy.fixed-delay.delay", "100 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    return env.enable_checkpointing(100)


def numbers(env: StreamExecutionEnvironment) -> Any:
    rate = RateLimiterStrategy.per_checkpoint(50)
    source = DataGeneratorSource(lambda index: index, RECORDS, Types.LONG(), rate_limiter_strategy=rate)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


class AllKinds(KeyedProcessFunction):
    """Keeps a value, a list and a map per key, and fails once when most is done."""

    def open(self, runtime_context: Any) -> None:
        self.is_first = runtime_context.get_attempt_number() == 0
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.last = runtime_context.get_list_state(ListStateDescriptor("last", Types.LONG()))
        self.by_digit = runtime_context.get_map_state(MapStateDescriptor("digits", Types.STRING(), Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        if self.is_first and value == RECORDS * 3 // 4:
            raise RuntimeError("planned failure")
        self.count.update((self.count.value() or 0) + 1)
        self.last.update([*self.last.get(), value][-3:])
        self.by_digit.put(str(value % 10), value)
        yield f"{value % KEYS}:{self.count.value()}:{sum(self.last)}:{sum(self.by_digit.values())}"


def all_kinds_expected() -> Counter[str]:
    lines: Counter[str] = Counter()
    for key in range(KEYS):
        values = [value for value in range(RECORDS) if value % KEYS == key]
        for position in range(len(values)):
            seen = values[: position + 1]
            digits = {value % 10: value for value in seen}
            lines[f"{key}:{len(seen)}:{sum(seen[-3:])}:{sum(digits.values())}"] += 1
    return lines


@pytest.mark.parametrize("is_incremental", [False, True])
def test_state_in_rocksdb_survives_a_failure(spark: Any, tmp_path: Path, is_incremental: bool) -> None:
    env = new_environment(tmp_path / "checkpoints")
    backend = EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=is_incremental)
    backend.set_db_storage_paths(str(tmp_path / "rocksdb"))
    env.set_state_backend(backend)
    # One source subtask: the results depend on the order in which a key's records come.
    source = numbers(env).set_parallelism(1)
    counted = source.key_by(lambda value: value % KEYS).process(AllKinds(), Types.STRING())
    counted.sink_to(sink(tmp_path / "out"))
    client = env.execute_async("rocksdb")
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    assert committed(tmp_path / "out") == all_kinds_expected()
    assert not list((tmp_path / "rocksdb").iterdir()), "working files are gone when the job has ended"
    assert [each for each in (tmp_path / "checkpoints").rglob("*") if each.stat().st_mode & 0o077] == []


class ManyTimers(KeyedProcessFunction):
    """Sets timers for the end of the input, and fails once when most of them are set."""

    def open(self, runtime_context: Any) -> None:
        self.is_first = runtime_context.get_attempt_number() == 0

    def process_element(self, value: int, ctx: Any) -> Any:
        if self.is_first and value == RECORDS * 3 // 4:
            raise RuntimeError("planned failure")
        for number in range(10):
            ctx.timer_service().register_event_time_timer(1000 * number + value)
        ctx.timer_service().delete_event_time_timer(1000 + value)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield f"{ctx.get_current_key()}:{timestamp}"


@pytest.mark.parametrize("is_incremental", [False, True])
def test_timers_in_rocksdb_survive_a_failure(spark: Any, tmp_path: Path, is_incremental: bool) -> None:
    env = new_environment(tmp_path / "checkpoints")
    # Some hundred timers in memory, and thousands outside.
    env.configure(Configuration().set_string("state.backend.rocksdb.timer-service.cache-size", "1"))
    env.set_state_backend(EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=is_incremental))
    timed = numbers(env).key_by(lambda value: value % KEYS).process(ManyTimers(), Types.STRING())
    timed.sink_to(sink(tmp_path / "out"))
    client = env.execute_async("timers")
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    expected = [
        f"{value % KEYS}:{1000 * number + value}" for value in range(RECORDS) for number in range(10) if number != 1
    ]
    assert committed(tmp_path / "out") == Counter(expected)


class Pairs(FlatMapFunction, CheckpointedFunction, CheckpointListener):
    """Emits numbers two by two; what waits for its pair is operator state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("waiting", Types.LONG()))
        self.waiting = list(self.state.get())
        self.completed = context.get_restored_checkpoint_id() or 0
        self.started_at = self.completed
        self.is_restored = context.is_restored()

    def open(self, runtime_context: Any) -> None:
        self.attempt = runtime_context.get_attempt_number()
        if self.attempt:
            subtask = runtime_context.get_index_of_this_subtask()
            (self.folder / f"restored-{subtask}-{self.is_restored}-{self.started_at}").touch()

    def flat_map(self, value: int) -> Any:
        if not self.attempt and self.completed >= 2:
            raise RuntimeError("planned failure")
        self.waiting.append(value)
        if len(self.waiting) == 3:
            yield ",".join(map(str, self.waiting))
            self.waiting.clear()

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.waiting)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        assert checkpoint_id > self.completed
        self.completed = checkpoint_id


def test_operator_state_survives_a_failure_and_functions_hear_of_checkpoints(spark: Any, tmp_path: Path) -> None:
    env = new_environment(tmp_path / "checkpoints")
    notes = tmp_path / "notes"
    notes.mkdir()
    numbers(env).flat_map(Pairs(notes), Types.STRING()).sink_to(sink(tmp_path / "out"))
    client = env.execute_async("pairs")
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    seen = Counter(int(number) for line in committed(tmp_path / "out").elements() for number in line.split(","))
    assert set(seen.values()) == {1}, "nothing twice"
    # At the end each of two subtasks may be left with up to two numbers that have no company.
    assert len(set(range(RECORDS)) - set(seen)) <= 4
    results = sorted(path.name for path in notes.iterdir())
    assert [re.sub(r"-\d+$", "", name) for name in results] == ["restored-0-True", "restored-1-True"]
    assert all(int(name.rpartition("-")[2]) >= 2 for name in results)
