"""Times and lengths of time."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.text_form import summary
from funke.table.expression_members.members import Members
from funke.table.expression_members.operands import interval_of_millis, interval_of_months, symbol
from funke.table.expression_members.symbols import TimeIntervalUnit
from funke.table.types import DataTypes

if TYPE_CHECKING:
    from funke.table.expression import Expression

__all__ = ["TimeMembers"]

_SECOND = 1000
_DAY = 86_400_000


class _Interval:
    """A property that makes this number a length of time."""

    def __init__(self, unit: str, months: int = 0, millis: int = 0) -> None:
        self._months = months
        self._millis = millis
        self.__doc__ = f"This number of {unit}."

    def __get__(self, instance: Members, owner: type[Members]) -> Expression[Any]:
        if instance is None:
            return self
        number = _number(instance._syntax, "year-month" if self._months else "day-time")
        if self._months:
            return instance._of(interval_of_months(int(number * self._months)))
        return instance._of(interval_of_millis(int(number * self._millis)))


def _number(operand: syntax.Expression, kind: str) -> int | Decimal:
    value = operand.value if isinstance(operand, syntax.Literal) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValidationException(f"Invalid constant for {kind} interval: {summary(operand)}")
    return value if isinstance(value, int) else Decimal(str(value))


class TimeMembers(Members):
    """Functions of times."""

    year = _Interval("years", months=12)
    years = _Interval("years", months=12)
    quarter = _Interval("quarters of a year", months=3)
    quarters = _Interval("quarters of a year", months=3)
    month = _Interval("months", months=1)
    months = _Interval("months", months=1)
    week = _Interval("weeks", millis=7 * _DAY)
    weeks = _Interval("weeks", millis=7 * _DAY)
    day = _Interval("days", millis=_DAY)
    days = _Interval("days", millis=_DAY)
    hour = _Interval("hours", millis=3600 * _SECOND)
    hours = _Interval("hours", millis=3600 * _SECOND)
    minute = _Interval("minutes", millis=60 * _SECOND)
    minutes = _Interval("minutes", millis=60 * _SECOND)
    second = _Interval("seconds", millis=_SECOND)
    seconds = _Interval("seconds", millis=_SECOND)
    milli = _Interval("milliseconds", millis=1)
    millis = _Interval("milliseconds", millis=1)

    @property
    def to_date(self) -> Expression[Any]:
        """The date that a text such as `2020-02-29` names."""
        return self._of(syntax.Cast(self._syntax, DataTypes.DATE()))

    @property
    def to_time(self) -> Expression[Any]:
        """The time of day that a text such as `12:30:00` names."""
        return self._of(syntax.Cast(self._syntax, DataTypes.TIME()))

    @property
    def to_timestamp(self) -> Expression[Any]:
        """The date and time that a text such as `2020-02-29 12:30:00.000` names."""
        return self._of(syntax.Cast(self._syntax, DataTypes.TIMESTAMP(3)))

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Expression[int]:
        """Return a part of a time, its YEAR for example."""
        return self._of(syntax.Call("extract", (symbol(time_interval_unit.name), self._syntax)))

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """Round down: a number, or a time to a unit."""
        return self._call_given("floor", time_interval_unit)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """Round up: a number, or a time to a unit."""
        return self._call_given("ceil", time_interval_unit)
