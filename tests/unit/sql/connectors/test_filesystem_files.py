"""Files that tables write, as they were recorded with PyFlink, and read back by the formats."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest

from funke.engine.connectors.sink import WriterContext
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.filesystem.table_file_sink import FileTableSink
from funke.engine.sql.connectors.table_factories import create_table_sink
from funke.engine.sql.connectors.table_source import INSERTS
from funke.engine.sql.functions.values import from_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.columns.column_batch import ColumnBatch
from tests.harness.sql_tables import created, source_of
from tests.unit.connectors.source_draining import drain

TYPES = (
    "b BOOLEAN, t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, de DECIMAL(10,2), c CHAR(3), v STRING, "
    "bb BYTES, da DATE, ti TIME, ts0 TIMESTAMP(0), ts3 TIMESTAMP(3), ts6 TIMESTAMP(6), lt TIMESTAMP_LTZ(3), "
    "a ARRAY<INT>, m MAP<STRING, INT>, r ROW<x INT, y STRING>"
)
TIMESTAMP = datetime.datetime(2020, 1, 2, 3, 4, 5)
UTC = datetime.UTC
VALUES: tuple[Any, ...] = (
    True, 1, 2, 3, 4, 1.5, 1e10, Decimal("100.50"), "ab ", 'he said "hi", ok', b"hi", TIMESTAMP.date(),
    TIMESTAMP.time(), TIMESTAMP, TIMESTAMP.replace(microsecond=120000), TIMESTAMP.replace(microsecond=123456),
    TIMESTAMP.replace(microsecond=120000, tzinfo=UTC), [1, 2], {"k": 7}, (1, "z"),
)  # fmt: skip
NULLS = (None,) * len(VALUES)
NO_MAP = [name for name in range(len(VALUES)) if name != 18]


def table(columns: str, folder: Path, form: str, options: str = "", more: str = "") -> str:
    return (
        f"CREATE TABLE t ({columns}) {more} "
        f"WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = '{form}'{options})"
    )


def write(text: str, *batches: list[tuple[Any, ...]], is_batch: bool = False, overwrite: bool = False) -> None:
    """Writes rows as a job of one subtask without checkpoints does."""
    from dataclasses import replace

    context, _ = created(text)
    new_sink = create_table_sink(replace(context, is_batch=is_batch))
    assert isinstance(new_sink, FileTableSink)
    assert new_sink.accepted_kinds(INSERTS) == INSERTS
    sink = (new_sink.with_overwrite() if overwrite else new_sink).create_sink(context.columns)
    committer = sink.create_committer()
    sink = cloudpickle.loads(cloudpickle.dumps(sink))
    row_type = row_type_of(context.columns)
    writer = sink.create_writer(WriterContext("job", 0, 1, 0, row_type, lambda: 0, lambda _: None))
    for rows in batches:
        writer.write_columns(ColumnBatch(record_batch(context.columns, rows)))
    writer.flush(end_of_input=True)
    assert committer is not None
    committer.commit(writer.prepare_commit())
    writer.close()


def record_batch(columns: tuple[Column, ...], rows: list[tuple[Any, ...]]) -> Any:
    arrays = [from_values(list(values), each.type) for values, each in zip(zip(*rows), columns)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema_of(columns))


def files(folder: Path) -> dict[str, bytes]:
    """What is in each folder, hidden files aside."""
    results = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {str(path.parent.relative_to(folder)): path.read_bytes() for path in results}


def chosen(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(values[index] for index in NO_MAP)


CSV_TYPES = TYPES.replace("m MAP<STRING, INT>, ", "")


@pytest.mark.parametrize(
    ("options", "content"),
    [
        ("",
         b'true,1,2,3,4,1.5,1.0E10,100.5,"ab ","he said ""hi"", ok",aGk=,2020-01-02,03:04:05,"2020-01-02 03:04:05",'
         b'"2020-01-02 03:04:05.12","2020-01-02 03:04:05.123456","2020-01-02 03:04:05.12Z",1;2,1;z\n'
         b",,,,,,,,,,,,,,,,,,\n"),
        (", 'csv.null-literal'='n/a', 'csv.field-delimiter'=';', 'csv.array-element-delimiter'='|', "
         "'csv.write-bigdecimal-in-scientific-notation'='false'",
         b'true;1;2;3;4;1.5;1.0E10;100.5;"ab ";"he said ""hi"", ok";aGk=;"2020-01-02";"03:04:05";"2020-01-02 03:04:05";'
         b'"2020-01-02 03:04:05.12";"2020-01-02 03:04:05.123456";"2020-01-02 03:04:05.12Z";"1|2";"1|z"\n'
         b"n/a;n/a;n/a;n/a;n/a;n/a;n/a;n/a;n/a;n/a;n/a;n/a;n/a;n/a;n/a;n/a;n/a;n/a;n/a\n"),
    ],
)  # fmt: skip
def test_csv(tmp_path: Path, options: str, content: bytes) -> None:
    write(table(CSV_TYPES, tmp_path, "csv", options), [chosen(VALUES)], [chosen(NULLS)])
    assert files(tmp_path) == {".": content}


def test_csv_without_quotes(tmp_path: Path) -> None:
    write(table("a STRING, b INT", tmp_path, "csv", ", 'csv.disable-quote-character'='true'"), [("a,b", 1), ('q"q', 2)])
    assert files(tmp_path) == {".": b'a,b,1\nq"q,2\n'}


@pytest.mark.parametrize(
    ("options", "content"),
    [
        ("",
         b'{"b":true,"t":1,"s":2,"i":3,"l":4,"f":1.5,"d":1.0E10,"de":100.5,"c":"ab ","v":"he said \\"hi\\", ok",'
         b'"bb":"aGk=","da":"2020-01-02","ti":"03:04:05","ts0":"2020-01-02 03:04:05","ts3":"2020-01-02 03:04:05.12",'
         b'"ts6":"2020-01-02 03:04:05.123456","lt":"2020-01-02 03:04:05.12Z","a":[1,2],"m":{"k":7},'
         b'"r":{"x":1,"y":"z"}}\n'
         b'{"b":null,"t":null,"s":null,"i":null,"l":null,"f":null,"d":null,"de":null,"c":null,"v":null,"bb":null,'
         b'"da":null,"ti":null,"ts0":null,"ts3":null,"ts6":null,"lt":null,"a":null,"m":null,"r":null}\n'),
        (", 'json.timestamp-format.standard'='ISO-8601', 'json.encode.decimal-as-plain-number'='true', "
         "'json.encode.ignore-null-fields'='true'",
         b'{"b":true,"t":1,"s":2,"i":3,"l":4,"f":1.5,"d":1.0E10,"de":100.50,"c":"ab ","v":"he said \\"hi\\", ok",'
         b'"bb":"aGk=","da":"2020-01-02","ti":"03:04:05","ts0":"2020-01-02T03:04:05","ts3":"2020-01-02T03:04:05.12",'
         b'"ts6":"2020-01-02T03:04:05.123456","lt":"2020-01-02T03:04:05.12Z","a":[1,2],"m":{"k":7},'
         b'"r":{"x":1,"y":"z"}}\n{}\n'),
    ],
)  # fmt: skip
def test_json(tmp_path: Path, options: str, content: bytes) -> None:
    write(table(TYPES, tmp_path, "json", options), [VALUES, NULLS])
    assert files(tmp_path) == {".": content}


@pytest.mark.parametrize(
    ("form", "columns", "rows"),
    [
        ("csv", CSV_TYPES, [chosen(VALUES)]),
        ("json", TYPES, [VALUES, NULLS]),
        ("parquet", TYPES, [VALUES, NULLS]),
        ("orc", TYPES.replace("ti TIME, ", ""), [VALUES[:12] + VALUES[13:], NULLS[:12] + NULLS[13:]]),
        ("avro", TYPES, [VALUES, NULLS]),
        ("raw", "v STRING", [("x",), ("y z",)]),
    ],
)
def test_what_was_written_is_read_again(tmp_path: Path, form: str, columns: str, rows: list[Any]) -> None:
    text = table(columns, tmp_path, form)
    write(text, rows)
    context, _ = created(text)
    source = source_of(text).create_source()
    assert len(drain(source)) == len(rows)
    enumerator = source.create_enumerator(1)
    (split,) = enumerator.poll(10)
    batches = source.create_reader().read_columns(split)
    assert batches is not None
    (batch,) = batches
    assert batch.data.equals(record_batch(context.columns, rows))


def test_avro_files_are_read(tmp_path: Path) -> None:
    import fastavro

    fields = [
        {"name": "id", "type": "int"},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "m", "type": {"type": "map", "values": "long"}},
    ]
    timestamp = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000, UTC)
    with (tmp_path / "x.avro").open("wb") as stream:
        fastavro.writer(
            stream, {"type": "record", "name": "r", "fields": fields}, [{"id": 1, "ts": timestamp, "m": {"k": 2}}]
        )
    columns = "m MAP<STRING, BIGINT>, ts TIMESTAMP(3), other STRING, id INT"
    (row,) = drain(source_of(table(columns, tmp_path, "avro")).create_source())
    assert (row.m, row.ts, row.other, row.id) == ({"k": 2}, timestamp.replace(tzinfo=None), None, 1)


def test_partitions_are_folders(tmp_path: Path) -> None:
    columns, more = "a INT, d DATE, s STRING, x STRING", "PARTITIONED BY (d, s)"
    text = table(columns, tmp_path, "csv", more=more)
    write(text, [(1, TIMESTAMP.date(), "a b/c=d", "x"), (2, None, "", "y"), (3, TIMESTAMP.date(), "a b/c=d", "z")])
    assert files(tmp_path) == {
        "d=2020-01-02/s=a b%2Fc%3Dd": b"1,x\n3,z\n",
        "d=__DEFAULT_PARTITION__/s=__DEFAULT_PARTITION__": b"2,y\n",
    }
    rows = [tuple(row) for row in drain(source_of(text).create_source())]
    assert sorted(rows, key=lambda row: row[0]) == [
        (1, TIMESTAMP.date(), "a b/c=d", "x"),
        (2, None, None, "y"),
        (3, TIMESTAMP.date(), "a b/c=d", "z"),
    ]


def test_insert_overwrite_replaces_the_partitions_it_writes(tmp_path: Path) -> None:
    text = table("a INT, s STRING", tmp_path, "csv", more="PARTITIONED BY (s)")
    write(text, [(1, "x"), (2, "y")])
    write(text, [(3, "x")], is_batch=True, overwrite=True)
    assert files(tmp_path) == {"s=x": b"3\n", "s=y": b"2\n"}
    assert len(list(tmp_path.rglob("part-*"))) == 2
    with pytest.raises(TableException, match="Streaming mode not support overwrite"):
        write(text, [(3, "x")], overwrite=True)


def test_files_roll_and_partitions_are_committed(tmp_path: Path) -> None:
    options = ", 'sink.rolling-policy.file-size' = '4 b', 'sink.partition-commit.policy.kind' = 'success-file'"
    write(
        table("a INT, s STRING", tmp_path, "csv", options, "PARTITIONED BY (s)"), [(number, "x") for number in range(9)]
    )
    names = sorted(path.name.partition("-")[0] for path in (tmp_path / "s=x").iterdir())
    assert names == ["_SUCCESS", *["part"] * 3]


def test_rows_are_written_once_after_a_restart(tmp_path: Path) -> None:
    text = table("a INT, s STRING", tmp_path, "csv", more="PARTITIONED BY (s)")
    context, _ = created(text)
    sink = create_table_sink(context).create_sink(context.columns)
    index = WriterContext("job", 0, 1, 0, row_type_of(context.columns), lambda: 0, lambda _: None, staging_folder="/x")
    writer = sink.create_writer(index)
    writer.write_columns(ColumnBatch(record_batch(context.columns, [(1, "x"), (2, "y")])))
    writer.prepare_snapshot(1)
    assert writer.prepare_commit() == []
    state = writer.snapshot()
    writer.write_columns(ColumnBatch(record_batch(context.columns, [(3, "x"), (4, "z")])))
    writer.flush(end_of_input=False)
    writer.close()
    again = sink.create_writer(index, state)
    again.write_columns(ColumnBatch(record_batch(context.columns, [(3, "x"), (4, "z")])))
    again.flush(end_of_input=True)
    committer = sink.create_committer()
    assert committer is not None
    committer.commit(again.prepare_commit())
    assert files(tmp_path) == {"s=x": b"1\n3\n", "s=y": b"2\n", "s=z": b"4\n"}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_of_several_subtasks_become_one(tmp_path: Path, form: str) -> None:
    text = table("a INT, s STRING", tmp_path, form, ", 'auto-compaction' = 'true'", "PARTITIONED BY (s)")
    context, _ = created(text)
    sink = create_table_sink(context).create_sink(context.columns)
    committables: list[Any] = []
    for subtask in (0, 1):
        row_type = row_type_of(context.columns)
        writer = sink.create_writer(WriterContext("job", subtask, 2, 0, row_type, lambda: 0, lambda _: None))
        writer.write_columns(ColumnBatch(record_batch(context.columns, [(subtask, "x"), (subtask, "y")])))
        writer.flush(end_of_input=True)
        committables += writer.prepare_commit()
        writer.close()
    committer = sink.create_committer()
    assert committer is not None
    committer.commit(committables)
    assert [path.name.partition("-")[0] for path in sorted(tmp_path.rglob("*part*"))] == ["compacted", "compacted"]
    assert sorted(map(tuple, drain(source_of(text).create_source()))) == [(0, "x"), (0, "y"), (1, "x"), (1, "y")]


def test_new_files_are_looked_for(tmp_path: Path) -> None:
    source = source_of(table("a INT", tmp_path, "csv", ", 'source.monitor-interval' = '2 s'"))
    assert not source.is_bounded
    new_source = source.create_source()
    assert not new_source.is_bounded
    enumerator = new_source.create_enumerator(1)
    assert not enumerator.is_finished
    assert enumerator.poll(10) == []
    assert 0 < enumerator.next_poll_ms() <= 2000


@pytest.mark.parametrize(
    ("columns", "form", "options", "message"),
    [
        ("a INT", "csv", ", 'sink.shuffle-by-partition.enable' = 'true'", "sink.shuffle-by-partition.enable"),
        ("a INT", "csv", ", 'partition.time-extractor.kind' = 'custom'", "time-extractor"),
        ("a INT", "csv", ", 'sink.partition-commit.policy.kind' = 'metastore'", "metastore"),
        ("a MAP<STRING, INT>", "csv", "", "MAP<STRING, INT> in CSV"),
        ("a MAP<INT, INT>", "avro", "", "MAP<INT, INT> in Avro"),
        ("a INT", "raw", "", "the format raw with a column of type INT"),
    ],
)
def test_what_is_not_there_is_rejected(tmp_path: Path, columns: str, form: str, options: str, message: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as rejected:
        create_table_sink(created(table(columns, tmp_path, form, options))[0])
    assert message in str(rejected.value)


@pytest.mark.parametrize(
    ("columns", "form", "options", "message"),
    [
        ("x INT", "nox", "", "Could not find any format factory for identifier 'nox' in the classpath."),
        ("x INT", "csv", ", 'csv.field-delimiter' = 'ab'",
         "Error creating scan format 'csv' in option space 'csv.'.\nCaused by: ValidationException: Option "
         "'csv.field-delimiter' must be a string with single character, but was: ab"),
        ("x INT", "csv", ", 'csv.foo' = '1', 'bar' = '2'",
         "Unsupported options:\n\nbar\n\nSupported options:\n\nauto-"),
        ("x STRING, y INT", "raw", "", "The 'raw' format only supports single physical column."),
    ],
)  # fmt: skip
def test_options_are_checked(tmp_path: Path, columns: str, form: str, options: str, message: str) -> None:
    with pytest.raises(ValidationException) as rejected:
        source_of(table(columns, tmp_path, form, options))
    assert message in str(rejected.value)


def test_a_table_without_path_or_format_is_rejected() -> None:
    for options, missing in (("'format' = 'csv'", "path"), ("'path' = '/x'", "format")):
        with pytest.raises(ValidationException) as rejected:
            source_of(f"CREATE TABLE t (x INT) WITH ('connector' = 'filesystem', {options})")
        message = "One or more required options are missing.\n\nMissing required options are:\n\n"
        assert str(rejected.value).endswith(message + missing)


class Subtask:
    """A writer with its committer, and a clock and watermarks that the test moves."""

    def __init__(self, text: str, restored: Any = None) -> None:
        context, _ = created(text)
        new_sink = create_table_sink(context)
        assert isinstance(new_sink, FileTableSink)
        self.needs_watermarks, self._columns, self.now_ms = new_sink.needs_watermarks, context.columns, 0
        sink = new_sink.create_sink(context.columns)
        self._committer = sink.create_committer()
        row_type = row_type_of(context.columns)
        context_of_writer = WriterContext("job", 0, 1, 0, row_type, lambda: self.now_ms, lambda _: None)
        self.writer = sink.create_writer(context_of_writer, restored)

    def write(self, *rows: tuple[Any, ...]) -> None:
        self.writer.write_columns(ColumnBatch(record_batch(self._columns, list(rows))))

    def checkpoint(self, is_last: bool = False) -> Any:
        self.writer.flush(end_of_input=is_last)
        committables = self.writer.prepare_commit()
        state = self.writer.snapshot()
        assert self._committer is not None
        self._committer.commit(committables)
        return state


def complete_partitions(folder: Path) -> list[str]:
    """The partitions that are told to be complete, with the number of files in them."""
    results = sorted(path.parent for path in folder.rglob("_SUCCESS"))
    parts = [[each for each in path.iterdir() if each.name.startswith("part-")] for path in results]
    return [f"{path.relative_to(folder)}: {len(each)}" for path, each in zip(results, parts)]


HOURLY = (
    ", 'sink.partition-commit.policy.kind' = 'success-file', 'sink.partition-commit.trigger' = 'partition-time'"
    ", 'sink.partition-commit.delay' = '1 h', 'partition.time-extractor.timestamp-pattern' = '$day $hour:00:00'"
)


def test_partitions_are_committed_when_the_watermark_has_passed_them(tmp_path: Path) -> None:
    """A checkpoint does it, for all files of the partition; the rest is told after a restart, or at the end."""
    text = table("v INT, `day` STRING, `hour` STRING", tmp_path, "json", HOURLY, "PARTITIONED BY (`day`, `hour`)")
    first = Subtask(text)
    assert first.needs_watermarks
    noon = int(datetime.datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp() * 1000)
    first.write((1, "2024-05-01", "12"), (2, "2024-05-01", "13"), (3, "2024-05-02", "00"))
    first.writer.write_watermark(noon + 3_600_000)
    first.checkpoint()
    assert complete_partitions(tmp_path) == []
    first.writer.write_watermark(noon + 3_600_001)
    state = first.checkpoint()
    # The file is closed though it is neither full nor old.
    assert complete_partitions(tmp_path) == ["day=2024-05-01/hour=12: 1"]
    second = Subtask(text, state)
    second.writer.write_watermark(noon + 7_200_001)
    second.checkpoint()
    assert complete_partitions(tmp_path) == ["day=2024-05-01/hour=12: 1", "day=2024-05-01/hour=13: 1"]
    second.checkpoint(is_last=True)
    assert complete_partitions(tmp_path)[-1] == "day=2024-05-02/hour=00: 1"


@pytest.mark.parametrize(
    ("options", "value", "time"),
    [
        ("", "2024-05-01", datetime.datetime(2024, 5, 1)),
        (", 'partition.time-extractor.timestamp-formatter' = 'yyyyMMdd'", "20240501", datetime.datetime(2024, 5, 1)),
        (", 'sink.partition-commit.watermark-time-zone' = 'Asia/Shanghai'", "2024-05-01 08:00:00",
         datetime.datetime(2024, 5, 1)),
    ],
)  # fmt: skip
def test_times_of_partitions(tmp_path: Path, options: str, value: str, time: datetime.datetime) -> None:
    options = HOURLY.partition(", 'sink.partition-commit.delay'")[0] + options
    subtask = Subtask(table("v INT, p STRING", tmp_path, "csv", options, "PARTITIONED BY (p)"))
    subtask.write((1, value))
    for late, count in ((0, 0), (1, 1)):
        subtask.writer.write_watermark(int(time.replace(tzinfo=UTC).timestamp() * 1000) + late)
        subtask.checkpoint()
        assert len(complete_partitions(tmp_path)) == count


def test_partitions_are_committed_some_time_after_they_were_begun(tmp_path: Path) -> None:
    options = ", 'sink.partition-commit.policy.kind' = 'success-file', 'sink.partition-commit.delay' = '1 min'"
    subtask = Subtask(table("v INT, p STRING", tmp_path, "json", options, "PARTITIONED BY (p)"))
    assert not subtask.needs_watermarks
    subtask.write((1, "a"))
    subtask.now_ms = 60_000
    subtask.checkpoint()
    assert complete_partitions(tmp_path) == []
    subtask.now_ms = 60_001
    subtask.checkpoint()
    assert complete_partitions(tmp_path) == ["p=a: 1"]


def test_a_partition_without_a_time_is_rejected(tmp_path: Path) -> None:
    subtask = Subtask(table("v INT, p STRING", tmp_path, "json", HOURLY, "PARTITIONED BY (p)"))
    subtask.write((1, "a"))
    with pytest.raises(TableException, match="the partition 'p=a' has no time"):
        subtask.checkpoint()
