"""Parquet files with an Avro schema: the records of every type, the columns, other schemas, what does not fit."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from funke.engine.connectors.file_sink.avro_format import AvroParquetBulkFormat
from funke.engine.connectors.files.file_source import FileSource
from funke.engine.errors import ConfigurationError, SourceError, TypeMismatchError
from funke.engine.formats.avro.avro_parquet import AvroParquetFormat
from tests.unit.connectors.source_draining import drain
from tests.unit.formats.avro.records import ITEM, KINDS, read, record, records_of, schema_of, written


@pytest.mark.parametrize("kind", KINDS)
def test_records_come_back(tmp_path: Path, kind: str) -> None:
    schema, records = schema_of(kind), records_of(kind)
    file = written(AvroParquetBulkFormat(schema), tmp_path / "a.parquet", records)

    elements = read(AvroParquetFormat(schema), file)

    assert elements == records
    assert [type(each["value"]) for each in elements] == [type(each["value"]) for each in records]


def test_columns_are_those_of_parquet_avro(tmp_path: Path) -> None:
    schema = record("test", ("none", "null"), ("id", "long"), ("u", ["int", "string", "null"]), ("d", KINDS["date"][0]))
    written(
        AvroParquetBulkFormat(json.dumps(schema)),
        tmp_path / "a.parquet",
        [{"id": 1, "u": "x", "d": KINDS["date"][1][0]}],
    )

    schema_of_file = pq.read_schema(tmp_path / "a.parquet")

    assert json.loads(schema_of_file.metadata[b"parquet.avro.schema"]) == schema
    assert schema_of_file.remove_metadata() == pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("u", pa.struct([("member0", pa.int32()), ("member1", pa.string())])),
            pa.field("d", pa.date32(), nullable=False),
        ]
    )


def test_columns_of_other_writers(tmp_path: Path) -> None:
    table = pa.table({"extra": [True], "n": pa.array([7], pa.int64()), "t": pa.array([5], pa.timestamp("ms"))})
    pq.write_table(table, tmp_path / "a.parquet")
    schema = record("test", ("t", KINDS["local-timestamp-millis"][0]), ("n", "int"), ("lacking", ["null", "string"]))
    schema["fields"].append({"name": "more", "type": "string", "default": "none"})
    source = FileSource([str(tmp_path)], AvroParquetFormat(json.dumps(schema)))

    assert drain(source) == [{"t": 5, "n": 7, "lacking": None, "more": "none"}]


def test_a_column_that_is_missing(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    source = FileSource([str(tmp_path)], AvroParquetFormat(json.dumps(record("test", ("b", "int")))))

    with pytest.raises(SourceError, match=r"cannot read file '.*a.parquet': it has no column b; its columns are a"):
        drain(source)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"id": "x"}, "field 'id' of type int64 cannot take its values"),
        ({}, "field 'id' of type int64 must not be null"),
        ({"id": 1, "more": 2}, "lacks: more"),
        ({"id": 1, "suit": "JOKER"}, "'JOKER' is none of SPADES, HEARTS"),
        ({"id": 1, "u": 1.5}, "1.5 is of no type of the union"),
        (1, "a record of Avro must be a dict"),
    ],
)
def test_records_that_do_not_fit_are_rejected(tmp_path: Path, value: Any, reason: str) -> None:
    schema = record("test", ("id", "long"), ("suit", ["null", KINDS["enum"][0]]), ("u", KINDS["union"][0]))

    with pytest.raises(TypeMismatchError, match=reason):
        written(AvroParquetBulkFormat(json.dumps(schema)), tmp_path / "a.parquet", [value])


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (record("node", ("next", ["null", "node"])), "record node contains itself"),
        ({"type": "array", "items": ITEM}, "a file of records needs a schema of type record, got array"),
    ],
)
def test_schemas_without_columns_are_rejected(schema: Any, reason: str) -> None:
    for make in (AvroParquetFormat, AvroParquetBulkFormat):
        with pytest.raises(ConfigurationError, match=reason):
            make(json.dumps(schema))


def test_values_find_their_type_of_a_union(tmp_path: Path) -> None:
    union = [
        "boolean", "int", "double", "string", "bytes", KINDS["fixed-decimal"][0], KINDS["date"][0],
        KINDS["enum"][0] | {"symbols": ["A"]}, KINDS["array"][0], record("pair", ("x", "item"), ("y", ["null", "int"])),
        {"type": "map", "values": "item"},
    ]  # fmt: skip
    item = {"int": 1, "double": 2.0}
    values = [
        True, 1, 2**40, 1.5, "text", b"x", Decimal("1.50"), datetime.date(2020, 1, 2), [item], {"x": item, "y": 1},
        {"key": item},
    ]  # fmt: skip
    schema = json.dumps(record("test", ("value", union)))
    file = written(AvroParquetBulkFormat(schema), tmp_path / "a.parquet", [{"value": value} for value in values])

    assert [each["value"] for each in read(AvroParquetFormat(schema), file)] == values


def test_named_types_are_found_again(tmp_path: Path) -> None:
    schema = record("test", ("first", {**ITEM, "namespace": "org.x"}), ("second", ["null", "org.x.item"]))
    records = [
        {"first": {"int": 1, "double": 2.0}, "second": {"int": 3, "double": 4.0}},
        {"first": {"int": 5, "double": 6.0}, "second": None},
    ]
    file = written(AvroParquetBulkFormat(json.dumps(schema)), tmp_path / "a.parquet", records)

    assert read(AvroParquetFormat(json.dumps(schema)), file) == records
