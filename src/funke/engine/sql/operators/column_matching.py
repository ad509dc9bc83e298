"""Matches rows as columns as far as that goes, and one by one where a match may move."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from funke.engine.graph.operations import KeySelector
from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.patterns.automaton import Automaton
from funke.engine.operators.patterns.conditions import OfColumns, masks_in
from funke.engine.operators.patterns.pattern import Pattern
from funke.engine.operators.patterns.pattern_matching import Completed, PatternMatching
from funke.engine.operators.patterns.runs import NUMBER, STATE, FirstRun, KeyRuns, StoredRuns
from funke.engine.sql.operators.compiled_matching import CompiledMatching, KeyedRows, MatchedRows
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["WAITING", "ColumnMatching", "MatchKeys", "bits_of_masks", "mask_bits"]

WAITING = "waiting-rows"


class MatchKeys(Protocol):
    """The keys of rows."""

    def encode(self, data: pa.RecordBatch) -> tuple[Array, Any]:
        """A number for each row, equal for equal keys, in the order of their first rows."""
        ...

    def stored(self, data: pa.RecordBatch) -> list[Any]:
        """The stored key of each row."""
        ...


class ColumnMatching(PatternMatching):
    """Rows wait for the watermark, and are matched key by key in the order of their times.

    Subclasses say what is computed of rows alone, what rows are as events, and what becomes of matches.
    """

    takes_rows = False
    takes_columns = True

    def __init__(
        self,
        function: Any,
        pattern: Pattern,
        is_event_time: bool,
        masks: Mapping[OfColumns, Callable[[pa.RecordBatch], Any]],
        keys: MatchKeys,
        waiting: RowBuffer,
        *key_selectors: KeySelector,
    ) -> None:
        super().__init__(function, pattern, is_event_time, *key_selectors)
        self._keys = keys
        self._waiting = waiting
        self._mask_bits, self._known_bits = bits_of_masks(self.automaton)
        self._bits = [(bit, masks[each]) for each, bit in self._mask_bits.items()]
        self._start_shift, start_masks = start_bits(self.automaton, sum(self._mask_bits.values()) | self._known_bits)
        self._bits += [(1 << self._start_shift + index, masks[each]) for index, each in start_masks.items()]
        # The conditions that a first event is known to meet.
        self._known_at_start = self._known_bits | sum(1 << index for index in start_masks)
        self._knows_start = not self.automaton.looks_at[self.automaton.start] & ~self._known_at_start
        self._knows_all = self._known_bits == (1 << len(self.automaton.conditions)) - 1

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self.matcher.context.masks = self._mask_bits
        self.matcher.start_shift = self._start_shift if self._knows_start else 0
        self._compiled: CompiledMatching | None = None

    def use_loop(self, compiled: CompiledMatching | None) -> None:
        """Has a compiled loop match rows, unless it would have to look at conditions of first rows, or at timeouts."""
        self._compiled = compiled if self._knows_start and not self.handles_timeouts else None

    def words_of(self, column: int, events: list[Any], rows: ColumnBatch) -> tuple[Array, Array | None]:
        """The values of a column that programs look at: of events of partial matches, and behind them of rows."""
        raise NotImplementedError

    def condition_columns(self, data: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of rows with the types that conditions expect."""
        return data

    def events_of(self, rows: ColumnBatch) -> Sequence[Any]:
        """Rows as conditions and results see them."""
        raise NotImplementedError

    def order_ranks(self, rows: ColumnBatch) -> list[Array]:
        """What orders rows of the same time: numbers, the first ones first."""
        return []

    def take_late(self, rows: ColumnBatch) -> None:
        """Drops rows that are late."""
        self.late_dropped.inc(len(rows))

    def match_or_wait(self, rows: ColumnBatch) -> None:
        """Rows wait for the watermark, without those that are late; by the clock they are matched as they come."""
        if not self.is_event_time:
            self._match(rows, self.context.task.clock.now_ms())
            return
        times: Array = rows.timestamps
        is_late = times <= self.timer_service.watermark
        if is_late.any():
            self.take_late(rows.take(np.flatnonzero(is_late)))
            rows = rows.take(np.flatnonzero(~is_late))
        self._waiting.add(rows)

    def advance_event_time(self, watermark: int) -> None:
        """Matches the rows that the watermark has passed, then ends what is over."""
        self.input_watermark = self.timer_service.watermark = watermark
        due = self._waiting.take_until(watermark) if self.is_event_time else None
        if due is not None:
            self._match(due, watermark)
        super().advance_event_time(watermark)

    def send_matched(self, matched: MatchedRows, rows: ColumnBatch) -> None:
        """Sends results for the matches that the compiled loop has found among rows."""
        self.send(matched.completed())

    def _match(self, rows: ColumnBatch, now: int) -> None:
        """Matches rows; nothing before `now` comes after them."""
        rows, bits = self._without_idle(rows)
        if not len(rows):
            return
        times: Array = rows.timestamps
        codes, _ = self._keys.encode(rows.data)
        order = np.lexsort((*reversed(self.order_ranks(rows)), times, codes))
        codes = codes[order]
        first_rows = np.flatnonzero(np.diff(codes, prepend=-1))
        keys = self._keys.stored(rows.data.take(pa.array(order[first_rows])))
        self.backend.prefetch(keys)
        lengths = np.diff(first_rows, append=len(codes))
        keyed = KeyedRows(keys, self.stored_runs(keys), first_rows, lengths, order, times[order], bits[order])
        completed: list[Completed] = []
        if self._compiled is not None and self._compiled.is_ready(len(rows)):
            is_short = keyed.are_short()
            short = keyed if is_short.all() else keyed.chosen(is_short)
            matched = self._compiled.match(
                short,
                now if self.is_event_time else None,
                lambda column, events: self.words_of(column, events, rows),
                lambda chosen: self.events_of(rows.take(chosen)),
            )
            if matched is not None:
                matched.store(self.store_each, self.store)
                if short is keyed:
                    self.send_matched(matched, rows)
                    return
                completed = matched.completed()
                keyed = keyed.chosen(~is_short)
        self._match_one_by_one(keyed, rows, now, completed)
        self.send(completed)

    def _match_one_by_one(self, keyed: KeyedRows, rows: ColumnBatch, now: int, completed: list[Completed]) -> None:
        has_runs = np.array([each is not None for each in keyed.stored], bool)
        is_moved = self._may_move(keyed.bits, keyed.first_rows, keyed.lengths, has_runs)
        counts = np.add.reduceat(is_moved, keyed.first_rows, dtype=np.int64).tolist()
        events = self.events_of(rows.take(keyed.rows[is_moved]))
        waiting = zip(events, keyed.times[is_moved].tolist(), keyed.bits[is_moved].tolist())
        first_keys: list[Any] = []
        first_runs: list[FirstRun] = []
        for key, before, count in zip(keyed.keys, keyed.stored, counts):
            if before is None and count == 1 and self._knows_start:
                event, time, own_bits = next(waiting)
                run = self.matcher.begun(event, time, own_bits)
                # The hot path: most of what moves begins a match (550,000 instead of 490,000 events/s).
                if run is not None and not (self.is_event_time and self.matcher.is_due([run], now)):
                    self.matcher.waiting[run[STATE]] += 1
                    first_keys.append(key)
                    first_runs.append(run[:NUMBER])
                else:
                    self._match_key(key, None, ((event, time, own_bits),), now, completed)
            elif count:
                self._match_key(key, before, islice(waiting, count), now, completed)
        self.store_each(first_keys, first_runs, [True] * len(first_keys))

    def _may_move(self, bits: Array, first_rows: Array, lengths: Array, has_runs: Array) -> Array:
        """Which rows, sorted by key, may move a run: those of keys that have any, and those behind a first one."""
        automaton = self.automaton
        looked = automaton.looks_at[automaton.start]
        if not self._knows_start:
            return np.ones(len(bits), bool)
        iterative = automaton.iterative
        alone = (bits & ~iterative | bits >> self._start_shift & iterative) & looked
        distinct, indexes = np.unique(alone, return_inverse=True)
        begins = np.array([bool(automaton.steps(automaton.start, int(each))) for each in distinct], bool)[indexes]
        before = np.cumsum(begins) - begins
        is_behind = np.cumsum(begins) > np.repeat(before[first_rows], lengths)
        moved: Array = is_behind | np.repeat(has_runs, lengths)
        return moved

    def _without_idle(self, rows: ColumnBatch) -> tuple[ColumnBatch, Array]:
        """The rows that may change something, and the conditions that hold of each of them alone."""
        bits = self._bits_of(rows.data)
        if not self._knows_all:
            return rows, bits
        distinct, indexes = np.unique(bits, return_inverse=True)
        is_idle = np.array([self.automaton.idle_bits(int(each)) for each in distinct], bool)
        if not is_idle.any():
            return rows, bits
        chosen = np.flatnonzero(~is_idle[indexes])
        return rows.take(chosen), bits[chosen]

    def _match_key(
        self,
        key: Any,
        before: StoredRuns | None,
        rows: Iterable[tuple[Any, int, int]],
        now: int,
        completed: list[Completed],
    ) -> None:
        runs = KeyRuns.of(before)
        matcher, known_bits = self.matcher, self._known_bits
        for row, time, bits in rows:
            if runs.runs and matcher.is_due(runs.runs, time):
                self.expire(runs, time, completed)
            for match in matcher.advance(runs, row, time, bits, known_bits):
                completed.append(Completed(time, match, True))
        if self.is_event_time:
            self.expire(runs, now, completed)
        self.store(key, before, runs)

    def _bits_of(self, data: pa.RecordBatch) -> Array:
        """For each row the conditions that hold of it alone."""
        bits = mask_bits(self._bits, self.condition_columns(data))
        matcher = self.matcher
        for index in range(len(self.automaton.conditions)):
            if self._known_at_start >> index & 1:
                bit = index if self._known_bits >> index & 1 else self._start_shift + index
                matcher.looked_at[index] += len(bits)
                matcher.failed[index] += len(bits) - int(np.count_nonzero(bits & (1 << bit)))
        return bits

    # Snapshots: rows that wait are in memory, whatever the backend.

    def snapshot_timers(self) -> Iterator[tuple[int, GroupPart]]:
        yield from super().snapshot_timers()
        yield from self._waiting.snapshot_parts(self.context.task.key_groups)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        every = list(parts)
        self._waiting.restore(every)
        super().restore_keyed(
            (
                group,
                GroupPart(
                    {table: entries for table, entries in part.tables.items() if table.name != WAITING},
                    part.event_timers,
                    part.processing_timers,
                ),
            )
            for group, part in every
        )


