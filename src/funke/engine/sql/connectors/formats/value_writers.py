"""Values of tables in text formats: timestamps in the form of SQL or ISO, decimals, bytes."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.types.logical import (
    CHARACTER,
    INTEGRAL,
    BinaryType,
    BitmapType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    VarBinaryType,
)
from funke.engine.types.number_text import double_text, float_text

__all__ = ["ValueText", "decimal_text", "plain_text", "text_column", "to_lines"]

ValueText = Callable[[Any], str]

# Decimals have up to 38 digits; Python's default context rounds to 28.
_EXACT = Context(prec=38)


def plain_text(data_type: DataType, separator: str = " ") -> ValueText | None:
    """Return the function that writes values of a plain type; None for texts, numbers and nested types."""
    if isinstance(data_type, BitmapType):
        raise UnsupportedFeatureError("BITMAP in a text format", "BITMAP_TO_BYTES gives its bytes")
    for kind, make in _WRITERS.items():
        if isinstance(data_type, kind):
            return make(separator)
    return None


def decimal_text(value: Decimal) -> str:
    """Return a decimal without zeros at its end, as Jackson writes it: 100.00 is 1E+2."""
    return str(_EXACT.normalize(value)) if value else "0"


def _fraction(microsecond: int) -> str:
    return f".{microsecond:06d}".rstrip("0") if microsecond else ""


def _time_text(value: datetime.time | datetime.datetime) -> str:
    return f"{value.hour:02d}:{value.minute:02d}:{value.second:02d}{_fraction(value.microsecond)}"


def _timestamp_writer(separator: str, end: str) -> ValueText:
    def write(value: datetime.datetime) -> str:
        return f"{value.year:04d}-{value.month:02d}-{value.day:02d}{separator}{_time_text(value)}{end}"

    return write


def text_column(column: pa.Array, data_type: DataType, separator: str = " ") -> pa.Array | None:
    """Return the texts of a column, all at once and as `plain_text` writes them; None for types without such a way.

    One value at a time takes five to fifteen times as long.
    """
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
        return _timestamp_strings(column, data_type, separator)
    if isinstance(data_type, (BooleanType, *INTEGRAL, *CHARACTER)) and not pa.types.is_dictionary(column.type):
        return column.cast(pa.large_string())
    return None


def _timestamp_strings(column: pa.Array, data_type: DataType, separator: str) -> pa.Array | None:
    if column.type.tz not in (None, "UTC"):
        return None
    # Python's timestamps, and so the texts, have microseconds at most.
    unit = "us" if column.type.unit == "ns" else column.type.unit
    local = column.cast(pa.timestamp(unit, column.type.tz), safe=False).cast(pa.int64()).cast(pa.timestamp(unit))
    strings = local.cast(pa.large_string())
    if unit != "s":
        strings = pc.utf8_rtrim(pc.utf8_rtrim(strings, "0"), ".")
    if separator != " ":
        strings = pc.replace_substring(strings, " ", separator)
    if isinstance(data_type, LocalZonedTimestampType):
        strings = pc.binary_join_element_wise(strings, *(pa.scalar(each, pa.large_string()) for each in ("Z", "")))
    return strings


def to_lines(parts: Sequence[pa.Array | str], null_text: str = "") -> list[bytes]:
    """Return a line for each row: columns of texts, with constant texts between them."""
    columns = [each if isinstance(each, pa.Array) else pa.scalar(each, pa.large_string()) for each in parts]
    lines = pc.binary_join_element_wise(
        *columns, pa.scalar("", pa.large_string()), null_handling="replace", null_replacement=null_text
    )
    encoded: list[bytes] = lines.cast(pa.large_binary()).to_pylist()
    return encoded


def _bytes_text(value: bytes) -> str:
    return base64.b64encode(value).decode()


_WRITERS: dict[type[DataType], Callable[[str], ValueText]] = {
    BooleanType: lambda _: lambda value: "true" if value else "false",
    FloatType: lambda _: float_text,
    DoubleType: lambda _: double_text,
    DecimalType: lambda _: decimal_text,
    BinaryType: lambda _: _bytes_text,
    VarBinaryType: lambda _: _bytes_text,
    DateType: lambda _: datetime.date.isoformat,
    TimeType: lambda _: _time_text,
    TimestampType: lambda separator: _timestamp_writer(separator, ""),
    LocalZonedTimestampType: lambda separator: _timestamp_writer(separator, "Z"),
}
