"""Date and time text after the patterns of Java's DateTimeFormatter, as bucket names use them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import lru_cache

from funke.engine.errors import ConfigurationError

__all__ = ["compile_date_pattern", "find_zone"]

DateWriter = Callable[[datetime.datetime], str]

# A quoted text, a run of one letter, or anything else; two quotes stand for one.
_TOKEN = re.compile(r"''|'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']+|'")
_OFFSET = re.compile(r"(?:(?:UTC|GMT|UT)(?=[+-])|(?=[+-]))([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@lru_cache(maxsize=64)
def compile_date_pattern(pattern: str) -> DateWriter:
    """Return the function that writes a timestamp after a Java pattern.

    >>> compile_date_pattern("yyyy-MM-dd--HH")(datetime.datetime(2024, 3, 9, 7, 5))
    '2024-03-09--07'
    """
    writers = [_token_writer(match.group(), pattern) for match in _TOKEN.finditer(pattern)]
    return lambda timestamp: "".join([write(timestamp) for write in writers])


def _token_writer(token: str, pattern: str) -> DateWriter:
    if token == "'":
        raise ConfigurationError(f"date pattern {pattern!r} has an opening quote without a closing one")
    if token.startswith("'"):
        text = "'" if token == "''" else token[1:-1].replace("''", "'")
        return lambda _: text
    if not token[0].isalpha():
        return lambda _: token
    build = _LETTERS.get(token[0])
    if build is None:
        raise ConfigurationError(
            f"date pattern {pattern!r} has the letter {token[0]!r}; the letters understood are {' '.join(_LETTERS)}"
        )
    return build(len(token))


def _number(read: Callable[[datetime.datetime], int]) -> Callable[[int], DateWriter]:
    return lambda width: lambda timestamp: str(read(timestamp)).zfill(width)


def _year(width: int) -> DateWriter:
    if width == 2:
        return lambda timestamp: f"{timestamp.year % 100:02}"
    return lambda timestamp: str(timestamp.year).zfill(width)


def _named(read: Callable[[datetime.datetime], int], names: tuple[str, ...]) -> Callable[[int], DateWriter]:
    def build(width: int) -> DateWriter:
        if width < 3:
            return lambda timestamp: str(read(timestamp)).zfill(width)
        if width == 5:
            return lambda timestamp: names[read(timestamp) - 1][0]
        length = None if width == 4 else 3
        return lambda timestamp: names[read(timestamp) - 1][:length]

    return build


def _weekday(width: int) -> DateWriter:
    # One or two letters give a name here, unlike for months.
    return _named(datetime.datetime.isoweekday, _DAYS)(max(width, 3))


def _fraction(width: int) -> DateWriter:
    return lambda timestamp: f"{timestamp.microsecond * 1000:09}".ljust(width, "0")[:width]


def _offset(width: int) -> DateWriter:
    def write(timestamp: datetime.datetime) -> str:
        total = int((timestamp.utcoffset() or datetime.timedelta()).total_seconds()) // 60
        hours, minutes = divmod(abs(total), 60)
        separator = ":" if width in (3, 5) else ""
        tail = f"{separator}{minutes:02}" if width > 1 or minutes else ""
        return f"{'-' if total < 0 else '+'}{hours:02}{tail}"

    return write


_LETTERS: dict[str, Callable[[int], DateWriter]] = {
    "y": _year,
    "u": _year,
    "M": _named(lambda timestamp: timestamp.month, _MONTHS),
    "L": _named(lambda timestamp: timestamp.month, _MONTHS),
    "d": _number(lambda timestamp: timestamp.day),
    "D": _number(lambda timestamp: timestamp.timetuple().tm_yday),
    "Q": _number(lambda timestamp: (timestamp.month + 2) // 3),
    "E": _weekday,
    "a": lambda _: lambda timestamp: "AM" if timestamp.hour < 12 else "PM",
    "H": _number(lambda timestamp: timestamp.hour),
    "k": _number(lambda timestamp: timestamp.hour or 24),
    "K": _number(lambda timestamp: timestamp.hour % 12),
    "h": _number(lambda timestamp: timestamp.hour % 12 or 12),
    "m": _number(lambda timestamp: timestamp.minute),
    "s": _number(lambda timestamp: timestamp.second),
    "S": _fraction,
    "x": _offset,
}


def find_zone(zone_id: str | None) -> datetime.tzinfo | None:
    """Return the zone of a Java zone id (`Europe/Berlin`, `UTC`, `GMT-08:00`, `+2`); None is the machine's own zone."""
    if zone_id is None:
        return None
    if zone_id in ("Z", "UTC", "GMT", "UT"):
        return datetime.UTC
    matched = _OFFSET.fullmatch(zone_id)
    if matched:
        sign, *parts = matched.groups(default="0")
        hours, minutes, seconds = map(int, parts)
        offset = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return datetime.timezone(-offset if sign == "-" else offset)
    return _named_zone(zone_id)


def _named_zone(zone_id: str) -> datetime.tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(zone_id)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigurationError(f"there is no time zone {zone_id!r}") from None
