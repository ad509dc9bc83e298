"""The rows that one aggregate takes in: its arguments and its condition, of rows in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.sql.binding.relations import BoundAggregate
from funke.engine.sql.functions.aggregates.rows import AggregateRows, ArgumentColumn
from funke.engine.sql.functions.aggregates.segments import Segments

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["framed_rows"]


def framed_rows(
    aggregate: BoundAggregate, data: pa.RecordBatch, segments: Segments, indexes: Array | None = None
) -> AggregateRows:
    """The rows at some indexes, in the order of segments; without indexes, all rows in their order."""

    def column(index: int) -> pa.Array:
        if index < 0:
            return pa.nulls(0)
        values = data.column(index)
        return values if indexes is None else values.take(pa.array(indexes))

    mask = None
    if aggregate.condition is not None:
        mask = np.asarray(column(aggregate.condition).fill_null(False))
    return AggregateRows(segments, [ArgumentColumn(column(each)) for each in aggregate.arguments], None, mask)