def bits_of_masks(automaton: Automaton) -> tuple[dict[OfColumns, int], int]:
    """The bit of each expression over columns, and those that are whole conditions."""
    conditions = automaton.conditions
    own = {each: 1 << index for index, each in enumerate(conditions) if isinstance(each, OfColumns)}
    # Parts of conditions have bits behind those of the conditions.
    parts = dict.fromkeys(mask for each in conditions if each not in own for mask in masks_in(each))
    return own | {each: 1 << len(conditions) + index for index, each in enumerate(parts)}, sum(own.values())


def start_bits(automaton: Automaton, used: int) -> tuple[int, dict[int, OfColumns]]:
    """What iterative conditions are for the first event of a match, by their numbers, and where their bits begin."""
    shift, looked = max(used.bit_length(), len(automaton.conditions)), automaton.looks_at[automaton.start]
    start_masks = {
        index: each.at_start
        for index, each in enumerate(automaton.conditions)
        if looked >> index & 1 and each.at_start is not None
    }
    # A row has 63 bits.
    return (shift, start_masks) if start_masks and shift + max(start_masks) < 63 else (0, {})


def mask_bits(masks: Sequence[tuple[int, Callable[[pa.RecordBatch], Any]]], data: pa.RecordBatch) -> Array:
    """For each row the bits whose expression is true."""
    bits: Array = np.zeros(data.num_rows, np.int64)
    for bit, getter in masks:
        mask = getter(data)
        if isinstance(mask, pa.Scalar):
            bits |= bit if mask.as_py() else 0
        else:
            bits[np.asarray(mask.fill_null(False))] |= bit
    return bits
