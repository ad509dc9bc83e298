"""Dates and times plus and minus intervals."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.sql.functions.function import BoundCall
from funke.engine.types.logical import (
    DATETIME,
    INTEGRAL,
    INTERVAL,
    TIMESTAMP,
    DataType,
    DateType,
    DayTimeIntervalType,
    LocalZonedTimestampType,
    TimeType,
    common_type,
    like_nullable,
    to_column_type,
)

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Kernel
    from funke.engine.types.logical import SqlValue

__all__ = ["add_months", "interval_body", "interval_kernel", "interval_type", "plus_interval"]

_DAY_MS = 86_400_000
_EPOCH = datetime.date(1970, 1, 1)


def interval_type(operator: str, types: Sequence[DataType]) -> DataType | None:
    """Return the type of a sum or difference with an interval, or of an interval times a number."""
    left, right = types
    if operator in "+-":
        if isinstance(left, DATETIME) and isinstance(right, INTERVAL):
            return like_nullable(left, left, right)
        if operator == "+" and isinstance(left, INTERVAL) and isinstance(right, DATETIME):
            return like_nullable(right, left, right)
        return common_type(types) if isinstance(left, INTERVAL) and isinstance(right, INTERVAL) else None
    if operator == "*" and isinstance(left, INTERVAL) and isinstance(right, INTEGRAL):
        return like_nullable(left, left, right)
    if operator == "*" and isinstance(left, INTEGRAL) and isinstance(right, INTERVAL):
        return like_nullable(right, left, right)
    return None


def interval_body(operator: str, call: BoundCall) -> Callable[[SqlValue, SqlValue], SqlValue]:
    left, right = call.types
    if operator == "*":
        return lambda first, second: first * second
    if isinstance(left, INTERVAL) and isinstance(right, INTERVAL):
        return (lambda a, b: a + b) if operator == "+" else lambda a, b: a - b
    if isinstance(left, INTERVAL):
        move = plus_interval(right, left, call)
        return lambda interval, timestamp: move(timestamp, interval)
    move = plus_interval(left, right, call)
    return move if operator == "+" else lambda timestamp, interval: move(timestamp, -interval)


def plus_interval(timestamp: DataType, interval: DataType, call: BoundCall) -> Callable[[SqlValue, int], SqlValue]:
    """Return the function that adds an interval to a date or time."""
    is_months = not isinstance(interval, DayTimeIntervalType)
    if isinstance(timestamp, TimeType):
        # A time of day has no months: Flink leaves it as it is.
        return (lambda time, months: time) if is_months else _plus_millis_of_day
    if isinstance(timestamp, LocalZonedTimestampType):
        zone, utc = call.session.zone, datetime.UTC
        if is_months:
            # A month later the session's clock shows the same time of day, also across a change to summer time.
            return lambda value, months: add_months(value.astimezone(zone), months).astimezone(utc)
        return lambda value, millis: value + datetime.timedelta(milliseconds=millis)
    if is_months:
        return add_months
    if isinstance(call.result, DateType):
        # Hours that make no whole day do not count, in either direction.
        return lambda date, millis: date + datetime.timedelta(days=int(millis / _DAY_MS))
    if isinstance(timestamp, DateType):
        return lambda date, millis: _midnight(date) + datetime.timedelta(milliseconds=millis)
    return lambda value, millis: value + datetime.timedelta(milliseconds=millis)


def add_months(timestamp: SqlValue, months: int) -> SqlValue:
    """Return a date some months later, on the last day of the month if the month has no such day."""
    years, month = divmod(timestamp.year * 12 + timestamp.month - 1 + months, 12)
    day = min(timestamp.day, calendar.monthrange(years, month + 1)[1])
    return timestamp.replace(year=years, month=month + 1, day=day)


def _midnight(date: datetime.date) -> datetime.datetime:
    return datetime.datetime(date.year, date.month, date.day)


def _plus_millis_of_day(time: datetime.time, millis: int) -> datetime.time:
    day = datetime.datetime.combine(_EPOCH, time) + datetime.timedelta(milliseconds=millis)
    return day.time()


def interval_kernel(operator: str, call: BoundCall) -> Kernel | None:
    """Timestamps moved by milliseconds, which most watermarks and windows are."""
    left, right = call.types
    if not (isinstance(left, TIMESTAMP) and isinstance(right, DayTimeIntervalType) and operator in "+-"):
        return None
    arrow_type = to_column_type(call.result)
    # A column of whole seconds would lose the milliseconds on the way.
    if arrow_type.unit == "s":
        return None
    move = pc.add if operator == "+" else pc.subtract
    return lambda timestamps, millis: pc.cast(move(timestamps, pc.cast(millis, pa.duration("ms"))), arrow_type)
