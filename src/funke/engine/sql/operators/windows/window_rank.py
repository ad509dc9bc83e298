"""The first rows of each key and window by an order, once the window has ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.state_meaning import StateMoves
from funke.engine.sql.meaning.state_parts import COLUMNS
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.ranks.sort_limit import order_of
from funke.engine.sql.operators.windows.key_codes import first_rows, key_codes
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.operators.windows.window_operator import WindowOperator
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.ranks.window_rank import WindowRank
    from funke.engine.types.columns import Array

__all__ = ["WindowRankOperator"]

# So many rows may wait before those that cannot be among the first are looked for.
_FEW_ROWS = 4096


class WindowRankOperator(WindowOperator):
    """Keeps rows, by the local ends of their windows, until these close."""

    def __init__(self, node: WindowRank) -> None:
        super().__init__(node.time, node.keys)
        self._node = node
        self._start, self._end = node.window_columns
        self._input, self._output_schema = schema_of(node.input.columns), schema_of(node.columns)
        key_types = [to_type_info(node.input.columns[key].type) for key in node.keys]
        # In memory with every backend: the rows of open windows. A clean-up leaves at most N for each key and window.
        self._rows = RowBuffer("ranked-rows", node.keys, key_types, self._input)
        self._most = _FEW_ROWS

    def add_rows(self, batch: ColumnBatch, now_ms: int) -> None:
        batch = as_schema(batch, self._input)
        ends = _stamps(batch.data.column(self._end))
        kept = ends > self.closed
        self.late += int(np.count_nonzero(~kept))
        self._rows.add(batch.with_timestamps(ends).take(np.flatnonzero(kept)))
        if len(self._rows) > self._most:
            self._forget_others()

    def _forget_others(self) -> None:
        """Removes rows that are behind the last number; those that stay have to double before it is done again."""
        rows = self._rows.all()
        assert rows is not None
        order, numbers = self._numbered(rows.data, self._groups(rows.data)[0])
        self._rows.take_out(_marked(order[numbers > self._node.last], len(rows)))
        self._most = max(_FEW_ROWS, 2 * len(self._rows))

    def close_windows(self, before: int) -> None:
        first = self.next_end()
        if first is None or first > self.closed:
            return
        rows = self._rows.all()
        assert rows is not None and rows.timestamps is not None
        due = self._rows.take_out(rows.timestamps <= self.closed)
        order, numbers = self._numbered(due.data, self._in_order_of_windows(due))
        is_reported = (numbers >= self._node.first) & (numbers <= self._node.last)
        if is_reported.any():
            self._send(due.take(order[is_reported]), numbers[is_reported])

    def _groups(self, data: pa.RecordBatch) -> tuple[Array, int]:
        columns = [data.column(index) for index in (*self._node.keys, self._start, self._end)]
        return key_codes(columns, data.num_rows)

    def _in_order_of_windows(self, rows: ColumnBatch) -> Array:
        """Numbers of keys and windows: windows that end first, then keys as they came."""
        codes, count = self._groups(rows.data)
        firsts = first_rows(codes, count)
        ends: Array = rows.timestamps
        starts = _stamps(rows.data.column(self._start))
        indexes: Array = np.empty(count, np.int64)
        indexes[np.lexsort((firsts, starts[firsts], ends[firsts]))] = np.arange(count)
        return indexes[codes]

    def _numbered(self, data: pa.RecordBatch, groups: Array) -> tuple[Array, Array]:
        """The indexes of rows in the order of groups and then their own, and the number of each within its group."""
        # The last of equal rows counts, so rows are sorted backwards and the order is turned round.
        if self._node.keeps_last:
            last = data.num_rows - 1
            order = last - order_of(data.take(pa.array(np.arange(last, -1, -1))), self._node.order)
        else:
            order = order_of(data, self._node.order)
        order = order[np.argsort(groups[order], kind="stable")]
        ordered = groups[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        lengths = np.diff(np.r_[starts, len(ordered)])
        return order, np.arange(1, len(ordered) + 1) - np.repeat(starts, lengths)

    def _send(self, rows: ColumnBatch, numbers: Array) -> None:
        more: Sequence[Any] = [pa.array(numbers)] if self._node.has_number else []
        data = pa.RecordBatch.from_arrays([*rows.data.columns, *more], schema=self._output_schema)
        ends: Array = rows.timestamps
        self.output.emit_columns(ColumnBatch(data, self.local.to_instants(ends - 1)))

    def next_end(self) -> int | None:
        return self._rows.first_time()

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        return self._rows.snapshot_parts(self.context.task.key_groups)

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return self._rows.moved(part, moves[COLUMNS])

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        self._rows.restore(parts)


def _stamps(column: pa.Array) -> Array:
    return np.asarray(column.cast(pa.timestamp("ms")).view(pa.int64()))


def _marked(indexes: Array, count: int) -> Array:
    marks: Array = np.zeros(count, bool)
    marks[indexes] = True
    return marks
