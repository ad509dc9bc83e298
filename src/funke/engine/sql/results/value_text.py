"""Values as text: what CAST(… AS STRING) gives, which is what results show."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from funke.engine.types.bitmap_bytes import shown_text
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
    StructuredType,
    TimestampType,
    TimeType,
    VarBinaryType,
    YearMonthIntervalType,
)
from funke.engine.types.number_text import double_text, float_text

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["value_text"]

_MILLISECOND = datetime.timedelta(milliseconds=1)


def value_text(value: SqlValue, data_type: DataType, zone: datetime.tzinfo | None = None) -> str:
    """Return a value of a type as text; instants are shown in a zone.

    >>> from funke.engine.types.logical.data_types import DataTypes
    >>> value_text({"a": [1, None]}, DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(DataTypes.INT())))
    '{a=[1, NULL]}'
    """
    if value is None:
        return "NULL"
    for cls, to_text in _STRINGS:
        if isinstance(data_type, cls):
            return to_text(value, data_type, zone)
    return str(value)


def _decimal_text(value: SqlValue, data_type: Any, _: object) -> str:
    unit = Decimal(1).scaleb(-data_type.scale)
    return f"{Decimal(value).quantize(unit, rounding=ROUND_HALF_UP):f}"


def _bytes_text(value: SqlValue, *_: object) -> str:
    return f"x'{bytes(value).hex()}'"


def _time_text(value: SqlValue, data_type: Any, _: object) -> str:
    return f"{value:%H:%M:%S}{_fraction(value.microsecond, data_type.precision)}"


def _timestamp_text(value: SqlValue, data_type: Any, zone: datetime.tzinfo | None) -> str:
    if value.tzinfo is not None and zone is not None:
        value = value.astimezone(zone)
    # strftime would not fill up years below 1000.
    text = f"{value.year:04d}-{value.month:02d}-{value.day:02d} {value.hour:02d}:{value.minute:02d}:{value.second:02d}"
    return text + _fraction(value.microsecond, data_type.precision)


def _fraction(microsecond: int, precision: int) -> str:
    """Return as many digits as the type has; those that it has not are cut off."""
    return f".{f'{microsecond:06d}'.ljust(precision, '0')[:precision]}" if precision else ""


def _months_text(value: SqlValue, *_: object) -> str:
    years, months = divmod(abs(int(value)), 12)
    return f"{'-' if value < 0 else '+'}{years}-{months:02d}"


def _days_text(value: SqlValue, *_: object) -> str:
    """Return days and time; a number counts milliseconds."""
    millis = value // _MILLISECOND if isinstance(value, datetime.timedelta) else int(value)
    seconds, fraction = divmod(abs(millis), 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    return f"{'-' if millis < 0 else '+'}{day} {hour:02d}:{minute:02d}:{second:02d}.{fraction:03d}"


def _array_text(value: SqlValue, data_type: Any, zone: datetime.tzinfo | None) -> str:
    return f"[{', '.join(value_text(each, data_type.element_type, zone) for each in value)}]"


def _map_text(value: SqlValue, data_type: Any, zone: datetime.tzinfo | None) -> str:
    def entry(key: SqlValue) -> str:
        return f"{value_text(key, data_type.key_type, zone)}={value_text(value[key], data_type.value_type, zone)}"

    return f"{{{', '.join(map(entry, value))}}}"


def _multiset_text(value: SqlValue, data_type: Any, zone: datetime.tzinfo | None) -> str:
    entries = (f"{value_text(each, data_type.element_type, zone)}={count}" for each, count in _counted(value))
    return f"{{{', '.join(entries)}}}"


def _counted(value: SqlValue) -> list[tuple[SqlValue, int]]:
    if isinstance(value, dict):
        return list(value.items())
    return [(each, value.count(each)) for each in dict.fromkeys(value)]


def _row_text(value: SqlValue, data_type: Any, zone: datetime.tzinfo | None) -> str:
    return f"({', '.join(value_text(each, field.data_type, zone) for each, field in zip(value, data_type))})"


def _structured_text(value: SqlValue, data_type: Any, zone: datetime.tzinfo | None) -> str:
    parts = (f"{field.name}={value_text(each, field.data_type, zone)}" for each, field in zip(value, data_type))
    return f"({', '.join(parts)})"


_Text = Callable[[Any, Any, "datetime.tzinfo | None"], str]
_STRINGS: tuple[tuple[type[DataType] | tuple[type[DataType], ...], _Text], ...] = (
    (BooleanType, lambda value, *_: str(value).upper()),
    (DoubleType, lambda value, *_: double_text(value)),
    (FloatType, lambda value, *_: float_text(value)),
    (DecimalType, _decimal_text),
    ((BinaryType, VarBinaryType), _bytes_text),
    (BitmapType, lambda value, *_: shown_text(bytes(value))),
    (TimeType, _time_text),
    ((TimestampType, LocalZonedTimestampType), _timestamp_text),
    (YearMonthIntervalType, _months_text),
    (DayTimeIntervalType, _days_text),
    (ArrayType, _array_text),
    (MapType, _map_text),
    (MultisetType, _multiset_text),
    # In front of the type that it inherits from.
    (StructuredType, _structured_text),
    (RowType, _row_text),
)
