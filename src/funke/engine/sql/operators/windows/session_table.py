"""Adds to each row the session that it belongs to, once that has ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.state_meaning import StateMeaning, StateMoves
from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.window_relations import WindowTable, WindowTime
from funke.engine.sql.meaning.column_texts import ColumnTexts
from funke.engine.sql.meaning.state_parts import COLUMNS, columns_of, input_facts, key_fact, window_fact
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.windows.key_codes import key_codes
from funke.engine.sql.operators.windows.row_buffer import RowBuffer
from funke.engine.sql.operators.windows.sessions import find_sessions, is_within_sessions
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.sql.operators.windows.window_operator import WindowOperator
from funke.engine.sql.operators.windows.window_results import WindowResults
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["AddSessions", "SessionTableOperator"]


@dataclass(frozen=True)
class AddSessions:
    """Makes the operator of sessions for a subtask."""

    inputs: tuple[Column, ...]
    columns: tuple[Column, ...]
    keys: tuple[int, ...]
    gap_ms: int
    time: WindowTime

    @staticmethod
    def of(table: WindowTable) -> AddSessions:
        """What a subtask has to know of a table."""
        return AddSessions(
            table.input.columns, table.columns, table.partition_by or (), table.windows.size_ms, table.time
        )

    @staticmethod
    def meaning(table: WindowTable) -> StateMeaning:
        """What its state means: the rows of sessions that are open."""
        texts, source = ColumnTexts(), table.input
        facts = (
            key_fact(texts, source, table.partition_by or (), "PARTITION BY"),
            window_fact(texts, source, table.windows, table.time, None),
            *input_facts(texts, source),
        )
        return StateMeaning("WindowTableFunction", facts, ((COLUMNS, columns_of(texts, source)),))

    def __call__(self, task: TaskInfo) -> SessionTableOperator:
        return SessionTableOperator(self)


class SessionTableOperator(WindowOperator):
    """Keeps rows with their local times until their sessions close; kinds stay with their rows."""

    def __init__(self, spec: AddSessions) -> None:
        super().__init__(spec.time, spec.keys)
        self._gap = spec.gap_ms
        self._keys = spec.keys
        self._input = schema_of(spec.inputs)
        self._results = WindowResults(spec.columns, spec.time.is_event_time)
        key_types = [to_type_info(spec.inputs[key].type) for key in spec.keys]
        self._rows = RowBuffer("session-rows", spec.keys, key_types, self._input)

    def add_rows(self, batch: ColumnBatch, now_ms: int) -> None:
        timed, times = with_times(as_schema(batch, self._input), self.time, self.local, now_ms)
        self.without_time += len(batch) - len(timed)
        kept = self._on_time(timed, times)
        self.late += int(np.count_nonzero(~kept))
        self._rows.add(timed.with_timestamps(times).take(np.flatnonzero(kept)))

    def _on_time(self, batch: ColumnBatch, times: Any) -> Any:
        kept = times + self._gap > self.closed
        if kept.all():
            return kept
        # What would be late on its own may belong to a session that is open.
        rows = self._rows.all()
        codes = self._codes(batch.data if rows is None else pa.concat_batches([batch.data, rows.data]))
        earlier: Any = np.empty(0, np.int64) if rows is None else rows.timestamps
        known = (codes[len(batch) :], earlier, earlier + self._gap)
        return is_within_sessions(codes[: len(batch)], times, self._gap, self.closed, known)

    def _codes(self, data: Any) -> Any:
        return key_codes([data.column(key) for key in self._keys], data.num_rows)[0]

    def close_windows(self, before: int) -> None:
        first = self.next_end()
        if first is None or first > self.closed:
            return
        rows = self._rows.all()
        assert rows is not None and rows.timestamps is not None
        found = find_sessions(self._codes(rows.data), rows.timestamps, rows.timestamps + self._gap)
        session: Any = np.empty(len(rows), np.int64)
        session[found.order] = np.repeat(np.arange(len(found)), found.lengths)
        is_due = (found.ends <= self.closed)[session]
        if is_due.any():
            self._send(self._rows.take_out(is_due), found.starts[session[is_due]], found.ends[session[is_due]])

    def _send(self, rows: ColumnBatch, starts: Any, ends: Any) -> None:
        times = self.local.to_instants(ends - 1)
        made = self._results.batch(rows.data.columns, starts, ends, times)
        self.output.emit_columns(ColumnBatch(made.data, made.timestamps, rows.kinds))

    def next_end(self) -> int | None:
        first = self._rows.first_time()
        return None if first is None else first + self._gap

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        return self._rows.snapshot_parts(self.context.task.key_groups)

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return self._rows.moved(part, moves[COLUMNS])

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        self._rows.restore(parts)
