"""Checkpoints and savepoints on other file systems: an S3 server on loopback, and one that only Hadoop knows."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, Types, WatermarkStrategy
from funke.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.state import ValueStateDescriptor
from funke.engine.connectors.remote.access import access_of, install_access
from funke.engine.connectors.sink import WriterContext
from funke.engine.connectors.staging import UnitWriter
from funke.engine.errors import StateError
from funke.engine.jobs.checkpoints.checkpoints import read_checkpoint
from funke.engine.jobs.views.job_view import CheckpointsView
from funke.engine.runtime.snapshots.snapshot_files import list_folder
from funke.state_api import SavepointReader
from tests.harness.exact_files import committed, sink, wait_until
from tests.harness.s3_server import S3Server

pytestmark = pytest.mark.spark

RECORDS = 40
KEYS = 7


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with S3Server("funke") as server:
        yield server


@dataclass
class Storage:
    """A folder by its URI, and what a job needs to reach it."""

    uri: str
    settings: dict[str, str]


@pytest.fixture(params=["s3a", "viewfs"])
def storage(request: pytest.FixtureRequest, tmp_path: Path, s3: S3Server) -> Storage:
    name = tmp_path.name
    if request.param == "s3a":
        return Storage(f"s3a://funke/{name}", s3.hadoop_settings())
    # Each test has a cluster of its own name.
    (tmp_path / "far").mkdir()
    table = f"spark.hadoop.fs.viewfs.mounttable.{name.replace('_', '-')}.link./data"
    return Storage(f"viewfs://{name.replace('_', '-')}/data/x", {table: f"file://{tmp_path}/far"})


class Count(KeyedProcessFunction):
    """The how-manieth record of its key each one is.

    The slot of one record dies in the first attempt; with a folder, that of any record once there is a file `hold`,
    after it has made one `held` and found one `go`.
    """

    def __init__(self, kill_at: int | None = None, folder: Path | None = None) -> None:
        self.kill_at = kill_at
        self.folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        self.is_first = runtime_context.get_attempt_number() == 0
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        if self.is_first and self.folder is not None and (self.folder / "hold").exists():
            (self.folder / "held").touch()
            wait_until((self.folder / "go").exists)
            os.kill(os.getpid(), signal.SIGKILL)
        if self.is_first and value == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value % KEYS}:{count}"


def new_environment(storage: Storage, **options: str) -> StreamExecutionEnvironment:
    settings = {
        "execution.checkpointing.dir": f"{storage.uri}/checkpoints",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "10 ms",
        # State in files, however small.
        "state.storage.fs.memory-threshold": "0",
        **storage.settings,
        **{key.replace("__", ".").replace("_", "-"): value for key, value in options.items()},
    }
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    env.enable_checkpointing(50)
    return env


def counts(env: StreamExecutionEnvironment, function: Count, records: int = RECORDS) -> Any:
    """Ten records between two checkpoints."""
    pace = RateLimiterStrategy.per_checkpoint(10)
    source = DataGeneratorSource(lambda index: index, records, Types.LONG(), rate_limiter_strategy=pace)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    return stream.key_by(lambda number: number % KEYS).process(function, Types.STRING()).uid("count")


def expected(records: int = RECORDS) -> Counter[str]:
    return Counter(f"{value % KEYS}:{value // KEYS + 1}" for value in range(records))


ROCKSDB = {"state__backend__type": "rocksdb", "execution__checkpointing__incremental": "true"}


def test_a_killed_slot_is_restored_from_there(spark: Any, tmp_path: Path, storage: Storage) -> None:
    env = new_environment(storage)
    counts(env, Count(kill_at=25)).sink_to(sink(tmp_path / "out"))
    client = env.execute_async("count")
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    assert committed(tmp_path / "out") == expected()
    assert list_folder(f"{storage.uri}/checkpoints") == [], "the job has ended"


def test_a_savepoint_by_its_uri(spark: Any, tmp_path: Path, storage: Storage) -> None:
    env = new_environment(storage)
    counts(env, Count(), records=10_000).sink_to(sink(tmp_path / "out")).uid("out")
    client = env.execute_async("first")
    wait_until(lambda: client.get_metrics().get("records_read", 0) >= 20)
    path = client.stop_with_savepoint(False, f"{storage.uri}/savepoints").result()
    done = committed(tmp_path / "out")
    records = sum(done.values())
    assert path.startswith(f"{storage.uri}/savepoints/savepoint-") and done == expected(records)

    states = SavepointReader.read(env, path).read_state("count", ValueStateDescriptor("count", Types.LONG())).collect()
    assert sum(row["value"] for row in states) == records

    env = new_environment(storage, execution__savepoint__path=path)
    counts(env, Count(), records=records + 10).sink_to(sink(tmp_path / "out")).uid("out")
    env.execute("second")
    assert committed(tmp_path / "out") == expected(records + 10)


def test_incremental_checkpoints_share_files_there_and_are_kept_as_configured(
    spark: Any, tmp_path: Path, s3: S3Server
) -> None:
    storage = Storage(f"s3a://funke/{tmp_path.name}", s3.hadoop_settings())
    env = new_environment(
        storage,
        **ROCKSDB,
        execution__checkpointing__num_retained="2",
        execution__checkpointing__externalized_checkpoint_retention="RETAIN_ON_CANCELLATION",
    )
    counts(env, Count(kill_at=25), records=10_000).sink_to(sink(tmp_path / "out")).uid("out")
    client = env.execute_async("first")
    wait_until(lambda: client.get_metrics().get("numRestarts") == 1 and client.get_metrics()["records_read"] >= 40)
    client.cancel().result()
    (job,) = list_folder(f"{storage.uri}/checkpoints")
    names = s3.names(f"{tmp_path.name}/checkpoints/{job}")
    kept = sorted({name.partition("/")[0] for name in names if name.startswith("chk-")}, key=lambda name: int(name[4:]))
    assert len(kept) == 2
    used = {
        path.removeprefix("../")
        for folder in kept
        for handle in read_checkpoint(f"{storage.uri}/checkpoints/{job}/{folder}").snapshots
        for path, _ in handle.files()
        if path.startswith("../shared/")
    }
    assert used and used == {name for name in names if name.startswith("shared/")}, "all are referred to, none is left"

    newest = f"{storage.uri}/checkpoints/{job}/{kept[-1]}"
    done = sum(committed(tmp_path / "out").values())
    env = new_environment(storage, **ROCKSDB, execution__savepoint__path=newest)
    counts(env, Count(), records=done + 10).sink_to(sink(tmp_path / "out")).uid("out")
    env.execute("second")
    assert committed(tmp_path / "out") == expected(done + 10)


def test_storage_that_cannot_be_reached(spark: Any, tmp_path: Path, s3: S3Server) -> None:
    """The place is named; failed checkpoints are tolerated; a job that must be restored tries until it can be."""
    storage = Storage(f"s3a://funke/{tmp_path.name}", s3.hadoop_settings())
    patience = {
        "execution__checkpointing__tolerable_failed_checkpoints": "1000",
        "restart_strategy__fixed_delay__attempts": "1000",
    }
    try:
        s3.is_down = True
        env = new_environment(storage, **patience)
        counts(env, Count()).sink_to(sink(tmp_path / "out"))
        with pytest.raises(StateError, match=f"'{storage.uri}/checkpoints/.*cannot be read"):
            env.execute_async("cannot start")

        s3.is_down = False
        env = new_environment(storage, **patience)
        counts(env, Count(folder=tmp_path), records=10_000).sink_to(sink(tmp_path / "out"))
        client = env.execute_async("goes on")
        wait_until(lambda: client.get_metrics().get("numberOfCompletedCheckpoints", 0) >= 1)
        s3.is_down = True
        wait_until(lambda: client.get_metrics()["numberOfFailedCheckpoints"] >= 1)
        s3.is_down = False
        (tmp_path / "hold").touch()
        wait_until((tmp_path / "held").exists)
        s3.is_down = True
        (tmp_path / "go").touch()
        wait_until(lambda: client.get_metrics()["numRestarts"] >= 2)
    finally:
        s3.is_down = False
    before = sum(committed(tmp_path / "out").values())
    wait_until(lambda: sum(committed(tmp_path / "out").values()) > before)
    client.stop_with_savepoint(False, f"{storage.uri}/savepoints").result()
    # How far each of two source subtasks had come is left open.
    done = committed(tmp_path / "out")
    lines_of = Counter(line.partition(":")[0] for line in done.elements())
    assert done == Counter(f"{key}:{count + 1}" for key, lines in lines_of.items() for count in range(lines))


@pytest.mark.parametrize("options", [{}, ROCKSDB], ids=["hashmap", "rocksdb"])
def test_a_slot_that_starts_again_reads_the_copies_on_its_disk(
    spark: Any, tmp_path: Path, s3: S3Server, options: dict[str, str]
) -> None:
    storage = Storage(f"s3a://funke/{tmp_path.name}", s3.hadoop_settings())
    (tmp_path / "copies").mkdir()
    local = {"state__backend__local_recovery": "true", "taskmanager__state__local__root_dirs": str(tmp_path / "copies")}
    env = new_environment(storage, **local, **options)
    counts(env, Count(kill_at=25)).sink_to(sink(tmp_path / "out"))
    client = env.execute_async("count")
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    assert committed(tmp_path / "out") == expected()
    assert list((tmp_path / "copies").iterdir()) == [], "nothing is left when the job has ended"
    read = [path for method, path in s3.requests if method == "GET" and f"/{tmp_path.name}/checkpoints/" in path]
    assert [path for path in read if not path.endswith("/_metadata")] == [], "slots have read nothing from there"


class SlowCount(Count):
    """Records wait for it, so that barriers overtake them."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        time.sleep(0.002)
        yield from super().process_element(value, ctx)


