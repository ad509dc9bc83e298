"""COUNT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.kernels.aggregate_rows import COUNT as COUNT_ROWS
from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateFunction
from funke.engine.sql.functions.aggregates.kernel import Fields, RunningKernel
from funke.engine.sql.functions.aggregates.rows import AggregateRows
from funke.engine.sql.functions.type_rules import always
from funke.engine.types.logical import BigIntType

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["COUNT", "CountBody"]


class CountBody(AggregateBody):
    """How many rows have a value."""

    is_flat = True

    def create(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *arguments: SqlValue) -> None:
        if None not in arguments:
            accumulator[0] += 1

    def retract(self, accumulator: list[int], *arguments: SqlValue) -> None:
        if None not in arguments:
            accumulator[0] -= 1

    def merge(self, accumulator: list[int], other: list[int]) -> None:
        accumulator[0] += other[0]

    def value(self, accumulator: list[int]) -> int:
        return accumulator[0]


class _CountKernel(RunningKernel):
    dtypes = (np.int64,)
    initial = (0,)
    operation = COUNT_ROWS

    def running_fields(self, before: Fields, rows: AggregateRows) -> Fields:
        return (rows.running_count(before[0]),)

    def accumulate(self, before: Fields, rows: AggregateRows) -> Fields:
        return (rows.total_count(before[0]),)

    def merge(self, left: Fields, right: Fields) -> Fields:
        return (left[0] + right[0],)

    def values(self, fields: Fields) -> pa.Array:
        return pa.array(fields[0])


# COUNT(*) has no arguments.
COUNT = AggregateFunction(
    ("count",),
    " | any",
    always(BigIntType(False)),
    lambda call: CountBody(),
    lambda call: _CountKernel(),
    has_value_when_empty=True,
    purpose="How many rows have a value; COUNT(*): how many rows there are.",
)
