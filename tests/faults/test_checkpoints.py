"""Checkpoints beside the work: slow, failing, killed and late ones, damaged files, and commits that fail."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, JobClient, Time, Types, WatermarkStrategy
from funke.common.job_status import JobStatus
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.connectors.python import PythonSink, PythonSinkWriter, PythonSource
from funke.datastream.state import ValueStateDescriptor
from funke.datastream.window import TumblingEventTimeWindows
from funke.engine.errors import JobExecutionError
from funke.engine.jobs.checkpoints.checkpoints import read_checkpoint
from tests.harness.exact_files import committed, sink, wait_until

pytestmark = pytest.mark.spark

RECORDS = 400
KEYS = 7
SPLITS = 8
# However small the state is.
IN_FILES = {"state__storage__fs__memory_threshold": "0"}


class SlowToWrite:
    """A value that takes its time to be pickled, and only after some of it was written; it leaves a mark before."""

    def __init__(self, seconds: float, mark: Path | None = None) -> None:
        self.seconds = seconds
        self.mark = mark

    def __reduce__(self) -> Any:
        if self.mark is not None:
            self.mark.touch()
        time.sleep(self.seconds)
        return SlowToWrite, (self.seconds, self.mark)


class Counting(KeyedProcessFunction):
    """Counts per key, and does to the first attempt what a test wants.

    The state of key 0 takes `slow_s` to be written; `fail_at` is a record that fails, and so does any record once there
    is a file `hold` in the folder, after a file `go` has come.
    """

    def __init__(self, slow_s: float = 0.0, fail_at: int | None = None, folder: Path | None = None) -> None:
        self.slow_s = slow_s
        self.fail_at = fail_at
        self.folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        self.is_first = runtime_context.get_attempt_number() == 0
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.PICKLED_BYTE_ARRAY()))
        if self.folder is not None and self.is_first:
            (self.folder / f"pid-{os.getpid()}").touch()

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        if self.is_first:
            self._fail_if_wanted(value)
        count, slow = self.count.value() or (0, None)
        if self.slow_s and value % KEYS == 0 and self.is_first:
            slow = SlowToWrite(self.slow_s, self.folder / "writing" if self.folder is not None else None)
        self.count.update((count + 1, slow))
        yield f"{value % KEYS}:{count + 1}"

    def _fail_if_wanted(self, value: int) -> None:
        if value == self.fail_at:
            raise RuntimeError("planned failure")
        if self.folder is not None and (self.folder / "hold").exists():
            (self.folder / "held").touch()
            wait_until((self.folder / "go").exists)
            raise RuntimeError("planned failure")


def expected() -> Counter[str]:
    return Counter(f"{value % KEYS}:{value // KEYS + 1}" for value in range(RECORDS))


def new_environment(folder: Path, interval_ms: int = 200, **options: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("state.checkpoints.dir", str(folder))
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "5")
    configuration.set_string("restart-strategy.fixed-delay.delay", "100 ms")
    for key, value in options.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    env.enable_checkpointing(interval_ms)
    return env


class Timestamps(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


def numbers(env: StreamExecutionEnvironment) -> Any:
    rate = RateLimiterStrategy.per_second(150)
    source = DataGeneratorSource(lambda index: index, RECORDS, Types.LONG(), rate_limiter_strategy=rate)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Timestamps())
    return env.from_source(source, strategy, "numbers")


class Growing(PythonSource):
    """Every epoch finds one split more than the one before, up to a number; it never ends."""

    is_bounded = False
    discovery_interval_ms = 100

    def __init__(self, most: int, gate: Path | None = None) -> None:
        self.completed = 0
        self.most = most
        self.gate = gate  # the last split is found only when this file is there

    def enumerate_splits(self) -> Any:
        is_open = self.gate is None or self.gate.exists()
        self.completed = min(self.completed + 1, self.most if is_open else self.most - 1)
        return range(self.completed)

    def read_split(self, split: int) -> Any:
        size = RECORDS // SPLITS
        return range(split * size, (split + 1) * size)


def start(
    env: StreamExecutionEnvironment,
    out: Path,
    function: KeyedProcessFunction,
    splits: int = SPLITS,
    gate: Path | None = None,
) -> JobClient:
    stream = env.from_source(Growing(splits, gate), WatermarkStrategy.no_watermarks(), "growing", Types.LONG())
    stream.key_by(lambda number: number % KEYS).process(function, Types.STRING()).sink_to(sink(out))
    return env.execute_async("count")


def finish(client: JobClient, out: Path) -> None:
    """Waits until everything is there, and makes sure that nothing more comes."""
    wait_until(lambda: committed(out) == expected() or client.get_job_execution_result().done(), 90)
    # A job that has only just begun knows of no checkpoints yet.
    done = client.get_metrics().get("numberOfCompletedCheckpoints", 0)
    wait_until(lambda: client.get_metrics().get("numberOfCompletedCheckpoints", 0) > done)
    client.cancel().result()
    assert committed(out) == expected()


def wait_for_checkpoints(client: JobClient, number: int) -> None:
    wait_until(lambda: client.get_metrics().get("numberOfCompletedCheckpoints", 0) >= number, 60)


def test_a_slow_write_does_not_hold_up_the_work(spark: Any, tmp_path: Path) -> None:
    env = new_environment(tmp_path / "checkpoints", interval_ms=100)
    client = start(env, tmp_path / "out", Counting(slow_s=1.0))
    # One before the first record holds nothing that is slow.
    wait_until(lambda: client.get_metrics().get("lastCheckpointDuration", 0) > 1_000)
    assert client.get_metrics()["lastCheckpointStall"] < 1_000
    finish(client, tmp_path / "out")


def test_a_slot_killed_while_its_state_is_written(spark: Any, tmp_path: Path) -> None:
    env = new_environment(tmp_path / "checkpoints", interval_ms=100)
    client = start(env, tmp_path / "out", Counting(slow_s=0.5, folder=tmp_path))
    wait_until((tmp_path / "writing").exists)
    pids = [int(path.name.partition("-")[2]) for path in tmp_path.glob("pid-*")]
    assert len(pids) == 2
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    finish(client, tmp_path / "out")
    assert client.get_metrics()["numRestarts"] >= 1


def test_a_checkpoint_that_takes_too_long_is_given_up(spark: Any, tmp_path: Path) -> None:
    env = new_environment(
        tmp_path / "checkpoints",
        execution__checkpointing__timeout="300 ms",
        execution__checkpointing__tolerable_failed_checkpoints="1000",
    )
    keyed = numbers(env).key_by(lambda number: number % KEYS)
    keyed.process(Counting(slow_s=30, folder=tmp_path), Types.STRING()).sink_to(sink(tmp_path / "out"))
    client = env.execute_async("late")
    wait_until((tmp_path / "writing").exists)
    before = client.get_metrics()["numberOfCompletedCheckpoints"]
    client.get_job_execution_result().result()
    assert client.get_metrics()["numberOfFailedCheckpoints"] >= 1
    assert client.get_metrics()["numberOfCompletedCheckpoints"] <= before + 1, "the last, of what has ended"
    assert committed(tmp_path / "out") == expected()


def test_storage_that_cannot_be_written_fails_the_job_and_is_named(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("a file, not a folder")
    env = new_environment(tmp_path / "checkpoints", restart_strategy__type="none", **IN_FILES)
    client = start(env, tmp_path / "out", Counting())
    with pytest.raises(JobExecutionError, match=r"checkpoint 1 failed: slot \d could not write its state.*checkpoints"):
        client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FAILED
    assert [entry.attempt for entry in client.get_exceptions()] == [0]


def test_storage_that_comes_back_loses_nothing(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "full").write_text("no folder can be made here")
    folder = tmp_path / "checkpoints"
    folder.symlink_to(tmp_path / "full")
    env = new_environment(folder, execution__checkpointing__tolerable_failed_checkpoints="1000")
    client = start(env, tmp_path / "out", Counting())
    wait_until(lambda: client.get_metrics().get("numberOfFailedCheckpoints", 0) >= 1)
    folder.unlink()
    folder.symlink_to(tmp_path / "good")
    finish(client, tmp_path / "out")


class Collecting(PythonSinkWriter):
    """Every checkpoint's records in a file that is committed by renaming it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.lines: list[str] = []

    def write(self, value: Any) -> None:
        self.lines.append(value)

    def prepare_commit(self) -> list[Any]:
        lines, self.lines = self.lines, []
        return [(os.urandom(6).hex(), lines)] if lines else []


