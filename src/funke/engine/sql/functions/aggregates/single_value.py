"""SINGLE_VALUE: the value of the only row, for a query in place of a value that might have more rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateCall, AggregateFunction
from funke.engine.sql.functions.aggregates.kernel import Fields, RunningKernel
from funke.engine.sql.functions.aggregates.rows import AggregateRows
from funke.engine.sql.functions.type_rules import like_argument
from funke.engine.sql.functions.values import from_values, to_values

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.columns.arrays import Array
    from funke.engine.types.logical.sql_value import SqlValue

__all__ = ["SINGLE_VALUE"]


class _SingleBody(AggregateBody):
    """The value, and how many rows there are."""

    def create(self) -> list[Any]:
        return [None, 0]

    def accumulate(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        if accumulator[1] > 0:
            raise _several_rows()
        accumulator[:] = [arguments[0], accumulator[1] + 1]

    def retract(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        # A row that takes the place of this one may have come already, and is taken back then.
        if accumulator[1] not in (0, 1):
            raise _several_rows()
        accumulator[:] = [None, accumulator[1] - 1]

    def merge(self, accumulator: list[Any], other: list[Any]) -> None:
        if accumulator[1] > 0 and other[1] > 0:
            raise _several_rows()
        accumulator[:] = [other[0] if other[1] > 0 else accumulator[0], accumulator[1] + other[1]]

    def value(self, accumulator: list[Any]) -> SqlValue:
        return accumulator[0]


class _SingleKernel(RunningKernel):
    """Fields: the value, and how many rows there are."""

    dtypes = (object, np.int64)
    initial = (None, 0)

    def __init__(self, call: AggregateCall) -> None:
        self._type = call.types[0]

    def running_fields(self, before: Fields, rows: AggregateRows) -> Fields:
        signs: Array = np.ones(len(rows), np.int64) if rows.signs is None else rows.signs.astype(np.int64)
        counts = rows.segments.running_sum(before[1], signs)
        earlier = counts - signs
        if np.where(signs > 0, earlier > 0, (earlier != 0) & (earlier != 1)).any():
            raise _several_rows()
        values = np.fromiter(to_values(rows.arguments[0].array, self._type), object, len(rows))
        values[signs < 0] = None
        return values, counts

    def merge(self, left: Fields, right: Fields) -> Fields:
        if ((left[1] > 0) & (right[1] > 0)).any():
            raise _several_rows()
        return np.where(right[1] > 0, right[0], left[0]), left[1] + right[1]

    def values(self, fields: Fields) -> pa.Array:
        return from_values(fields[0].tolist(), self._type)


def _several_rows() -> TableException:
    return TableException("SingleValueAggFunction received more than one element.")


SINGLE_VALUE = AggregateFunction(
    ("single_value",),
    "any",
    like_argument(),
    lambda call: _SingleBody(),
    _SingleKernel,
    purpose="The value of the only row; several rows are an error.",
)
