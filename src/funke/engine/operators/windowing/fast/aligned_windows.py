"""Tumbling and sliding event-time windows with the default trigger, much faster than the general operator.

All keys of a window fire at the same time, so no trigger is called for single records: the windows of a record follow
from its time by arithmetic, contents are one dict per window, and there is one timer per window. Snapshots are those
of the general operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from heapq import heappop, heappush
from itertools import chain, repeat
from math import gcd
from typing import Any

from funke.engine.graph.operations import Window
from funke.engine.operators.function_operator import method_of
from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.record_copy import are_plain
from funke.engine.operators.windowing.fast.record_adders import Table, adder_for, append_and_put
from funke.engine.operators.windowing.window_operator import CONTENTS, EVERY_KEY, WindowOperator
from funke.engine.operators.windowing.windows import TimeWindow
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.watermark_spec import NO_TIMESTAMP

__all__ = ["AlignedWindowOperator"]


class AlignedWindowOperator(WindowOperator):
    """Keeps windows by their start; a piece is a stretch of time in which all records have the same windows."""

    def __init__(self, operation: Window, size: int, slide: int, offset: int) -> None:
        super().__init__(operation)
        self.size = size
        self.slide = slide
        self.offset = offset
        self.piece = gcd(size, slide)
        self._reduce = None if operation.reduce is None else method_of(operation.reduce, "reduce")
        self._add_records = adder_for(self._reduce, operation.aggregate, slide >= size)
        self._tables: dict[int, Table] = {}
        self._piece_tables: dict[int, tuple[int, int, list[Table]]] = {}
        # What happens next to which window: it fires, or it is forgotten.
        self._agenda: list[tuple[int, int]] = []
        # After a restart: windows that fired before, and the keys they fired for.
        self._fired_before: dict[int, set[Any]] = {}

    def setup(self, context: OperatorContext) -> None:
        """Finds out where contents are kept."""
        super().setup(context)
        if not self.backend.is_in_memory and self.keeps_elements:
            self._add_records = append_and_put

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        if not values:
            return
        earliest = NO_TIMESTAMP if timestamps is None else min(timestamps)
        if timestamps is None or earliest == NO_TIMESTAMP:
            # The assigner knows how to complain.
            self.assigner.assign_windows(values[0], NO_TIMESTAMP, self.assigner_context)
            return
        self.records_in += len(values)
        keys = self.keys_of(values)
        if self._fired_before:
            self._note_touched(keys, timestamps)
        if self._may_be_late(earliest):
            self._add_with_late(keys, values, timestamps)
        else:
            self.add_records(keys, values, timestamps)

    def add_records(self, keys: list[Any], values: list[Any], timestamps: list[int]) -> None:
        """Adds records whose windows have all not fired yet."""
        self._add_records(self._find, keys, values, timestamps)

    def _may_be_late(self, time: int) -> bool:
        """Whether a window of a record has fired already, or the record has no window and is late."""
        watermark = self.timer_service.watermark
        if self.slide > self.size:
            return time <= watermark
        first_start = time - self.size + self.slide - (time - self.size - self.offset) % self.slide
        return first_start + self.size - 1 <= watermark

    def starts_of(self, time: int) -> range:
        """The starts of the windows of a time, the latest first as in Flink."""
        return range(time - (time - self.offset) % self.slide, time - self.size, -self.slide)

    def _find(self, time: int) -> tuple[int, int, list[Table]]:
        piece_start = time - (time - self.offset) % self.piece
        entry = self._piece_tables.get(piece_start)
        if entry is None:
            tables = [self._table_of(start) for start in self.starts_of(time)]
            entry = self._piece_tables[piece_start] = piece_start, piece_start + self.piece, tables
        return entry

    def _table_of(self, start: int) -> Table:
        table = self._tables.get(start)
        if table is None:
            table = self._tables[start] = self._load(start)
            self._schedule(start)
        return table

    def _note_touched(self, keys: list[Any], timestamps: list[int]) -> None:
        for key, timestamp in zip(keys, timestamps):
            for start in self.starts_of(timestamp):
                if start in self._fired_before:
                    self._fired_before[start].discard(key)

    def _load(self, start: int) -> Table:
        window = TimeWindow(start, start + self.size)
        table: Table = self.backend.get_state(self.contents_descriptor, window).table
        return table

    def _schedule(self, start: int) -> None:
        last = start + self.size - 1
        # A late record has fired such a window itself (`_add_maybe_late`); what is left is to forget it.
        is_over = last <= self.timer_service.watermark
        heappush(self._agenda, (last + self.lateness_ms if is_over else last, start))

    def _add_with_late(self, keys: list[Any], values: list[Any], timestamps: list[int]) -> None:
        for key, value, timestamp in zip(keys, values, timestamps):
            self.backend.current_key = key
            self._add_maybe_late(key, value, timestamp)
        self.results.send()

    def _add_maybe_late(self, key: Any, value: Any, timestamp: int) -> None:
        watermark, is_skipped = self.timer_service.watermark, True
        for start in self.starts_of(timestamp):
            last = start + self.size - 1
            if last + self.lateness_ms <= watermark:
                continue
            is_skipped = False
            table = self._table_of(start)
            self._add_records(partial(_entry_of, table), [key], [value], [timestamp])
            if last <= watermark:
                window = TimeWindow(start, start + self.size)
                self.fire(window, self.backend.get_state(self.contents_descriptor, window), timestamp)
        if is_skipped:
            self.skip(value, timestamp)

    def advance_event_time(self, watermark: int) -> None:
        """Fires the windows that are over, and forgets those whose lateness is over too."""
        self.input_watermark = self.timer_service.watermark = watermark
        agenda = self._agenda
        while agenda and agenda[0][0] <= watermark:
            time, start = heappop(agenda)
            self._on_time(time, start)
        self.results.send()

    def _on_time(self, time: int, start: int) -> None:
        last = start + self.size - 1
        if time == last:
            self._fire_all(start, last)
        if time == last + self.lateness_ms:
            self._forget_all(start)
        else:
            heappush(self._agenda, (last + self.lateness_ms, start))

    def _fire_all(self, start: int, last: int) -> None:
        contents: Any = self.contents_of(start)
        fired = self._fired_before.pop(start, None)
        for table in (contents,) if self.backend.is_in_memory else contents.chunks():
            if fired:
                table = {key: kept for key, kept in table.items() if key not in fired}
            if self.call.evaluate is None:
                self.emit_combined(list(table.values()), last)
            else:
                self._evaluate_all(TimeWindow(start, start + self.size), table, last)
            if not self.backend.is_in_memory:
                self.results.send()

    def contents_of(self, start: int) -> Table:
        """The contents of a window by key."""
        return self._tables[start]

    def emit_combined(self, combined: list[Any], last: int) -> None:
        """Sends what was combined, or the results of accumulators; None is not a result."""
        if self.operation.aggregate is not None:
            combined = list(map(self.operation.aggregate.get_result, combined))
        combined = [result for result in combined if result is not None]
        # A receiver that changes the emitted value later must not change the result; a reduced value is not used again.
        if are_plain(combined) or (self._reduce is not None and not self.lateness_ms):
            self.results.values.extend(combined)
            self.results.timestamps.extend(repeat(last, len(combined)))
        else:
            self.results.take(combined, last)

    def _evaluate_all(self, window: TimeWindow, table: Table, last: int) -> None:
        get_result = None if self.operation.aggregate is None else self.operation.aggregate.get_result
        for key, kept in table.items():
            self.backend.current_key = key
            if self.keeps_elements:
                # With lateness the window may fire again: what the function does to its list must not show then.
                self.evaluate(window, kept if not self.lateness_ms else kept.copy(), last)
                continue
            combined = kept if get_result is None else get_result(kept)
            if combined is not None:
                self.evaluate(window, [combined], last)

    def _forget_all(self, start: int) -> None:
        table = self._tables.pop(start)
        # They may hold the table that goes.
        self._piece_tables.clear()
        self.clear_functions(start, table)
        table.clear()

    def clear_functions(self, start: int, table: Table) -> None:
        """Lets the window function remove its state of a window that is forgotten."""
        if self.call.has_clear:
            window = TimeWindow(start, start + self.size)
            for key in table:
                self.backend.current_key = key
                self.call.clear(window)

    def end_epoch(self) -> None:
        """Lets go of what is not needed any more."""
        super().end_epoch()
        for start, table in self._tables.items() if self.backend.is_in_memory else ():
            if not table:  # the backend has let go of it
                self._tables[start] = self._load(start)
                self._piece_tables.clear()

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        """State, with the timers that the general operator would have."""
        for group, part in chain(super().snapshot_timers(), self.snapshot_state()):
            timers = [
                (time, (key, table_id.namespace))
                for table_id, table in part.tables.items()
                if table_id.name == CONTENTS and isinstance(table_id.namespace, TimeWindow)
                for time in self._times_of(table_id.namespace)
                for key in table
            ]
            yield group, part._replace(event_timers=[*part.event_timers, *timers])

    def snapshot_timers(self) -> Iterator[tuple[int, GroupPart]]:
        """Timers for snapshots that hold the state elsewhere: one for all keys of a window and key group."""
        yield from super().snapshot_timers()
        windows = [TimeWindow(start, start + self.size) for start in self._tables]
        timers = [(time, (EVERY_KEY, window)) for window in windows for time in self._times_of(window)]
        if timers:
            task = self.context.task
            for group in range(task.max_parallelism):
                if group * task.parallelism // task.max_parallelism == task.subtask:
                    yield group, GroupPart({}, timers, [])

    def _times_of(self, window: TimeWindow) -> set[int]:
        last = window.max_timestamp()
        ends = {last + self.lateness_ms}
        return ends if last <= self.timer_service.watermark else {last, *ends}

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        """Takes back state; timers say which windows there are and which have not fired."""
        waiting: set[tuple[Any, TimeWindow]] = set()
        fired: set[tuple[Any, TimeWindow]] = set()
        windows: set[TimeWindow] = set()
        if next(self.timer_service.event_timers.items(), None) is not None:
            raise self.other_windows_error()
        self.backend.restore(self._without_timers(parts, waiting, fired, windows))
        for window in windows:
            if window.start not in self._tables:
                self._tables[window.start] = self._load(window.start)
                heappush(self._agenda, (window.max_timestamp(), window.start))
        for key, window in fired - waiting:
            if key == EVERY_KEY:
                self._fired_before[window.start] = _AllBut()
            else:
                self._fired_before.setdefault(window.start, set()).add(key)

    def _without_timers(
        self, parts: Iterable[tuple[int, GroupPart]], waiting: set[Any], fired: set[Any], windows: set[TimeWindow]
    ) -> Iterator[tuple[int, GroupPart]]:
        """Passes parts on, and notes the windows of their timers, and of which keys they wait to fire."""
        for group, part in parts:
            for time, entry in part.event_timers:
                window = entry[1]
                windows.add(window)
                # Without lateness a window that has fired is forgotten, so that all of them wait.
                if self.lateness_ms:
                    (waiting if time == window.max_timestamp() else fired).add(entry)
            self.timer_service.processing_timers.restore(part.processing_timers)
            yield group, part._replace(event_timers=[])


class _AllBut(set[Any]):
    """A set of all keys but those that were discarded."""

    def __contains__(self, key: object) -> bool:
        return not super().__contains__(key)

    def discard(self, key: Any) -> None:
        """Take a key out."""
        self.add(key)

    def __bool__(self) -> bool:
        return True


def _entry_of(table: Table, time: int) -> tuple[int, int, list[Table]]:
    return time, time + 1, [table]
