"""Units of time: parts of dates and times, rounding to them, and distances in them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from funke.engine.sql.functions.dates.time_arithmetic import add_months
from funke.engine.sql.functions.numbers.arithmetic import truncated_quotient

if TYPE_CHECKING:
    from funke.engine.types.logical.sql_value import SqlValue

__all__ = ["MILLIS", "MONTHS", "ceil_to", "difference", "floor_to", "part_of", "part_of_days", "part_of_months"]

MILLIS = {
    "MILLISECOND": 1,
    "SECOND": 1000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": 86_400_000,
    "WEEK": 7 * 86_400_000,
}
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12_000}

_EPOCH = datetime.datetime(1970, 1, 1)
_MILLISECOND = datetime.timedelta(milliseconds=1)

_PARTS: dict[str, Callable[[Any], int]] = {
    "MILLENNIUM": lambda timestamp: (timestamp.year + 999) // 1000,
    "CENTURY": lambda timestamp: (timestamp.year + 99) // 100,
    "DECADE": lambda timestamp: timestamp.year // 10,
    "YEAR": lambda timestamp: timestamp.year,
    "ISOYEAR": lambda timestamp: timestamp.isocalendar()[0],
    "QUARTER": lambda timestamp: (timestamp.month + 2) // 3,
    "MONTH": lambda timestamp: timestamp.month,
    "WEEK": lambda timestamp: timestamp.isocalendar()[1],
    "DOY": lambda timestamp: timestamp.timetuple().tm_yday,
    "DAY": lambda timestamp: timestamp.day,
    # Sunday is 1.
    "DOW": lambda timestamp: timestamp.isoweekday() % 7 + 1,
    "ISODOW": lambda timestamp: timestamp.isoweekday(),
    "HOUR": lambda timestamp: getattr(timestamp, "hour", 0),
    "MINUTE": lambda timestamp: getattr(timestamp, "minute", 0),
    "SECOND": lambda timestamp: getattr(timestamp, "second", 0),
    "MILLISECOND": lambda timestamp: getattr(timestamp, "microsecond", 0) // 1000,
    "MICROSECOND": lambda timestamp: getattr(timestamp, "second", 0) * 1_000_000 + getattr(timestamp, "microsecond", 0),
    "EPOCH": lambda timestamp: (_timestamp(timestamp) - _EPOCH) // datetime.timedelta(seconds=1),
}


def part_of(timestamp: SqlValue, unit: str) -> int:
    """Return a part of a date or time that has no zone."""
    return _PARTS[unit](timestamp)


def part_of_months(months: int, unit: str) -> int:
    """Return a part of an interval of years and months."""
    years = truncated_quotient(months, 12)
    return {"YEAR": years, "MONTH": months - 12 * years, "QUARTER": truncated_quotient(months - 12 * years, 3) + 1}[
        unit
    ]


def part_of_days(millis: int, unit: str) -> int:
    """Return a part of an interval of days and times."""
    above = {"DAY": None, "HOUR": "DAY", "MINUTE": "HOUR", "SECOND": "MINUTE", "MILLISECOND": "MINUTE"}[unit]
    rest = millis if above is None else millis - MILLIS[above] * truncated_quotient(millis, MILLIS[above])
    return truncated_quotient(rest, MILLIS[unit])


def floor_to(timestamp: SqlValue, unit: str) -> SqlValue:
    """Return the start of the unit that a date or time lies in; weeks start on Sunday."""
    if isinstance(timestamp, datetime.time):
        return floor_to(datetime.datetime.combine(_EPOCH, timestamp), unit).time()
    start = _floor(_timestamp(timestamp), unit)
    return start if isinstance(timestamp, datetime.datetime) else start.date()


def ceil_to(timestamp: SqlValue, unit: str) -> SqlValue:
    """Return the start of the next unit, or the timestamp itself if it is one."""
    if isinstance(timestamp, datetime.time):
        return ceil_to(datetime.datetime.combine(_EPOCH, timestamp), unit).time()
    whole = _timestamp(timestamp)
    # As in Flink parts of a millisecond do not count.
    whole = whole.replace(microsecond=whole.microsecond // 1000 * 1000)
    start = _floor(whole, unit)
    if start != whole:
        is_long = unit in MONTHS
        start = add_months(start, MONTHS[unit]) if is_long else start + MILLIS[unit] * _MILLISECOND
    return start if isinstance(timestamp, datetime.datetime) else start.date()


def _floor(timestamp: datetime.datetime, unit: str) -> datetime.datetime:
    midnight = timestamp.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "WEEK":
        return midnight - datetime.timedelta(days=timestamp.isoweekday() % 7)
    if unit in ("CENTURY", "MILLENNIUM"):
        years = MONTHS[unit] // 12
        return midnight.replace(year=(timestamp.year - 1) // years * years + 1, month=1, day=1)
    if unit == "DECADE":
        return midnight.replace(year=max(timestamp.year // 10 * 10, 1), month=1, day=1)
    if unit in MONTHS:
        return midnight.replace(month=(timestamp.month - 1) // MONTHS[unit] * MONTHS[unit] + 1, day=1)
    if unit == "DAY":
        return midnight
    return timestamp - (timestamp - midnight) % (MILLIS[unit] * _MILLISECOND)


def difference(unit: str, first: SqlValue, second: SqlValue) -> int:
    """Return how many whole units lie between two dates or times, from the first to the second."""
    start, end = _timestamp(first), _timestamp(second)
    if unit in MONTHS:
        return truncated_quotient(_months_between(start, end), MONTHS[unit])
    return truncated_quotient((end - start) // _MILLISECOND, MILLIS[unit])


def _months_between(start: datetime.datetime, end: datetime.datetime) -> int:
    """As Flink counts: by dates, and one less if it ends on the same day at an earlier time; backwards, too."""
    months = _months_of_dates(start.date(), end.date())
    is_earlier = add_months(start.date(), months) == end.date() and end.timetz() < start.timetz()
    return months - 1 if is_earlier else months


def _months_of_dates(start: datetime.date, end: datetime.date) -> int:
    if end < start:
        return -_months_of_dates(end, start)
    # From January 31 to February 28 it is one month, since a month after the 31st is the last of February.
    months = (end.year - start.year) * 12 + end.month - start.month
    return months - 1 if add_months(start, months) > end else months


def _timestamp(value: SqlValue) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value
    if isinstance(value, datetime.time):
        return datetime.datetime.combine(_EPOCH, value)
    return datetime.datetime(value.year, value.month, value.day)
