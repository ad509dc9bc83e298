"""Sources and sinks inside whole jobs: files, folders that grow, sockets, generators, Spark's own, and Python's."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from funke.common import Duration, Encoder, Row, Types, WatermarkStrategy
from funke.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource, OutputFileConfig, StreamFormat
from funke.datastream.connectors.python import PythonSink, PythonSinkWriter, PythonSource, ResumablePythonSource
from funke.datastream.connectors.spark import SparkSink, SparkSource
from funke.datastream.formats.csv import CsvReaderFormat, CsvSchema
from funke.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from tests.spark.job_running import collect, in_epochs, new_environment, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

NO_WATERMARKS = WatermarkStrategy.no_watermarks()
ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
PEOPLE = [(number, f"person {number}") for number in range(25)]


def text_source(*paths: Path) -> Any:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), *map(str, paths))


class Same(MapFunction):
    """Takes records through a slot."""

    def map(self, value: Any) -> Any:
        return value


def test_text_files_plain_and_compressed(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"three\nfour"))
    (tmp_path / "_hidden.txt").write_text("hidden")
    lines = collect(env.from_source(text_source(tmp_path).build(), NO_WATERMARKS, "lines").map(Same()))
    assert sorted(lines) == ["four", "one", "three", "two"]


def csv_source(folder: Path) -> Any:
    lines = "".join(f"{number},{name}\n" for number, name in PEOPLE)
    (folder / "people.csv").write_text(lines)
    schema = CsvSchema.builder().add_number_column("id").add_string_column("name").build()
    return FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(folder)).build()


def json_source(folder: Path) -> Any:
    lines = "".join(json.dumps({"id": number, "name": name}) + "\n" for number, name in PEOPLE)
    (folder / "people.json.gz").write_bytes(gzip.compress(lines.encode()))
    return FileSource.for_record_stream_format(StreamFormat.json_line_format(ROW), str(folder)).build()


def parquet_source(folder: Path) -> Any:
    table = pa.table({"id": [number for number, _ in PEOPLE], "name": [name for _, name in PEOPLE]})
    pq.write_table(table, folder / "people.parquet", row_group_size=10)
    return FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(ROW), str(folder)).build()


@pytest.mark.parametrize("write_files", [csv_source, json_source, parquet_source], ids=["csv", "json lines", "parquet"])
def test_files_of_rows(env: StreamExecutionEnvironment, tmp_path: Path, write_files: Any) -> None:
    rows = env.from_source(write_files(tmp_path), NO_WATERMARKS, "people")
    pairs = rows.map(lambda row: (row.id, row["name"])).key_by(lambda pair: pair[0]).map(Same())
    assert sorted(collect(pairs)) == PEOPLE


def test_a_large_file_is_read_in_ranges_and_epochs(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    expected = [f"{number} {'x' * (number % 37)}" for number in range(300_000)]
    (tmp_path / "large.txt").write_text("\n".join(expected) + "\n")
    stream = env.from_source(text_source(tmp_path / "large.txt").build(), NO_WATERMARKS, "lines")
    results = stream.map(Same()).execute_and_collect()
    lines = list(results)
    assert len(lines) == len(expected)
    assert set(lines) == set(expected)


def test_an_epoch_that_is_cut_goes_on_with_the_files_that_are_left(
    env: StreamExecutionEnvironment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 150 lines of 15 ms each in 6 files: the first epoch ends in the middle of them.
    in_epochs(env)
    expected = []
    for number in range(6):
        lines = [f"{number}-{line}" for line in range(25)]
        (tmp_path / f"{number}.txt").write_text("\n".join(lines))
        expected += lines

    def slowly(line: str) -> str:
        time.sleep(0.015)
        return line

    stream = env.from_source(text_source(tmp_path).build(), NO_WATERMARKS, "lines").set_parallelism(1)
    stream.map(slowly).set_parallelism(1).print().set_parallelism(1)
    client = env.execute_async()
    client.get_job_execution_result().result()
    assert client.get_metrics()["epochs"] > 2
    assert capsys.readouterr().out.split() == expected


def test_files_that_arrive_while_the_job_runs(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    folder, staging = tmp_path / "in", tmp_path / "staging"
    folder.mkdir()
    staging.mkdir()

    def put(name: str, text: str) -> None:
        (staging / name).write_text(text)
        (staging / name).rename(folder / name)

    put("a.txt", "one\n")
    source = text_source(folder).monitor_continuously(Duration.of_millis(100)).build()
    with env.from_source(source, NO_WATERMARKS, "lines").map(Same()).execute_and_collect() as results:
        assert next(results) == "one"
        put("b.txt", "two\nthree\n")
        assert {next(results), next(results)} == {"two", "three"}
        put("c.txt", "four\n")
        assert next(results) == "four"


def test_lines_from_a_socket(env: StreamExecutionEnvironment) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"to be or")
                time.sleep(0.3)
                connection.sendall(b" not\nto be\r\nthat")

        thread = threading.Thread(target=serve)
        thread.start()
        lines = env.socket_text_stream("127.0.0.1", server.getsockname()[1])
        words = lines.flat_map(lambda line: line.split()).key_by(lambda word: word).map(Same())
        assert Counter(collect(words)) == Counter(["to", "be", "or", "not", "to", "be", "that"])
        thread.join()


def test_generated_numbers_with_a_count_and_with_a_rate(env: StreamExecutionEnvironment) -> None:
    counted = DataGeneratorSource(lambda index: (index, index * 10), count=1000, with_timestamps=True)
    assert sorted(collect(env.from_source(counted, NO_WATERMARKS, "counted").map(Same()))) == list(range(1000))
    rated = DataGeneratorSource(lambda index: index, rate_limiter_strategy=RateLimiterStrategy.per_second(100))
    started = time.monotonic()
    with env.from_source(rated, NO_WATERMARKS, "rated").execute_and_collect() as results:
        assert len([next(results) for _ in range(150)]) == 150
    assert 1.2 < time.monotonic() - started < 20


def test_rows_of_a_spark_dataframe(env: StreamExecutionEnvironment) -> None:
    source = SparkSource(lambda spark: spark.range(100, numPartitions=5).selectExpr("id", "concat('n', id) as name"))
    rows = env.from_source(source, NO_WATERMARKS, "frame")
    results = collect(rows.map(lambda row: (row.id, row.name)).key_by(lambda pair: pair[0]).map(Same()))
    assert sorted(results) == [(number, f"n{number}") for number in range(100)]


def test_an_empty_spark_dataframe(env: StreamExecutionEnvironment) -> None:
    source = SparkSource(lambda spark: spark.createDataFrame([], "id long"))
    assert collect(env.from_source(source, NO_WATERMARKS, "empty").map(Same())) == []


def test_a_spark_stream_of_a_folder(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    source = SparkSource(lambda spark: spark.readStream.text(str(tmp_path)), is_streaming=True)
    stream = env.from_source(source, NO_WATERMARKS, "folder").map(lambda row: row[0]).map(Same())
    with stream.execute_and_collect() as results:
        assert {next(results), next(results)} == {"one", "two"}
        (tmp_path / "b.txt").write_text("three\n")
        assert next(results) == "three"


def test_sparks_rate_stream_beside_a_collection(env: StreamExecutionEnvironment) -> None:
    def rate(spark: Any) -> Any:
        return spark.readStream.format("rate").option("rowsPerSecond", 20).load()

    numbers = env.from_source(SparkSource(rate, is_streaming=True), NO_WATERMARKS, "rate").map(lambda row: row.value)
    both = numbers.union(env.from_collection([-1]).map(abs).map(lambda number: -number))
    with both.map(Same()).execute_and_collect() as results:
        seen = set()
        while not {-1, 0, 1, 2, 3} <= seen:
            seen.add(next(results))


def test_the_spark_sink_writes_parquet(env: StreamExecutionEnvironment, spark: Any, tmp_path: Path) -> None:
    rows = env.from_collection([Row(number, name) for number, name in PEOPLE], ROW).map(Same(), ROW)
    rows.sink_to(SparkSink(format="parquet", path=str(tmp_path / "out"), mode="append"))
    env.execute()
    written = spark.read.parquet(str(tmp_path / "out"))
    assert written.columns == ["id", "name"]
    assert sorted(map(tuple, written.collect())) == PEOPLE


def test_the_spark_sink_calls_a_function_with_each_epoch(env: StreamExecutionEnvironment) -> None:
    seen: list[tuple[int, list[Any]]] = []

    def write(frame: Any, epoch: int) -> None:
        seen.append((epoch, [tuple(row) for row in frame.collect()]))

    rows = env.from_collection([Row(number, name) for number, name in PEOPLE], ROW)
    rows.key_by(lambda row: row[0]).map(Same(), ROW).sink_to(SparkSink(write))
    env.execute()
    assert sorted(row for _, rows in seen for row in rows) == PEOPLE
    assert len({epoch for epoch, _ in seen}) == len(seen)


class Letters(PythonSource):
    with_timestamps = True

    def enumerate_splits(self) -> list[str]:
        return ["abc", "xyz", ""]

    def read_split(self, split: str) -> Iterator[tuple[str, int]]:
        for position, letter in enumerate(split):
            yield letter, position


class WithTimestamp(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp()


def test_a_source_written_in_python(env: StreamExecutionEnvironment) -> None:
    letters = env.from_source(Letters(), NO_WATERMARKS, "letters")
    results = collect(letters.key_by(lambda letter: letter).process(WithTimestamp()))
    assert sorted(results) == [("a", 0), ("b", 1), ("c", 2), ("x", 0), ("y", 1), ("z", 2)]


class Growing(ResumablePythonSource):
    """Reads a log that somebody else appends to."""

    is_bounded = False

    def __init__(self, path: str) -> None:
        self.path = path

    def enumerate_splits(self) -> list[str]:
        return [self.path]

    def read_split(self, split: str, position: Any = None) -> Generator[Any, None, Any]:
        with open(split, "rb") as log:
            log.seek(position or 0)
            for line in log:
                yield line.decode().rstrip()
            return log.tell()


def test_a_resumable_source_written_in_python(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\n")
    with env.from_source(Growing(str(log)), NO_WATERMARKS, "log").map(Same()).execute_and_collect() as results:
        assert next(results) == "one"
        with log.open("a") as more:
            more.write("two\nthree\n")
        assert [next(results), next(results)] == ["two", "three"]
        with log.open("a") as more:
            more.write("four\n")
        assert next(results) == "four"


class FileWriter(PythonSinkWriter):
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: Any) -> None:
        self.path = os.path.join(self.folder, f"pending-{context.get_index_of_this_subtask()}")
        self.file = Path(self.path).open("w")  # noqa: SIM115

    def write(self, value: Any) -> None:
        self.file.write(f"{value}\n")

    def prepare_commit(self) -> list[Any]:
        self.file.flush()
        return [self.path]

    def close(self) -> None:
        self.file.close()


class CommittedFiles(PythonSink):
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def create_writer(self) -> PythonSinkWriter:
        return FileWriter(self.folder)

    def commit(self, committables: list[Any]) -> None:
        for path in committables:
            os.rename(path, path.replace("pending", "done"))


def test_a_two_phase_sink_written_in_python(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    env.from_collection(list(range(20))).rebalance().sink_to(CommittedFiles(str(tmp_path)))
    env.execute()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["done-0", "done-1"]
    lines = [line for path in tmp_path.iterdir() for line in path.read_text().split()]
    assert sorted(map(int, lines)) == list(range(20))


def test_the_file_sink_writes_parts_of_every_subtask(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    config = OutputFileConfig.builder().with_part_prefix("out").with_part_suffix(".txt").build()
    sink = (
        FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_output_file_config(config)
        .build()
    )
    env.from_collection([str(number) for number in range(50)], Types.STRING()).rebalance().sink_to(sink)
    env.execute()
    files = list(tmp_path.iterdir())
    assert len(files) == 2, "one part for each subtask, and nothing else"
    assert all(re.fullmatch(r"out-[0-9a-f-]{36}-0\.txt", path.name) for path in files)
    assert sorted(int(line) for path in files for line in path.read_text().split()) == list(range(50))


def test_the_file_sink_writes_parquet(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    sink = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(ROW)).build()
    env.from_collection([Row(number, name) for number, name in PEOPLE], ROW).rebalance().map(Same(), ROW).sink_to(sink)
    env.execute()
    tables = [pq.read_table(path) for path in tmp_path.rglob("part-*")]
    assert sorted((row["id"], row["name"]) for table in tables for row in table.to_pylist()) == PEOPLE


def test_a_failed_job_leaves_no_visible_files(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    sink = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build()
    env.from_collection([1, 2, 0]).map(lambda number: str(1 // number), Types.STRING()).sink_to(sink)
    with pytest.raises(Exception, match="ZeroDivisionError"):
        env.execute()
    assert [path for path in tmp_path.rglob("*") if path.is_file() and not path.name.startswith(".")] == []


class FailsAtTen(MapFunction):
    def map(self, value: Any) -> Any:
        return Row(value // (10 - value), "x")


def test_a_failed_epoch_is_not_written_by_spark(env: StreamExecutionEnvironment) -> None:
    written: list[Any] = []
    numbers = env.from_collection(list(range(11))).rebalance().map(FailsAtTen(), ROW)
    numbers.sink_to(SparkSink(lambda frame: written.extend(frame.collect())))
    with pytest.raises(Exception, match="ZeroDivisionError"):
        env.execute()
    assert written == []


def test_print_marks_lines_with_subtask_and_identifier(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    env = new_environment(2)
    env.from_collection(["a", "b"]).rebalance().print("out")
    env.from_collection(["c"]).print().set_parallelism(1)
    env.execute()
    assert sorted(capsys.readouterr().out.splitlines()) == ["c", "out:1> a", "out:2> b"]


def test_what_a_function_prints_appears_in_the_driver(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    env = new_environment(1)
    env.from_collection(["x"]).map(lambda value: print("seen", value)).print()
    env.execute()
    assert "seen x\n" in capsys.readouterr().out


def test_a_plain_function_as_a_sink(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    path = str(tmp_path / "lines")

    def append(value: Any) -> None:
        with open(path, "a") as file:
            file.write(f"{value}\n")

    env.from_collection([1, 2, 3]).map(Same()).add_sink(append)
    env.execute()
    assert wait_until(lambda: sorted(Path(path).read_text().split()) == ["1", "2", "3"], 1)
