"""PERCENTILE: where so much of the sorted values lies below, between two of them if it must."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateCall, AggregateFunction
from funke.engine.sql.functions.function import Argument
from funke.engine.types.logical import ArrayType, DataType, DoubleType

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["PERCENTILE"]


class _PercentileBody(AggregateBody):
    """The values in order, and the last percentage that a row had."""

    def __init__(self, call: AggregateCall) -> None:
        self._gives_array = isinstance(call.result, ArrayType)

    def create(self) -> list[Any]:
        return [[], None]

    def accumulate(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        value, accumulator[1], count = _parts(arguments)
        if value is not None:
            for _ in range(count):
                insort(accumulator[0], float(value))

    def retract(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        value, accumulator[1], count = _parts(arguments)
        values = accumulator[0]
        for _ in range(0 if value is None else count):
            rank = bisect_left(values, float(value))
            if rank < len(values) and values[rank] == value:
                del values[rank]

    def merge(self, accumulator: list[Any], other: list[Any]) -> None:
        accumulator[:] = [sorted([*accumulator[0], *other[0]]), accumulator[1] or other[1]]

    def value(self, accumulator: list[Any]) -> SqlValue:
        values, percentage = accumulator
        if not values:
            return None
        if self._gives_array:
            return [_at(values, float(each)) for each in percentage]
        return _at(values, float(percentage))


def _parts(arguments: tuple[SqlValue, ...]) -> tuple[Any, Any, int]:
    value, percentage, *frequency = arguments
    return value, percentage, 1 if not frequency else frequency[0] or 0


def _at(values: list[float], percentage: float) -> float:
    # Between two values if the rank is: PERCENTILE(v, 0.5) of 1 and 2 is 1.5.
    rank = (len(values) - 1) * percentage
    lower = int(rank)
    if lower + 1 >= len(values):
        return values[-1]
    return values[lower] + (rank - lower) * (values[lower + 1] - values[lower])


def _type(arguments: Sequence[Argument]) -> DataType:
    return ArrayType(DoubleType()) if isinstance(arguments[1].type, ArrayType) else DoubleType()


PERCENTILE = AggregateFunction(
    ("percentile",),
    "number, number/array | number, number/array, integer",
    _type,
    _PercentileBody,
    purpose="The value below which so much of all values lies; each counts as often as the third argument says.",
)
