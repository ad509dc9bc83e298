"""Aggregates of tumbling, hopping and cumulating windows."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.errors import StateError
from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.state_meaning import PartMoves, StateMeaning, StateMoves
from funke.engine.operators.operator import OperatorContext, TaskInfo
from funke.engine.sql.binding.relations import BoundAggregate, Column
from funke.engine.sql.binding.window_relations import WindowAggregation, Windows, WindowTime
from funke.engine.sql.changelog.change_kinds import has_retractions
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.meaning.column_texts import ColumnTexts
from funke.engine.sql.meaning.state_parts import ACCUMULATORS, accumulators, input_facts, key_fact, window_fact
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.opened_functions import OpenedFunctions
from funke.engine.sql.operators.windows.aggregate_block import AggregateBlock, Aggregates
from funke.engine.sql.operators.windows.backend_sessions import DUE_KEYS, BackendSessions, SessionEntries
from funke.engine.sql.operators.windows.backend_slices import BackendSlices, SliceEntries
from funke.engine.sql.operators.windows.block_parts import blocks_of_parts, moved_blocks, parts_of_blocks
from funke.engine.sql.operators.windows.gathered_rows import window_kernel
from funke.engine.sql.operators.windows.key_codes import slice_codes
from funke.engine.sql.operators.windows.open_sessions import HeapSessions, OpenSessions
from funke.engine.sql.operators.windows.partial_aggregate import entries_of, partial_columns
from funke.engine.sql.operators.windows.slice_store import HeapSlices, SliceStore
from funke.engine.sql.operators.windows.slices import AttachedWindows, Slices
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.sql.operators.windows.window_operator import WindowOperator
from funke.engine.sql.operators.windows.window_results import WindowResults
from funke.engine.sql.state.keyed_columns import ColumnLayout, KeyedColumns
from funke.engine.sql.state.keyed_columns_operator import create_columns, is_in_memory
from funke.engine.sql.state.moved_state import behind, moved_part
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.state.snapshot.native_files import LocalFile
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["WindowAggregate", "WindowAggregateOperator"]


@dataclass(frozen=True)
class WindowAggregate:
    """Makes the operator of an aggregation for a subtask."""

    inputs: tuple[Column, ...]
    columns: tuple[Column, ...]
    keys: tuple[int, ...]
    aggregates: tuple[BoundAggregate, ...]
    windows: Windows | None
    time: WindowTime
    window_columns: tuple[int, int] | None = None
    has_retractions: bool = False
    # Whether rows are entries of `PartialAggregate`.
    is_partial: bool = False

    @staticmethod
    def of(aggregation: WindowAggregation) -> WindowAggregate:
        """What a subtask has to know of an aggregation."""
        return WindowAggregate(
            aggregation.input.columns,
            aggregation.columns,
            aggregation.keys,
            aggregation.aggregates,
            aggregation.windows,
            aggregation.time,
            aggregation.window_columns,
            has_retractions(aggregation.input),
        )

    @staticmethod
    def meaning(aggregation: WindowAggregation) -> StateMeaning:
        """What its state means, in one step or in two."""
        texts, source = ColumnTexts(), aggregation.input
        takes_back = has_retractions(source)
        calls = accumulators(texts, source, aggregation.aggregates, lambda call: window_kernel(call, takes_back))
        windows = window_fact(texts, source, aggregation.windows, aggregation.time, aggregation.window_columns)
        facts = (key_fact(texts, source, aggregation.keys), windows, *input_facts(texts, source))
        return StateMeaning("WindowAggregate", facts, ((ACCUMULATORS, calls),))

    @staticmethod
    def of_entries(aggregation: WindowAggregation) -> WindowAggregate:
        """The same, behind `PartialAggregate`."""
        made, keys = WindowAggregate.of(aggregation), tuple(range(len(aggregation.keys)))
        return replace(made, inputs=partial_columns(aggregation), keys=keys, is_partial=True)

    def __call__(self, task: TaskInfo) -> WindowAggregateOperator:
        if self.windows is None:
            return AttachedWindowOperator(self)
        if self.windows.kind == "session":
            return SessionWindowOperator(self, self.windows)
        return (EntryWindowOperator if self.is_partial else SliceWindowOperator)(self, self.windows)


class WindowAggregateOperator(WindowOperator):
    """Computes aggregates of windows and keys."""

    def __init__(self, spec: WindowAggregate, keys: tuple[int, ...]) -> None:
        # Entries have every key once in each batch, however many rows it has.
        super().__init__(spec.time, () if spec.is_partial else spec.keys)
        self._input = schema_of(spec.inputs)
        self._aggregates = Aggregates(keys, spec.aggregates, spec.has_retractions)
        self._has_retractions = spec.has_retractions
        self._results = WindowResults(spec.columns, spec.time.is_event_time)
        self._functions = OpenedFunctions((), [each.call.function for each in spec.aggregates])
        self._key_types = [to_type_info(spec.inputs[each].type) for each in spec.keys]

        # Where the state is, if not in memory.
        self._state: KeyedColumns | None = None

    # Not if keys have columns that rows are not sent by: a backend would look for them in other key groups.
    may_use_backend = True

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        if self.may_use_backend and not is_in_memory(context):
            self._state = create_columns(self.state_layout(), context)
            self.use_backend(self._state)

    def open(self) -> None:
        self._functions.open(self.context)

    def close(self) -> None:
        try:
            self._functions.close()
        finally:
            if self._state is not None:
                self._state.close()

    def metrics(self) -> dict[str, Any]:
        return {**self._functions.metrics(), **super().metrics()}

    def timed(self, batch: ColumnBatch, now_ms: int) -> tuple[ColumnBatch, Any]:
        """The rows that have a time, and their local times."""
        timed, stamps = with_times(batch, self.time, self.local, now_ms)
        self.without_time += len(batch) - len(timed)
        return timed, stamps

    def blocks(self) -> Iterator[tuple[Any, AggregateBlock]]:
        """The state, as blocks with names."""
        raise NotImplementedError

    def restore_blocks(self, blocks: Iterable[tuple[Any, AggregateBlock]]) -> None:
        """Takes back what `blocks` gave."""
        raise NotImplementedError

    def state_layout(self) -> ColumnLayout:
        """The columns of the state in a backend."""
        raise NotImplementedError

    def use_backend(self, state: KeyedColumns) -> None:
        """Keeps windows there."""
        raise NotImplementedError

    def restore_entries(self, parts: list[tuple[int, GroupPart]]) -> None:
        """Takes back what a backend has written, into whatever is here now."""
        raise NotImplementedError

    def ends(self) -> list[Any]:
        """Where windows are, which the files of a backend do not tell."""
        raise NotImplementedError

    def restore_ends(self, ends: Iterable[Any]) -> None:
        """Takes back what `ends` gave, of all subtasks."""
        raise NotImplementedError

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        if self._state is not None:
            return self._state.snapshot_parts()
        return parts_of_blocks(self.blocks(), self._key_types, self.context.task.key_groups)

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        own = moves[ACCUMULATORS]
        return moved_part(moved_blocks(part, own.places()), {self.state_layout().name: self.moved_entry(own)})

    def moved_entry(self, moves: PartMoves) -> Callable[[Any], Any]:
        """What moves the accumulators of an entry that a backend has written."""
        raise NotImplementedError

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        every = list(parts)
        self.restore_blocks(blocks_of_parts(every, [len(kernel.dtypes) for kernel in self._aggregates.kernels]))
        self.restore_entries(every)

    def snapshot(self) -> OperatorStateSnapshot:
        found = super().snapshot()
        return replace(found, unions={**found.unions, "ends": [] if self._state is None else self.ends()})

    def restore(self, state: OperatorStateSnapshot) -> None:
        super().restore(state)
        if self._state is not None:
            self.restore_ends(state.unions.get("ends", ()))

    def end_epoch(self) -> None:
        if self._state is not None:
            self._state.prune()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        if self._state is not None:
            self._state.prepare_snapshot(checkpoint_id)

    def native_files(self) -> tuple[LocalFile, ...]:
        return () if self._state is None else self._state.native_files()

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        if self._state is None:
            raise StateError("state in memory cannot read files of another state backend; start from a savepoint")
        self._state.restore_native(folders, groups)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._state is not None:
            self._state.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        if self._state is not None:
            self._state.notify_checkpoint_aborted(checkpoint_id)


class _SliceOperator(WindowAggregateOperator):
    """Gathers the rows of each slice and key; a window is put together of its slices once time has passed its end."""

    def __init__(self, spec: WindowAggregate, slices: Slices | AttachedWindows, keys: tuple[int, ...]) -> None:
        super().__init__(spec, keys)
        self._slices = slices
        self._store: SliceStore = HeapSlices(self._aggregates)
        self._entry_types = [spec.inputs[each].type for each in keys]
        self._entries = SliceEntries(self._aggregates, self._entry_types)

    def add_rows(self, batch: ColumnBatch, now_ms: int) -> None:
        batch, ends = self._on_time(*self._with_slices(as_schema(batch, self._input), now_ms))
        if len(batch):
            self._add(batch, ends)

    def _with_slices(self, batch: ColumnBatch, now_ms: int) -> tuple[ColumnBatch, Any]:
        """The rows that have a time, and the ends of their slices."""
        raise NotImplementedError

    def _add(self, batch: ColumnBatch, ends: Any) -> None:
        codes, count = slice_codes(self._aggregates.key_columns(batch.data), ends, self._slices.width)
        block, firsts = self._aggregates.of_rows(batch, codes, count)
        self._add_by_slice(block, ends[firsts])

    def _add_by_slice(self, block: AggregateBlock, ends: Any) -> None:
        if ends[0] == ends[-1]:
            self._store.add(int(ends[0]), block)
            return
        cuts = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), len(ends)]
        for start, end in pairwise(cuts):
            self._store.add(int(ends[start]), block.slice(start, end))

    def _on_time(self, batch: ColumnBatch, ends: Any) -> tuple[ColumnBatch, Any]:
        if not len(ends) or (not self._slices.has_gaps and self._slices.last_window(int(ends.min())) > self.closed):
            return batch, ends
        last = self._slices.last_window(ends)
        is_late = last <= self.closed
        between = last < self._slices.first_window(ends)
        self.late += int(np.count_nonzero(is_late & ~between))
        kept = np.flatnonzero(~is_late & ~between)
        return batch.take(kept), ends[kept]

    def close_windows(self, before: int) -> None:
        end = self._next_window(before)
        while end is not None and end <= self.closed:
            self._send(end)
            for each in self._store.ends():
                if self._slices.last_window(each) > end:
                    break
                self._store.drop(each)
            end = self._next_window(end)

    def next_end(self) -> int | None:
        return self._next_window(self.closed)

    def _next_window(self, closed: int) -> int | None:
        first = self._store.first_end()
        return None if first is None else self._slices.next_window(first, closed)

    def _send(self, end: int) -> None:
        block = self._window(end)
        if self._has_retractions:
            block = block.take(np.flatnonzero(block.counts > 0))
        if len(block):
            self.output.emit_columns(self._rows(block, end, self.local.to_instant(end - 1)))

    def _window(self, end: int) -> AggregateBlock:
        """The aggregates of a window."""
        return self._store.merged([end])

    def _rows(self, block: AggregateBlock, end: int, time: int) -> ColumnBatch:
        """The results of a window as rows."""
        raise NotImplementedError

    # State

    def use_backend(self, state: KeyedColumns) -> None:
        self._store = BackendSlices(self._aggregates, self._entries, self._entry_types, state)

    def state_layout(self) -> ColumnLayout:
        return self._entries.layout

    def moved_entry(self, moves: PartMoves) -> Callable[[Any], Any]:
        return behind(len(self._entry_types) + 1, moves)

    def blocks(self) -> Iterator[tuple[Any, AggregateBlock]]:
        return ((end, self._store.merged([end])) for end in self._store.ends())

    def restore_blocks(self, blocks: Iterable[tuple[Any, AggregateBlock]]) -> None:
        for slice_end, block in blocks:
            self._store.add(slice_end, block)

    def restore_entries(self, parts: list[tuple[int, GroupPart]]) -> None:
        self.restore_blocks(self._entries.blocks_of_parts(parts))

    def ends(self) -> list[Any]:
        return self._store.ends()

    def restore_ends(self, ends: Iterable[Any]) -> None:
        if isinstance(self._store, BackendSlices):
            self._store.add_ends(ends)


class SliceWindowOperator(_SliceOperator):
    """Windows of rows by their time."""

    _slices: Slices

    def __init__(self, spec: WindowAggregate, windows: Windows) -> None:
        super().__init__(spec, Slices(windows), spec.keys)
        self._is_cumulative = windows.kind == "cumulate"
        self._is_from_last = windows.kind == "hop" and windows.is_table_function

    def _with_slices(self, batch: ColumnBatch, now_ms: int) -> tuple[ColumnBatch, Any]:
        timed, stamps = self.timed(batch, now_ms)
        return timed, self._slices.end_of(stamps)

    def _window(self, end: int) -> AggregateBlock:
        ends = self._store.ends_between(self._slices.start_of(end), end)
        block = self._store.merged(ends[::-1] if self._is_from_last else ends)
        if self._is_cumulative:
            # The next window begins with the same slices.
            self._store.replace(ends, block)
        return block

    def _rows(self, block: AggregateBlock, end: int, time: int) -> ColumnBatch:
        columns = [*block.keys, *self._aggregates.results(block)]
        return self._results.window(columns, len(block), self._slices.start_of(end), end, time)


class EntryWindowOperator(SliceWindowOperator):
    """Windows of entries that were computed of rows before."""

    def add_rows(self, batch: ColumnBatch, now_ms: int) -> None:
        block, ends = entries_of(as_schema(batch, self._input).data, len(self._key_types), self._aggregates)
        is_late = self._slices.last_window(ends) <= self.closed
        is_between = self._slices.last_window(ends) < self._slices.first_window(ends)
        self.late += int(block.counts[is_late & ~is_between].sum())
        kept = np.flatnonzero(~is_late & ~is_between)
        if len(kept):
            ends, block = ends[kept], block.take(kept)
            codes, count = slice_codes(block.keys, ends, self._slices.width)
            order, segments = Segments.of_codes(codes, count)
            self._add_by_slice(
                self._aggregates.folded(block.take(order), segments.starts), ends[order][segments.starts]
            )


class AttachedWindowOperator(_SliceOperator):
    """Windows that rows carry; their starts are part of the key."""

    may_use_backend = False

    def __init__(self, spec: WindowAggregate) -> None:
        assert spec.window_columns is not None
        start, self._end = spec.window_columns
        super().__init__(spec, AttachedWindows(), (*spec.keys, start))

    def _with_slices(self, batch: ColumnBatch, now_ms: int) -> tuple[ColumnBatch, Any]:
        return batch, np.asarray(batch.data.column(self._end).view(pa.int64()))

    def _rows(self, block: AggregateBlock, end: int, time: int) -> ColumnBatch:
        *keys, starts = block.keys
        columns = [*keys, *self._aggregates.results(block)]
        bounds: list[Any] = [np.full(len(block), each, np.int64) for each in (end, time)]
        return self._results.batch(columns, np.asarray(starts.view(pa.int64())), *bounds)


class SessionWindowOperator(WindowAggregateOperator):
    """Windows that a pause ends."""

    def __init__(self, spec: WindowAggregate, windows: Windows) -> None:
        super().__init__(spec, spec.keys)
        self._gap = windows.size_ms
        self._sessions: OpenSessions = HeapSessions(self._aggregates, self._gap)
        self._entry_types = [spec.inputs[each].type for each in spec.keys]
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
