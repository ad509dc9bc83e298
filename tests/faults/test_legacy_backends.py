"""The state backends of Flink 1.x through real jobs: limits of size, and snapshots that processing waits for."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, Types, WatermarkStrategy
from funke.common.job_status import JobStatus
from funke.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.connectors.discard import DiscardingSink
from funke.datastream.state import ValueStateDescriptor
from funke.datastream.state_backend import (
    FsStateBackend,
    MemoryStateBackend,
    RocksDBOptionsFactory,
    RocksDBStateBackend,
    StateBackend,
)
from funke.engine.errors import JobExecutionError
from tests.harness.exact_files import committed, sink, wait_until

pytestmark = pytest.mark.spark

RECORDS = 200
KEYS = 5


def new_environment(backend: StateBackend, **options: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("restart-strategy.type", "none")
    for key, value in options.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    env.set_state_backend(backend)
    return env.enable_checkpointing(100)


class Growing(KeyedProcessFunction):
    """Keeps some bytes for each record, and fails once if it is told to."""

    def __init__(self, size: int, fail_at: int | None = None) -> None:
        self.size = size
        self.fail_at = fail_at

    def open(self, runtime_context: Any) -> None:
        self.is_first = runtime_context.get_attempt_number() == 0
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: Any) -> Any:
        if self.is_first and value == self.fail_at:
            raise RuntimeError("planned failure")
        kept = [*(self.kept.value() or []), bytes([value % 256]) * self.size]
        self.kept.update(kept)
        yield f"{[part[0] for part in kept]}"


def submit(env: StreamExecutionEnvironment, function: KeyedProcessFunction, target: Any = None) -> Any:
    rate = RateLimiterStrategy.per_checkpoint(40)
    source = DataGeneratorSource(lambda index: index, RECORDS, Types.LONG(), rate_limiter_strategy=rate)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    results = numbers.key_by(lambda value: value % KEYS).process(function, Types.STRING()).name("growing")
    results.sink_to(DiscardingSink() if target is None else target)
    return env.execute_async("legacy")


def test_state_larger_than_the_memory_backend_allows_fails_the_checkpoint_and_the_job(spark: Any) -> None:
    client = submit(new_environment(MemoryStateBackend(max_state_size=10_000)), Growing(1000))
    message = (
        r"checkpoint \d+ failed: .*the keyed state of operator 'growing' takes \d{5,} bytes in one subtask, and the "
        r"checkpoint storage 'jobmanager' allows 10000;"
    )
    with pytest.raises(JobExecutionError, match=message):
        client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FAILED


class Shrinking:
    """Takes 6 MB when it is written for the first time, and little later."""

    def __init__(self, folder: Path, content: bytes = b"") -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        is_first = not (self.folder / "written").exists()
        (self.folder / "written").touch()
        return Shrinking, (self.folder, bytes(6_000_000 if is_first else 1))


class Keeping(KeyedProcessFunction):
    """Keeps such an object."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("state", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.state.update(Shrinking(self.folder))
        yield str(value)


def test_a_checkpoint_that_is_too_large_can_be_tolerated(spark: Any, tmp_path: Path) -> None:
    env = new_environment(MemoryStateBackend(), execution__checkpointing__tolerable_failed_checkpoints="1")
    client = submit(env, Keeping(tmp_path))
    client.get_job_execution_result().result()
    assert client.get_metrics()["numberOfFailedCheckpoints"] == 1
    assert client.get_metrics()["numberOfCompletedCheckpoints"] >= RECORDS // 40


class SlowToWrite:
    """Notes when it begins to be pickled and when that is over."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        (self.folder / "writing").touch()
        time.sleep(0.3)
        (self.folder / "writing").unlink()
        (self.folder / "written").touch()
        return SlowToWrite, (self.folder,)


class Watching(KeyedProcessFunction):
    """Notes whether state is being written while it has records."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, runtime_context: Any) -> None:
        self.slow = runtime_context.get_state(ValueStateDescriptor("slow", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: Any) -> Any:
        if value < KEYS:
            self.slow.update(SlowToWrite(self.folder) if value == 0 else None)
        if (self.folder / "writing").exists():
            (self.folder / "disturbed").touch()
        yield value


@pytest.mark.parametrize("is_asynchronous", [True, False])
def test_synchronous_snapshots_hold_up_the_work(spark: Any, tmp_path: Path, is_asynchronous: bool) -> None:
    backend = FsStateBackend(f"file://{tmp_path}/checkpoints", using_asynchronous_snapshots=is_asynchronous)
    env = new_environment(backend)
    source = DataGeneratorSource(lambda index: index, 1 << 40, Types.LONG())
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    notes = tmp_path / "notes"
    notes.mkdir()
    numbers.key_by(lambda value: value % KEYS).process(Watching(notes)).sink_to(DiscardingSink())
    client = env.execute_async("watching")
    is_disturbed = (notes / "disturbed").exists
    wait_until(lambda: is_disturbed() or client.get_metrics().get("numberOfCompletedCheckpoints", 0) >= 3)
    if is_asynchronous:
        wait_until(is_disturbed)
    else:
        assert client.get_metrics()["lastCheckpointStall"] >= 300
    assert is_disturbed() == is_asynchronous, "records are processed while state is written, or they are not"
    client.cancel().result()


class Tuned(RocksDBOptionsFactory):
    """Leaves a note that it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create_db_options(self, current_options: Any, handles_to_close: list[Any]) -> Any:
        current_options.set_max_background_jobs(3)
        (self.folder / "asked").touch()
        return current_options

    def create_column_options(self, current_options: Any, handles_to_close: list[Any]) -> Any:
        current_options.set_arena_block_size(1024 * 1024)
        return current_options


@pytest.mark.parametrize("kind", ["fs", "rocksdb"])
def test_state_survives_a_failure_with_backends_of_flink_1(spark: Any, tmp_path: Path, kind: str) -> None:
    files = FsStateBackend(f"file://{tmp_path}/checkpoints")
    backend: StateBackend = files
    if kind == "rocksdb":
        rocksdb = RocksDBStateBackend(checkpoint_stream_backend=files)
        rocksdb.set_options(Tuned(tmp_path))
        backend = rocksdb
    options = {"restart_strategy__type": "fixed-delay", "restart_strategy__fixed_delay__delay": "100 ms"}
    function = Growing(10, fail_at=RECORDS * 3 // 4)
    client = submit(new_environment(backend, **options), function, sink(tmp_path / "out"))
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    numbers = [list(range(key, RECORDS, KEYS)) for key in range(KEYS)]
    assert committed(tmp_path / "out") == Counter(str(each[:size]) for each in numbers for size in range(1, 41))
    assert (tmp_path / "checkpoints").is_dir()
    assert (tmp_path / "asked").exists() == (kind == "rocksdb")
