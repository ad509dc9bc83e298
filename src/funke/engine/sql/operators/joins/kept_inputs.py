"""What joins that keep the rows of their inputs have in common: batches in, the state of the inputs, snapshots."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.binding.expressions import BoundExpression
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.joins.join_rows import JoinInput, JoinRows
from funke.engine.sql.operators.joins.join_rows_operator import JoinRowsOperator
from funke.engine.sql.plan.node import PlanNode
from funke.engine.sql.state.join_side import JoinSide
from funke.engine.sql.state.keyed_columns_operator import create_database, is_in_memory
from funke.engine.sql.state.rows.row_copies import BatchColumns
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["KeptInputsOperator", "offsets"]


class KeptInputsOperator(JoinRowsOperator[JoinRows]):
    """A batch meets the rows of the other inputs, and is added to those of its own."""

    def __init__(
        self, node: PlanNode, inputs: Sequence[JoinInput], conditions: Iterable[BoundExpression | None], clock: Clock
    ) -> None:
        super().__init__(inputs, conditions, clock)
        self._output_schema = schema_of(node.columns)
        self._has_ttl = any(each.spec.ttl_ms for each in inputs)
        # When the last batch came: for all of its rows the same rows have expired.
        self._batch_ms = 0
        # The columns of that batch, by input.
        self._columns = [BatchColumns(each.spec.schema) for each in inputs]

    def _create_rows(self, context: OperatorContext) -> JoinRows:
        if is_in_memory(context):
            return JoinRows(self._inputs, context.task.key_groups)
        # Not at the top: a slot starts faster without what its job does not use.
        from funke.engine.sql.operators.joins.stored_join_rows import StoredJoinRows

        return StoredJoinRows(self._inputs, context.task, create_database(context))

    @property
    def _sides(self) -> list[JoinSide]:
        return self._rows.sides

    def _process(self, batch: ColumnBatch, side: int) -> None:
        self.records_in += len(batch)
        if not len(batch):
            return
        batch = as_schema(batch, self._inputs[side].spec.schema)
        self._batch_ms = now_ms = self._now_ms
        self._columns[side].hold(batch.data)
        numbers = self._rows.numbers(side, batch.data, now_ms)
        kinds: Array = np.zeros(len(batch), np.uint8) if batch.kinds is None else batch.kinds.view(np.uint8)
        matches = self._meet_others(batch, numbers, kinds, side)
        # Inserts and updates after are even.
        takes_in = 1 - (kinds & 1)
        self._sides[side].add_batch(self._columns[side], numbers, takes_in, matches, now_ms)
        self._rows.changed(side, numbers)
        self._rows.end_batch()

    @abstractmethod
    def _meet_others(self, batch: ColumnBatch, numbers: Array, kinds: Array, side: int) -> Array:
        """Sends what a batch makes with the rows of the other inputs; returns how many matches each of its rows has."""

    def _with_names(self, columns: list[pa.Array]) -> pa.RecordBatch:
        """Columns as those that are sent."""
        return pa.RecordBatch.from_arrays(columns, schema=self._output_schema)

    def _emit(self, data: pa.RecordBatch, kinds: Array) -> None:
        self.output.emit_columns(ColumnBatch(data, None, kinds.view(np.int8) if kinds.any() else None))

    @property
    def _now_ms(self) -> int:
        return self._clock.now_ms() if self._has_ttl else 0


def offsets(counts: Array) -> Array:
    """Where the pairs of each row begin, and where the last ones end."""
    ends: Array = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends
