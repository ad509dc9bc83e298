"""Sends the earliest row of each key, once the watermark has passed it: no earlier one can come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.state_meaning import StateMoves
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.sql.meaning.state_parts import COLUMNS
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.waiting_rows_operator import WaitingRowsOperator
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.state.keyed_columns import ColumnLayout
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.ranks.deduplicate import Deduplicate

__all__ = ["KeepEarliestRowOperator"]


class KeepEarliestRowOperator(WaitingRowsOperator):
    """Rows wait in memory; state knows the keys whose row was sent. As in Flink late rows are left out."""

    def __init__(self, node: Deduplicate) -> None:
        assert node.rowtime is not None
        self._rowtime = node.rowtime
        self._ttl_ms = node.ttl_ms
        self._schema = schema_of(node.columns)
        types = [node.columns[index].type for index in node.keys]
        self._keys = KeyColumns(node.keys, types)
        self._waiting = RowBuffer("waiting-rows", node.keys, list(map(to_type_info, types)), self._schema)
        self._watermark = MIN_WATERMARK
        self._late = 0

    def layout(self) -> ColumnLayout:
        return ColumnLayout("sent", lambda count: (np.zeros(count, np.bool_),), self._ttl_ms)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Keeps the first of the earliest rows of each key, unless one was sent."""
        self.records_in += len(batch)
        batch = as_schema(batch, self._schema)
        column = batch.data.column(self._rowtime)
        times = np.asarray(column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64()).fill_null(0))
        in_time = np.flatnonzero(times >= self._watermark)
        self._late += len(batch) - len(in_time)
        if len(in_time):
            self._waiting.add(self._first_ones(batch.with_timestamps(times).take(in_time)))

    def _first_ones(self, rows: ColumnBatch) -> ColumnBatch:
        """The earliest row of each key that has none yet, by their times."""
        assert rows.timestamps is not None
        rows = rows.take(rows.timestamps.argsort(kind="stable"))
        codes, keys = self._keys.encode(rows.data)
        # Keys are numbered in the order of their first rows.
        first = np.unique(codes, return_index=True)[1]
        # A key stays in state after its row was sent, or a later row would be sent as the first one. Without a time to
        # live the state has an entry for every key that ever came.
        return rows.take(np.sort(first[~self.state.fetch(keys).is_known]))

    def process_watermark(self, watermark: int) -> None:
        """Sends the rows that it has passed, then itself."""
        self._watermark = watermark
        first = self._waiting.first_time()
        if first is not None and first <= watermark:
            rows = self._waiting.all()
            assert rows is not None and rows.timestamps is not None
            self._tell(self._first_ones(self._waiting.take_out(rows.timestamps <= watermark)))
        super().process_watermark(watermark)

    def _tell(self, rows: ColumnBatch) -> None:
        if len(rows):
            _, keys = self._keys.encode(rows.data)
            fetched = self.state.fetch(keys)
            self.state.store(fetched, (np.ones(len(rows), np.bool_),))
            self.output.emit_columns(rows)

    # Snapshots

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return self._waiting.moved(part, moves[COLUMNS])

    def snapshot(self) -> OperatorStateSnapshot:
        return OperatorStateSnapshot(unions={"watermark": [self._watermark]})

    def restore(self, state: OperatorStateSnapshot) -> None:
        self._watermark = min(state.unions["watermark"])

    def metrics(self) -> dict[str, Any]:
        return {**super().metrics(), "numLateRecordsDropped": self._late}