def test_what_barriers_have_overtaken_is_read_from_the_copies_too(spark: Any, tmp_path: Path, s3: S3Server) -> None:
    storage = Storage(f"s3a://funke/{tmp_path.name}", s3.hadoop_settings())
    (tmp_path / "copies").mkdir()
    options = {
        "state__backend__local_recovery": "true",
        "taskmanager__state__local__root_dirs": str(tmp_path / "copies"),
        "execution__checkpointing__unaligned": "true",
        "execution__checkpointing__num_retained": "100",
        "taskmanager__memory__segment_size": "1 kb",
    }
    env = new_environment(storage, **options)
    pace = RateLimiterStrategy.per_checkpoint(300)
    source = DataGeneratorSource(lambda index: index, 2_400, Types.LONG(), rate_limiter_strategy=pace)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").rebalance()
    keyed = numbers.map(lambda number: number, Types.LONG()).key_by(lambda number: number % KEYS)
    keyed.process(SlowCount(folder=tmp_path), Types.STRING()).sink_to(sink(tmp_path / "out"))
    client = env.execute_async("overtaken")

    def checkpoints() -> CheckpointsView:
        result: CheckpointsView = client._job.view().checkpoints
        return result

    wait_until(lambda: (last := checkpoints().last_completed) is not None and last.in_flight)
    (tmp_path / "hold").touch()
    wait_until((tmp_path / "held").exists)
    (tmp_path / "go").touch()
    wait_until(lambda: checkpoints().last_restored is not None)
    restored = checkpoints().last_restored
    assert restored is not None and restored.path is not None
    assert read_checkpoint(restored.path).channels_of, "it has records that were on their way"
    asked = len(s3.requests)
    client.get_job_execution_result().result()
    assert committed(tmp_path / "out") == expected(2_400)
    read = [
        path for method, path in s3.requests[:asked] if method == "GET" and f"/{tmp_path.name}/checkpoints/" in path
    ]
    assert [path for path in read if not path.endswith("/_metadata")] == [], "slots have read nothing from there"


def test_what_sinks_keep_until_it_is_committed(s3: S3Server) -> None:
    install_access(access_of(s3.hadoop_settings()))
    folder = "s3a://funke/staged/taskowned"
    context = WriterContext("job", 0, 1, 0, None, lambda: 0, lambda channel, payload: None, staging_folder=folder)
    unit_writer = UnitWriter(context)
    unit_writer.add(b"one")
    unit_writer.add(b"two")
    staged = unit_writer.finish()
    assert staged is not None and list(staged.chunks()) == [b"one", b"two"]
    assert s3.names("staged/taskowned") == {"sink/0-0-0.staged"}
