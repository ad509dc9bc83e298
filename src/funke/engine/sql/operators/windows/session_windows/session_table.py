"""Adds to each row the session that it belongs to, once that has ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.state_meaning import StateMoves
from funke.engine.sql.meaning.state_parts import COLUMNS
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.windows.key_codes import key_codes
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.operators.windows.session_windows.sessions import find_sessions, is_within_sessions
from funke.engine.sql.operators.windows.slices.window_results import WindowResults
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.sql.operators.windows.window_operator import WindowOperator
from funke.engine.sql.window_kinds import SessionWindows
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.window_table_function import SessionWindowTableFunction
    from funke.engine.types.columns import Array

__all__ = ["SessionTableOperator"]


class SessionTableOperator(WindowOperator):
    """Keeps rows with their local times until their sessions close; kinds stay with their rows."""

    def __init__(self, node: SessionWindowTableFunction) -> None:
        inputs, self._keys = node.input.columns, node.partition_by or ()
        super().__init__(node.time, self._keys)
        assert isinstance(node.windows, SessionWindows)
        self._gap = node.windows.gap_ms
        self._input = schema_of(inputs)
        self._results = WindowResults(node.columns, node.time.is_event_time)
        key_types = [to_type_info(inputs[key].type) for key in self._keys]
        self._rows = RowBuffer("session-rows", self._keys, key_types, self._input)

    def add_rows(self, batch: ColumnBatch, now_ms: int) -> None:
        timed, times = with_times(as_schema(batch, self._input), self.time, self.local, now_ms)
        self.without_time += len(batch) - len(timed)
        kept = self._on_time(timed, times)
        self.late += int(np.count_nonzero(~kept))
        self._rows.add(timed.with_timestamps(times).take(np.flatnonzero(kept)))

    def _on_time(self, batch: ColumnBatch, times: Array) -> Array:
        kept = times + self._gap > self.closed
        if kept.all():
            return kept
        # What would be late on its own may belong to a session that is open.
        rows = self._rows.all()
        codes = self._codes(batch.data if rows is None else pa.concat_batches([batch.data, rows.data]))
        earlier: Array = np.empty(0, np.int64) if rows is None else rows.timestamps
        intervals = (codes[len(batch) :], earlier, earlier + self._gap)
        return is_within_sessions(codes[: len(batch)], times, self._gap, self.closed, intervals)

    def _codes(self, data: pa.RecordBatch) -> Array:
        return key_codes([data.column(key) for key in self._keys], data.num_rows)[0]

    def close_windows(self, before: int) -> None:
        first = self.next_end()
        if first is None or first > self.closed:
            return
        rows = self._rows.all()
        assert rows is not None and rows.timestamps is not None
        # Formed anew of all waiting rows, with each watermark that passes the first end: rows are state here, sessions
        # are not.
        sessions = find_sessions(self._codes(rows.data), rows.timestamps, rows.timestamps + self._gap)
        session: Array = np.empty(len(rows), np.int64)
        session[sessions.order] = np.repeat(np.arange(len(sessions)), sessions.lengths)
        is_due = (sessions.ends <= self.closed)[session]
        if is_due.any():
            self._send(self._rows.take_out(is_due), sessions.starts[session[is_due]], sessions.ends[session[is_due]])

    def _send(self, rows: ColumnBatch, starts: Array, ends: Array) -> None:
        times = self.local.to_instants(ends - 1)
        windows = self._results.batch(rows.data.columns, starts, ends, times)
        self.output.emit_columns(ColumnBatch(windows.data, windows.timestamps, rows.kinds))

    def next_end(self) -> int | None:
        first = self._rows.first_time()
        # Of the earliest row alone. Its session may last longer, which is seen when the watermark gets here.
        return None if first is None else first + self._gap

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        return self._rows.snapshot_parts(self.context.task.key_groups)

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return self._rows.moved(part, moves[COLUMNS])

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        self._rows.restore(parts)
