"""Sorts streams: rows by event time as the watermark passes them, and the first rows of an order as they come."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.operators.operator import MIN_WATERMARK, Operator
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.ranks.sort_limit import order_of
from funke.engine.sql.operators.windows.over.row_buffer import restored_rows
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.plan.ranks.rank import Rank
    from funke.engine.sql.plan.ranks.sort import TemporalSort
    from funke.engine.types.columns import Array

__all__ = ["KeepTopRowsOperator", "TemporalSortOperator"]


class TemporalSortOperator(Operator):
    """Keeps rows until the watermark has passed them. As in Flink late ones are those behind the last row sent."""

    takes_rows = False
    takes_columns = True

    def __init__(self, node: TemporalSort) -> None:
        self._keys = node.keys
        self._schema = schema_of(node.columns)
        self._waiting: list[ColumnBatch] = []
        self._sent = MIN_WATERMARK
        self._late = 0

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        batch = as_schema(batch, self._schema)
        # Not by the watermark: a row that is behind it, but not behind the last row sent, can still be put in order.
        kept = np.asarray(pc.fill_null(pc.greater(self._times(batch), self._sent), False))
        self._late += int(np.count_nonzero(~kept))
        if kept.any():
            self._waiting.append(batch.take(np.flatnonzero(kept)))

    def process_watermark(self, watermark: int) -> None:
        """Sends the rows that it has passed, then itself."""
        if self._waiting:
            rows = ColumnBatch.concat(self._waiting)
            times = np.asarray(self._times(rows))
            is_due = times <= watermark
            if is_due.any():
                self._sent = int(times[is_due].max())
                rest = np.flatnonzero(~is_due)
                self._waiting = [rows.take(rest)] if len(rest) else []
                due = rows.take(np.flatnonzero(is_due))
                # Sorted only now: the further keys of ORDER BY count among rows of the same time.
                self.output.emit_columns(due.take(order_of(due.data, self._keys)))
        super().process_watermark(watermark)

    def _times(self, batch: ColumnBatch) -> pa.Array:
        column = batch.data.column(self._keys[0].index)
        return column.cast(pa.timestamp("ms", column.type.tz)).view(pa.int64())

    def snapshot(self) -> Any:
        return self._waiting, self._sent

    def restore(self, state: Any) -> None:
        waiting, self._sent = state
        self._waiting = [restored_rows(each, self._schema) for each in waiting]

    def metrics(self) -> dict[str, Any]:
        return {**super().metrics(), "numLateRecordsDropped": self._late}


class KeepTopRowsOperator(Operator):
    """Rows are numbered by their order together with those that are known; then single numbers come and go."""

    takes_rows = False
    takes_columns = True

    def __init__(self, node: Rank) -> None:
        self._order = node.order
        self._limit = node.last
        self._schema = schema_of(node.columns)
        # In their order; of those that are equal the one that came first stands first.
        self._first_rows: ColumnBatch | None = None

    def process_columns(self, batch: ColumnBatch) -> None:
        """Tells for every row whether it is among the first ones now, and which one is no longer."""
        self.records_in += len(batch)
        batch = as_schema(batch, self._schema)
        rows = batch if self._first_rows is None else ColumnBatch.concat([self._first_rows, batch])
        order = order_of(rows.data, self._order)
        numbers: Array = np.empty(len(rows), np.int64)
        numbers[order] = np.arange(len(rows))
        first = len(rows) - len(batch)
        top, indexes, kinds = numbers[:first].tolist(), [], []
        for number in numbers[first:].tolist():
            # The last of the first rows makes room.
            if len(top) >= self._limit:
                if not top or number > top[-1]:
                    continue
                indexes.append(order[top.pop()])
                kinds.append(RowKind.DELETE.value)
            insort(top, number)
            indexes.append(order[number])
            kinds.append(RowKind.INSERT.value)
        self._first_rows = rows.take(order[top])
        if indexes:
            signs = np.array(kinds, np.int8)
            sent = rows.take(np.array(indexes))
            self.output.emit_columns(ColumnBatch(sent.data, sent.timestamps, signs if signs.any() else None))

    def snapshot(self) -> Any:
        return self._first_rows

    def restore(self, state: Any) -> None:
        self._first_rows = restored_rows(state, self._schema)