class Unwilling(PythonSink):
    """Rejects its first commits, each time in the middle of them."""

    def __init__(self, folder: str, rejections: int) -> None:
        self.folder = folder
        self.rejections = rejections

    def create_writer(self) -> PythonSinkWriter:
        return Collecting(self.folder)

    def commit(self, committables: list[Any]) -> None:
        for position, (name, lines) in enumerate(committables):
            rejected = len(list(Path(self.folder).glob("rejected-*")))
            if rejected < self.rejections and position == len(committables) - 1:
                Path(self.folder, f"rejected-{rejected}").touch()
                raise OSError("the target does not answer")
            Path(self.folder, f"part-{name}").write_text("\n".join(lines) + "\n")


def test_a_sink_that_fails_to_commit_twice(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    env = new_environment(tmp_path / "checkpoints")
    counts = numbers(env).key_by(lambda number: number % KEYS).process(Counting(), Types.STRING())
    counts.sink_to(Unwilling(str(tmp_path / "out"), rejections=2))
    client = env.execute_async("unwilling")
    client.get_job_execution_result().result()
    assert len(list((tmp_path / "out").glob("rejected-*"))) == 2
    assert committed(tmp_path / "out") == expected()


def newest_of_all(folder: Path) -> Path:
    """The checkpoint after which there will be none: a slot is held, but one may still have been on its way."""
    latest, since = None, time.monotonic()
    while latest is None or time.monotonic() < since + 1:
        newest = max((path.parent for path in folder.glob("*/chk-*/_metadata")), key=lambda path: int(path.name[4:]))
        if newest != latest:
            latest, since = newest, time.monotonic()
        time.sleep(0.05)
    return latest


IN_ROCKSDB = {"state__backend__type": "rocksdb", "execution__checkpointing__incremental": "true"}


@pytest.mark.parametrize(
    ("damage", "options", "files"),
    [
        ("truncated", IN_FILES, "*-*-*"),
        ("altered", IN_FILES, "*-*-*"),
        ("altered", IN_ROCKSDB, "*-*-*-MANIFEST-*"),
    ],
    ids=["truncated", "altered", "a file of RocksDB's"],
)
def test_a_damaged_checkpoint_is_passed_over(
    spark: Any, tmp_path: Path, damage: str, options: dict[str, str], files: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The newest checkpoint is damaged, then the job fails: it starts from the one before it."""
    allowed = {"funke__recovery__on_damage": "repeat", "state__checkpoints__num_retained": "2"}
    env = new_environment(tmp_path / "checkpoints", **allowed, **options)
    client = start(env, tmp_path / "out", Counting(folder=tmp_path), gate=tmp_path / "hold")
    wait_for_checkpoints(client, 2)
    (tmp_path / "hold").touch()
    wait_until((tmp_path / "held").exists)
    newest = newest_of_all(tmp_path / "checkpoints")
    assert list(newest.glob(files))
    for path in newest.glob(files):
        content = path.read_bytes()
        path.write_bytes(content[:-7] if damage == "truncated" else content[:40] + b"?" + content[41:])
    (tmp_path / "go").touch()
    wait_until(lambda: set(committed(tmp_path / "out")) == set(expected()), 60)
    client.cancel().result()
    printed = capfd.readouterr()
    assert f"{newest}" in printed.err and "going back to the checkpoint before it" in printed.err
    assert len(client.get_exceptions()) == (1 if damage == "truncated" else 2)


class FailOnce(MapFunction):
    """Fails at a value in the first attempt."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.is_first = runtime_context.get_attempt_number() == 0

    def map(self, value: int) -> int:
        if value == 250 and self.is_first:
            raise RuntimeError("planned failure")
        return value


def test_windows_by_event_time_survive_a_restart(spark: Any, tmp_path: Path) -> None:
    env = new_environment(tmp_path / "checkpoints", execution__checkpointing__snapshot_compression="true")
    keyed = numbers(env).map(FailOnce(), Types.LONG()).key_by(lambda number: number % KEYS)
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(20)))
    windows.reduce(lambda a, b: a + b).map(str, Types.STRING()).sink_to(sink(tmp_path / "out"))
    client = env.execute_async("windows")
    client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    (failure,) = client.get_exceptions()
    assert "planned failure" in failure.message and failure.operator == "Map" and failure.attempt == 0
    sums: Counter[tuple[int, int]] = Counter()
    for value in range(RECORDS):
        sums[value % KEYS, value // 20] += value
    assert committed(tmp_path / "out") == Counter(str(total) for total in sums.values())


def test_incremental_checkpoints_share_files_and_restore_at_another_parallelism(spark: Any, tmp_path: Path) -> None:
    options = {"state__backend__type": "rocksdb", "execution__checkpointing__incremental": "true"}
    retention = {"execution__checkpointing__externalized_checkpoint_retention": "RETAIN_ON_CANCELLATION"}
    env = new_environment(tmp_path / "checkpoints", **options, **retention, **IN_FILES)
    # Not all of the input: the second job is to fail at a record of its own.
    client = start(env, tmp_path / "out", Counting(), splits=SPLITS // 2)
    wait_for_checkpoints(client, 3)
    wait_until(lambda: committed(tmp_path / "out"))
    savepoint = client.trigger_savepoint(str(tmp_path / "savepoints")).result()
    client.cancel().result()
    own = [path for handle in read_checkpoint(savepoint).located() for path, _ in handle.files()]
    assert own and all(path.startswith(savepoint) for path in own), "a savepoint shares no files"
    (job,) = (tmp_path / "checkpoints").iterdir()
    (kept,) = job.glob("chk-*/_metadata")
    referred = {path for handle in read_checkpoint(str(kept)).located() for path, _ in handle.files()}
    shared = {str(path) for path in (job / "shared").iterdir()}
    assert shared and shared & referred, "state is in files that checkpoints share"

    env = new_environment(tmp_path / "checkpoints-2", execution__savepoint__path=str(kept.parent), **options)
    client = start(env.set_parallelism(3), tmp_path / "out", Counting(fail_at=RECORDS - 1))
    finish(client, tmp_path / "out")
    assert client.get_metrics()["numRestarts"] == 1
