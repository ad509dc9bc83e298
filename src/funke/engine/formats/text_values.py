"""Values as Flink's row formats read them from text: with Java's rules for numbers, booleans, dates and times."""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.types import (
    BasicType,
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from funke.engine.types.information.basic_types import INTEGER_BITS
from funke.engine.types.information.scalar_coercion import round_to_float32

__all__ = ["TextReader", "basic_reader", "integer_reader", "read_base64", "read_boolean", "read_double", "sql_reader"]

TextReader = Callable[[str], Any]

_INTEGER = re.compile(r"[+-]?\d+")
_TIMESTAMP = re.compile(r"\d{4}-\d{1,2}-\d{1,2} +\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d{1,9})?")


def basic_reader(basic_type: BasicType) -> TextReader:
    """Return the function that reads a value of a basic type."""
    bits = INTEGER_BITS.get(basic_type)
    if bits is not None:
        return integer_reader(bits)
    if basic_type not in _BASIC_READERS:
        raise UnsupportedFeatureError(f"a field of type {basic_type.name} in a row format")
    return _BASIC_READERS[basic_type]


def integer_reader(bits: int) -> TextReader:
    """Return the function that reads an integer of so many bits; larger ones are errors."""
    limit = 1 << (bits - 1)

    def read(text: str) -> int:
        number = _read_big_integer(text)
        if not -limit <= number < limit:
            raise ValueError(f"{number} does not fit into {bits} bits")
        return number

    return read


def read_boolean(text: str) -> bool:
    """Read a boolean: `true` in any case is true, everything else false."""
    return text.strip().lower() == "true"


def read_double(text: str) -> float:
    """Read a 64-bit float."""
    # Python reads 1_000 as a number, Java does not.
    if "_" in text:
        raise ValueError(f"{text!r} is not a number")
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None


def read_base64(text: str) -> bytes:
    """Read bytes that are written in base 64."""
    return base64.b64decode(text, validate=True)


def sql_reader(type_info: TypeInformation) -> TextReader | None:
    """Return the function that reads a date or time as SQL writes it, or None for other types."""
    if isinstance(type_info, DateTypeInfo):
        return _read_sql_date
    if isinstance(type_info, TimeTypeInfo):
        return _read_sql_time
    if isinstance(type_info, TimestampTypeInfo):
        return _read_sql_timestamp
    if isinstance(type_info, LocalTimeTypeInfo):
        return _LOCAL_READERS[type_info.time_type.name]
    return None


def _read_sql_date(text: str) -> datetime.date:
    year, month, day = _three_numbers(text, "-", "a date like 2020-12-31")
    return datetime.date(year, month, day)


def _read_sql_time(text: str) -> datetime.time:
    hour, minute, second = _three_numbers(text, ":", "a time like 23:59:59")
    return datetime.time(hour, minute, second)


def _three_numbers(text: str, separator: str, expected: str) -> tuple[int, int, int]:
    parts = text.strip().split(separator)
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        raise ValueError(f"{text!r} is not {expected}")
    first, second, third = map(int, parts)
    return first, second, third


def _read_sql_timestamp(text: str) -> datetime.datetime:
    if not _TIMESTAMP.fullmatch(text.strip()):
        raise ValueError(f"{text!r} is not a timestamp like 2020-12-31 23:59:59.123")
    date, time = text.split()[:2]
    seconds, _, fraction = time.partition(".")
    whole = datetime.datetime.combine(_read_sql_date(date), _read_sql_time(seconds))
    return whole.replace(microsecond=int(fraction.ljust(9, "0")[:6]) if fraction else 0)


def _read_big_integer(text: str) -> int:
    stripped = text.strip()
    if not _INTEGER.fullmatch(stripped):
        raise ValueError(f"{text!r} is not an integer")
    return int(stripped)


def _read_decimal(text: str) -> Decimal:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a decimal number") from None


_BASIC_READERS: dict[BasicType, TextReader] = {
    BasicType.STRING: str,
    BasicType.CHAR: lambda text: text[:1],
    BasicType.BOOLEAN: read_boolean,
    BasicType.FLOAT: lambda text: round_to_float32(read_double(text)),
    BasicType.DOUBLE: read_double,
    BasicType.BIG_INT: _read_big_integer,
    BasicType.BIG_DEC: _read_decimal,
}
_LOCAL_READERS: dict[str, TextReader] = {
    "LOCAL_DATE": datetime.date.fromisoformat,
    "LOCAL_TIME": datetime.time.fromisoformat,
    "LOCAL_DATE_TIME": datetime.datetime.fromisoformat,
}
