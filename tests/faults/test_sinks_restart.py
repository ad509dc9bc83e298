"""Sinks in jobs that fail: transactions, a database, files and tables, each record once whatever happens."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import fastavro
import pytest

from funke.common import Configuration, Row, Types, WatermarkStrategy
from funke.datastream import DataStream, MapFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.connectors.file_system import BucketAssigner, FileCompactor, FileCompactStrategy, FileSink
from funke.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from funke.datastream.connectors.python import TwoPhaseCommitSinkFunction
from funke.datastream.connectors.spark import SparkSink, SparkSource
from funke.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, AvroSchema, GenericRecordAvroTypeInfo
from tests.harness.exact_files import wait_until
from tests.harness.postgres_server import PASSWORD, USER, PostgresServer

pytestmark = pytest.mark.spark

RECORDS = 1000
NUMBER = AvroSchema({"type": "record", "name": "number", "fields": [{"name": "id", "type": "long"}]})
KIND = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


@pytest.fixture(scope="module", autouse=True)
def functions_by_value(request: pytest.FixtureRequest) -> Iterator[None]:
    cloudpickle.register_pickle_by_value(request.module)
    yield
    cloudpickle.unregister_pickle_by_value(request.module)


class Transactions(TwoPhaseCommitSinkFunction):
    """Hidden files that get their names when they are committed."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        os.makedirs(self.folder, exist_ok=True)

    def begin_transaction(self) -> str:
        return os.path.join(self.folder, f".{self.new_transaction_id()}")

    def invoke(self, transaction: str, value: Any, context: Any) -> None:
        with open(transaction, "a") as file:
            file.write(f"{value[0]}\n")

    def pre_commit(self, transaction: str) -> None:
        pass

    def commit(self, transaction: str) -> None:
        if os.path.exists(transaction):
            os.rename(transaction, transaction.replace("/.", "/"))

    def abort(self, transaction: str) -> None:
        if os.path.exists(transaction):
            os.remove(transaction)

    def find_transactions(self, prefix: str) -> dict[str, str]:
        names = [name[1:] for name in os.listdir(self.folder) if name.startswith(f".{prefix}")]
        return {name: os.path.join(self.folder, f".{name}") for name in names}

    def committed(self) -> Counter[int]:
        files = [path for path in Path(self.folder).iterdir() if path.name[0] != "."]
        return Counter(int(line) for path in files for line in path.read_text().splitlines())


class ToRow(MapFunction):
    """Fails once at a number; leaves its process id, so that it can be killed."""

    def __init__(self, fail_at: int | None = None, pid_folder: str | None = None) -> None:
        self.fail_at, self.pid_folder = fail_at, pid_folder

    def open(self, runtime_context: RuntimeContext) -> None:
        self.is_first = runtime_context.get_attempt_number() == 0
        if self.pid_folder is not None and self.is_first:
            Path(self.pid_folder, str(os.getpid())).touch()

    def map(self, value: int) -> Row:
        if value == self.fail_at and self.is_first:
            raise RuntimeError("planned failure")
        return Row(value, f"n{value}")


def new_environment(checkpoints: Path, fault: str | None = None) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("state.checkpoints.dir", str(checkpoints))
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "5")
    configuration.set_string("restart-strategy.fixed-delay.delay", "100 ms")
    if fault is not None:
        configuration.set_string("funke.fault", fault)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    env.enable_checkpointing(300)
    return env


def rows(env: StreamExecutionEnvironment, function: ToRow, rate: Any = None) -> DataStream:
    rate = rate or RateLimiterStrategy.per_second(400)
    source = DataGeneratorSource(lambda index: index, RECORDS, Types.LONG(), rate_limiter_strategy=rate)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").rebalance().map(function, KIND)


