"""Changes of databases as JSON: decoded into columns with kinds, encoded, in files of tables."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from funke.engine.connectors.sink import WriterContext
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.formats.file_formats import find_file_format
from funke.engine.sql.connectors.table_option import OptionValues
from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.row_type import RowField
from funke.engine.types.row import RowKind
from tests.harness.sql_tables import created, sink_of, source_of
from tests.unit.connectors.source_draining import drain

FIELDS = (
    RowField("id", DataTypes.INT()),
    RowField("name", DataTypes.STRING()),
    RowField("price", DataTypes.DECIMAL(8, 2)),
)
SIGNS = ["+I", "-U", "+U", "-D"]


def decoder(name, fields=FIELDS, **options):
    strings = {key.replace("__", ".").replace("_", "-"): text for key, text in options.items()}
    return find_file_format(name).create_decoder(fields, OptionValues(strings))


def decoded(environment, *messages):
    strings = [each if each is None or isinstance(each, bytes) else json.dumps(each).encode() for each in messages]
    result = environment.decode(strings)
    kinds = np.zeros(len(result.data), int) if result.kinds is None else result.kinds
    rows = [tuple(None if each is None else str(each) for each in row.values()) for row in result.data.to_pylist()]
    return [(SIGNS[kind], *row, int(origin)) for kind, row, origin in zip(kinds, rows, result.origins)]


def row(number, name="a", price=1.5):
    return {"id": number, "name": name, "price": price, "more": True}


def test_debezium():
    messages = [
        {"before": None, "after": row(1), "op": "r", "source": {"lsn": 5}},
        {"before": None, "after": row(2), "op": "c"},
        None,
        {"before": row(1), "after": row(1, "b"), "op": "u"},
        {"before": row(2, None), "after": None, "op": "d"},
    ]
    expected = [
        ("+I", "1", "a", "1.50", 0),
        ("+I", "2", "a", "1.50", 1),
        ("-U", "1", "a", "1.50", 3),
        ("+U", "1", "b", "1.50", 3),
        ("-D", "2", None, "1.50", 4),
    ]
    assert decoded(decoder("debezium-json"), *messages) == expected
    wrapped = [None if each is None else {"schema": {"type": "struct"}, "payload": each} for each in messages]
    assert decoded(decoder("debezium-json", schema_include="true"), *wrapped) == expected
    pretty = [None if each is None else json.dumps(each, indent=2).encode() for each in messages]
    assert decoded(decoder("debezium-json"), *pretty) == expected


def test_columns_are_chosen():
    codec = decoder("debezium-json").selecting([2, 0])
    assert decoded(codec, {"before": None, "after": row(1), "op": "c"}) == [("+I", "1.50", "1", 0)]


def test_values_that_arrow_does_not_take_are_read_one_by_one():
    fields = (RowField("d", DataTypes.DATE()), RowField("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())))
    message = {"before": None, "after": {"d": "2020-01-02", "m": {"k": 1}}, "op": "c"}
    assert decoded(decoder("debezium-json", fields), message) == [("+I", "2020-01-02", "[('k', 1)]", 0)]


def test_debezium_without_the_row_before():
    codec = decoder("debezium-json")
    with pytest.raises(ValueError, match="REPLICA IDENTITY to FULL level"):
        decoded(codec, {"before": None, "after": row(1), "op": "u"})
    with pytest.raises(ValueError, match=r"Unknown kind of change. The Debezium JSON message is"):
        decoded(codec, {"before": None, "after": row(1), "op": "x"})
    with pytest.raises(ValueError, match="Corrupt Debezium JSON message"):
        decoded(codec, b"{not json")


@pytest.mark.parametrize("name", ["debezium-json", "canal-json", "maxwell-json", "ogg-json"])
def test_messages_that_cannot_be_read_are_left_out(name):
    codec = decoder(name, ignore_parse_errors="true")
    encoder = find_file_format(name).create_encoder(FIELDS, OptionValues({}))
    data = pa.RecordBatch.from_pylist([{"id": 1, "name": "a", "price": None}], schema=_schema())
    (good,) = encoder.encode(data, None)
    assert decoded(codec, b"{not json", b'{"op": "x"}', good, b"5") == [("+I", "1", "a", None, 2)]


def _schema():
    return pa.schema([("id", pa.int32()), ("name", pa.string()), ("price", pa.decimal128(8, 2))])


def test_canal():
    messages = [
        {"data": [row(1), row(2)], "type": "INSERT", "database": "shop", "table": "items"},
        {"data": [row(1, "b"), row(2, None)], "old": [{"name": "a"}, {"name": None, "price": None}], "type": "UPDATE"},
        {"data": None, "type": "CREATE", "sql": "create table"},
        {"data": [row(2)], "type": "DELETE"},
    ]
    assert decoded(decoder("canal-json"), *messages) == [
        ("+I", "1", "a", "1.50", 0),
        ("+I", "2", "a", "1.50", 0),
        # As in Flink: a value that is null for any row of the message counts as told.
        ("-U", "1", "a", None, 1),
        ("+U", "1", "b", "1.50", 1),
        ("-U", "2", None, None, 1),
        ("+U", "2", None, "1.50", 1),
        ("-D", "2", "a", "1.50", 3),
    ]


def test_canal_of_some_tables():
    codec = decoder("canal-json", database__include="shop.*", table__include="items|goods")
    messages = [
        {"data": [row(number)], "type": "INSERT", "database": database, "table": table}
        for number, (database, table) in enumerate([("shop1", "items"), ("other", "items"), ("shop", "items2")])
    ]
    assert decoded(codec, *messages) == [("+I", "0", "a", "1.50", 0)]
    with pytest.raises(ValidationException, match="is not a pattern"):
        decoder("canal-json", table__include="(")


def test_maxwell():
    messages = [
        {"data": row(1), "type": "insert", "ts": 5},
        {"data": row(1, "b"), "old": {"name": None}, "type": "update"},
        {"data": row(1, "b"), "old": {"price": 9}, "type": "update"},
        {"data": row(1, "b"), "type": "delete"},
    ]
    assert decoded(decoder("maxwell-json"), *messages) == [
        ("+I", "1", "a", "1.50", 0),
        ("-U", "1", None, "1.50", 1),
        ("+U", "1", "b", "1.50", 1),
        ("-U", "1", "b", "9.00", 2),
        ("+U", "1", "b", "1.50", 2),
        ("-D", "1", "b", "1.50", 3),
    ]
    with pytest.raises(ValueError, match="The row before the change is null"):
        decoded(decoder("maxwell-json"), {"data": row(1), "type": "update"})


def test_ogg():
    messages = [
        {"after": row(1), "op_type": "I"},
        {"op_type": "T"},
        {"before": row(1), "after": row(1, "b"), "op_type": "U"},
        {"before": row(1, "b"), "op_type": "D"},
    ]
    assert decoded(decoder("ogg-json"), *messages) == [
        ("+I", "1", "a", "1.50", 0),
        ("-U", "1", "a", "1.50", 2),
        ("+U", "1", "b", "1.50", 2),
        ("-D", "1", "b", "1.50", 3),
    ]


ROW = '{"id":1,"name":"a","price":1.5}'
WRITTEN = {
    "debezium-json": (f'{{"before":null,"after":{ROW},"op":"c"}}', f'{{"before":{ROW},"after":null,"op":"d"}}'),
    "canal-json": (f'{{"data":[{ROW}],"type":"INSERT"}}', f'{{"data":[{ROW}],"type":"DELETE"}}'),
    "maxwell-json": (f'{{"data":{ROW},"type":"insert"}}', f'{{"data":{ROW},"type":"delete"}}'),
    "ogg-json": (f'{{"before":null,"after":{ROW},"op_type":"I"}}', f'{{"before":{ROW},"after":null,"op_type":"D"}}'),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_changes_are_written_as_flink_writes_them(name):
    codec = find_file_format(name).create_encoder(FIELDS, OptionValues({}))
    data = pa.RecordBatch.from_pylist([{"id": 1, "name": "a", "price": Decimal("1.50")}] * 4, schema=_schema())
    comes, goes = WRITTEN[name]
    assert [each.decode() for each in codec.encode(data, np.arange(4, dtype=np.int8))] == [comes, goes, comes, goes]
    assert decoded(decoder(name), comes.encode(), goes.encode()) == [
        ("+I", "1", "a", "1.50", 0),
        ("-D", "1", "a", "1.50", 1),
    ]


def test_nulls_are_left_out_if_wanted():
    options = OptionValues({"encode.ignore-null-fields": "true"})
    codec = find_file_format("debezium-json").create_encoder(FIELDS, options)
    data = pa.RecordBatch.from_pylist([{"id": 1, "name": None, "price": None}], schema=_schema())
    assert codec.encode(data, None) == [b'{"after":{"id":1},"op":"c"}']


def test_debezium_with_a_schema_is_not_written():
    with pytest.raises(ValidationException, match=r"doesn't support 'debezium-json.schema-include'"):
        find_file_format("debezium-json").create_encoder(FIELDS, OptionValues({"schema-include": "true"}))


def test_files_of_changes(tmp_path):
    text = (
        "CREATE TABLE t (id INT, name STRING, kind STRING) PARTITIONED BY (kind) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}', 'format' = 'debezium-json')"
    )
    sink, (context, _) = sink_of(text), created(text)
    assert sink.accepted_kinds(frozenset(RowKind)) == frozenset(RowKind)
    new_sink = sink.create_sink(context.columns)
    writer_context = WriterContext("job", 0, 1, 0, row_type_of(context.columns), lambda: 0, print)
    writer = new_sink.create_writer(writer_context)
    columns = [pa.array([1, 2, 1], pa.int32()), pa.array(["a", "b", "a"]), pa.array(["x", "y", "x"])]
    data = pa.RecordBatch.from_arrays(columns, names=["id", "name", "kind"])
    writer.write_columns(ColumnBatch(data, None, np.array([0, 0, 3], np.int8)))
    writer.flush(True)
    new_sink.create_committer().commit(writer.prepare_commit())
    writer.close()
    (path,) = (tmp_path / "kind=x").iterdir()
    assert path.read_text().splitlines() == [
        '{"before":null,"after":{"id":1,"name":"a"},"op":"c"}',
        '{"before":{"id":1,"name":"a"},"after":null,"op":"d"}',
    ]
    source = source_of(text)
    assert source.kinds == frozenset(RowKind) and source.with_limit(1) is None
    results = [(str(each.get_row_kind()), *each) for each in drain(source.with_columns([2, 0]).create_source())]
    assert sorted(results) == [("+I", "x", 1), ("+I", "y", 2), ("-D", "x", 1)]


def test_what_was_before_is_found_whatever_else_has_its_name():
    fields = (
        RowField("id", DataTypes.INT()),
        RowField("old", DataTypes.STRING()),
        RowField("note", DataTypes.STRING()),
    )
    before, after = {"id": 1, "old": None, "note": 'the "old": {"id": 9}'}, {"id": 1, "old": "x", "note": "y"}
    for name, old in (("maxwell-json", {"old": None}), ("maxwell-json", {"note": before["note"]})):
        result = decoded(decoder(name, fields), {"data": after, "old": old, "type": "update"})
        expected = tuple(None if each is None else str(each) for each in {**after, **old}.values())
        assert result == [("-U", *expected, 0), ("+U", "1", "x", "y", 0)]
    message = {"old": [{"note": before["note"]}], "data": [after], "type": "UPDATE"}
    assert decoded(decoder("canal-json", fields), message)[0] == ("-U", "1", "x", before["note"], 0)


@pytest.mark.parametrize(
    ("name", "message", "expected"),
    [
        (
            "debezium-json",
            {
                "after": row(1),
                "op": "c",
                "ts_ms": 1_500,
                "source": {"db": "shop", "schema": "public", "table": "items", "ts_ms": 1_000, "snapshot": True},
            },
            {
                "schema": None,
                "ingestion-timestamp": "1970-01-01 00:00:01.500000+00:00",
                "source.timestamp": "1970-01-01 00:00:01+00:00",
                "source.database": "shop",
                "source.schema": "public",
                "source.table": "items",
                "source.properties": "[('db', 'shop'), ('schema', 'public'), ('table', 'items'), ('ts_ms', '1000'), "
                "('snapshot', 'true')]",
            },
        ),
        (
            "canal-json",
            {
                "data": [row(1)],
                "type": "INSERT",
                "database": "shop",
                "table": "items",
                "sqlType": {"id": 4},
                "pkNames": ["id"],
                "ts": 1_500,
                "es": 1_000,
            },
            {
                "database": "shop",
                "table": "items",
                "sql-type": "[('id', 4)]",
                "pk-names": "['id']",
                "ingestion-timestamp": "1970-01-01 00:00:01.500000+00:00",
                "event-timestamp": "1970-01-01 00:00:01+00:00",
            },
        ),
        (
            "maxwell-json",
            {
                "data": row(1),
                "type": "insert",
                "database": "shop",
                "table": "items",
                "primary_key_columns": ["id"],
                "ts": 1_500,
            },
            {
                "database": "shop",
                "table": "items",
                "primary-key-columns": "['id']",
                "ingestion-timestamp": "1970-01-01 00:00:01.500000+00:00",
            },
        ),
        (
            "ogg-json",
            {
                "after": row(1),
                "op_type": "I",
                "table": "ITEMS",
                "primary_keys": ["id"],
                "op_ts": "2020-05-13 15:40:06.000001",
                "current_ts": "2020-05-13T15:40:07.000000",
            },
            {
                "table": "ITEMS",
                "primary-keys": "['id']",
                "ingestion-timestamp": "2020-05-13 15:40:07+00:00",
                "event-timestamp": "2020-05-13 15:40:06.000001+00:00",
            },
        ),
    ],
)
def test_what_is_reported_beside_rows(name, message, expected):
    codec = decoder(name)
    assert list(codec.metadata) == list(expected)
    with_all = codec.with_metadata(list(expected))
    assert decoded(with_all, message) == [("+I", "1", "a", "1.50", *expected.values(), 0)]
    # In another order, and only some.
    some = list(expected)[::-2]
    assert decoded(codec.with_metadata(some), message)[0][4:-1] == tuple(expected[key] for key in some)


def test_what_is_reported_beside_rows_with_a_schema():
    message = {
        "schema": {"type": "struct"},
        "payload": {"after": row(1), "op": "c", "source": {"table": "items"}},
    }
    message_decoder = decoder("debezium-json", schema_include="true").with_metadata(["source.table", "schema"])
    assert decoded(message_decoder, message) == [("+I", "1", "a", "1.50", "items", '{"type":"struct"}', 0)]
