"""Aggregates of sessions: windows that a pause in the rows of a key ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.graph.state_meaning import PartMoves
from funke.engine.sql.operators.calculate import as_schema
from funke.engine.sql.operators.windows.session_windows.backend_sessions import (
    DUE_KEYS,
    BackendSessions,
    SessionEntries,
)
from funke.engine.sql.operators.windows.session_windows.open_sessions import HeapSessions, OpenSessions
from funke.engine.sql.operators.windows.slices.aggregate_block import AggregateBlock
from funke.engine.sql.operators.windows.slices.window_aggregate import WindowAggregateOperator
from funke.engine.sql.state.keyed_columns import ColumnLayout, KeyedColumns
from funke.engine.sql.state.moved_state import behind
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.aggregates.window_aggregate import WindowAggregate
    from funke.engine.sql.window_kinds import SessionWindows

__all__ = ["SessionWindowOperator"]


class SessionWindowOperator(WindowAggregateOperator):
    """Windows that a pause ends."""

    def __init__(self, node: WindowAggregate, windows: SessionWindows) -> None:
        super().__init__(node, node.keys)
        self._gap = windows.gap_ms
        self._sessions: OpenSessions = HeapSessions(self._aggregates, self._gap)
        self._entry_types = [node.input.columns[each].type for each in node.keys]
        self._entries = SessionEntries(self._aggregates, self._entry_types)

    def add_rows(self, batch: ColumnBatch, now_ms: int) -> None:
        batch, stamps = self.timed(as_schema(batch, self._input), now_ms)
        kept = self._sessions.on_time(batch, stamps, self.closed)
        if kept is not None:
            self.late += int(np.count_nonzero(~kept))
            batch, stamps = batch.take(np.flatnonzero(kept)), stamps[kept]
        if len(batch):
            self._sessions.add(batch, stamps)

    def close_windows(self, before: int) -> None:
        due = self._sessions.close(self.closed)
        if due is None:
            return
        # As in Flink a session whose rows have all been taken back sends nothing.
        if self._has_retractions:
            due = due.take(np.flatnonzero(due.block.counts > 0))
        if len(due):
            columns = [*due.block.keys, *self._aggregates.results(due.block)]
            times = self.local.to_instants(due.ends - 1)
            self.output.emit_columns(self._results.batch(columns, due.starts, due.ends, times))

    def next_end(self) -> int | None:
        return self._sessions.first_end()

    def blocks(self) -> Iterator[tuple[Any, AggregateBlock]]:
        return self._sessions.blocks()

    def restore_blocks(self, blocks: Iterable[tuple[Any, AggregateBlock]]) -> None:
        self._sessions.restore(blocks)

    def state_layout(self) -> ColumnLayout:
        return self._entries.layout

    def moved_entry(self, moves: PartMoves) -> Callable[[Any], Any]:
        # Start, end and number of rows of each session stand in front.
        session = behind(3, moves)
        return lambda values: (*values[:-1], list(map(session, values[-1])))

    def use_backend(self, state: KeyedColumns) -> None:
        due = state.beside(DUE_KEYS)
        self._sessions = BackendSessions(self._aggregates, self._gap, self._entries, self._entry_types, state, due)

    def restore_entries(self, parts: list[tuple[int, GroupPart]]) -> None:
        for piece in self._entries.pieces_of_parts(parts):
            self._sessions.add_piece(piece)

    def ends(self) -> list[Any]:
        return self._sessions.ends() if isinstance(self._sessions, BackendSessions) else []

    def restore_ends(self, ends: Iterable[Any]) -> None:
        if isinstance(self._sessions, BackendSessions):
            self._sessions.add_ends(ends)
