"""Dates, times of day and timestamps in tables."""

from __future__ import annotations

import calendar
import datetime
from typing import Any

from funke.engine.types.information.time_types import DateTypeInfo, TimestampTypeInfo, TimeTypeInfo
from funke.engine.types.logical.data_type import AtomicType, flag_text, require

__all__ = ["DateType", "LocalZonedTimestampType", "TimeType", "TimestampType", "ZonedTimestampType"]

_MICROS = 1_000_000
# In a table these values are the same numbers as in a typed stream.
_DATES = DateTypeInfo()
_TIMES = TimeTypeInfo()
_TIMESTAMPS = TimestampTypeInfo()


class DateType(AtomicType):
    """Dates; days since the epoch inside a table."""

    EPOCH_ORDINAL = DateTypeInfo.EPOCH_ORDINAL

    def need_conversion(self) -> bool:
        """Tell that values are converted."""
        return True

    def to_sql_type(self, d: datetime.date | None) -> int | None:
        """Return days since the epoch."""
        return _DATES.to_internal_type(d)

    def from_sql_type(self, v: int | None) -> datetime.date | None:
        """Return the date of a day since the epoch."""
        return _DATES.from_internal_type(v)


class _FractionalSecondsType(AtomicType):
    """A type of times whose seconds have `precision` digits behind the point."""

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(nullable)
        require(0 <= precision <= 9, f"seconds have 0 to 9 digits behind the point, got {precision}")
        self.precision = precision

    def need_conversion(self) -> bool:
        """Tell that values are converted."""
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.precision}, {flag_text(self._nullable)})"


class TimeType(_FractionalSecondsType):
    """Times of day; microseconds of the day inside a table."""

    EPOCH_ORDINAL = TimeTypeInfo.EPOCH_ORDINAL

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def to_sql_type(self, t: datetime.time | None) -> int | None:
        """Return microseconds of the day in UTC."""
        return _TIMES.to_internal_type(t)

    def from_sql_type(self, t: int | None) -> datetime.time | None:
        """Return the local time of the day."""
        return _TIMES.from_internal_type(t)


class TimestampType(_FractionalSecondsType):
    """Dates with times and without a zone; microseconds since the epoch inside a table."""

    def to_sql_type(self, dt: datetime.datetime | None) -> int | None:
        """Return microseconds since the epoch; a value without a zone is taken as local."""
        return _TIMESTAMPS.to_internal_type(dt)

    def from_sql_type(self, ts: int | None) -> datetime.datetime | None:
        """Return the local date and time."""
        return _TIMESTAMPS.from_internal_type(ts)


class LocalZonedTimestampType(_FractionalSecondsType):
    """Instants, shown in the zone of the session."""

    EPOCH_ORDINAL = TimeTypeInfo.EPOCH_ORDINAL

    def to_sql_type(self, dt: datetime.datetime | None) -> int | None:
        """Return microseconds since the epoch, moved by the local zone's offset at the epoch."""
        micros = _TIMESTAMPS.to_internal_type(dt)
        return None if micros is None else micros + self.EPOCH_ORDINAL

    def from_sql_type(self, ts: int | None) -> datetime.datetime | None:
        """Return the local date and time."""
        return None if ts is None else _TIMESTAMPS.from_internal_type(ts - self.EPOCH_ORDINAL)


class ZonedTimestampType(_FractionalSecondsType):
    """Dates with times and a zone; inside a table local microseconds with the zone's offset in seconds."""

    def to_sql_type(self, dt: datetime.datetime | None) -> tuple[int, int] | None:
        """Return local microseconds and the offset; a value without a zone is taken as local."""
        if dt is None:
            return None
        zoned = dt if dt.tzinfo else dt.astimezone()
        offset = int((zoned.utcoffset() or datetime.timedelta()).total_seconds())
        return (calendar.timegm(zoned.utctimetuple()) + offset) * _MICROS + zoned.microsecond, offset

    def from_sql_type(self, zoned_ts: Any) -> datetime.datetime | None:
        """Return the date and time with its zone."""
        if zoned_ts is None:
            return None
        local_micros, offset = zoned_ts
        seconds, micros = divmod(local_micros - offset * _MICROS, _MICROS)
        zone = datetime.timezone(datetime.timedelta(seconds=offset))
        return datetime.datetime.fromtimestamp(seconds, zone).replace(microsecond=micros)
