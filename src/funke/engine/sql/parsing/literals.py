"""Constants: the value that a text means, and the type that its form has."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

from funke.engine.sql.syntax.expressions import Literal
from funke.engine.sql.syntax.position import Position
from funke.engine.types.logical import (
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DecimalType,
    DoubleType,
    IntType,
    NullType,
    TimestampType,
    TimeType,
)

__all__ = ["bytes_literal", "number_literal", "string_literal", "time_literal", "unescape_unicode", "word_literal"]

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{0,9}))?")
_FORMS = {"DATE": "yyyy-MM-dd", "TIME": "HH:mm:ss", "TIMESTAMP": "yyyy-MM-dd HH:mm:ss"}
_LONGEST_DECIMAL = 38
_STRING_TYPES = [CharType(length, False) for length in range(64)]
_INT, _BIGINT, _DOUBLE = IntType(False), BigIntType(False), DoubleType(False)


def number_literal(text: str, position: Position | None = None) -> Literal | None:
    """`1` is INT, a larger one BIGINT, `1.5` DECIMAL(2, 1), `1e3` DOUBLE; None for what is none."""
    if _NUMBER.fullmatch(text) is None:
        return None
    if "e" in text or "E" in text:
        return Literal(float(text), _DOUBLE, position=position)
    whole, _, fraction = text.partition(".")
    if not fraction:
        return _whole_literal(int(whole), position)
    precision = len(whole) + len(fraction)
    if precision > _LONGEST_DECIMAL:
        return None
    return Literal(Decimal(text), DecimalType(precision, len(fraction), False), position=position)


def _whole_literal(value: int, position: Position | None) -> Literal | None:
    # As in Flink a whole number is INT if it fits, else BIGINT, else DECIMAL; never TINYINT or SMALLINT.
    if value < 1 << 31:
        return Literal(value, _INT, position=position)
    if value < 1 << 63:
        return Literal(value, _BIGINT, position=position)
    digits = len(str(value))
    if digits > _LONGEST_DECIMAL:
        return None
    return Literal(Decimal(value), DecimalType(digits, 0, False), position=position)


def string_literal(text: str, position: Position | None = None) -> Literal:
    """A text is CHAR of its length."""
    # As Java counts: a character beyond the first 65536 is two.
    length = len(text) + sum(each > "\uffff" for each in text)
    kind = _STRING_TYPES[length] if length < len(_STRING_TYPES) else CharType(length, False)
    return Literal(text, kind, position=position)


def bytes_literal(digits: str, position: Position | None = None) -> Literal | None:
    """`x'0a'`; None when the digits are not pairs of hexadecimal ones."""
    try:
        value = bytes.fromhex(digits)
    except ValueError:
        return None
    return Literal(value, BinaryType(len(value), False), position=position)


def word_literal(word: str, position: Position | None = None) -> Literal:
    """NULL, TRUE, FALSE and UNKNOWN."""
    if word == "NULL":
        return Literal(None, NullType(), position=position)
    if word == "UNKNOWN":
        return Literal(None, BooleanType(), position=position)
    return Literal(word == "TRUE", BooleanType(False), position=position)


def time_literal(word: str, text: str, position: Position | None = None) -> Literal | str:
    """DATE '…', TIME '…' or TIMESTAMP '…'; a text when the constant is wrong, saying why."""
    try:
        if word == "DATE":
            return Literal(_to_date(text), DateType(False), position=position)
        if word == "TIME":
            time, digits, _ = _to_time(text)
            return Literal(time, TimeType(digits, False), position=position)
        return _timestamp_literal(text, position)
    except ValueError:
        return f"Illegal {word} literal '{text}': not in format '{_FORMS[word]}'"


def _timestamp_literal(text: str, position: Position | None) -> Literal:
    date_text, _, time_text = text.partition(" ")
    time, digits, nanos = _to_time(time_text) if time_text else (datetime.time(), 0, 0)
    value = datetime.datetime.combine(_to_date(date_text), time)
    if nanos % 1000:
        from pandas import Timestamp

        # Python's own timestamps end at microseconds; this one is a datetime too.
        value = Timestamp(value) + Timestamp(0).resolution * (nanos % 1000)
    return Literal(value, TimestampType(digits, False), position=position)


def _to_date(text: str) -> datetime.date:
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return datetime.date(*map(int, match.groups()))


def _to_time(text: str) -> tuple[datetime.time, int, int]:
    """The time of day, the number of digits of its fraction, and its nanoseconds."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    *parts, fraction = match.groups()
    fraction = fraction or ""
    nanos = int(fraction.ljust(9, "0"))
    hour, minute, second = map(int, parts)
    return datetime.time(hour, minute, second, nanos // 1000), len(fraction), nanos


def unescape_unicode(text: str, escape: str = "\\") -> str | None:
    r"""The text of U&'\00e4'; None when an escape is not one of four hexadecimal digits."""
    sign = re.escape(escape)
    if re.search(rf"{sign}(?!{sign}|[0-9A-Fa-f]{{4}})", text.replace(escape * 2, "")):
        return None
    return re.sub(
        rf"{sign}(?:({sign})|([0-9A-Fa-f]{{4}}))",
        lambda match: escape if match.group(1) else chr(int(match.group(2), 16)),
        text,
    )