def kill_one(pids: Path, checkpoints: Path) -> threading.Thread:
    def kill() -> None:
        end = time.monotonic() + 60
        while not list(checkpoints.rglob("_metadata")) and time.monotonic() < end:
            time.sleep(0.05)
        os.kill(int(min(pids.iterdir()).name), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    return killer


def create_people(run: Callable[..., None]) -> None:
    run("drop table if exists people", "create table people (id bigint, name text)")
    run("drop table if exists latest", "create table latest (id bigint primary key, name text)")


def run_with_all_sinks(
    tmp_path: Path, postgres: PostgresServer, spark: Any, function: ToRow, fault: str | None = None
) -> Any:
    """One job with four sinks and an upsert; checks each of them against what an undisturbed run writes."""
    expected = Counter(range(RECORDS))
    create_people(postgres.run)
    transactions = Transactions(tmp_path / "transactions")
    database = JdbcConnectionOptions(postgres.jdbc_url, None, USER, PASSWORD)
    table = f"people_{tmp_path.name.replace('-', '_')}"
    kept: dict[int, list[int]] = {}

    def keep(frame: Any, epoch: int) -> None:
        kept[epoch] = [row.id for row in frame.collect()]

    env = new_environment(tmp_path / "checkpoints", fault)
    # However long checkpoints take, there are some before the input ends.
    stream = rows(env, function, RateLimiterStrategy.per_checkpoint(150))
    stream.add_sink(transactions)
    stream.add_sink(JdbcSink.exactly_once_sink("insert into people values (?, ?)", KIND, database))
    stream.add_sink(JdbcSink.upsert_sink("latest", ["id"], KIND, database))
    stream.sink_to(SparkSink(format="parquet", path=str(tmp_path / "files")))
    stream.sink_to(SparkSink(format="parquet", table=table))
    stream.sink_to(SparkSink(keep))
    stream.map(lambda row: {"id": row[0]}, GenericRecordAvroTypeInfo(NUMBER)).sink_to(
        compacting(tmp_path / "compacted")
    )
    client = env.execute_async("all sinks")
    client.get_job_execution_result().result()

    assert transactions.committed() == expected
    assert [name for name in os.listdir(transactions.folder) if name[0] == "."] == []
    assert Counter(row[0] for row in postgres.rows("select id from people")) == expected
    assert Counter(row[0] for row in postgres.rows("select id from latest")) == expected
    assert Counter(row.id for row in spark.read.parquet(str(tmp_path / "files")).collect()) == expected
    assert Counter(row.id for row in spark.table(table).collect()) == expected
    assert Counter(number for numbers in kept.values() for number in numbers) == expected
    assert compacted_numbers(tmp_path / "compacted") == expected
    spark.sql(f"drop table {table}")
    return client


def compacting(folder: Path) -> FileSink:
    """Avro files, those of two checkpoints made into one."""
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
    compactor = FileCompactor.record_wise_file_compactor(AvroInputFormat(str(folder), NUMBER))
    sink = FileSink.for_bulk_format(str(folder), AvroBulkWriters.for_generic_record(NUMBER))
    sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).enable_compact(strategy, compactor)
    return sink.build()


def compacted_numbers(folder: Path) -> Counter[int]:
    visible = [path for path in folder.iterdir() if path.name[0] != "."]
    assert all(path.name.startswith("compacted-part-") for path in visible)
    counts: Counter[int] = Counter()
    for path in visible:
        with path.open("rb") as stream:
            counts.update(record["id"] for record in fastavro.reader(stream))  # type: ignore[call-overload, index]
    return counts


