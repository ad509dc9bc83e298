"""Lengths of time in tables."""

from __future__ import annotations

import datetime
from enum import Enum
from typing import ClassVar

from funke.engine.errors import ConfigurationError
from funke.engine.types.logical.data_type import AtomicType, require

__all__ = ["DayTimeIntervalType", "Resolution", "YearMonthIntervalType", "from_resolutions"]


class Resolution:
    """A unit of an interval, and how many digits its number has."""

    class IntervalUnit(Enum):
        """The units."""

        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    def __init__(self, unit: IntervalUnit, precision: int = -1) -> None:
        self._unit = unit
        self._precision = precision

    @property
    def unit(self) -> IntervalUnit:
        """The unit."""
        return self._unit

    @property
    def precision(self) -> int:
        """Digits of years or days, or of the fraction of a second."""
        return self._precision

    def __str__(self) -> str:
        return f"{self._unit}({self._precision})"


class YearMonthIntervalType(AtomicType):
    """Intervals of years and months."""

    class YearMonthResolution:
        """The units an interval may have."""

        YEAR = 1
        MONTH = 2
        YEAR_TO_MONTH = 3

    DEFAULT_PRECISION: ClassVar[int] = 2

    def __init__(self, resolution: int, precision: int = DEFAULT_PRECISION, nullable: bool = True) -> None:
        super().__init__(nullable)
        require(resolution in (1, 2, 3), f"{resolution} is not a year-month resolution")
        require(1 <= precision <= 4, f"years have 1 to 4 digits, got {precision}")
        require(
            resolution != self.YearMonthResolution.MONTH or precision == self.DEFAULT_PRECISION,
            "an interval of months has no years whose digits could be chosen",
        )
        self._resolution = resolution
        self._precision = precision

    @property
    def resolution(self) -> int:
        """The units, a constant of `YearMonthResolution`."""
        return self._resolution

    @property
    def precision(self) -> int:
        """The number of digits of years."""
        return self._precision


class DayTimeIntervalType(AtomicType):
    """Intervals of days, hours, minutes and seconds; microseconds inside a table."""

    class DayTimeResolution(Enum):
        """The units an interval may have."""

        DAY = 1
        DAY_TO_HOUR = 2
        DAY_TO_MINUTE = 3
        DAY_TO_SECOND = 4
        HOUR = 5
        HOUR_TO_MINUTE = 6
        HOUR_TO_SECOND = 7
        MINUTE = 8
        MINUTE_TO_SECOND = 9
        SECOND = 10

    DEFAULT_DAY_PRECISION: ClassVar[int] = 2
    DEFAULT_FRACTIONAL_PRECISION: ClassVar[int] = 6

    def __init__(
        self,
        resolution: DayTimeResolution,
        day_precision: int = DEFAULT_DAY_PRECISION,
        fractional_precision: int = DEFAULT_FRACTIONAL_PRECISION,
        nullable: bool = True,
    ) -> None:
        super().__init__(nullable)
        require(isinstance(resolution, self.DayTimeResolution), f"{resolution} is not a day-time resolution")
        require(
            resolution.name.startswith("DAY") or day_precision == self.DEFAULT_DAY_PRECISION,
            f"an interval of {resolution.name} has no days whose digits could be chosen",
        )
        require(
            resolution.name.endswith("SECOND") or fractional_precision == self.DEFAULT_FRACTIONAL_PRECISION,
            f"an interval of {resolution.name} has no seconds whose digits could be chosen",
        )
        require(1 <= day_precision <= 6, f"days have 1 to 6 digits, got {day_precision}")
        require(0 <= fractional_precision <= 9, f"seconds have 0 to 9 digits, got {fractional_precision}")
        self._resolution = resolution
        self._day_precision = day_precision
        self._fractional_precision = fractional_precision

    @property
    def resolution(self) -> DayTimeResolution:
        """The units."""
        return self._resolution

    @property
    def day_precision(self) -> int:
        """The number of digits of days."""
        return self._day_precision

    @property
    def fractional_precision(self) -> int:
        """The number of digits of the fraction of a second."""
        return self._fractional_precision

    def need_conversion(self) -> bool:
        """Tell that values are converted."""
        return True

    def to_sql_type(self, timedelta: datetime.timedelta | None) -> int | None:
        """Return microseconds."""
        return None if timedelta is None else timedelta // datetime.timedelta(microseconds=1)

    def from_sql_type(self, ts: int | None) -> datetime.timedelta | None:
        """Return the interval of some microseconds."""
        return None if ts is None else datetime.timedelta(microseconds=ts)


def from_resolutions(upper: Resolution, lower: Resolution | None) -> YearMonthIntervalType | DayTimeIntervalType:
    """Return the interval type that reaches from one unit to another."""
    name = upper.unit.name if lower is None else f"{upper.unit.name}_TO_{lower.unit.name}"
    if name in ("YEAR", "MONTH", "YEAR_TO_MONTH"):
        return _from_months(name, upper)
    if name in DayTimeIntervalType.DayTimeResolution.__members__:
        return _from_days(name, upper, lower or upper)
    raise ConfigurationError(
        f"there is no interval from {upper} to {lower}; it goes from years to months, or from days to seconds"
    )


def _from_months(name: str, upper: Resolution) -> YearMonthIntervalType:
    resolution: int = getattr(YearMonthIntervalType.YearMonthResolution, name)
    # As in PyFlink, the digits of years count for intervals of years alone.
    precision = upper.precision if name == "YEAR" else YearMonthIntervalType.DEFAULT_PRECISION
    return YearMonthIntervalType(resolution, precision)


def _from_days(name: str, upper: Resolution, lower: Resolution) -> DayTimeIntervalType:
    has_days = upper.unit is Resolution.IntervalUnit.DAY
    has_seconds = lower.unit is Resolution.IntervalUnit.SECOND
    return DayTimeIntervalType(
        DayTimeIntervalType.DayTimeResolution[name],
        upper.precision if has_days else DayTimeIntervalType.DEFAULT_DAY_PRECISION,
        lower.precision if has_seconds else DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION,
    )
