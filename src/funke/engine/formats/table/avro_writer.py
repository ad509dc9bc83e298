"""Avro files of tables, with the schema that Flink makes of their columns."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.formats.table.table_writer import BatchFileWriter, BatchStream
from funke.engine.types.logical import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    to_sql_text,
)

if TYPE_CHECKING:
    from funke.engine.types.logical import RowField

__all__ = ["AvroFileWriter", "avro_records", "avro_schema"]

_NAME = "org.apache.flink.avro.generated.record"


@dataclass(frozen=True)
class AvroFileWriter(BatchFileWriter):
    fields: tuple[RowField, ...]
    codec: str = "deflate"

    def __post_init__(self) -> None:
        """Rejects types that Avro has no form for, where the table is made."""
        avro_schema(self.fields)

    def open_stream(self, stream: IO[bytes]) -> BatchStream:
        return _AvroStream(stream, self)


class _AvroStream(BatchStream):
    def __init__(self, stream: IO[bytes], writer: AvroFileWriter) -> None:
        from fastavro.write import Writer

        self._writer = Writer(stream, avro_schema(writer.fields), codec=writer.codec)
        self._fields = writer.fields

    def write(self, batch: Any) -> None:
        for record in avro_records(self._fields, batch):
            self._writer.write(record)

    def close(self) -> None:
        self._writer.flush()


def avro_records(fields: Sequence[RowField], batch: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a record batch as fastavro takes them."""
    converters = [(each.name, _converter(each.data_type)) for each in fields]
    for record in batch.to_pylist():
        for name, convert in converters:
            if convert is not None and record[name] is not None:
                record[name] = convert(record[name])
        yield record


def avro_schema(fields: Any, name: str = _NAME) -> dict[str, Any]:
    """Return the schema of a record with these fields; those inside of others are named after where they stand."""
    members = []
    for each in fields:
        kind = _avro_type(each.data_type, f"{name}_{each.name}")
        members.append({"name": each.name, "type": ["null", kind] if each.data_type._nullable else kind})
    return {"type": "record", "name": name, "fields": members}


def _avro_type(data_type: DataType, name: str) -> Any:
    if isinstance(data_type, RowType):
        return avro_schema(data_type, name)
    if isinstance(data_type, ArrayType):
        return {"type": "array", "items": _optional(data_type.element_type, name)}
    if isinstance(data_type, MapType):
        if not isinstance(data_type.key_type, (CharType, VarCharType)):
            raise UnsupportedFeatureError(f"{to_sql_text(data_type)} in Avro", "keys of its maps are texts")
        return {"type": "map", "values": _optional(data_type.value_type, name)}
    for kind, make in _KINDS.items():
        if isinstance(data_type, kind):
            return make(data_type)
    raise UnsupportedFeatureError(f"{to_sql_text(data_type)} in Avro")


def _optional(data_type: DataType, name: str) -> Any:
    kind = _avro_type(data_type, name)
    return ["null", kind] if data_type._nullable else kind


def _timestamp(data_type: Any) -> dict[str, str]:
    return {"type": "long", "logicalType": "timestamp-millis" if data_type.precision <= 3 else "timestamp-micros"}


_KINDS: dict[type[DataType], Callable[[Any], Any]] = {
    BooleanType: lambda _: "boolean",
    TinyIntType: lambda _: "int",
    SmallIntType: lambda _: "int",
    IntType: lambda _: "int",
    BigIntType: lambda _: "long",
    FloatType: lambda _: "float",
    DoubleType: lambda _: "double",
    CharType: lambda _: "string",
    VarCharType: lambda _: "string",
    BinaryType: lambda _: "bytes",
    VarBinaryType: lambda _: "bytes",
    DecimalType: lambda data_type: {
        "type": "bytes",
        "logicalType": "decimal",
        "precision": data_type.precision,
        "scale": data_type.scale,
    },
    DateType: lambda _: {"type": "int", "logicalType": "date"},
    TimeType: lambda _: {"type": "int", "logicalType": "time-millis"},
    TimestampType: _timestamp,
    LocalZonedTimestampType: _timestamp,
}


def _converter(data_type: DataType) -> Callable[[Any], Any] | None:
    """What makes of Arrow's Python values those that fastavro writes."""
    if isinstance(data_type, TimestampType):
        # Without a zone fastavro would take it for the machine's.
        return lambda timestamp: timestamp.replace(tzinfo=datetime.UTC)
    if isinstance(data_type, MapType):
        value = _converter(data_type.value_type)
        return lambda entries: {key: _applied(value, each) for key, each in entries}
    if isinstance(data_type, ArrayType):
        element = _converter(data_type.element_type)
        return None if element is None else lambda values: [_applied(element, each) for each in values]
    if isinstance(data_type, RowType):
        fields = {each.name: _converter(each.data_type) for each in data_type}
        return lambda row: {name: _applied(fields[name], each) for name, each in row.items()}
    return None


def _applied(convert: Callable[[Any], Any] | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)
