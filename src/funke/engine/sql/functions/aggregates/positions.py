"""FIRST_VALUE and LAST_VALUE: by the order in which rows come; NULLs do not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateCall, AggregateFunction
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel, Fields, RunningKernel
from funke.engine.sql.functions.aggregates.rows import AggregateRows
from funke.engine.sql.functions.type_rules import like_argument
from funke.engine.sql.functions.values import from_values, to_values

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array
    from funke.engine.types.logical.sql_value import SqlValue

__all__ = ["FIRST_VALUE", "LAST_VALUE"]


class _PositionBody(AggregateBody):
    """All values in order if rows may be retracted, else the one that counts."""

    def __init__(self, call: AggregateCall, is_first: bool) -> None:
        self._is_first = is_first
        self._keeps_all = call.has_retractions

    def create(self) -> list[SqlValue]:
        return []

    def accumulate(self, accumulator: list[SqlValue], *arguments: SqlValue) -> None:
        (value,) = arguments
        if value is None or (accumulator and self._is_first and not self._keeps_all):
            return
        if not self._keeps_all:
            accumulator.clear()
        accumulator.append(value)

    def retract(self, accumulator: list[SqlValue], *arguments: SqlValue) -> None:
        # As in Flink the oldest one of those that are equal.
        if arguments[0] in accumulator:
            accumulator.remove(arguments[0])

    def merge(self, accumulator: list[SqlValue], other: list[SqlValue]) -> None:
        for value in other:
            self.accumulate(accumulator, value)

    def value(self, accumulator: list[SqlValue]) -> SqlValue:
        return accumulator[0 if self._is_first else -1] if accumulator else None


class _PositionKernel(RunningKernel):
    """Field: the value, None if there is none."""

    dtypes = (object,)
    initial = (None,)

    def __init__(self, call: AggregateCall, is_first: bool) -> None:
        self._type = call.types[0]
        self._is_first = is_first
        # The first value has the least index of the rows that count, the last value the greatest.
        self._operation = np.minimum if is_first else np.maximum

    def accumulate(self, before: Fields, rows: AggregateRows) -> Fields:
        groups = len(rows.segments)
        chosen = rows.segments.total(self._operation, *self._indexes(before, rows))
        own: Array = np.flatnonzero((chosen >= groups) & (chosen < groups + len(rows)))
        values = before[0].copy()
        # Only those that count become Python's: frames have each row many times.
        values[own] = self._objects(rows.arguments[0].array.take(pa.array(chosen[own] - groups)))
        return (values,)

    def running_fields(self, before: Fields, rows: AggregateRows) -> Fields:
        groups, length = len(rows.segments), len(rows)
        values: Array = np.empty(groups + length + 1, object)
        values[:groups] = before[0]
        values[groups:-1] = self._objects(rows.arguments[0].array)
        return (values[rows.segments.running(self._operation, *self._indexes(before, rows))],)

    def _indexes(self, before: Fields, rows: AggregateRows) -> tuple[Array, Array]:
        """Where values stand: those of the groups before come first, then those of the rows, then there is none."""
        groups, length = len(rows.segments), len(rows)
        own = np.arange(groups, groups + length)
        has_value = np.fromiter((each is not None for each in before[0]), np.bool_, groups)
        nothing = groups + length if self._is_first else -1
        start = np.where(has_value, np.arange(groups), nothing)
        return start, own if rows.counting is None else np.where(rows.counting, own, nothing)

    def _objects(self, column: pa.Array) -> Array:
        return np.fromiter(to_values(column, self._type), object, len(column))

    def merge(self, left: Fields, right: Fields) -> Fields:
        preferred, other = (left[0], right[0]) if self._is_first else (right[0], left[0])
        is_missing = np.fromiter((each is None for each in preferred), np.bool_, len(preferred))
        return (np.where(is_missing, other, preferred),)

    def values(self, fields: Fields) -> pa.Array:
        return from_values(fields[0].tolist(), self._type)


def _kernel(call: AggregateCall, is_first: bool) -> AggregateKernel | None:
    return None if call.has_retractions else _PositionKernel(call, is_first)


FIRST_VALUE = AggregateFunction(
    ("first_value",),
    "any",
    like_argument(),
    lambda call: _PositionBody(call, is_first=True),
    lambda call: _kernel(call, is_first=True),
    purpose="The value of the first row that has one.",
)
LAST_VALUE = AggregateFunction(
    ("last_value",),
    "any",
    like_argument(),
    lambda call: _PositionBody(call, is_first=False),
    lambda call: _kernel(call, is_first=False),
    purpose="The value of the last row that has one.",
)
