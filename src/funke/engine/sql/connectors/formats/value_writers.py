"""Values of tables as text formats write them: moments in SQL's or ISO's form, decimals, bytes."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.types.logical.atomic_types import (
    BinaryType,
    BitmapType,
    BooleanType,
    DecimalType,
    DoubleType,
    FloatType,
    VarBinaryType,
)
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.time_types import DateType, LocalZonedTimestampType, TimestampType, TimeType
from funke.engine.types.number_text import double_text, float_text

__all__ = ["ValueText", "decimal_text", "plain_text"]

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


def _moment_writer(separator: str, end: str) -> ValueText:
    def write(value: datetime.datetime) -> str:
        return f"{value.year:04d}-{value.month:02d}-{value.day:02d}{separator}{_time_text(value)}{end}"

    return write


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
    TimestampType: lambda separator: _moment_writer(separator, ""),
    LocalZonedTimestampType: lambda separator: _moment_writer(separator, "Z"),
}
