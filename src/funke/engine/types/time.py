"""Amounts of time and points in time, as Flink's API names them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Duration", "Instant", "Time"]

_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, order=True)
class Duration:
    """An amount of time with nanosecond precision, such as 34.5 seconds.

    >>> from funke.common import Duration
    >>> Duration.of_seconds(90), Duration.of_minutes(2).to_millis(), Duration.of_millis(5) < Duration.of_seconds(1)
    (Duration<90 s>, 120000, True)
    """

    _nanos: int

    @staticmethod
    def of_days(days: int) -> Duration:
        """Return a duration of whole days (24 hours each)."""
        return Duration.of_hours(days * 24)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """Return a duration of whole hours."""
        return Duration.of_minutes(hours * 60)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """Return a duration of whole minutes."""
        return Duration.of_seconds(minutes * 60)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """Return a duration of whole seconds."""
        return Duration(seconds * _NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """Return a duration of milliseconds."""
        return Duration(millis * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """Return a duration of nanoseconds."""
        return Duration(nanos)

    def to_millis(self) -> int:
        """Return the number of whole milliseconds."""
        return self._nanos // _NANOS_PER_MILLI

    def to_nanos(self) -> int:
        """Return the number of nanoseconds."""
        return self._nanos

    def __repr__(self) -> str:
        return f"Duration<{self._nanos / _NANOS_PER_SECOND:g} s>"


class Instant:
    """A point on the time line: seconds since the epoch and nanoseconds within the second.

    >>> from funke.common import Instant
    >>> instant = Instant.of_epoch_milli(1_700_000_000_250)  # a value of Types.INSTANT()
    >>> instant, instant.to_epoch_milli()
    (Instant<1700000000, 250000000>, 1700000000250)
    """

    __slots__ = ("nanos", "seconds")

    def __init__(self, seconds: int, nanos: int) -> None:
        self.seconds = seconds
        self.nanos = nanos

    def to_epoch_milli(self) -> int:
        """Return milliseconds since the epoch, rounding towards the past."""
        return self.seconds * 1000 + self.nanos // _NANOS_PER_MILLI

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """Return the instant that lies ``epoch_milli`` milliseconds after the epoch."""
        return Instant(epoch_milli // 1000, epoch_milli % 1000 * _NANOS_PER_MILLI)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instant) and (self.seconds, self.nanos) == (other.seconds, other.nanos)

    def __lt__(self, other: Instant) -> bool:
        return (self.seconds, self.nanos) < (other.seconds, other.nanos)

    def __hash__(self) -> int:
        return hash((self.seconds, self.nanos))

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


class Time:
    """The size of an interval in milliseconds, used to describe windows.

    >>> from funke.common import Time
    >>> from funke.datastream.window import TumblingEventTimeWindows
    >>> windows = TumblingEventTimeWindows.of(Time.minutes(5))
    >>> Time.minutes(5).to_milliseconds()
    300000
    """

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def to_milliseconds(self) -> int:
        """Return the length in milliseconds."""
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """Return an interval of milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """Return an interval of seconds."""
        return Time(seconds * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """Return an interval of minutes."""
        return Time.seconds(minutes * 60)

    @staticmethod
    def hours(hours: int) -> Time:
        """Return an interval of hours."""
        return Time.minutes(hours * 60)

    @staticmethod
    def days(days: int) -> Time:
        """Return an interval of days (24 hours each)."""
        return Time.hours(days * 24)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __hash__(self) -> int:
        return hash(self._milliseconds)

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"
