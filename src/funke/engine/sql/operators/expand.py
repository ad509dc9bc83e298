"""Makes several rows of each row, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.operators.operator import Operator
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.binding.current_time import BatchTime, with_clock
from funke.engine.sql.binding.expressions import column_of
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.aggregates.expand import Expand

__all__ = ["ExpandOperator"]


class ExpandOperator(Operator):
    """Works on batches of columns; event times and kinds are those of the row that rows are made of."""

    takes_rows = False
    takes_columns = True

    def __init__(self, expand: Expand, clock: Clock) -> None:
        self._schema = schema_of(expand.columns)
        self._batch_time = BatchTime(clock)
        self._projections = [
            [column_of(with_clock(each, self._batch_time)) for each in expressions]
            for expressions in expand.projections
        ]

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends on the rows that are made of those of a batch."""
        self.records_in += len(batch)
        self._batch_time.begin()
        length = len(batch)
        expanded = []
        for getters in self._projections:
            columns = [get(batch.data) for get in getters]
            arrays = [pa.repeat(each, length) if isinstance(each, pa.Scalar) else each for each in columns]
            expanded.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        # Those of the first row come first.
        order = (np.arange(length)[:, None] + length * np.arange(len(expanded))).ravel()
        repeated = batch.take(np.repeat(np.arange(length), len(expanded)))
        self.output.emit_columns(repeated.with_data(pa.concat_batches(expanded).take(pa.array(order))))
