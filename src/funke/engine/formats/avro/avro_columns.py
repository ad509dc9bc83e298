"""Avro's records as Arrow's columns, as parquet-avro lays them out in Parquet files."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from funke.engine.errors import ConfigurationError, TypeMismatchError
from funke.engine.formats.avro.avro_column_values import FromArrow, ToArrow
from funke.engine.formats.avro.avro_schema import (
    branches_of,
    defined,
    is_record,
    kind_of,
    logical_kind_of,
    named_types,
    seen_by_python,
)
from funke.engine.formats.avro.unknown_fields import field_check
from funke.engine.formats.column_cast import cast

__all__ = ["AvroColumns"]

# Under this name parquet-avro keeps the schema in the file.
_SCHEMA_KEY = b"parquet.avro.schema"
_PRIMITIVES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "enum": pa.string(),
    "bytes": pa.binary(),
}
_LOGICAL: dict[tuple[str, str | None], Any] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
}
_LARGEST_DECIMAL_128 = 38


class AvroColumns:
    """Converts between records of a schema (JSON text) and Arrow tables.

    A union of several types is a struct with a field for each of them, `member0` and so on, all but one of them null;
    fields of type null have no column.
    """

    def __init__(self, schema_text: str) -> None:
        schema = seen_by_python(json.loads(schema_text))
        if not is_record(schema):
            raise ConfigurationError(f"a file of records needs a schema of type record, got {kind_of(schema)}")
        names = named_types(schema)
        self._fields = schema["fields"]
        columns = [field for field in self._fields if kind_of(field["type"]) != "null"]
        self._columns = list(_ArrowTypes(names).struct(schema))
        self._schema = pa.schema(self._columns, {_SCHEMA_KEY: schema_text.encode()})
        self._defaults = {field["name"]: field["default"] for field in columns if "default" in field}
        self._writers = [ToArrow(names).of(field["type"]) for field in columns]
        self._readers = [FromArrow(names).of(field["type"]) for field in columns]
        self._check = field_check(schema)

    def encode(self, records: list[Any]) -> Any:
        """Return the table of some records."""
        if self._check is not None:
            for record in records:
                self._check(record)
        columns = zip(self._columns, self._writers, strict=True)
        return pa.Table.from_arrays([self._encode(*column, records) for column in columns], schema=self._schema)

    def _encode(self, column: Any, convert: Any, records: list[Any]) -> Any:
        name, default = column.name, self._defaults.get(column.name)
        try:
            values = [record.get(name, default) for record in records]
            array = pa.array(values if convert is None else list(map(convert, values)), column.type)
        except (pa.ArrowException, OverflowError, TypeError, ValueError, AttributeError) as error:
            raise TypeMismatchError(f"field {name!r} of type {column.type} cannot take its values: {error}") from error
        if array.null_count and not column.nullable:
            raise TypeMismatchError(f"field {name!r} of type {column.type} must not be null, and is in a record")
        return array

    def columns_in(self, names: list[str]) -> list[str]:
        """Return which of a file's columns to read."""
        missing = [
            column.name
            for column in self._columns
            if not (column.name in names or column.name in self._defaults or column.nullable)
        ]
        if missing:
            raise ValueError(f"it has no column {', '.join(missing)}; its columns are {', '.join(names)}")
        return [column.name for column in self._columns if column.name in names]

    def decode(self, batch: Any) -> list[dict[str, Any]]:
        """Return the records of a batch that has the columns to read."""
        nulls = [None] * batch.num_rows
        lists = {field["name"]: nulls for field in self._fields}
        for column, convert in zip(self._columns, self._readers, strict=True):
            lists[column.name] = self._decode(batch, column, convert)
        return [dict(zip(lists, values)) for values in zip(*lists.values())]

    def _decode(self, batch: Any, column: Any, convert: Any) -> list[Any]:
        if column.name not in batch.schema.names:
            return [self._defaults.get(column.name)] * batch.num_rows
        values: list[Any] = cast(batch.column(column.name), column.name, column.type).to_pylist()
        return values if convert is None else list(map(convert, values))


class _ArrowTypes:
    """Finds the Arrow types of a schema; `names` are the types that it names."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._open: list[str] = []

    def struct(self, schema: Any) -> Any:
        """Return the struct of a record."""
        if schema["name"] in self._open:
            raise ConfigurationError(f"record {schema['name']} contains itself, which columns cannot")
        self._open.append(schema["name"])
        fields = [field for field in schema["fields"] if kind_of(field["type"]) != "null"]
        struct = pa.struct([self._field(field["name"], field["type"]) for field in fields])
        self._open.pop()
        return struct

    def _field(self, name: str, schema: Any) -> Any:
        branches = branches_of(schema)
        arrow_type = self._type(branches[0]) if len(branches) == 1 else self._members(branches)
        return pa.field(name, arrow_type, nullable=isinstance(schema, list) and len(branches) < len(schema))

    def _members(self, branches: list[Any]) -> Any:
        return pa.struct([pa.field(f"member{i}", self._type(branch)) for i, branch in enumerate(branches)])

    def _type(self, schema: Any) -> Any:
        schema = defined(schema, self._names)
        kind, logical = kind_of(schema), logical_kind_of(schema)
        if logical == "decimal" and kind in ("bytes", "fixed"):
            precision, scale = schema["precision"], schema.get("scale", 0)
            return (pa.decimal128 if precision <= _LARGEST_DECIMAL_128 else pa.decimal256)(precision, scale)
        if (kind, logical) in _LOGICAL:
            return _LOGICAL[kind, logical]
        if kind == "fixed":
            return pa.binary(schema["size"])
        if kind == "array":
            return pa.list_(self._field("element", schema["items"]))
        if kind == "map":
            return pa.map_(pa.string(), self._field("value", schema["values"]))
        return self.struct(schema) if is_record(schema) else _PRIMITIVES[kind]
