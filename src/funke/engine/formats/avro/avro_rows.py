"""Avro messages: one record as bytes, read into a row and written from one, as Flink's row schemas do."""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from funke.engine.errors import ConfigurationError, SinkError, SourceError
from funke.engine.formats.avro.avro_schema import (
    branches_of,
    defined,
    is_record,
    kind_of,
    logical_kind_of,
    named_types,
    seen_by_python,
)
from funke.engine.types import Row, RowTypeInfo, TypeInformation, Types
from funke.engine.types.row import _create_row

__all__ = ["AvroRowReader", "AvroRowWriter", "row_type_of_schema"]

# None instead of a converter means that values stay as they are.
Converter = Callable[[Any], Any]

_BASIC: dict[str, Callable[[], TypeInformation]] = {
    "boolean": Types.BOOLEAN,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "string": Types.STRING,
    "enum": Types.STRING,
    "bytes": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "fixed": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
}
_LOGICAL: dict[tuple[str, str | None], Callable[[], TypeInformation]] = {
    ("int", "date"): Types.SQL_DATE,
    ("int", "time-millis"): Types.SQL_TIME,
    ("long", "time-micros"): Types.SQL_TIME,
    ("long", "timestamp-millis"): Types.SQL_TIMESTAMP,
    ("long", "timestamp-micros"): Types.SQL_TIMESTAMP,
    ("bytes", "decimal"): Types.BIG_DEC,
    ("fixed", "decimal"): Types.BIG_DEC,
}


def row_type_of_schema(schema: Any) -> RowTypeInfo:
    """Return the type of the rows that stand for the records of a schema."""
    if not is_record(schema):
        raise ConfigurationError(f"rows need an Avro schema of type record, got {kind_of(schema)}")
    return _row_type(schema, named_types(schema), ())


def _row_type(schema: Any, names: dict[str, Any], outer: tuple[str, ...]) -> RowTypeInfo:
    if schema["name"] in outer:
        raise ConfigurationError(f"record {schema['name']} contains itself, which rows cannot")
    inner = (*outer, schema["name"])
    types = [_type(field["type"], names, inner) for field in schema["fields"]]
    return Types.ROW_NAMED([field["name"] for field in schema["fields"]], types)


def _type(schema: Any, names: dict[str, Any], outer: tuple[str, ...]) -> TypeInformation:
    branches = branches_of(schema)
    if len(branches) != 1:
        return Types.PICKLED_BYTE_ARRAY()  # null, or one of several types
    schema = defined(branches[0], names)
    kind = kind_of(schema)
    if kind == "array":
        return Types.OBJECT_ARRAY(_type(schema["items"], names, outer))
    if kind == "map":
        return Types.MAP(Types.STRING(), _type(schema["values"], names, outer))
    if is_record(schema):
        return _row_type(schema, names, outer)
    return _LOGICAL.get((kind, logical_kind_of(schema)), _BASIC[kind])()


@dataclass
class AvroRowReader:
    """Reads messages of a schema (JSON text) into rows."""

    schema: str

    def __post_init__(self) -> None:
        self.row_type = row_type_of_schema(seen_by_python(json.loads(self.schema)))
        self._convert: Converter | None = None
        self._parsed: Any = None

    def read(self, message: bytes | None) -> Row | None:
        """Return the row of a message; None for none."""
        import fastavro

        if message is None:
            return None
        if self._parsed is None:
            schema = seen_by_python(json.loads(self.schema))
            self._parsed, self._convert = fastavro.parse_schema(schema), _record_to_row(schema, named_types(schema))
        assert self._convert is not None
        try:
            row: Row = self._convert(fastavro.schemaless_reader(io.BytesIO(message), self._parsed, None))
            return row
        except Exception as error:  # whatever the decoder makes of bytes of another schema
            reason = f"{type(error).__name__}: {error}"
            raise SourceError(f"failed to deserialize Avro record {message[:80]!r}: {reason}") from error

    def __getstate__(self) -> dict[str, Any]:
        # Converters do not pickle; the receiver makes its own.
        return {**self.__dict__, "_convert": None, "_parsed": None}


@dataclass
class AvroRowWriter:
    """Writes rows as messages of a schema (JSON text)."""

    schema: str

    def __post_init__(self) -> None:
        row_type_of_schema(json.loads(self.schema))
        self._convert: Converter | None = None
        self._parsed: Any = None

    def write(self, row: Any) -> bytes:
        """Return the message of a row."""
        import fastavro

        if self._parsed is None:
            schema = json.loads(self.schema)
            self._parsed, self._convert = fastavro.parse_schema(schema), _row_to_record(schema, named_types(schema))
        assert self._convert is not None
        written = io.BytesIO()
        try:
            fastavro.schemaless_writer(written, self._parsed, self._convert(row))
        except Exception as error:  # each type raises its own exception
            reason = f"{type(error).__name__}: {error}"
            raise SinkError(f"could not serialize row {row!r} as Avro: {reason}") from error
        return written.getvalue()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_convert": None, "_parsed": None}


def _record_to_row(schema: Any, names: dict[str, Any]) -> Converter:
    fields = [field["name"] for field in schema["fields"]]
    converters = [_converter(field["type"], names, _record_to_row, _to_sql_timestamp) for field in schema["fields"]]

    def convert(record: dict[str, Any]) -> Row:
        pairs = zip(fields, converters, strict=True)
        return _create_row(fields, [record[name] if each is None else each(record[name]) for name, each in pairs])

    return convert


def _row_to_record(schema: Any, names: dict[str, Any]) -> Converter:
    fields = [field["name"] for field in schema["fields"]]
    converters = [_converter(field["type"], names, _row_to_record, _from_sql_timestamp) for field in schema["fields"]]

    def convert(row: Any) -> dict[str, Any]:
        triples = zip(fields, converters, row, strict=True)
        return {name: value if each is None else each(value) for name, each, value in triples}

    return convert


def _converter(
    schema: Any, names: dict[str, Any], of_record: Callable[[Any, dict[str, Any]], Converter], of_timestamp: Converter
) -> Converter | None:
    branches = branches_of(schema)
    if len(branches) != 1:
        return None
    schema = defined(branches[0], names)
    kind, convert = kind_of(schema), None
    if kind in ("array", "map"):
        inner = _converter(schema["items" if kind == "array" else "values"], names, of_record, of_timestamp)
        convert = None if inner is None else (_of_list if kind == "array" else _of_map)(inner)
    elif is_record(schema):
        convert = of_record(schema, names)
    elif (logical_kind_of(schema) or "").startswith("timestamp-"):
        convert = of_timestamp
    present = convert
    return None if present is None else lambda value: None if value is None else present(value)


def _of_list(convert: Converter) -> Converter:
    return lambda values: list(map(convert, values))


def _of_map(convert: Converter) -> Converter:
    return lambda entries: {key: convert(value) for key, value in entries.items()}


def _to_sql_timestamp(value: datetime.datetime) -> datetime.datetime:
    return value.replace(tzinfo=None)


def _from_sql_timestamp(value: Any) -> Any:
    # Rows show the date and time of UTC, whatever the zone of the process.
    is_naive = isinstance(value, datetime.datetime) and value.tzinfo is None
    return value.replace(tzinfo=datetime.UTC) if is_naive else value
