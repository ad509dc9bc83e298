"""Types of dates, times of day and timestamps."""

from __future__ import annotations

import calendar
import datetime
import time
from enum import Enum
from typing import Any

from funke.engine.types.information.scalar_coercion import expecting, mismatch
from funke.engine.types.information.type_information import Coercer, TypeInformation
from funke.engine.types.time import Instant

__all__ = [
    "DateTypeInfo",
    "LocalTimeTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "ZonedTimestampTypeInfo",
]

_MICROS = 1_000_000


class SqlTimeTypeInfo(TypeInformation):
    """Where the SQL time types are found."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        """Type of dates."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        """Type of times of day."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        """Type of timestamps."""
        return TimestampTypeInfo()


def _coerce_date(value: Any) -> Any:
    if value is None or type(value) is datetime.date:
        return value
    if isinstance(value, datetime.datetime):
        return value.date()
    mismatch("Date", "a datetime.date", value)


def _coerce_time(value: Any) -> Any:
    if isinstance(value, datetime.time):
        if value.tzinfo is None and value.microsecond % 1000 == 0:
            return value
        return value.replace(microsecond=value.microsecond // 1000 * 1000, tzinfo=None)
    return None if value is None else mismatch("Time", "a datetime.time", value)


def _coerce_timestamp(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None and value.microsecond % 1000 == 0:
            return value
        return value.replace(microsecond=value.microsecond // 1000 * 1000, tzinfo=None)
    return None if value is None else mismatch("Timestamp", "a datetime.datetime", value)


def _coerce_zoned_timestamp(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value if value.microsecond % 1000 == 0 else value.replace(microsecond=value.microsecond // 1000 * 1000)
    return value if value is None or isinstance(value, Instant) else mismatch("ZonedTimestamp", "a zone", value)


class DateTypeInfo(TypeInformation):
    """Type of datetime.date values; internally days since the epoch."""

    EPOCH_ORDINAL = datetime.datetime(1970, 1, 1).toordinal()

    def need_conversion(self) -> bool:
        """Dates are stored as day numbers."""
        return True

    def to_internal_type(self, d: datetime.date | None) -> int | None:
        """Return days since the epoch."""
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_internal_type(self, v: int | None) -> datetime.date | None:
        """Return the date of the given day since the epoch."""
        return None if v is None else datetime.date.fromordinal(v + self.EPOCH_ORDINAL)

    def _build_coercer(self) -> Coercer:
        return _coerce_date

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DateTypeInfo)

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return "DateTypeInfo"


class TimeTypeInfo(TypeInformation):
    """Type of datetime.time values; internally microseconds of the day."""

    EPOCH_ORDINAL = calendar.timegm(time.localtime(0)) * _MICROS

    def need_conversion(self) -> bool:
        """Times are stored as numbers."""
        return True

    def to_internal_type(self, t: datetime.time | None) -> int | None:
        """Return microseconds of the day in UTC; times without a zone are taken as local."""
        if t is None:
            return None
        if t.tzinfo is None:
            offset_micros = self.EPOCH_ORDINAL
        else:
            offset_micros = (t.utcoffset() or datetime.timedelta()) // datetime.timedelta(microseconds=1)
        return ((t.hour * 60 + t.minute) * 60 + t.second) * _MICROS + t.microsecond - offset_micros

    def from_internal_type(self, t: int | None) -> datetime.time | None:
        """Return the local time of the given microseconds of the day in UTC."""
        if t is None:
            return None
        seconds, micros = divmod(t + self.EPOCH_ORDINAL, _MICROS)
        minutes, second = divmod(seconds, 60)
        hour, minute = divmod(minutes, 60)
        return datetime.time(hour, minute, second, micros)

    def _build_coercer(self) -> Coercer:
        return _coerce_time

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimeTypeInfo)

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return "TimeTypeInfo"


class TimestampTypeInfo(TypeInformation):
    """Type of datetime.datetime values; internally microseconds since the epoch."""

    def need_conversion(self) -> bool:
        """Timestamps are stored as numbers."""
        return True

    def to_internal_type(self, dt: datetime.datetime | None) -> int | None:
        """Return microseconds since the epoch; values without a zone are taken as local."""
        if dt is None:
            return None
        seconds = calendar.timegm(dt.utctimetuple()) if dt.tzinfo else int(time.mktime(dt.timetuple()))
        return seconds * _MICROS + dt.microsecond

    def from_internal_type(self, ts: int | None) -> datetime.datetime | None:
        """Return the local date and time of the given microseconds since the epoch."""
        if ts is None:
            return None
        return datetime.datetime.fromtimestamp(ts // _MICROS).replace(microsecond=ts % _MICROS)

    def _build_coercer(self) -> Coercer:
        return _coerce_timestamp

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimestampTypeInfo)

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return "TimestampTypeInfo"


class LocalTimeTypeInfo(TypeInformation):
    """Type of dates and times without a zone, as tables hand them out (microseconds are kept)."""

    class TimeType(Enum):
        """Which of the local types."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    def __init__(self, time_type: TimeType) -> None:
        self._time_type = time_type

    @property
    def time_type(self) -> TimeType:
        """Which of the local types this is."""
        return self._time_type

    def _build_coercer(self) -> Coercer:
        if self._time_type is self.TimeType.LOCAL_DATE:
            return _coerce_date
        if self._time_type is self.TimeType.LOCAL_TIME:
            return expecting("LocalTime", "a datetime.time", datetime.time)
        return expecting("LocalDateTime", "a datetime.datetime", datetime.datetime)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalTimeTypeInfo) and self._time_type is other._time_type

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo<{self._time_type.name}>"


class ZonedTimestampTypeInfo(TypeInformation):
    """Type of a table's TIMESTAMP_LTZ: datetimes in the zone of the process; instants are taken as well."""

    def _build_coercer(self) -> Coercer:
        return _coerce_zoned_timestamp

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZonedTimestampTypeInfo)

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return "ZonedTimestampTypeInfo"
