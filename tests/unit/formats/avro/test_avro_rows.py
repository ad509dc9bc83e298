"""Avro messages: bytes of one record as a row and back, and the types of the rows."""

from __future__ import annotations

import datetime
import io
import json
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest

from funke.common import Row, Types
from funke.common.serialization import AvroRowDeserializationSchema as LegacySchema
from funke.datastream.formats.avro import (
    AvroInputFormat,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from funke.engine.errors import ConfigurationError, SinkError, SourceError, UnsupportedFeatureError
from funke.engine.types.text_form import to_text
from tests.unit.formats.avro.records import ITEM, KINDS, UTC, record

SCHEMA = json.dumps(
    record(
        "test",
        ("id", ["null", "long"]),
        ("when", KINDS["timestamp-millis"][0]),
        ("price", KINDS["decimal"][0]),
        ("suit", KINDS["enum"][0]),
        ("items", KINDS["array"][0]),
        ("counts", {"type": "map", "values": "item"}),
        ("inner", ["null", "item"]),
        ("either", ["int", "string"]),
        ("raw", "bytes"),
    )
)
TIMESTAMP = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)


def item(number: int) -> Row:
    return Row(int=number, double=0.5)


ROW = Row(
    id=7,
    when=TIMESTAMP,
    price=Decimal("1.50"),
    suit="HEARTS",
    items=[item(1), item(2)],
    counts={"a": item(3)},
    inner=item(4),
    either="x",
    raw=b"\x00",
)


def test_rows_come_back() -> None:
    reader: Any = AvroRowDeserializationSchema(avro_schema_string=SCHEMA)
    writer: Any = AvroRowSerializationSchema(avro_schema_string=SCHEMA)
    empty = Row(**{**ROW.as_dict(), "id": None, "inner": None})

    for row in (ROW, empty):
        assert reader.deserialize(writer.serialize(row)) == row
    reader, writer = pickle.loads(pickle.dumps((reader, writer)))
    assert reader.deserialize(writer.serialize(ROW)) == ROW
    assert reader.deserialize(None) is None


def test_the_bytes_are_those_of_avro() -> None:
    parsed = json.loads(SCHEMA)
    message = AvroRowSerializationSchema(avro_schema_string=SCHEMA).serialize(ROW)

    result: Any = fastavro.schemaless_reader(io.BytesIO(message), parsed, None)

    assert result["when"] == TIMESTAMP.replace(tzinfo=UTC)
    assert (result["id"], result["inner"], result["counts"]) == (
        7,
        {"int": 4, "double": 0.5},
        {"a": {"int": 3, "double": 0.5}},
    )


def test_types_of_rows() -> None:
    inner = Types.ROW_NAMED(["int", "double"], [Types.INT(), Types.DOUBLE()])

    assert AvroRowDeserializationSchema(avro_schema_string=SCHEMA).get_produced_type() == Types.ROW_NAMED(
        ["id", "when", "price", "suit", "items", "counts", "inner", "either", "raw"],
        [
            Types.LONG(),
            Types.SQL_TIMESTAMP(),
            Types.BIG_DEC(),
            Types.STRING(),
            Types.OBJECT_ARRAY(inner),
            Types.MAP(Types.STRING(), inner),
            inner,
            Types.PICKLED_BYTE_ARRAY(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
        ],
    )


def test_what_cannot_be_read_or_written() -> None:
    with pytest.raises(SourceError, match=r"failed to deserialize Avro record b'\\xff'"):
        AvroRowDeserializationSchema(avro_schema_string=SCHEMA).deserialize(b"\xff")
    with pytest.raises(SinkError, match="could not serialize row"):
        AvroRowSerializationSchema(avro_schema_string=SCHEMA).serialize(Row(1, 2))
    with pytest.raises(ConfigurationError, match="contains itself, which rows cannot"):
        AvroRowDeserializationSchema(avro_schema_string=json.dumps(record("node", ("next", ["null", "node"]))))
    with pytest.raises(ConfigurationError, match="rows need an Avro schema of type record, got int"):
        AvroRowSerializationSchema(avro_schema_string='"int"')


@pytest.mark.parametrize("make", [AvroRowDeserializationSchema, AvroRowSerializationSchema, LegacySchema])
def test_what_describes_the_records(make: Any) -> None:
    with pytest.raises(TypeError, match="record_class or avro_schema_string should be specified"):
        make()
    with pytest.raises(UnsupportedFeatureError, match="names a Java class; give avro_schema_string"):
        make("org.example.Order")


def test_schemas_are_parsed_and_shown(tmp_path: Path) -> None:
    (tmp_path / "item.avsc").write_text(json.dumps(ITEM, indent=2))

    schema = AvroSchema.parse_file(str(tmp_path / "item.avsc"))

    assert str(schema) == str(AvroSchema.parse_string(json.dumps(ITEM))) == json.dumps(ITEM, separators=(",", ":"))
    assert pickle.loads(pickle.dumps(schema)).schema == ITEM


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"type": "record"', "not valid JSON"),
        ('{"type": "record", "name": "R"}', "the Avro schema is not valid"),
        ('{"type": "record", "name": "R", "fields": [{"name": "a", "type": "nothing"}]}', "nothing"),
        ("integer", "the Avro schema is not valid"),
    ],
)
def test_schemas_that_are_none(text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        AvroSchema.parse_string(text)


def test_the_type_of_records() -> None:
    schema = AvroSchema(ITEM)
    type_info = GenericRecordAvroTypeInfo(schema)

    assert type_info == pickle.loads(pickle.dumps(type_info)) == AvroInputFormat("/x", schema).get_produced_type()
    assert type_info != GenericRecordAvroTypeInfo(AvroSchema("int"))
    text = to_text({"a": [1, None], "b": b"\xff", "c": TIMESTAMP, "d": Decimal("1.5"), "e": "ä"}, type_info)
    assert text == '{"a": [1, null], "b": "ÿ", "c": "2020-01-02T03:04:05.678000", "d": "1.5", "e": "ä"}'
