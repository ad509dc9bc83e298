"""Dates and times as texts, in SQL's own form and in the patterns of Java's formatters."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable
from functools import lru_cache

__all__ = [
    "finest_unit",
    "format_pattern",
    "parse_date",
    "parse_formatted",
    "parse_pattern",
    "parse_time",
    "parse_timestamp",
    "strftime_pattern",
    "time_text",
    "timestamp_text",
]

_DATE = r"(\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
_TIME = r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?"
# Month and day may be missing: '2024-2' is 2024-02-01. Behind a date there may be a time, which is not looked at.
_DATE_TEXT = re.compile(rf"\s*{_DATE}(?:[ T].*)?\s*")
_TIME_TEXT = re.compile(rf"\s*{_TIME}\s*")
_TIMESTAMP_TEXT = re.compile(rf"\s*{_DATE}(?: {_TIME})?\s*")


def parse_date(text: str) -> datetime.date | None:
    """Return the date of a text like 2024-02-29; None if it is none."""
    match = _DATE_TEXT.fullmatch(text)
    return None if match is None else _date(match[1], match[2], match[3])


def parse_time(text: str) -> datetime.time | None:
    """Return the time of a text like 12:30:15.5; None if it is none."""
    match = _TIME_TEXT.fullmatch(text)
    return None if match is None else _time(*match.groups())


def parse_timestamp(text: str, digits: int = 9) -> datetime.datetime | None:
    """Return the date and time of a text, with at most so many digits behind the point; None if it is none."""
    match = _TIMESTAMP_TEXT.fullmatch(text)
    if match is None:
        return None
    # Days end with the month.
    date = _date(match[1], match[2], match[3]) or _last_of_month(match[1], match[2], match[3])
    time = datetime.time() if match[4] is None else _time(match[4], match[5], match[6], (match[7] or "")[:digits])
    return None if date is None or time is None else datetime.datetime.combine(date, time)


def time_text(time: datetime.time, digits: int) -> str:
    """Return a time with at most so many digits behind the point, without zeros at the end."""
    fraction = _fraction(time.microsecond, digits).rstrip("0")
    return _clock(time) + (fraction + "0" if fraction == "." else fraction)


def timestamp_text(timestamp: datetime.datetime, digits: int) -> str:
    """Return a date and time with so many digits behind the point."""
    date = f"{timestamp.year:04}-{timestamp.month:02}-{timestamp.day:02}"
    return f"{date} {_clock(timestamp)}{_fraction(timestamp.microsecond, digits)}"


def _clock(time: datetime.time | datetime.datetime) -> str:
    return f"{time.hour:02}:{time.minute:02}:{time.second:02}"


def _fraction(micros: int, digits: int) -> str:
    return "." + f"{micros:06}000"[:digits] if digits else ""


def _date(year: str, month: str | None, day: str | None) -> datetime.date | None:
    try:
        return datetime.date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None


def _last_of_month(year: str, month: str | None, day: str | None) -> datetime.date | None:
    if not 29 <= int(day or 1) <= 31:
        return None
    return next((date for last in (30, 29, 28) if (date := _date(year, month, str(last))) is not None), None)


def _time(hour: str, minute: str, second: str | None, fraction: str | None) -> datetime.time | None:
    try:
        return datetime.time(int(hour), int(minute), int(second or 0), int((fraction or "").ljust(6, "0")[:6]))
    except ValueError:
        return None


def format_pattern(timestamp: datetime.datetime, pattern: str, zone_name: str = "") -> str:
    """Return a date and time in a pattern of Java's DateTimeFormatter: `yyyy-MM-dd HH:mm:ss.SSS`."""
    return "".join(
        text if letter is None else _written(timestamp, letter, len(text), zone_name)
        for letter, text in _parts(pattern)
    )


_UNITS = {"S": "millisecond", "s": "second", "m": "minute"} | dict.fromkeys("HhkKa", "hour")
_FINEST_FIRST = ("microsecond", "millisecond", "second", "minute", "hour")


def finest_unit(pattern: str) -> str | None:
    """Return the smallest unit that a pattern shows; None if it is not a pattern."""
    try:
        parts = _parts(pattern)
    except ValueError:
        return None
    units = {
        "microsecond" if letter == "n" or (letter == "S" and len(text) > 3) else _UNITS.get(letter, "day")
        for letter, text in parts
        if letter is not None
    }
    return next((unit for unit in _FINEST_FIRST if unit in units), "day")


_STRFTIME = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_MILLISECONDS = (("s", "ss"), (None, "."), ("S", "SSS"))


@lru_cache(maxsize=256)
def strftime_pattern(pattern: str) -> str | None:
    """Return the pattern by which Arrow writes the same for timestamps of the finest unit; None if it has none.

    >>> strftime_pattern("yyyy-MM-dd HH:mm:ss.SSS")
    '%Y-%m-%d %H:%M:%S'
    """
    parts = _parts(pattern)
    if parts[-3:] == _MILLISECONDS:
        parts = parts[:-2]
    written = [_STRFTIME.get(text) if letter is not None else text.replace("%", "%%") for letter, text in parts]
    return "".join(each for each in written if each is not None) if None not in written else None


def parse_pattern(text: str, pattern: str) -> datetime.datetime | None:
    """Return the date and time that a text begins with, as Java's SimpleDateFormat reads it; None if it does not fit.

    Numbers that are too large go on: the 30th of February is the first of March.
    """
    compiled, letters = _pattern_regex(pattern)
    match = compiled.match(text)
    return None if match is None else _rolled(*_fields(letters, match))


def parse_formatted(text: str, pattern: str) -> datetime.datetime | None:
    """Return the date and time that a text is, as Java's DateTimeFormatter reads it: days end with the month.

    A text that does not fit may be one that JDBC knows: 2024-1-2, 2024-1-2 3:4:5.6.
    """
    compiled, letters = _pattern_regex(pattern)
    match = compiled.fullmatch(text)
    fields = None if match is None else _fields(letters, match)
    if fields is None or not 1 <= fields[1] <= 12 or not 1 <= fields[2] <= 31:
        return _jdbc_timestamp(text.strip())
    try:
        year, month, day, hour, minute, second, micros = fields
        last = calendar.monthrange(year, month)[1]
        return datetime.datetime(year, month, min(day, last), hour, minute, second, micros)
    except ValueError:
        return None


_JDBC = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?)?")


def _jdbc_timestamp(text: str) -> datetime.datetime | None:
    match = _JDBC.fullmatch(text)
    if match is None or not 1 <= int(match[2]) <= 12 or not 1 <= int(match[3]) <= 31:
        return None
    year, month, day, hour, minute, second = (int(each or 0) for each in match.groups()[:6])
    return _rolled(year, month, day, hour, minute, second, int((match[7] or "").ljust(6, "0")[:6]))


def _rolled(
    year: int, month: int, day: int, hour: int, minute: int, second: int, micros: int
) -> datetime.datetime | None:
    """The timestamp of numbers that may be too large; None if Python has no such year."""
    years, month = divmod(month - 1, 12)
    try:
        start = datetime.datetime(year + years, month + 1, 1)
        return start + datetime.timedelta(day - 1, second, micros, 0, minute, hour)
    except (ValueError, OverflowError):
        return None


_LETTERS = "yuMdHhkKmsSaEDnZzXxVG"


@lru_cache(maxsize=256)
def _parts(pattern: str) -> tuple[tuple[str | None, str], ...]:
    """Split a pattern into runs of a letter, and plain texts (without a letter)."""
    parts: list[tuple[str | None, str]] = []
    for match in re.finditer(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+", pattern):
        if match[1] is not None:
            parts.append((None, match[1].replace("''", "'") or "'"))
        elif match[2] is not None:
            if match[2] not in _LETTERS:
                raise ValueError(f"Unknown pattern letter: {match[2]}")
            parts.append((match[2], match[0]))
        else:
            parts.append((None, match[0]))
    return tuple(parts)


_WRITERS: dict[str, Callable[[datetime.datetime], int]] = {
    "d": lambda timestamp: timestamp.day,
    "H": lambda timestamp: timestamp.hour,
    "h": lambda timestamp: timestamp.hour % 12 or 12,
    "k": lambda timestamp: timestamp.hour or 24,
    "K": lambda timestamp: timestamp.hour % 12,
    "m": lambda timestamp: timestamp.minute,
    "s": lambda timestamp: timestamp.second,
    "D": lambda timestamp: timestamp.timetuple().tm_yday,
}


def _written(timestamp: datetime.datetime, letter: str, width: int, zone_name: str) -> str:
    if letter in "yu":
        return f"{timestamp.year % 100:02}" if width == 2 else str(timestamp.year).zfill(width)
    if letter == "M":
        names = calendar.month_name[timestamp.month]
        return names if width >= 4 else names[:3] if width == 3 else str(timestamp.month).zfill(width)
    if letter == "E":
        name = calendar.day_name[timestamp.weekday()]
        return name if width >= 4 else name[:3]
    if letter == "S":
        return f"{timestamp.microsecond:06}000"[:width].ljust(width, "0")
    if letter == "a":
        return "AM" if timestamp.hour < 12 else "PM"
    if letter == "n":
        return str(timestamp.microsecond * 1000).zfill(width)
    if letter == "G":
        return "AD"
    if letter in _WRITERS:
        return str(_WRITERS[letter](timestamp)).zfill(width)
    return zone_name


_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_SHORT_MONTHS = {name[:3]: number for name, number in _MONTHS.items()}


@lru_cache(maxsize=256)
def _pattern_regex(pattern: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    regex, letters = "", []
    parts = _parts(pattern)
    for index, (letter, text) in enumerate(parts):
        if letter is None:
            regex += re.escape(text)
            continue
        letters.append(letter)
        is_followed = index + 1 < len(parts) and parts[index + 1][0] is not None
        if letter in "ME" and len(text) >= 3:
            regex += r"([A-Za-z]+)"
        elif letter == "a":
            regex += r"([AaPp][Mm])"
        # yyyyMMdd has no marks between its fields: each takes as many digits as it has letters.
        elif letter == "S" or is_followed:
            regex += rf"(\d{{{len(text)}}})"
        else:
            regex += r"(\d+)" if letter in "yu" else r"(\d{1,2})" if len(text) <= 2 else r"(\d+)"
    return re.compile(regex), tuple(letters)


def _fields(letters: tuple[str, ...], match: re.Match[str]) -> tuple[int, int, int, int, int, int, int]:
    """From the year down to microseconds."""
    fields = {letter: match[number + 1] for number, letter in enumerate(letters)}
    year_text = fields.get("y", fields.get("u", "1970"))
    year = int(year_text) + (2000 if len(year_text) == 2 else 0)
    month_text = fields.get("M", "1").lower()
    month = int(month_text) if month_text.isdigit() else _MONTHS.get(month_text) or _SHORT_MONTHS.get(month_text, 0)
    hour = int(fields.get("H", fields.get("k", "0"))) % 24
    if "h" in fields or "K" in fields:
        hour = int(fields.get("h", fields.get("K", "0"))) % 12 + (12 if fields.get("a", "AM").upper() == "PM" else 0)
    micros = int(fields.get("S", "").ljust(6, "0")[:6])
    return (year, month, int(fields.get("d", "1")), hour, int(fields.get("m", "0")), int(fields.get("s", "0")), micros)