@pytest.mark.timeout(480)
def test_a_killed_slot(spark: Any, postgres: PostgresServer, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    killer = kill_one(pids, tmp_path / "checkpoints")
    client = run_with_all_sinks(tmp_path, postgres, spark, ToRow(pid_folder=str(pids)))
    killer.join()
    assert client.get_metrics()["numRestarts"] >= 1


@pytest.mark.timeout(480)
def test_failures_around_the_commits(spark: Any, postgres: PostgresServer, tmp_path: Path) -> None:
    """Behind the metadata of the first checkpoint, later between two commits, and later still behind all of them."""
    plans = ("after-metadata:1:raise", "between-commits:8:raise", "after-commits:3:raise")
    fault = ",".join(f"{each}@{tmp_path / 'faults'}" for each in plans)
    client = run_with_all_sinks(tmp_path, postgres, spark, ToRow(), fault)
    assert client.get_metrics()["numRestarts"] == len(plans)


class Reluctant(Transactions):
    """A commit that fails twice."""

    def commit(self, transaction: str) -> None:
        marks = Path(self.folder).with_name("failures")
        marks.mkdir(exist_ok=True)
        if len(list(marks.iterdir())) < 2:
            (marks / str(len(list(marks.iterdir())))).touch()
            raise ConnectionError("not now")
        super().commit(transaction)


def test_a_commit_that_fails_twice_is_repeated_without_a_restart(spark: Any, tmp_path: Path) -> None:
    sink = Reluctant(tmp_path / "out")
    env = new_environment(tmp_path / "checkpoints")
    rows(env, ToRow()).add_sink(sink)
    client = env.execute_async("reluctant")
    client.get_job_execution_result().result()
    assert sink.committed() == Counter(range(RECORDS))
    assert client.get_metrics()["numRestarts"] == 0


def test_a_partitioned_table_and_an_sqlite_database(spark: Any, tmp_path: Path) -> None:
    database = tmp_path / "people.db"
    with sqlite3.connect(database) as connection:
        connection.execute("create table people (id bigint, name text)")
    connection.close()
    env = new_environment(tmp_path / "checkpoints")
    kind = Types.ROW_NAMED(["id", "day"], [Types.LONG(), Types.STRING()])
    stream = rows(env, ToRow(fail_at=700))
    options = JdbcConnectionOptions(f"jdbc:sqlite:{database}")
    stream.add_sink(JdbcSink.exactly_once_sink("insert into people values (?, ?)", KIND, options))
    days = stream.map(lambda row: Row(row[0], f"day {row[0] % 3}"), kind)
    days.sink_to(SparkSink(format="parquet", table="by_day", partition_by=["day"]))
    env.execute("partitioned")
    result = spark.sql("select id, day from by_day").collect()
    spark.sql("drop table by_day")
    assert Counter((row.id, row.day) for row in result) == Counter((n, f"day {n % 3}") for n in range(RECORDS))
    connection = sqlite3.connect(database)
    assert Counter(row[0] for row in connection.execute("select id from people")) == Counter(range(RECORDS))
    connection.close()


def write_lines(folder: Path, batch: int, size: int) -> None:
    folder.mkdir(exist_ok=True)
    part = folder / f".{batch}.tmp"
    part.write_text("".join(f"{number}\n" for number in range(batch * size, (batch + 1) * size)))
    part.rename(folder / f"{batch}.txt")


def test_a_spark_stream_goes_on_behind_the_checkpoint(spark: Any, tmp_path: Path) -> None:
    """Six files are read one by one; the job fails in the middle, and reads none of them twice."""
    source, batches, size = tmp_path / "in", 6, 10
    for batch in range(batches):
        write_lines(source, batch, size)

    def load(session: Any) -> Any:
        return session.readStream.option("maxFilesPerTrigger", 1).text(str(source))

    transactions = Transactions(tmp_path / "out")
    env = new_environment(tmp_path / "checkpoints")
    lines = env.from_source(SparkSource(load, is_streaming=True), WatermarkStrategy.no_watermarks(), "lines")
    numbers = lines.map(lambda row: int(row[0]), Types.LONG()).rebalance().map(ToRow(fail_at=batches * size // 2), KIND)
    numbers.add_sink(transactions)
    client = env.execute_async("stream")
    expected = Counter(range(batches * size))
    wait_until(lambda: transactions.committed() == expected)
    # A batch that is read twice would come with the next checkpoints.
    done = client.get_metrics()["numberOfCompletedCheckpoints"]
    wait_until(lambda: client.get_metrics()["numberOfCompletedCheckpoints"] >= done + 2)
    restarts = client.get_metrics()["numRestarts"]
    client.cancel().result()
    assert transactions.committed() == expected
    assert restarts == 1


def test_a_spark_stream_goes_on_behind_a_savepoint(spark: Any, tmp_path: Path) -> None:
    source = tmp_path / "in"
    for batch in range(4):
        write_lines(source, batch, 10)

    def start(savepoint: str | None) -> tuple[Any, Transactions]:
        configuration = Configuration()
        if savepoint is not None:
            configuration.set_string("execution.savepoint.path", savepoint)
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
        env.enable_checkpointing(200)
        transactions = Transactions(tmp_path / "out")
        lines = env.from_source(
            SparkSource(lambda session: session.readStream.text(str(source)), is_streaming=True),
            WatermarkStrategy.no_watermarks(),
            "lines",
        ).uid("lines")
        numbers = lines.map(lambda row: int(row[0]), Types.LONG()).rebalance().map(ToRow(), KIND).uid("rows")
        numbers.add_sink(transactions).uid("out")
        return env.execute_async("stream"), transactions

    def wait_for(transactions: Transactions, count: int) -> None:
        wait_until(lambda: transactions.committed().total() >= count)

    first, transactions = start(None)
    wait_for(transactions, 40)
    savepoint = first.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    write_lines(source, 4, 10)
    second, transactions = start(savepoint)
    wait_for(transactions, 50)
    second.cancel().result()
    assert transactions.committed() == Counter(range(50))


def test_what_a_savepoint_has_committed_is_not_written_again(spark: Any, tmp_path: Path) -> None:
    """Not even by a function, which could not tell."""
    written: list[int] = []

    def run_until_stopped(savepoint: str | None) -> str:
        configuration = Configuration()
        if savepoint is not None:
            configuration.set_string("execution.savepoint.path", savepoint)
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
        env.enable_checkpointing(200)
        endless = DataGeneratorSource(
            lambda index: index, type_info=Types.LONG(), rate_limiter_strategy=RateLimiterStrategy.per_second(200)
        )
        numbers = env.from_source(endless, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
        stream = numbers.rebalance().map(ToRow(), KIND).uid("rows")
        sink = SparkSink(lambda frame: written.extend(row.id for row in frame.collect()))
        stream.sink_to(sink).uid("function")
        client, before = env.execute_async("function"), len(written)
        wait_until(lambda: len(written) > before)
        path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
        client.get_job_execution_result().result()
        return str(path)

    first = run_until_stopped(None)
    before = len(written)
    run_until_stopped(first)
    assert 0 < before < len(written)
    assert Counter(written) == Counter(range(len(written))), "all that was read is written once"


def test_a_bounded_read_is_done_once(spark: Any, tmp_path: Path) -> None:
    """The table is read in one epoch; what fails afterwards, while another source goes on, does not read it again."""
    env = new_environment(tmp_path / "checkpoints")
    transactions = Transactions(tmp_path / "out")
    table = env.from_source(
        SparkSource(lambda session: session.range(5000, 5100)), WatermarkStrategy.no_watermarks(), "table"
    )
    stream = rows(env, ToRow(fail_at=700)).map(lambda row: row[0], Types.LONG())
    both = stream.union(table.map(lambda row: row[0], Types.LONG()))
    both.rebalance().map(lambda number: Row(number, ""), KIND).add_sink(transactions)
    client = env.execute_async("bounded")
    client.get_job_execution_result().result()
    assert transactions.committed() == Counter([*range(RECORDS), *range(5000, 5100)])
    assert client.get_metrics()["numRestarts"] == 1
