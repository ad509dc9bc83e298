"""Aggregates of tumbling, hopping and cumulating windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.operators.operator import MIN_WATERMARK, Operator, OperatorContext, TaskInfo
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.window_relations import AggregateUse, WindowAggregation, Windows, WindowTime
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.windows.aggregate_block import AggregateBlock, Aggregates
from funke.engine.sql.operators.windows.block_parts import blocks_of_parts, parts_of_blocks
from funke.engine.sql.operators.windows.key_codes import dense, first_rows, key_codes
from funke.engine.sql.operators.windows.local_time import LocalTime
from funke.engine.sql.operators.windows.slice_store import SliceStore
from funke.engine.sql.operators.windows.slices import AttachedWindows, Slices
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.sql.operators.windows.window_results import WindowResults
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["WindowAggregate", "WindowAggregateOperator"]


@dataclass(frozen=True)
class WindowAggregate:
    """Makes the operator of an aggregation for a subtask."""

    inputs: tuple[Column, ...]
    columns: tuple[Column, ...]
    keys: tuple[int, ...]
    uses: tuple[AggregateUse, ...]
    windows: Windows | None
    time: WindowTime
    window_columns: tuple[int, int] | None = None
    has_retractions: bool = False

    @staticmethod
    def of(aggregation: WindowAggregation, has_retractions: bool = False) -> WindowAggregate:
        """What a subtask has to know of an aggregation."""
        return WindowAggregate(
            aggregation.input.columns,
            aggregation.columns,
            aggregation.keys,
            aggregation.uses,
            aggregation.windows,
            aggregation.time,
            aggregation.window_columns,
            has_retractions,
        )

    def __call__(self, task: TaskInfo) -> WindowAggregateOperator:
        return AttachedWindowOperator(self) if self.windows is None else SliceWindowOperator(self, self.windows)


class WindowAggregateOperator(Operator):
    """Gathers the rows of each slice and key; a window is put together of its slices once time has passed its end."""

    takes_rows = False
    takes_columns = True

    def __init__(self, spec: WindowAggregate, slices: Slices | AttachedWindows, keys: tuple[int, ...]) -> None:
        self._time = spec.time
        self._local = LocalTime(spec.time.zone)
        self._slices = slices
        self._input = schema_of(spec.inputs)
        self._aggregates = Aggregates(keys, spec.uses, spec.has_retractions)
        self._has_retractions = spec.has_retractions
        self._results = WindowResults(spec.columns, spec.time.is_event_time)
        self._key_types = [to_type_info(spec.inputs[each].type) for each in spec.keys]
        self._store = SliceStore(self._aggregates)
        self._watermark = MIN_WATERMARK
        # Windows that end here or before are closed.
        self._closed = self._local.last_shown(MIN_WATERMARK) + 1
        self._late = self._without_time = 0

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._clock = context.task.clock

    def process_columns(self, batch: ColumnBatch) -> None:
        """Adds rows to the slices of their times; those that have no open window are dropped."""
        self.records_in += len(batch)
        now = 0
        if not self._time.is_event_time:
            now = self._clock.now_ms()
            self.on_processing_time(now)
        self._add(*self._with_slices(as_schema(batch, self._input), now))

    def _with_slices(self, batch: ColumnBatch, now_ms: int) -> tuple[ColumnBatch, Any]:
        """The rows that have a time, and the ends of their slices."""
        raise NotImplementedError

    def _add(self, batch: ColumnBatch, ends: Any) -> None:
        batch, ends = self._on_time(batch, ends)
        if not len(batch):
            return
        first = ends.min()
        numbers = (ends - first) // self._slices.width
        codes, keys = key_codes(self._aggregates.key_columns(batch.data), len(batch))
        codes, count = dense(numbers * keys + codes, (int(numbers.max()) + 1) * keys)
        block = self._aggregates.of_rows(batch, codes, count)
        # The numbers of groups, and so their entries, are in the order of slices.
        self._add_by_slice(block, ends[first_rows(codes, count)])

    def _add_by_slice(self, block: AggregateBlock, ends: Any) -> None:
        if ends[0] == ends[-1]:
            self._store.add(int(ends[0]), block)
            return
        cuts = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), len(ends)]
        for start, end in pairwise(cuts):
            self._store.add(int(ends[start]), block.slice(start, end))

    def _on_time(self, batch: ColumnBatch, ends: Any) -> tuple[ColumnBatch, Any]:
        last = self._slices.last_window(ends)
        is_late = last <= self._closed
        between = last < self._slices.first_window(ends)
        if not is_late.any() and not between.any():
            return batch, ends
        self._late += int(np.count_nonzero(is_late & ~between))
        kept = np.flatnonzero(~is_late & ~between)
        return batch.take(kept), ends[kept]

    # Time

    def process_watermark(self, watermark: int) -> None:
        """Sends the results of the windows that end before it, then the watermark."""
        if self._time.is_event_time:
            self._watermark = watermark
            self._close(self._local.last_shown(watermark) + 1)
        self.output.emit_watermark(watermark)

    def on_processing_time(self, now_ms: int) -> None:
        if not self._time.is_event_time:
            self._close(self._local.last_shown(now_ms - 1) + 1)

    def next_wakeup_ms(self) -> int | None:
        if self._time.is_event_time:
            return None
        end = self._next_window(self._closed)
        return None if end is None else self._local.to_instant(end - 1) + 1

    def end_input(self) -> None:
        """Sends what is due; as in Flink, windows that the clock has not passed give no results."""
        self.on_processing_time(self._clock.now_ms())

    def _close(self, closed: int) -> None:
        before, self._closed = self._closed, max(closed, self._closed)
        end = self._next_window(before)
        while end is not None and end <= closed:
            self._send(end)
            for each in self._store.ends():
                if self._slices.last_window(each) > end:
                    break
                self._store.drop(each)
            end = self._next_window(end)

    def _next_window(self, closed: int) -> int | None:
        first = self._store.first_end()
        return None if first is None else self._slices.next_window(first, closed)

    def _send(self, end: int) -> None:
        block = self._window(end)
        if self._has_retractions:
            block = block.take(np.flatnonzero(block.counts > 0))
        if len(block):
            self.output.emit_columns(self._rows(block, end, self._local.to_instant(end - 1)))

    def _window(self, end: int) -> AggregateBlock:
        """The aggregates of a window."""
        return self._store.merged([end])

    def _rows(self, block: AggregateBlock, end: int, time: int) -> ColumnBatch:
        """The results of a window as rows."""
        raise NotImplementedError

    # Snapshots

    def snapshot(self) -> OperatorStateSnapshot:
        """How far event time is: what is late stays late after a restart."""
        return OperatorStateSnapshot(unions={"watermark": [self._watermark]})

    def restore(self, state: OperatorStateSnapshot) -> None:
        self._watermark = min(state.unions["watermark"])
        self._closed = self._local.last_shown(self._watermark) + 1

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        return parts_of_blocks(self._store.blocks(), self._key_types, self.context.task.max_parallelism)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        for slice_end, block in blocks_of_parts(parts):
            self._store.add(slice_end, block)

    def metrics(self) -> dict[str, Any]:
        return {"numLateRecordsDropped": self._late, "numNullRowTimeRecordsDropped": self._without_time}


class SliceWindowOperator(WindowAggregateOperator):
    """Windows of rows by their time."""

    _slices: Slices

    def __init__(self, spec: WindowAggregate, windows: Windows) -> None:
        super().__init__(spec, Slices(windows), spec.keys)
        self._is_cumulative = windows.kind == "cumulate"

    def _with_slices(self, batch: ColumnBatch, now_ms: int) -> tuple[ColumnBatch, Any]:
        timed, stamps = with_times(batch, self._time, self._local, now_ms)
        self._without_time += len(batch) - len(timed)
        return timed, self._slices.end_of(stamps)

    def _window(self, end: int) -> AggregateBlock:
        ends = self._store.ends_between(self._slices.start_of(end), end)
        block = self._store.merged(ends)
        if self._is_cumulative:
            # The next window begins with the same slices.
            self._store.replace(ends, block)
        return block

    def _rows(self, block: AggregateBlock, end: int, time: int) -> ColumnBatch:
        columns = [*block.keys, *self._aggregates.results(block)]
        return self._results.window(columns, len(block), self._slices.start_of(end), end, time)


class AttachedWindowOperator(WindowAggregateOperator):
    """Windows that rows carry; their starts are part of the key."""

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
