"""Group windows that send results before their ends (early), and again for rows that come behind them (late).

A result that was sent and is different now is taken back; one that is the same is not sent again. Early and late
results come with each row, or some time after the first row of a key in a window and again and again from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.sql.functions.aggregates.kernel import Fields
from funke.engine.sql.functions.aggregates.rows import AggregateRows, ArgumentColumn
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.sql.operators.aggregates.aggregate import differ, signs_of
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.opened_functions import OpenedFunctions
from funke.engine.sql.operators.windows.slices.gathered_rows import group_kernel
from funke.engine.sql.operators.windows.slices.window_results import WindowResults
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.sql.operators.windows.window_operator import WindowOperator
from funke.engine.sql.state.keyed_columns import ColumnLayout, Columns
from funke.engine.sql.state.keyed_columns_operator import KeyedColumnsOperator
from funke.engine.sql.window_kinds import SlicedWindows
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.plan.aggregates.group_window_aggregate import GroupWindowAggregate
    from funke.engine.types.columns import Array
    from funke.engine.types.logical.sql_value import SqlValue

__all__ = ["FiringWindowOperator"]

_INSERT, _BEFORE, _AFTER, _DELETE = (
    kind.value for kind in (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
)
# No timer is set.
_NEVER = np.iinfo(np.int64).max


@dataclass
class _Entries:
    """The state of keys in a window: columns with one entry for each key."""

    # The values of the key; the accumulators of each aggregate; how many rows there are.
    keys: Sequence[Array]
    fields: list[Fields]
    counts: Array
    # The results that were emitted last, None before the first time.
    sent_results: Array
    # When the clock emits them next, and whether the end of the window did.
    timers: Array
    has_ended: Array

    @property
    def columns(self) -> Columns:
        fields = (field for part in self.fields for field in part)
        return (*self.keys, *fields, self.counts, self.sent_results, self.timers, self.has_ended)


@dataclass(frozen=True)
class _Changes:
    """Rows to be sent, each with the index of the row that it comes from."""

    indexes: Any
    batch: ColumnBatch


class FiringWindowOperator(WindowOperator, KeyedColumnsOperator):
    """Each window is a namespace of the state; rows are taken in a window at a time and sent in their order."""

    def __init__(self, node: GroupWindowAggregate) -> None:
        super().__init__(node.time, node.keys)
        self._input = schema_of(node.input.columns)
        self._key_indexes = node.keys
        self._key_types = [node.input.columns[index].type for index in node.keys]
        self._key_columns = KeyColumns(node.keys, self._key_types)
        self._aggregates = node.aggregates
        self._kernels = [group_kernel(each.call, node.input.has_retractions) for each in node.aggregates]
        assert isinstance(node.windows, SlicedWindows)
        self._windows = node.windows
        self._firing = node.firing
        self._sends_before = node.sends_before
        self._results = WindowResults(node.columns, node.time.is_event_time)
        self._functions = OpenedFunctions((), [each.call.function for each in node.aggregates])
        # The open windows by their ends, and when the clock makes the first of their keys send its results.
        self._timers: dict[int, int] = {}

    def open(self) -> None:
        self._functions.open(self.context)

    def close(self) -> None:
        try:
            self._functions.close()
        finally:
            KeyedColumnsOperator.close(self)

    def metrics(self) -> dict[str, Any]:
        return {**self._functions.metrics(), **super().metrics()}

    # State

    def layout(self) -> ColumnLayout:
        return ColumnLayout("firing-windows", self._create)

    def _create(self, count: int) -> Columns:
        keys: list[Array] = [np.full(count, None, object) for _ in self._key_types]
        fields = [kernel.create(count) for kernel in self._kernels]
        zeros: Array = np.zeros(count, np.int64)
        timers: Array = np.full(count, _NEVER, np.int64)
        return _Entries(keys, fields, zeros, np.full(count, None, object), timers, np.zeros(count, np.bool_)).columns

    def _entries(self, columns: Columns) -> _Entries:
        start = len(self._key_types)
        fields = []
        for kernel in self._kernels:
            end = start + len(kernel.dtypes)
            fields.append(tuple(columns[start:end]))
            start = end
        return _Entries(columns[: len(self._key_types)], fields, *columns[start:])

    def snapshot(self) -> OperatorStateSnapshot:
        state = super().snapshot()
        return OperatorStateSnapshot(unions={**state.unions, "ends": list(self._timers)})

    def restore(self, state: OperatorStateSnapshot) -> None:
        super().restore(state)
        # Of all subtasks; what they have to do is seen when the clock asks for it.
        self._timers = dict.fromkeys(state.unions["ends"], 0)

    # Rows

    def add_rows(self, batch: ColumnBatch, now_ms: int) -> None:
        timed, stamps = with_times(as_schema(batch, self._input), self.time, self.local, now_ms)
        self.without_time += len(batch) - len(timed)
        rows, ends = self._windows_of(self._windows.slice_end(stamps))
        changes = [self._add(timed, rows, np.flatnonzero(ends == end), int(end)) for end in np.unique(ends)]
        self._send([each for each in changes if each is not None])

    def _windows_of(self, slice_ends: Array) -> tuple[Array, Array]:
        """Rows by their indexes, each as often as it has open windows, and the ends of these, as Flink has them: the
        last window of a row first."""
        counts = self._windows.window_counts(slice_ends)
        rows: Array = np.repeat(np.arange(len(slice_ends)), counts)
        number = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        ends = self._windows.last_window(slice_ends)[rows] - number * self._windows.interval_ms
        is_open = ends > self.closed - self._firing.lateness_ms
        self.late += int(np.count_nonzero(counts)) - len(np.unique(rows[is_open]))
        return rows[is_open], ends[is_open]

    def _add(self, batch: ColumnBatch, rows: Array, indexes: Array, end: int) -> _Changes | None:
        batch = batch.take(rows[indexes])
        codes, keys = self._key_columns.encode(batch.data)
        fetched = self.state.fetch(keys, end)
        entries = self._entries(fetched.columns)
        order, segments = Segments.of_codes(codes, len(keys))
        firsts = pa.array(order[segments.starts])
        for mine, column, each in zip(entries.keys, self._keys_of(batch), self._key_types):
            mine[:] = _objects(to_values(column.take(firsts), each))
        signs = signs_of(batch)
        signs = None if signs is None else signs[order]
        steps: Array = np.ones(len(batch), np.int64) if signs is None else signs.astype(np.int64)
        counts = segments.running_sum(entries.counts, steps)
        entries.counts = counts[segments.ends]
        earlier, values = entries.sent_results.copy(), []
        sends = self._sends_now(end, entries)
        for index, arguments in enumerate(self._arguments(batch, order, segments, signs)):
            kernel, before = self._kernels[index], entries.fields[index]
            if sends.any():
                entries.fields[index], running = kernel.running(before, arguments)
                values.append(running)
            else:
                entries.fields[index] = kernel.accumulate(before, arguments)
        self._note_sent(entries, np.flatnonzero(sends), [each.take(pa.array(segments.ends)) for each in values])
        self.state.store(fetched, entries.columns)
        self._timers[end] = min(self._timers.get(end, _NEVER), int(entries.timers.min()))
        if not sends.any():
            return None
        # As they were before the first row of each key, then as they were after each row.
        images = [pa.concat_arrays(each) for each in zip(self._images(earlier), values)]
        is_reported = np.concatenate([np.array([each is not None for each in earlier], np.bool_), counts != 0])
        new = np.arange(len(keys), len(keys) + len(batch))
        old: Array = new - 1
        old[segments.starts] = np.arange(len(keys))
        chosen: Array = np.empty(len(batch), np.int64)
        chosen[order] = np.arange(len(batch))
        chosen = chosen[sends[codes]]
        own = [column.take(pa.array(order)) for column in self._keys_of(batch)]
        return self._changes(own, images, is_reported, (old[chosen], new[chosen]), chosen, indexes[sends[codes]], end)

    def _keys_of(self, batch: ColumnBatch) -> list[pa.Array]:
        return [batch.data.column(index) for index in self._key_indexes]

    def _arguments(
        self, batch: ColumnBatch, order: Array, segments: Segments, signs: Array | None
    ) -> Iterable[AggregateRows]:
        sorted_rows = batch.data.take(pa.array(order))
        for each in self._aggregates:
            # A word among the arguments has no column.
            columns = [
                ArgumentColumn(pa.nulls(0) if index < 0 else sorted_rows.column(index)) for index in each.arguments
            ]
            mask = None if each.condition is None else np.asarray(sorted_rows.column(each.condition).fill_null(False))
            yield AggregateRows(segments, columns, signs, mask)

    def _sends_now(self, end: int, entries: _Entries) -> Array:
        """True for keys that send their results with every row; the others get a timer."""
        count, firing = len(entries.counts), self._firing
        if end > self.closed:
            delay = firing.early_ms
            if delay == 0:
                return np.ones(count, np.bool_)
            waiting: Array = np.ones(count, np.bool_)
        else:
            # Late rows; a key that was not there when the window ended sends a result with each.
            delay = firing.late_ms
            if not delay:
                return np.ones(count, np.bool_)
            waiting = entries.has_ended
        if delay is not None:
            entries.timers[waiting & (entries.timers == _NEVER)] = self._clock.now_ms() + delay
        return ~waiting

    # Time

    def close_windows(self, before: int) -> None:
        """Sends the results of windows that have ended, and forgets those for which no more rows can come."""
        for end in sorted(each for each in self._timers if each <= self.closed):
            if end > before:
                self._fire(end, lambda entries: ~entries.has_ended)
            if end <= self.closed - self._firing.lateness_ms:
                self.state.drop(end)
                del self._timers[end]

    def on_processing_time(self, now_ms: int) -> None:
        for end in sorted(each for each, timer in self._timers.items() if timer <= now_ms):
            self._fire(end, lambda entries: entries.timers <= now_ms, now_ms)
        super().on_processing_time(now_ms)

    def next_wakeup_ms(self) -> int | None:
        ends = [] if self.time.is_event_time else [self.local.to_instant(end - 1) + 1 for end in self._timers]
        return min((each for each in (*self._timers.values(), *ends) if each != _NEVER), default=None)

    def _fire(self, end: int, choose: Callable[[_Entries], Array], now_ms: int | None = None) -> None:
        """Sends the results of some keys of a window: because of the clock, or because the window ends."""
        keys, columns = self.state.entries(end)
        chosen = np.flatnonzero(choose(self._entries(columns))) if keys else np.empty(0, np.int64)
        if len(chosen):
            fetched = self.state.fetch([keys[index] for index in chosen.tolist()], end)
            entries = self._entries(fetched.columns)
            values = [kernel.values(fields) for kernel, fields in zip(self._kernels, entries.fields)]
            images = [pa.concat_arrays(each) for each in zip(self._images(entries.sent_results), values)]
            is_reported = np.concatenate([[each is not None for each in entries.sent_results], entries.counts != 0])
            self._set_timers(entries, now_ms)
            self._note_sent(entries, np.arange(len(chosen)), values)
            self.state.store(fetched, entries.columns)
            indexes = np.arange(len(chosen))
            own = [from_values(each.tolist(), kind) for each, kind in zip(entries.keys, self._key_types)]
            self._send(
                [self._changes(own, images, is_reported, (indexes, indexes + len(chosen)), indexes, indexes, end)]
            )
        _, columns = self.state.entries(end)
        self._timers[end] = int(min(self._entries(columns).timers, default=_NEVER))

    def _set_timers(self, entries: _Entries, now_ms: int | None) -> None:
        early, late = self._firing.early_ms, self._firing.late_ms
        if now_ms is None:
            entries.has_ended[:] = True
            # As in Flink, where the timer of a delay goes on if both have the same one.
            if not late or late != early:
                entries.timers[:] = _NEVER
            return
        delays = np.where(entries.has_ended, late or 0, early or 0)
        # Firings missed during a pause would have emitted nothing new.
        steps = (now_ms - entries.timers) // np.maximum(delays, 1) + 1
        entries.timers[:] = np.where(delays > 0, entries.timers + steps * delays, _NEVER)

    # Results

    def _note_sent(self, entries: _Entries, chosen: Array, values: list[pa.Array]) -> None:
        """Remembers the results of some keys; without rows nothing has been emitted."""
        lists = [to_values(each.take(pa.array(chosen)), use.call.result) for each, use in zip(values, self._aggregates)]
        rows = zip(*lists) if lists else [()] * len(chosen)
        for index, row in zip(chosen.tolist(), rows):
            entries.sent_results[index] = row if entries.counts[index] else None

    def _images(self, results: Array) -> list[pa.Array]:
        """The emitted results as columns."""
        return [
            from_values([None if each is None else each[index] for each in results], use.call.result)
            for index, use in enumerate(self._aggregates)
        ]

    def _changes(
        self,
        keys: list[pa.Array],
        images: list[pa.Array],
        is_reported: Array,
        pairs: tuple[Array, Array],
        rows: Array,
        indexes: Array,
        end: int,
    ) -> _Changes:
        """From the last results to the new ones: both are positions among the images."""
        old, new = pairs
        was, is_now = is_reported[old], is_reported[new]
        differs: Array = np.zeros(len(old), np.bool_)
        for each in images:
            differs |= differ(each, old, new)
        is_update = was & is_now & differs
        is_gone = was & ~is_now
        has_before = is_gone | (is_update & self._sends_before)
        has_after = is_now & (is_update | ~was)
        sent = np.column_stack([has_before, has_after]).ravel()
        image_rows = pa.array(np.column_stack([old, new]).ravel()[sent])
        first = np.where(is_gone, _DELETE, _BEFORE)
        kinds = np.column_stack([first, np.where(was, _AFTER, _INSERT)]).ravel()[sent].astype(np.int8)
        own = pa.array(np.repeat(rows, 2)[sent])
        columns = [*(each.take(own) for each in keys), *(each.take(image_rows) for each in images)]
        time = self.local.to_instant(end - 1)
        batch = self._results.window(columns, len(image_rows), self._windows.start_of(end), end, time)
        return _Changes(np.repeat(indexes, 2)[sent], ColumnBatch(batch.data, batch.timestamps, kinds))

    def _send(self, changes: list[_Changes]) -> None:
        """Sends what rows of several windows have changed, in the order of the rows."""
        changes = [each for each in changes if len(each.indexes)]
        if not changes:
            return
        batch = ColumnBatch.concat([each.batch for each in changes])
        order = np.argsort(np.concatenate([each.indexes for each in changes]), kind="stable")
        batch = batch if len(changes) == 1 else batch.take(order)
        kinds: Any = batch.kinds
        self.output.emit_columns(ColumnBatch(batch.data, batch.timestamps, kinds if kinds.any() else None))


def _objects(values: list[SqlValue]) -> Array:
    # One by one: numpy would take lists for more dimensions.
    return np.fromiter(values, object, len(values))
