"""The text of a value as Flink shows it: Java's forms for typed values, Python's for untyped ones."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from funke.engine.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    Instant,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    Row,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from funke.engine.types.information.avro_type import AvroTypeInfo, avro_text
from funke.engine.types.information.collection_types import is_byte_array
from funke.engine.types.number_text import double_text, float_text

__all__ = ["TextWriter", "print_writer", "text_writer", "to_text"]

TextWriter = Callable[[Any], str]


def to_text(value: Any, type_info: TypeInformation | None = None) -> str:
    """Return the text of one value; without a type it is Python's ``str``.

    >>> from funke.engine.types.information.type_catalog import Types
    >>> to_text(("a", None), Types.ROW([Types.STRING(), Types.INT()]))
    '+I[a, null]'
    """
    return text_writer(type_info)(value)


def print_writer(type_info: TypeInformation | None) -> TextWriter:
    """Return the writer of ``DataStream.print()``.

    It differs from :func:`text_writer` for rows: PyFlink turns a row into text in Python before printing, so that its
    fields have Python's form and no space between them: ``+I[a,None]``.
    """
    if isinstance(type_info, ExternalTypeInfo):
        type_info = type_info._type_info
    return _print_row if isinstance(type_info, RowTypeInfo) else text_writer(type_info)


def _print_row(row: Any) -> str:
    if not isinstance(row, Row):
        return str(row)
    return f"{row._row_kind}[{','.join(map(str, row._values))}]"


def text_writer(type_info: TypeInformation | None) -> TextWriter:
    """Return a function that writes the text of values of the given type, as sinks on Flink's Java side see it."""
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return str
    return _nullable_writer(type_info)


def _nullable_writer(type_info: TypeInformation) -> TextWriter:
    write = _writer_of(type_info)
    return lambda value: "null" if value is None else write(value)


def _writer_of(type_info: TypeInformation) -> TextWriter:
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC_WRITERS[type_info.basic_type]
    for kind, build in _BUILDERS.items():
        if isinstance(type_info, kind):
            return build(type_info)
    return str


def _write_boolean(value: Any) -> str:
    return "true" if value else "false"


def _write_instant(value: Instant) -> str:
    timestamp = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value.seconds)
    return timestamp.isoformat() + _fraction_in_threes(value.nanos) + "Z"


def _fraction_in_threes(nanos: int) -> str:
    if nanos == 0:
        return ""
    digits = f"{nanos:09}"
    return "." + (digits[:3] if digits.endswith("000000") else digits[:6] if digits.endswith("000") else digits)


_BASIC_WRITERS: dict[BasicType, TextWriter] = {
    BasicType.STRING: str,
    BasicType.CHAR: str,
    BasicType.BYTE: str,
    BasicType.SHORT: str,
    BasicType.INT: str,
    BasicType.LONG: str,
    BasicType.BIG_INT: str,
    BasicType.BIG_DEC: str,
    BasicType.BOOLEAN: _write_boolean,
    BasicType.FLOAT: float_text,
    BasicType.DOUBLE: lambda value: double_text(float(value)),
    BasicType.INSTANT: _write_instant,
}


def _write_sql_time(value: datetime.time) -> str:
    return value.isoformat("seconds")


def _write_sql_timestamp(value: datetime.datetime) -> str:
    fraction = f"{value.microsecond:06}".rstrip("0") or "0"
    return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"


def _write_local_time(value: datetime.time | datetime.datetime) -> str:
    # Java leaves out seconds that are zero, and writes fractions in groups of three digits.
    text = f"{value.hour:02}:{value.minute:02}"
    if value.second or value.microsecond:
        text += f":{value.second:02}{_fraction_in_threes(value.microsecond * 1000)}"
    return text


def _local_time_writer(type_info: LocalTimeTypeInfo) -> TextWriter:
    kinds = LocalTimeTypeInfo.TimeType
    if type_info.time_type is kinds.LOCAL_DATE:
        return str
    if type_info.time_type is kinds.LOCAL_TIME:
        return _write_local_time
    return lambda value: f"{value.date()}T{_write_local_time(value)}"


def _write_bytes(value: Any) -> str:
    # Java's bytes have a sign.
    return f"[{', '.join(str(byte - 256 if byte > 127 else byte) for byte in value)}]"


def _write_pickled(value: Any) -> str:
    # Flink shows the bytes of the pickle, which tell a reader nothing, unless the value is bytes itself.
    return _write_bytes(value) if isinstance(value, bytes | bytearray) else str(value)


def _list_writer(type_info: Any) -> TextWriter:
    if is_byte_array(type_info):
        return _write_bytes
    write = _nullable_writer(type_info.element_type)
    return lambda values: f"[{', '.join(map(write, values))}]"


def _map_writer(type_info: MapTypeInfo) -> TextWriter:
    write_key, write_value = _nullable_writer(type_info.key_type), _nullable_writer(type_info.value_type)
    return lambda values: (
        "{" + ", ".join(f"{write_key(key)}={write_value(value)}" for key, value in values.items()) + "}"
    )


def _row_writer(type_info: RowTypeInfo) -> TextWriter:
    writers = [_nullable_writer(field_type) for field_type in type_info.get_field_types()]

    def write(row: Any) -> str:
        kind = row._row_kind if isinstance(row, Row) else "+I"
        return f"{kind}[{', '.join([write(value) for write, value in zip(writers, row, strict=False)])}]"

    return write


def _tuple_writer(type_info: TupleTypeInfo) -> TextWriter:
    writers = [_nullable_writer(field_type) for field_type in type_info.get_field_types()]
    return lambda values: f"({','.join([write(value) for write, value in zip(writers, values, strict=False)])})"


_BUILDERS: dict[type[TypeInformation], Callable[[Any], TextWriter]] = {
    RowTypeInfo: _row_writer,
    TupleTypeInfo: _tuple_writer,
    MapTypeInfo: _map_writer,
    ListTypeInfo: _list_writer,
    PrimitiveArrayTypeInfo: _list_writer,
    BasicArrayTypeInfo: _list_writer,
    ObjectArrayTypeInfo: _list_writer,
    ExternalTypeInfo: lambda type_info: _nullable_writer(type_info._type_info),
    DateTypeInfo: lambda _: str,
    TimeTypeInfo: lambda _: _write_sql_time,
    TimestampTypeInfo: lambda _: _write_sql_timestamp,
    LocalTimeTypeInfo: _local_time_writer,
    PickledBytesTypeInfo: lambda _: _write_pickled,
    AvroTypeInfo: lambda _: avro_text,
}
