"""Bulk formats of the file sink: Parquet, ORC and CSV."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal

import pyarrow.fs
import pyarrow.orc
import pyarrow.parquet
import pytest

from funke.engine.connectors.file_sink.arrow_formats import OrcBulkFormat, ParquetBulkFormat
from funke.engine.connectors.file_sink.bucket_assigner import BasePathBucketAssigner
from funke.engine.connectors.file_sink.committer import FileCommitter
from funke.engine.connectors.file_sink.csv_format import CsvBulkFormat, CsvDialect
from funke.engine.connectors.file_sink.encoders import SimpleStringEncoder
from funke.engine.connectors.file_sink.rolling_policy import RollingPolicy
from funke.engine.connectors.file_sink.sink import FileSink
from funke.engine.connectors.file_sink.storage import ArrowStorage
from funke.engine.errors import ConfigurationError, TypeMismatchError
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.row import Row
from tests.unit.connectors.sink_harness import SinkHarness, files_below

ROW = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()])


def write_all(tmp_path, format, input_type, *batches):
    sink = pickle.loads(pickle.dumps(FileSink(str(tmp_path), format, BasePathBucketAssigner())))
    writer = sink.create_writer(SinkHarness().context(input_type))
    for batch in batches:
        writer.write(batch, None)
    writer.flush(True)
    sink.create_committer().commit(writer.prepare_commit())
    writer.close()
    (path,) = tmp_path.iterdir()
    return path


def test_parquet_has_the_columns_of_the_stream(tmp_path):
    path = write_all(tmp_path, ParquetBulkFormat(), ROW, [Row("a", 1), Row(None, 2)], [Row("c", None)])
    table = pyarrow.parquet.read_table(path)
    assert str(table.schema.field("count").type) == "int64"
    assert table.to_pydict() == {"word": ["a", None, "c"], "count": [1, 2, None]}
    assert pyarrow.parquet.ParquetFile(path).num_row_groups == 1


def test_parquet_takes_nested_and_special_types(tmp_path):
    kind = Types.ROW_NAMED(
        ["day", "price", "tags", "attributes", "inner"],
        [
            Types.SQL_DATE(),
            Types.BIG_DEC(),
            Types.LIST(Types.STRING()),
            Types.MAP(Types.STRING(), Types.INT()),
            Types.ROW_NAMED(["x"], [Types.INT()]),
        ],
    )
    row = Row(datetime.date(2024, 1, 2), Decimal("1.50"), ["a", None], {"k": 1}, Row(7))
    table = pyarrow.parquet.read_table(write_all(tmp_path, ParquetBulkFormat(), kind, [row]))
    (read,) = table.to_pylist()
    assert read["day"] == datetime.date(2024, 1, 2)
    assert read["price"] == Decimal("1.5")
    assert read["tags"] == ["a", None]
    assert dict(read["attributes"]) == {"k": 1}
    assert read["inner"] == {"x": 7}


def test_a_given_row_type_names_the_columns_of_tuples(tmp_path):
    path = write_all(tmp_path, ParquetBulkFormat(ROW), None, [("a", 1)])
    assert pyarrow.parquet.read_table(path).to_pydict() == {"word": ["a"], "count": [1]}


def test_untyped_records_are_read_by_what_they_look_like(tmp_path):
    path = write_all(tmp_path, ParquetBulkFormat(), None, [{"a": 1, "b": "x"}], [{"a": 2, "b": None}])
    assert pyarrow.parquet.read_table(path).to_pydict() == {"a": [1, 2], "b": ["x", None]}


def test_values_that_do_not_fit_a_column_are_named(tmp_path):
    with pytest.raises(TypeMismatchError, match="count"):
        write_all(tmp_path, ParquetBulkFormat(ROW), None, [("a", "not a number")])


def test_orc(tmp_path):
    path = write_all(tmp_path, OrcBulkFormat(), ROW, [Row("a", 1)], [Row("b", 2)])
    assert pyarrow.orc.read_table(path).to_pydict() == {"word": ["a", "b"], "count": [1, 2]}


def test_a_bulk_file_is_closed_at_every_checkpoint(tmp_path):
    sink = FileSink(str(tmp_path), ParquetBulkFormat(), BasePathBucketAssigner())
    writer = sink.create_writer(SinkHarness().context(ROW))
    writer.write([Row("a", 1)], None)
    writer.flush(False)
    sink.create_committer().commit(writer.prepare_commit())
    assert [state.part for state in writer.snapshot()] == [None]
    (path,) = tmp_path.iterdir()
    assert pyarrow.parquet.read_table(path).num_rows == 1
    writer.close()


def test_an_abandoned_bulk_file_stays_hidden(tmp_path):
    sink = FileSink(str(tmp_path), ParquetBulkFormat(), BasePathBucketAssigner())
    writer = sink.create_writer(SinkHarness().context(ROW))
    writer.write([Row("a", 1)], None)
    writer.close()
    assert list(files_below(tmp_path)) == [".part-#-0.inprogress.#"]


def test_bulk_formats_roll_on_checkpoints_only(tmp_path):
    with pytest.raises(ConfigurationError, match="rolls on checkpoints"):
        FileSink(str(tmp_path), ParquetBulkFormat(), rolling_policy=RollingPolicy(part_size=1))


# The lines below were recorded from Flink's own CSV writer.
CSV_TYPE = Types.ROW_NAMED(
    ["s", "i", "d", "b", "a"],
    [Types.STRING(), Types.INT(), Types.DOUBLE(), Types.BOOLEAN(), Types.BASIC_ARRAY(Types.INT())],
)
CSV_LINES = [
    (Row("plain", 1, 1.5, True, [1, 2]), "plain,1,1.5,true,1;2"),
    (Row("with space", 2, 1e10, False, []), '"with space",2,1.0E10,false,'),
    (Row('q"uote', None, 0.1, None, [3]), '"q""uote",,0.1,,3'),
    (Row("a,b", 3, 2.0, True, [1]), '"a,b",3,2.0,true,1'),
    (Row("x" * 24, 1, 1.0, True, [1]), "x" * 24 + ",1,1.0,true,1"),
    (Row("x" * 25, 1, 1.0, True, [1]), '"' + "x" * 25 + '",1,1.0,true,1'),
    (Row("", 1, 1.0, True, [1]), ",1,1.0,true,1"),
    (Row(None, 1, 1.0, True, None), ",1,1.0,true,"),
    (Row("nl\nx", 1, 1.0, True, [1]), '"nl\nx",1,1.0,true,1'),
    (Row("a-b", 1, 1.0, True, [1]), "a-b,1,1.0,true,1"),
    (Row("é!", 1, 1e-9, True, [1]), '"é!",1,1.0E-9,true,1'),
]


def test_csv_lines_are_quoted_as_by_flink(tmp_path):
    path = write_all(tmp_path, CsvBulkFormat(), CSV_TYPE, [row for row, _ in CSV_LINES])
    assert path.read_text() == "".join(line + "\n" for _, line in CSV_LINES)


def test_csv_signs_can_be_chosen(tmp_path):
    dialect = CsvDialect(separator="|", quote="'", escape="\\", line_end="\r\n", null_text="NULL")
    kind = Types.ROW_NAMED(["s", "i"], [Types.STRING(), Types.INT()])
    rows = [Row("a|b", 1), Row("it's", None), Row(None, 2), Row("back\\slash", 3), Row("a{}~", 4)]
    path = write_all(tmp_path, CsvBulkFormat(kind, dialect, has_header=True), kind, rows[:2], rows[2:])
    assert path.read_bytes().decode().split("\r\n") == [
        "'s'|'i'",
        "'a|b'|1",
        "'it''s'|NULL",
        "NULL|2",
        "'back\\\\slash'|3",
        "'a{}~'|4",
        "",
    ]


def test_csv_without_quotes_writes_strings_as_they_are(tmp_path):
    kind = Types.TUPLE([Types.STRING(), Types.INT()])
    path = write_all(tmp_path, CsvBulkFormat(dialect=CsvDialect(quote=None)), kind, [("a,b c", 4), ('"x"', None)])
    assert path.read_text() == 'a,b c,4\n"x",\n'


def test_csv_needs_columns(tmp_path):
    with pytest.raises(ConfigurationError, match="rows or tuples"):
        write_all(tmp_path, CsvBulkFormat(), Types.STRING(), ["a"])


def test_storages_that_cannot_append_close_files_at_checkpoints(tmp_path, monkeypatch):
    storage = ArrowStorage(pyarrow.fs.LocalFileSystem(), str(tmp_path))
    monkeypatch.setattr("funke.engine.connectors.file_sink.sink.open_storage", lambda _: storage)
    monkeypatch.setattr("funke.engine.connectors.file_sink.committer.open_storage", lambda _: storage)
    sink = FileSink("s3://bucket/out", SimpleStringEncoder(), BasePathBucketAssigner())
    writer = sink.create_writer(SinkHarness().context())
    writer.write(["a"], None)
    writer.flush(False)
    pending = writer.prepare_commit()
    state = writer.snapshot()
    writer.write(["lost"], None)
    writer.close()
    FileCommitter("s3://bucket/out").commit(pending)
    restarted = sink.create_writer(SinkHarness().context(), state)
    restarted.write(["b"], None)
    restarted.flush(True)
    FileCommitter("s3://bucket/out").commit(restarted.prepare_commit())
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["a\n", "b\n"]
