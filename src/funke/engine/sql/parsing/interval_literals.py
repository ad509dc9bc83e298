"""Intervals: their units, and the number of months or milliseconds that a text in such units means."""

from __future__ import annotations

import re
from dataclasses import dataclass

from funke.engine.types.logical import DataType, DayTimeIntervalType, YearMonthIntervalType

__all__ = ["UNITS", "IntervalUnits", "to_interval", "to_interval_type"]

# Singular and plural.
UNITS = {
    **{unit: unit for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")},
    **{f"{unit}S": unit for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")},
}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_MILLISECONDS = {"WEEK": 604_800_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1_000}
_ORDER = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_LIMITS = {"MONTH": 12, "HOUR": 24, "MINUTE": 60, "SECOND": 60}
_SEPARATORS = {"MONTH": "-", "HOUR": " ", "MINUTE": ":", "SECOND": ":"}


@dataclass(frozen=True)
class IntervalUnits:
    """`DAY(3) TO SECOND(2)`: first and last unit (None: only one), digits of the first, digits behind the point."""

    first: str
    last: str | None = None
    digits: int | None = None
    fraction_digits: int | None = None

    @property
    def is_valid(self) -> bool:
        """True if the last unit is smaller than the first and of its kind."""
        if self.last is None:
            return True
        if self.first not in _ORDER or self.last not in _ORDER:
            return False
        return (self.first in _MONTHS) == (self.last in _MONTHS) and _ORDER.index(self.first) < _ORDER.index(self.last)

    @property
    def all(self) -> tuple[str, ...]:
        """Every unit from the first to the last."""
        if self.last is None:
            return (self.first,)
        return _ORDER[_ORDER.index(self.first) : _ORDER.index(self.last) + 1]

    def __str__(self) -> str:
        return self.first if self.last is None else f"{self.first} TO {self.last}"


def to_interval_type(units: IntervalUnits, nullable: bool = True) -> DataType:
    """The type of intervals in these units; weeks are days and quarters months."""
    if units.first in _MONTHS:
        name = str(units).replace(" ", "_").replace("QUARTER", "MONTH")
        resolution = getattr(YearMonthIntervalType.YearMonthResolution, name)
        digits = units.digits if units.first == "YEAR" and units.digits else YearMonthIntervalType.DEFAULT_PRECISION
        return YearMonthIntervalType(resolution, digits, nullable)
    name = str(units).replace(" ", "_").replace("WEEK", "DAY")
    resolution = DayTimeIntervalType.DayTimeResolution[name]
    days = units.digits if units.first == "DAY" and units.digits else DayTimeIntervalType.DEFAULT_DAY_PRECISION
    has_seconds = "SECOND" in units.all
    fraction = units.fraction_digits if has_seconds else None
    if fraction is None:
        # Flink counts milliseconds, and its intervals of seconds say so.
        fraction = 3 if has_seconds else DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION
    return DayTimeIntervalType(resolution, days, fraction, nullable)


def to_interval(text: str, units: IntervalUnits) -> int | None:
    """The months or milliseconds that a text means; None when it is not written in these units."""
    match = _pattern(units).fullmatch(text.strip())
    if match is None:
        return None
    total = 0
    for unit, number in zip(units.all, match.groups()[1:]):
        whole = int(number)
        if unit != units.first and whole >= _LIMITS[unit]:
            return None
        total += whole * (_MONTHS[unit] if unit in _MONTHS else _MILLISECONDS[unit])
    if units.all[-1] == "SECOND":
        total += int((match.groups()[-1] or "0").ljust(3, "0")[:3])
    return -total if match.group(1) == "-" else total


def _pattern(units: IntervalUnits) -> re.Pattern[str]:
    """Sign, one number for each unit, and the fraction of seconds."""
    parts = [r"([+-]?)(\d+)"]
    parts += [rf"{_SEPARATORS[unit]}\s*(\d+)" for unit in units.all[1:]]
    if units.all[-1] == "SECOND":
        parts.append(r"(?:\.(\d+))?")
    return re.compile("".join(parts))
