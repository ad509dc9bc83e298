"""CAST, value by value."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from funke.engine.errors import FunkeError, TypeMismatchError
from funke.engine.sql.functions.dates.time_strings import (
    parse_date,
    parse_time,
    parse_timestamp,
    time_text,
    timestamp_text,
)
from funke.engine.sql.functions.function import Session
from funke.engine.sql.functions.numbers.decimals import fitted, from_float, plain_text, to_whole, wrapped
from funke.engine.types.bitmap_bytes import shown_text
from funke.engine.types.information.scalar_coercion import round_to_float32
from funke.engine.types.logical import (
    APPROXIMATE,
    BINARY,
    CHARACTER,
    INTEGRAL,
    INTERVAL,
    NUMERIC,
    ArrayType,
    BigIntType,
    BinaryType,
    BitmapType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    SmallIntType,
    StructuredType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
    to_sql_text,
)
from funke.engine.types.number_text import double_text, float_text

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["BITS", "CastError", "interval_unit", "rounded_units", "value_cast", "value_text"]

Cast = Callable[[Any], Any]

BITS: dict[type[DataType], int] = {TinyIntType: 8, SmallIntType: 16, IntType: 32, BigIntType: 64}
# The words that Flink's cast to BOOLEAN takes, in any case.
_TRUE, _FALSE = frozenset({"t", "true", "y", "yes", "1"}), frozenset({"f", "false", "n", "no", "0"})
# As in Flink '12.9' is 12, and as in Java 1.5f and 1.5d are numbers.
_INTEGER_TEXT = re.compile(r"([+-]?\d+)(?:\.\d*)?", re.ASCII)
_FLOAT_TEXT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?|[+-]?(?:NaN|Infinity)", re.ASCII)


class CastError(FunkeError, ValueError):
    """A value is none of the type that it is cast to; TRY_CAST gives NULL."""


def value_cast(source: DataType, target: DataType, session: Session) -> Cast:
    """Return the cast of values from one type to another; callers handle NULL."""
    if isinstance(source, NullType) or _is_same(source, target):
        return lambda value: value
    if isinstance(target, CHARACTER):
        # By way of the text: CAST to CHAR(n) cuts and pads what CAST to STRING writes.
        text = value_text(source, session)
        return _sized_text(text, target)
    for kinds, make in _RULES:
        if isinstance(target, kinds):
            cast = make(source, target, session)
            if cast is not None:
                return cast
    raise TypeMismatchError(
        f"Cast function cannot convert value of type {to_sql_text(source)} to {to_sql_text(target)}"
    )


def value_text(data_type: Any, session: Session) -> Callable[[SqlValue], str]:
    """Return the function that writes values of a type as CAST to STRING does."""
    simple = _STRINGS.get(type(data_type))
    if simple is not None:
        return simple
    if isinstance(data_type, TimeType):
        return lambda time: time_text(time, data_type.precision)
    if isinstance(data_type, TimestampType):
        return lambda timestamp: timestamp_text(timestamp, data_type.precision)
    if isinstance(data_type, LocalZonedTimestampType):
        # An instant is shown by the clock of the session (table.local-time-zone).
        return lambda timestamp: timestamp_text(timestamp.astimezone(session.zone), data_type.precision)
    if isinstance(data_type, StructuredType):
        named = [(each.name, _part_text(each.data_type, session)) for each in data_type]
        return lambda row: "(" + ", ".join(f"{name}={write(each)}" for (name, write), each in zip(named, row)) + ")"
    if isinstance(data_type, RowType):
        parts = [_part_text(each, session) for each in data_type.field_types()]
        return lambda row: "(" + ", ".join(write(each) for write, each in zip(parts, row)) + ")"
    if isinstance(data_type, ArrayType):
        element = _part_text(data_type.element_type, session)
        return lambda items: "[" + ", ".join(map(element, items)) + "]"
    if isinstance(data_type, MapType):
        return _map_text(_part_text(data_type.key_type, session), _part_text(data_type.value_type, session))
    if isinstance(data_type, MultisetType):
        return _map_text(_part_text(data_type.element_type, session), str)
    raise TypeMismatchError(f"values of the type {to_sql_text(data_type)} have no text")


def _part_text(data_type: DataType, session: Session) -> Callable[[SqlValue], str]:
    write = value_text(data_type, session)
    return lambda value: "NULL" if value is None else write(value)


def _map_text(key: Callable[[SqlValue], str], value: Callable[[SqlValue], str]) -> Callable[[SqlValue], str]:
    return lambda items: "{" + ", ".join(f"{key(first)}={value(second)}" for first, second in items.items()) + "}"


def _interval_months_text(months: int) -> str:
    years, rest = divmod(abs(months), 12)
    return f"{'-' if months < 0 else '+'}{years}-{rest:02}"


def _interval_millis_text(millis: int) -> str:
    seconds, rest = divmod(abs(millis), 1000)
    days, seconds = divmod(seconds, 86_400)
    sign = "-" if millis < 0 else "+"
    return f"{sign}{days} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"


_STRINGS: dict[type[DataType], Callable[[Any], str]] = {
    CharType: str,
    VarCharType: str,
    BooleanType: lambda value: "TRUE" if value else "FALSE",
    BinaryType: lambda value: value.decode("utf-8", "replace"),
    VarBinaryType: lambda value: value.decode("utf-8", "replace"),
    BitmapType: shown_text,
    TinyIntType: str,
    SmallIntType: str,
    IntType: str,
    BigIntType: str,
    FloatType: float_text,
    DoubleType: double_text,
    DecimalType: plain_text,
    DateType: lambda date: f"{date.year:04}-{date.month:02}-{date.day:02}",
    YearMonthIntervalType: _interval_months_text,
    DayTimeIntervalType: _interval_millis_text,
}


def _is_same(source: DataType, target: DataType) -> bool:
    return source.nullable() == target.nullable()


def _sized_text(text: Callable[[SqlValue], str], target: Any) -> Cast:
    length = target.length
    if isinstance(target, CharType):
        return lambda value: text(value)[:length].ljust(length)
    return lambda value: text(value)[:length]


def _to_boolean(source: DataType, target: DataType, session: Session) -> Cast | None:
    if isinstance(source, CHARACTER):
        return _parsed_boolean
    return (lambda value: value != 0) if isinstance(source, NUMERIC) else None


def _parsed_boolean(text: str) -> bool:
    word = text.strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise CastError(f"Cannot parse '{text}' as BOOLEAN.")


def _to_bytes(source: DataType, target: Any, session: Session) -> Cast | None:
    length = target.length
    encode: Cast
    if isinstance(source, CHARACTER):
        encode = lambda text: text.encode()  # noqa: E731
    elif isinstance(source, BINARY):
        encode = lambda value: value  # noqa: E731
    else:
        return None
    if isinstance(target, BinaryType):
        # BINARY(n) has exactly n bytes, VARBINARY(n) at most n.
        return lambda value: encode(value)[:length].ljust(length, b"\0")
    return lambda value: encode(value)[:length]


def _to_integer(source: Any, target: DataType, session: Session) -> Cast | None:
    bits = BITS[type(target)]
    if isinstance(source, CHARACTER):
        return lambda text: _parsed_integer(text, bits)
    if isinstance(source, APPROXIMATE):
        return lambda value: _narrowed_float(value, bits)
    if isinstance(source, (*INTEGRAL, DecimalType, BooleanType)):
        # As in Java and Flink a number that does not fit loses its highest bits; only texts are checked for overflow.
        return lambda value: wrapped(to_whole(value), bits)
    return None


def _parsed_integer(text: str, bits: int) -> int:
    match = _INTEGER_TEXT.fullmatch(text.strip())
    if match is None:
        raise CastError(f"For input string: '{text}'. Invalid character found.")
    number = int(match[1])
    if wrapped(number, bits) != number:
        raise CastError(f"For input string: '{text}'. Overflow.")
    return number


def _narrowed_float(value: float, bits: int) -> int:
    if math.isnan(value):
        return 0
    # Java narrows to 32 bits, or to 64, at their bounds, and then takes the lowest bits.
    widest = 1 << (63 if bits == 64 else 31)
    bounded = -widest if value <= -widest else widest - 1 if value >= widest - 1 else int(value)
    return wrapped(bounded, bits)


def _to_float(source: DataType, target: DataType, session: Session) -> Cast | None:
    fit: Cast = round_to_float32 if isinstance(target, FloatType) else float
    if isinstance(source, CHARACTER):
        return lambda text: fit(_parsed_float(text))
    return (lambda value: fit(float(value))) if isinstance(source, (*NUMERIC, BooleanType)) else None


def _parsed_float(text: str) -> float:
    word = text.strip()
    if not _FLOAT_TEXT.fullmatch(word):
        raise CastError(f'For input string: "{text}"')
    return float(word.rstrip("fFdD") if word[-1:] in "fFdD" and "Inf" not in word else word)


def _to_decimal(source: DataType, target: Any, session: Session) -> Cast | None:
    if isinstance(source, CHARACTER):
        # As in Flink a number with too many digits is NULL, but a text with too many is an error.
        return lambda text: _or_overflow(fitted(_parsed_decimal(text), target), text)
    if isinstance(source, APPROXIMATE):
        return lambda value: fitted(from_float(value), target) if math.isfinite(value) else _no_number(value)
    if isinstance(source, (*INTEGRAL, DecimalType, BooleanType)):
        return lambda value: fitted(Decimal(int(value) if isinstance(value, bool) else value), target)
    return None


def _or_overflow(number: Decimal | None, text: str) -> Decimal:
    if number is None:
        raise CastError(f"For input string: '{text}'. Overflow.")
    return number


def _no_number(value: float) -> None:
    raise CastError(f"{double_text(value)} is not a decimal number")


def _parsed_decimal(text: str) -> Decimal:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or "_" in text:
        raise CastError(f"For input string: '{text}'. Invalid character found.")
    return number


def _to_date(source: DataType, target: DataType, session: Session) -> Cast | None:
    if isinstance(source, CHARACTER):
        return lambda text: _or_rejected(parse_date(text), text)
    if isinstance(source, TimestampType):
        return lambda timestamp: timestamp.date()
    return (
        (lambda timestamp: timestamp.astimezone(session.zone).date())
        if isinstance(source, LocalZonedTimestampType)
        else None
    )


def _to_time(source: DataType, target: Any, session: Session) -> Cast | None:
    digits = target.precision
    if isinstance(source, CHARACTER):
        return lambda text: _with_digits(_or_rejected(parse_time(text), text), digits)
    if isinstance(source, TimeType):
        return lambda time: _with_digits(time, digits)
    if isinstance(source, TimestampType):
        return lambda timestamp: _with_digits(timestamp.time(), digits)
    if isinstance(source, LocalZonedTimestampType):
        return lambda timestamp: _with_digits(timestamp.astimezone(session.zone).time(), digits)
    return None


def _to_timestamp(source: DataType, target: Any, session: Session) -> Cast | None:
    local = _to_local(source, session)
    if local is None:
        return None
    digits = target.precision
    if isinstance(target, TimestampType):
        return lambda value: _with_digits(local(value), digits)
    if isinstance(source, LocalZonedTimestampType):
        return lambda value: _with_digits(value, digits)
    # As in Java a time that summer time skips moves on by an hour, and of a time that it repeats the first one counts.
    zone, utc = session.zone, datetime.UTC
    return lambda value: _with_digits(local(value).replace(tzinfo=zone).astimezone(utc), digits)


def _to_local(source: DataType, session: Session) -> Cast | None:
    """Return the conversion to a date and time without a zone."""
    if isinstance(source, CHARACTER):
        return lambda text: _or_rejected(parse_timestamp(text), text)
    if isinstance(source, DateType):
        return lambda date: datetime.datetime(date.year, date.month, date.day)
    if isinstance(source, TimeType):
        return lambda time: datetime.datetime.combine(datetime.date(1970, 1, 1), time)
    if isinstance(source, TimestampType):
        return lambda timestamp: timestamp
    if isinstance(source, LocalZonedTimestampType):
        return lambda timestamp: timestamp.astimezone(session.zone).replace(tzinfo=None)
    return None


def _or_rejected(value: SqlValue, text: str) -> SqlValue:
    if value is None:
        raise CastError(f"For input string: '{text}'. Invalid date or time.")
    return value


def _with_digits(timestamp: SqlValue, digits: int) -> SqlValue:
    """Return a time with at most so many digits behind the point."""
    if digits >= 6:
        return timestamp
    # Cut and not rounded: TIMESTAMP '… 05.999' as TIMESTAMP(0) ends with 05.
    step = 10 ** (6 - digits)
    return timestamp.replace(microsecond=timestamp.microsecond // step * step)


_UNITS = {"YEAR": 12, "MONTH": 1, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000}


def interval_unit(interval: Any) -> int:
    """Return how many months or milliseconds the last unit of an interval type has."""
    if isinstance(interval, YearMonthIntervalType):
        return _UNITS["YEAR" if interval.resolution == YearMonthIntervalType.YearMonthResolution.YEAR else "MONTH"]
    return _UNITS[interval.resolution.name.rpartition("_TO_")[2]]


def rounded_units(interval: int, interval_type: DataType) -> int:
    """Return how many of its last unit a constant interval has, rounded half up as Calcite does."""
    unit = interval_unit(interval_type)
    return (1 if interval >= 0 else -1) * ((2 * abs(interval) + unit) // (2 * unit))


def _to_interval(source: DataType, target: Any, session: Session) -> Cast | None:
    if isinstance(source, (*INTEGRAL, DecimalType)):
        # As in Flink it counts milliseconds or months, whatever the unit.
        return int
    return (lambda value: value) if type(source) is type(target) else None


def _to_constructed(source: Any, target: Any, session: Session) -> Cast | None:
    if type(source) is not type(target) and not (isinstance(source, RowType) and isinstance(target, RowType)):
        return None
    if isinstance(target, RowType):
        # By position: the names of fields may differ.
        parts = [_part_cast(a, b, session) for a, b in zip(source.field_types(), target.field_types())]
        return lambda row: tuple(cast(each) for cast, each in zip(parts, row))
    if isinstance(target, MapType):
        key = _part_cast(source.key_type, target.key_type, session)
        value = _part_cast(source.value_type, target.value_type, session)
        return lambda items: {key(first): value(second) for first, second in items.items()}
    element = _part_cast(source.element_type, target.element_type, session)
    if isinstance(target, MultisetType):
        return lambda items: {element(each): count for each, count in items.items()}
    return lambda items: [element(each) for each in items]


def _part_cast(source: DataType, target: DataType, session: Session) -> Cast:
    cast = value_cast(source, target, session)
    return lambda value: None if value is None else cast(value)


_Make = Callable[[Any, Any, Session], "Cast | None"]
_RULES: tuple[tuple[tuple[type[DataType], ...], _Make], ...] = (
    ((BooleanType,), _to_boolean),
    (BINARY, _to_bytes),
    (INTEGRAL, _to_integer),
    (APPROXIMATE, _to_float),
    ((DecimalType,), _to_decimal),
    ((DateType,), _to_date),
    ((TimeType,), _to_time),
    ((TimestampType, LocalZonedTimestampType), _to_timestamp),
    (INTERVAL, _to_interval),
    ((ArrayType, MapType, MultisetType, RowType), _to_constructed),
)
