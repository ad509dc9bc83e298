"""Schemas and records that the tests of Avro share: each kind of type once."""

from __future__ import annotations

import datetime
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro

from funke.engine.formats.file_format import FileFormat
from funke.engine.formats.input_file import InputFile


def record(name: str, *fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields]}


UTC = datetime.UTC
ITEM = record("item", ("int", "int"), ("double", "double"))

# By name: the schema of one field, and values of it.
KINDS: dict[str, tuple[Any, list[Any]]] = {
    "null": ("null", [None]),
    "boolean": ("boolean", [True, False]),
    "int": ("int", [0, -(2**31)]),
    "long": ("long", [2**62]),
    "float": ("float", [2.5]),
    "double": ("double", [1e300]),
    "string": ("string", ["s1", "äö", ""]),
    "bytes": ("bytes", [b"\x00\xff", b""]),
    "enum": ({"type": "enum", "name": "Suit", "symbols": ["SPADES", "HEARTS"]}, ["SPADES", "HEARTS"]),
    "fixed": ({"type": "fixed", "name": "Three", "size": 3}, [b"abc"]),
    "union": (["int", "string", "null"], [1, "two", None]),
    "nullable": (["null", "string"], [None, "x"]),
    "array": ({"type": "array", "items": ITEM}, [[{"int": 1, "double": 2.0}, {"int": 3, "double": 4.0}], []]),
    "map": ({"type": "map", "values": "long"}, [{"a": 1, "b": 2}, {}]),
    "nested": (
        record("outer", ("inner", ITEM), ("none", "null")),
        [{"inner": {"int": 1, "double": 2.0}, "none": None}],
    ),
    "records": ([ITEM, record("other", ("text", "string"))], [{"int": 1, "double": 2.0}, {"text": "x"}]),
    "optional_items": ({"type": "array", "items": ["null", ITEM]}, [[None, {"int": 1, "double": 2.0}]]),
    "date": ({"type": "int", "logicalType": "date"}, [datetime.date(2020, 1, 2)]),
    "time-millis": ({"type": "int", "logicalType": "time-millis"}, [datetime.time(1, 2, 3, 4000)]),
    "time-micros": ({"type": "long", "logicalType": "time-micros"}, [datetime.time(1, 2, 3, 4567)]),
    "timestamp-millis": (
        {"type": "long", "logicalType": "timestamp-millis"},
        [datetime.datetime(2020, 1, 2, 3, 4, 5, 678000, UTC)],
    ),
    "timestamp-micros": (
        ["null", {"type": "long", "logicalType": "timestamp-micros"}],
        [datetime.datetime(1960, 1, 2, 3, 4, 5, 678901, UTC), None],
    ),
    "decimal": ({"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}, [Decimal("-12.30")]),
    "fixed-decimal": (
        {"type": "fixed", "name": "Price", "size": 4, "logicalType": "decimal", "precision": 6, "scale": 2},
        [Decimal("99.99")],
    ),
    # PyFlink's Python side makes no objects for these: functions see the type beneath.
    "uuid": ({"type": "string", "logicalType": "uuid"}, ["00000000-0000-0000-0000-000000000005"]),
    "local-timestamp-millis": ({"type": "long", "logicalType": "local-timestamp-millis"}, [5]),
    "duration": ({"type": "fixed", "name": "Span", "size": 12, "logicalType": "duration"}, [b"0" * 12]),
    "nonsense": ({"type": "int", "logicalType": "nonsense"}, [3]),
}


def schema_of(kind: str) -> str:
    return json.dumps(record("test", ("id", "long"), ("value", KINDS[kind][0])))


def records_of(kind: str) -> list[dict[str, Any]]:
    return [{"id": number, "value": value} for number, value in enumerate(KINDS[kind][1])]


def avro_file(path: Path, schema: Any, records: list[Any], codec: str = "null", block_bytes: int = 16_000) -> InputFile:
    with path.open("wb") as stream:
        fastavro.writer(stream, schema, records, codec, sync_interval=block_bytes)
    return InputFile(str(path), path.stat().st_size)


def read(file_format: FileFormat, file: InputFile, start: int = 0, end: int | None = None) -> list[Any]:
    units = file_format.units(file)
    last = file.size if units is None else len(units)
    return [each for batch in file_format.read(file, start, last if end is None else end) for each in batch]


def written(bulk_format: Any, path: Path, records: list[Any]) -> InputFile:
    content = io.BytesIO()
    writer = bulk_format.create_writer(content, None)
    writer.write(records)
    writer.finish()
    path.write_bytes(content.getvalue())
    return InputFile(str(path), len(content.getvalue()))
