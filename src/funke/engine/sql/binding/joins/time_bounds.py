"""Finds the bounds that a join's conditions set to the distance between the times of both sides: an interval join.

Flink's rules: one condition that two time attributes are equal, or two of which one bounds the distance below and one
above. These compare terms with one time attribute each and nothing but constants. Both attributes are of event time, or
both of processing time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from funke.engine.sql.binding import (
    BoundColumn,
    BoundExpression,
    BoundFunction,
    Column,
    calls_in,
    column_of,
    columns_in,
    with_columns,
)
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.types.logical.column_types import to_column_type

__all__ = ["TimeBounds", "time_bounds"]

# How a comparison reads if its sides are exchanged.
_EXCHANGED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Functions whose result is as far behind their argument at any time. Months are those of 1970, as in Flink.
_SHIFTS = frozenset({"+", "-", "cast", "timestampadd"})


@dataclass(frozen=True)
class TimeBounds:
    """The left time lies from `lower_ms` to `upper_ms` behind the right one; behind by less than 0 is before it."""

    is_event_time: bool
    lower_ms: int
    upper_ms: int
    # Columns of the left, and of the right side.
    left_time: int
    right_time: int

    @property
    def is_empty(self) -> bool:
        """Whether no distance lies within the bounds."""
        return self.lower_ms > self.upper_ms


@dataclass(frozen=True)
class _Bound:
    """The left time compared with the right one and a distance."""

    sign: str
    distance_ms: int
    is_event_time: bool
    left_time: int
    right_time: int


def time_bounds(
    left: Sequence[Column], right: Sequence[Column], conditions: Sequence[BoundExpression]
) -> tuple[TimeBounds, list[BoundExpression]] | None:
    """The bounds that conditions set, and the other conditions; None if times are not bounded on both sides."""
    both = (*left, *right)
    bounds: list[_Bound] = []
    others: list[BoundExpression] = []
    for each in conditions:
        bound = _bound(each, both, len(left))
        if bound is None:
            others.append(each)
        else:
            bounds.append(bound)
    distances = _distances(bounds)
    if distances is None:
        return None
    first = bounds[0]
    return TimeBounds(first.is_event_time, *distances, first.left_time, first.right_time), others


def _distances(bounds: Sequence[_Bound]) -> tuple[int, int] | None:
    signs = sorted(each.sign[0] for each in bounds)
    if signs == ["="]:
        return bounds[0].distance_ms, bounds[0].distance_ms
    if signs != ["<", ">"]:
        return None
    upper, lower = sorted(bounds, key=lambda each: each.sign[0])
    # Bounds are inclusive: a distance of more than 5 ms is one of at least 6 ms.
    return lower.distance_ms + (lower.sign == ">"), upper.distance_ms - (upper.sign == "<")


def _bound(condition: BoundExpression, columns: Sequence[Column], width: int) -> _Bound | None:
    if not isinstance(condition, BoundFunction) or condition.call.function.name not in _EXCHANGED:
        return None
    terms = condition.arguments
    one, other = (_time_in(each, columns) for each in terms)
    if one is None or other is None:
        return None
    sign = condition.call.function.name
    # As in Flink `l.ts = r.ts + INTERVAL '1' HOUR` is a key; only plain columns bound each other by `=`.
    if sign == "=" and not all(isinstance(each, BoundColumn) for each in terms):
        return None
    if one >= width:
        one, other, sign, terms = other, one, _EXCHANGED[sign], terms[::-1]
    attribute = columns[one].time
    if not one < width <= other or attribute is not columns[other].time:
        return None
    left_ms, right_ms = (_distance_ms(each, columns[time]) for each, time in zip(terms, (one, other)))
    if left_ms is None or right_ms is None:
        return None
    return _Bound(sign, right_ms - left_ms, attribute is TimeAttribute.ROWTIME, one, other - width)


def _time_in(term: BoundExpression, columns: Sequence[Column]) -> int | None:
    """The only column of a term, if it is a time attribute."""
    used = list(columns_in([term]))
    return used[0] if len(used) == 1 and columns[used[0]].time is not None else None


def _distance_ms(term: BoundExpression, column: Column) -> int | None:
    """The distance of a term from its time, computed for the start of 1970; None if it is not a time itself."""
    if any(call.call.function.name not in _SHIFTS for call in calls_in(term)):
        return None
    batch = pa.record_batch([pa.array([0], pa.int64()).cast(to_column_type(column.type))], names=[""])
    value = column_of(with_columns(term, lambda each: replace(each, index=0)))(batch)
    stamps = pa.array([value.as_py()], value.type) if isinstance(value, pa.Scalar) else value
    if stamps.null_count or not pa.types.is_timestamp(stamps.type):
        return None
    return int(stamps.cast(pa.timestamp("ms", stamps.type.tz), safe=False).view(pa.int64())[0].as_py())
