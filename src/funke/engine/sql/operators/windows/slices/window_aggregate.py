"""Aggregates of tumbling, hopping and cumulating windows."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.errors import StateError
from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.state_meaning import PartMoves, StateMoves
from funke.engine.operators.operator import OperatorContext
from funke.engine.sql.meaning.state_parts import ACCUMULATORS
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.opened_functions import OpenedFunctions
from funke.engine.sql.operators.windows.key_codes import slice_codes
from funke.engine.sql.operators.windows.slices.aggregate_block import AggregateBlock, Aggregates
from funke.engine.sql.operators.windows.slices.backend_slices import BackendSlices, SliceEntries
from funke.engine.sql.operators.windows.slices.block_parts import blocks_of_parts, moved_blocks, parts_of_blocks
from funke.engine.sql.operators.windows.slices.slice_store import HeapSlices, SliceStore
from funke.engine.sql.operators.windows.slices.window_results import WindowResults
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.sql.operators.windows.window_operator import WindowOperator
from funke.engine.sql.state.keyed_columns import ColumnLayout, KeyedColumns
from funke.engine.sql.state.keyed_columns_operator import create_columns, is_in_memory
from funke.engine.sql.state.moved_state import behind, moved_part
from funke.engine.sql.window_kinds import SlicedWindows
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.aggregates.window_aggregate import WindowAggregate
    from funke.engine.types.columns import Array

__all__ = [
    "AttachedWindowOperator",
    "SliceWindowOperator",
    "WindowAggregateOperator",
]


class WindowAggregateOperator(WindowOperator):
    """Computes aggregates of windows and keys."""

    def __init__(self, node: WindowAggregate, keys: tuple[int, ...]) -> None:
        super().__init__(node.time, node.keys if self.watches_keys else ())
        self._has_retractions = node.input.has_retractions
        self._input = schema_of(node.input.columns)
        self._aggregates = Aggregates(keys, node.aggregates, self._has_retractions)
        self._results = WindowResults(node.columns, node.time.is_event_time)
        self._functions = OpenedFunctions((), [each.call.function for each in node.aggregates])
        self._key_types = [to_type_info(node.input.columns[each].type) for each in node.keys]

        # Where the state is, if not in memory.
        self._state: KeyedColumns | None = None

    watches_keys = True
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

    def timed(self, batch: ColumnBatch, now_ms: int) -> tuple[ColumnBatch, Array]:
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
        """The ends of open windows, which the files of a backend do not list."""
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
        return moved_part(moved_blocks(part, own.indexes()), {self.state_layout().name: self.moved_entry(own)})

    def moved_entry(self, moves: PartMoves) -> Callable[[Any], Any]:
        """A function that reorders the accumulators of an entry that a backend has written."""
        raise NotImplementedError

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        every = list(parts)
        self.restore_blocks(blocks_of_parts(every, [len(kernel.dtypes) for kernel in self._aggregates.kernels]))
        self.restore_entries(every)

    def snapshot(self) -> OperatorStateSnapshot:
        state = super().snapshot()
        return replace(state, unions={**state.unions, "ends": [] if self._state is None else self.ends()})

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


class AttachedWindows:
    """Windows that rows carry already: each is a slice of its own."""

    width_ms = 1
    has_gaps = False

    def first_window(self, slice_end: Any) -> Any:
        return slice_end

    def last_window(self, slice_end: Any) -> Any:
        return slice_end

    def next_window(self, slice_end: int, closed: int) -> int | None:
        return slice_end if slice_end > closed else None


class _SliceOperator(WindowAggregateOperator):
    """Gathers the rows of each slice and key; a window is put together of its slices once time has passed its end."""

    def __init__(self, node: WindowAggregate, windows: SlicedWindows | AttachedWindows, keys: tuple[int, ...]) -> None:
        super().__init__(node, keys)
        self._windows = windows
        self._store: SliceStore = HeapSlices(self._aggregates)
        self._entry_types = [node.input.columns[each].type for each in keys]
        self._entries = SliceEntries(self._aggregates, self._entry_types)

    def add_rows(self, batch: ColumnBatch, now_ms: int) -> None:
        batch, ends = self._on_time(*self._with_slices(as_schema(batch, self._input), now_ms))
        if len(batch):
            self._add(batch, ends)

    def _with_slices(self, batch: ColumnBatch, now_ms: int) -> tuple[ColumnBatch, Array]:
        """The rows that have a time, and the ends of their slices."""
        raise NotImplementedError

    def _add(self, batch: ColumnBatch, ends: Array) -> None:
        codes, count = slice_codes(self._aggregates.key_columns(batch.data), ends, self._windows.width_ms)
        block, firsts = self._aggregates.of_rows(batch, codes, count)
        self._add_by_slice(block, ends[firsts])

    def _add_by_slice(self, block: AggregateBlock, ends: Array) -> None:
        if ends[0] == ends[-1]:
            self._store.add(int(ends[0]), block)
            return
        borders = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), len(ends)]
        for start, end in pairwise(borders):
            self._store.add(int(ends[start]), block.slice(start, end))

    def _on_time(self, batch: ColumnBatch, ends: Array) -> tuple[ColumnBatch, Array]:
        if not len(ends) or (not self._windows.has_gaps and self._windows.last_window(int(ends.min())) > self.closed):
            return batch, ends
        # A row is late only if the last of its windows has closed: HOP and CUMULATE may still count it in later ones.
        last = self._windows.last_window(ends)
        is_late = last <= self.closed
        between = last < self._windows.first_window(ends)
        self.late += int(np.count_nonzero(is_late & ~between))
        kept = np.flatnonzero(~is_late & ~between)
        return batch.take(kept), ends[kept]

    def close_windows(self, before: int) -> None:
        end = self._next_window(before)
        # From one window with slices to the next: a watermark that jumps over a quiet night does not visit its empty
        # windows.
        while end is not None and end <= self.closed:
            self._send(end)
            for each in self._store.ends():
                # A later window needs the slice.
                if self._windows.last_window(each) > end:
                    break
                self._store.drop(each)
            end = self._next_window(end)

    def next_end(self) -> int | None:
        return self._next_window(self.closed)

    def _next_window(self, closed: int) -> int | None:
        first = self._store.first_end()
        return None if first is None else self._windows.next_window(first, closed)

    def _send(self, end: int) -> None:
        block = self._window(end)
        # As in Flink a key whose rows have all been taken back sends nothing.
        if self._has_retractions:
            block = block.take(np.flatnonzero(block.counts > 0))
        if len(block):
            # As in Flink the time of a result is the last millisecond of its window, so a window over the results takes
            # it in.
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

    _windows: SlicedWindows

    def __init__(self, node: WindowAggregate, windows: SlicedWindows) -> None:
        super().__init__(node, windows, node.keys)

    def _with_slices(self, batch: ColumnBatch, now_ms: int) -> tuple[ColumnBatch, Array]:
        timed, stamps = self.timed(batch, now_ms)
        return timed, self._windows.slice_end(stamps)

    def _window(self, end: int) -> AggregateBlock:
        ends = self._store.ends_between(self._windows.start_of(end), end)
        block = self._store.merged(ends[::-1] if self._windows.is_last_slice_first else ends)
        if self._windows.extends_window_before:
            # The next window begins with the same slices.
            self._store.replace(ends, block)
        return block

    def _rows(self, block: AggregateBlock, end: int, time: int) -> ColumnBatch:
        columns = [*block.keys, *self._aggregates.results(block)]
        return self._results.window(columns, len(block), self._windows.start_of(end), end, time)


class AttachedWindowOperator(_SliceOperator):
    """Windows that rows carry; their starts are part of the key."""

    may_use_backend = False

    def __init__(self, node: WindowAggregate) -> None:
        assert node.window_columns is not None
        start, self._end = node.window_columns
        super().__init__(node, AttachedWindows(), (*node.keys, start))

    def _with_slices(self, batch: ColumnBatch, now_ms: int) -> tuple[ColumnBatch, Array]:
        return batch, np.asarray(batch.data.column(self._end).view(pa.int64()))

    def _rows(self, block: AggregateBlock, end: int, time: int) -> ColumnBatch:
        *keys, starts = block.keys
        columns = [*keys, *self._aggregates.results(block)]
        bounds: list[Array] = [np.full(len(block), each, np.int64) for each in (end, time)]
        return self._results.batch(columns, np.asarray(starts.view(pa.int64())), *bounds)
