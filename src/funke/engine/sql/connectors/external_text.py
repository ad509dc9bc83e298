"""Values of tables as Java's toString() writes them, for the connector print."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from funke.engine.types import bitmap_bytes
from funke.engine.types.logical import (
    ArrayType,
    BinaryType,
    BitmapType,
    BooleanType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VariantType,
    YearMonthIntervalType,
)
from funke.engine.types.number_text import double_text, float_text
from funke.engine.types.variant_text import shown_text

__all__ = ["Text", "external_text"]

Text = Callable[[Any], str]


def external_text(data_type: DataType) -> Text:
    """Return the function that writes values of a type."""
    for kind, make in _WRITERS.items():
        if isinstance(data_type, kind):
            return _or_null(make(data_type))
    return _or_null(str)


def _or_null(write: Text) -> Text:
    return lambda value: "null" if value is None else write(value)


def _time_text(value: datetime.time) -> str:
    """Without seconds if there are none; fractions have three or six digits."""
    if not value.second and not value.microsecond:
        return f"{value:%H:%M}"
    return f"{value:%H:%M:%S}{_fraction(value.microsecond)}"


def _timestamp_text(value: datetime.datetime) -> str:
    return f"{_date_text(value)}T{_time_text(value.time())}"


def _instant_text(value: datetime.datetime) -> str:
    return f"{_date_text(value)}T{value:%H:%M:%S}{_fraction(value.microsecond)}Z"


def _date_text(value: datetime.datetime) -> str:
    return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"


def _fraction(microsecond: int) -> str:
    if not microsecond:
        return ""
    return f".{microsecond // 1000:03d}" if microsecond % 1000 == 0 else f".{microsecond:06d}"


def _bytes_text(value: bytes) -> str:
    # Java's bytes have a sign: 0xff is -1.
    return f"[{', '.join(str(each - 256 if each > 127 else each) for each in value)}]"


def _period_text(months: int) -> str:
    years, rest = int(abs(months) / 12), abs(months) % 12
    sign = "-" if months < 0 else ""
    parts = [f"{sign}{years}Y"] * bool(years) + [f"{sign}{rest}M"] * bool(rest)
    return "P" + "".join(parts) if parts else "P0D"


def _duration_text(milliseconds: int) -> str:
    if not milliseconds:
        return "PT0S"
    sign = -1 if milliseconds < 0 else 1
    seconds, fraction = divmod(abs(milliseconds), 1000)
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    text = "PT" + (f"{sign * hours}H" if hours else "") + (f"{sign * minutes}M" if minutes else "")
    if not seconds and not fraction:
        return text
    digits = f".{fraction:03d}".rstrip("0") if fraction else ""
    return f"{text}{'-' if sign < 0 else ''}{seconds}{digits}S"


def _array_writer(data_type: Any) -> Text:
    write = external_text(data_type.element_type)
    return lambda values: f"[{', '.join(map(write, values))}]"


def _map_writer(data_type: Any) -> Text:
    is_multiset = isinstance(data_type, MultisetType)
    key = external_text(data_type.element_type if is_multiset else data_type.key_type)
    value = str if is_multiset else external_text(data_type.value_type)
    return lambda entries: f"{{{', '.join(f'{key(first)}={value(second)}' for first, second in entries.items())}}}"


def _row_writer(data_type: Any) -> Text:
    # A nested row has a kind, too, which Row.toString() writes. It is never other than +I.
    writers = [external_text(each.data_type) for each in data_type]
    return lambda row: f"+I[{', '.join(write(value) for write, value in zip(writers, row))}]"


_WRITERS: dict[type[DataType], Callable[[Any], Text]] = {
    BooleanType: lambda _: lambda value: "true" if value else "false",
    FloatType: lambda _: float_text,
    DoubleType: lambda _: double_text,
    DecimalType: lambda _: str,
    VariantType: lambda _: shown_text,
    BinaryType: lambda _: _bytes_text,
    VarBinaryType: lambda _: _bytes_text,
    BitmapType: lambda _: bitmap_bytes.shown_text,
    TimeType: lambda _: _time_text,
    TimestampType: lambda _: _timestamp_text,
    LocalZonedTimestampType: lambda _: _instant_text,
    YearMonthIntervalType: lambda _: _period_text,
    DayTimeIntervalType: lambda _: _duration_text,
    ArrayType: _array_writer,
    MapType: _map_writer,
    MultisetType: _map_writer,
    RowType: _row_writer,
}
