"""Values of tables from their text, as Flink's text formats read them: the truth for every faster way."""

from __future__ import annotations

import base64
import binascii
import datetime
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.types.information.scalar_coercion import round_to_float32
from funke.engine.types.logical import (
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
    NullType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    to_sql_text,
)

__all__ = ["CellReader", "cell_reader", "fitted_decimal", "truncated"]

# Python's default context has 28 digits; numbers that are cut to 38 may have more before.
_EXACT = Context(prec=1000)
CellReader = Callable[[str], Any]

_INTEGER = re.compile(r"[+-]?\d+")
_FLOAT = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?)")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TIMESTAMP = re.compile(r"(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?")
_INSTANT = re.compile(r"(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?Z")
_TIME = re.compile(r"(\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?")


def cell_reader(data_type: DataType) -> CellReader:
    """Return the function that reads a text; it raises ValueError for other texts."""
    for kind, make in _READERS.items():
        if isinstance(data_type, kind):
            return make(data_type)
    raise UnsupportedFeatureError(f"{to_sql_text(data_type)} in a text format")


def fitted_decimal(number: Decimal, precision: int, scale: int) -> Decimal | None:
    """Return a number rounded to a scale; None if it has too many digits, as in Flink."""
    if not number.is_finite():
        raise ValueError(f"{number} is not a decimal number")
    rounded = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    return rounded if len(rounded.as_tuple().digits) <= precision or not rounded else None


def truncated(timestamp: datetime.datetime, precision: int) -> datetime.datetime:
    """Return a timestamp with so many digits of its second; Arrow refuses to drop any."""
    if precision == 0:
        return timestamp.replace(microsecond=0)
    return timestamp.replace(microsecond=timestamp.microsecond // 1000 * 1000) if precision <= 3 else timestamp


def _integer_reader(bits: int) -> CellReader:
    limit = 1 << (bits - 1)

    def read(text: str) -> int:
        if not _INTEGER.fullmatch(text.strip()):
            raise ValueError(f'For input string: "{text.strip()}"')
        number = int(text)
        if not -limit <= number < limit:
            raise ValueError(f'Value out of range. Value:"{text.strip()}" Radix:10')
        return number

    return read


def _read_boolean(text: str) -> bool:
    return text.strip().lower() == "true"


def _read_double(text: str) -> float:
    if not _FLOAT.fullmatch(text.strip()):
        raise ValueError(f'For input string: "{text.strip()}"')
    return float(text.strip().rstrip("dDfF"))


def _decimal_reader(data_type: Any) -> CellReader:
    def read(text: str) -> Decimal | None:
        if not _DECIMAL.fullmatch(text):
            raise ValueError(f'"{text}" is not a decimal number')
        return fitted_decimal(Decimal(text), data_type.precision, data_type.scale)

    return read


def _read_date(text: str) -> datetime.date:
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a date like 2020-12-31")
    year, month, day = map(int, match.groups())
    if not 1 <= day <= 31:
        raise ValueError(f"{text!r} is not a date like 2020-12-31")
    # Java: 2020-02-30 is the first of March.
    return datetime.date(year, month, 1) + datetime.timedelta(day - 1)


def _time_reader(data_type: Any) -> CellReader:
    def read(text: str) -> datetime.time:
        match = _TIME.fullmatch(text)
        if match is None:
            raise ValueError(f"Text '{text}' could not be parsed as a time like 23:59:59")
        whole, _, fraction = (match.group(1) + (match.group(2) or ":00")).partition(".")
        micros = int(fraction.ljust(9, "0")[:6]) if fraction else 0
        time = datetime.time.fromisoformat(whole)
        return time.replace(microsecond=micros // 1000 * 1000 if data_type.precision > 0 else 0)

    return read


def _timestamp_reader(pattern: re.Pattern[str], example: str) -> Callable[[Any], CellReader]:
    def make(data_type: Any) -> CellReader:
        zone = datetime.UTC if isinstance(data_type, LocalZonedTimestampType) else None

        def read(text: str) -> datetime.datetime:
            match = pattern.fullmatch(text.strip())
            if match is None:
                raise ValueError(f"Text '{text}' could not be parsed as a timestamp like {example}")
            date, time, fraction = match.groups()
            timestamp = datetime.datetime.fromisoformat(f"{date} {time}").replace(tzinfo=zone)
            micros = int(fraction.ljust(9, "0")[:6]) if fraction else 0
            return truncated(timestamp.replace(microsecond=micros), data_type.precision)

        return read

    return make


def _read_bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text!r} is not written in base 64: {error}") from None


_READERS: dict[type[DataType], Callable[[Any], CellReader]] = {
    CharType: lambda _: str,
    VarCharType: lambda _: str,
    BooleanType: lambda _: _read_boolean,
    TinyIntType: lambda _: _integer_reader(8),
    SmallIntType: lambda _: _integer_reader(16),
    IntType: lambda _: _integer_reader(32),
    BigIntType: lambda _: _integer_reader(64),
    FloatType: lambda _: lambda text: round_to_float32(_read_double(text)),
    DoubleType: lambda _: _read_double,
    DecimalType: _decimal_reader,
    DateType: lambda _: _read_date,
    TimeType: _time_reader,
    TimestampType: _timestamp_reader(_TIMESTAMP, "2020-12-31 23:59:59.123"),
    LocalZonedTimestampType: _timestamp_reader(_INSTANT, "2020-12-31 23:59:59.123Z"),
    BinaryType: lambda _: _read_bytes,
    VarBinaryType: lambda _: _read_bytes,
    NullType: lambda _: lambda text: None,
}
