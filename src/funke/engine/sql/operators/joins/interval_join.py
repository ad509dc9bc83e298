"""Joins rows whose times are near each other; a row is kept until no row that is not late can be near enough.

Flink's rules: a late row meets those that are still kept, and is kept itself only if rows to come can match it. Rows
that have expired never match, while Flink may still have them if they came after a later one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.joins.pair_condition import PairCondition, slices
from funke.engine.sql.operators.joins.timed_rows import TimedInput
from funke.engine.sql.operators.joins.timed_rows_operator import TimedRowsOperator
from funke.engine.sql.state.join_side import SideSpec
from funke.engine.sql.state.timed_side import TimedSide
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.joins.interval_join import IntervalJoin
    from funke.engine.types.columns.arrays import Array

__all__ = ["IntervalJoinOperator"]

_NAMES = ("left-rows", "right-rows")
_WATERMARK = "watermark"


class IntervalJoinOperator(TimedRowsOperator):
    """The rows of both inputs share the numbers of keys; those of an outer side are kept if their key is NULL, too."""

    def __init__(self, join: IntervalJoin, clock: Clock) -> None:
        self._join = join
        self._bounds = join.bounds
        self._times = (join.bounds.left_time, join.bounds.right_time)
        self._reaches_ms = (join.left_reach_ms, join.right_reach_ms)
        # How long behind its time a row is kept.
        self._lives_ms = tuple(each + join.cleanup_ms for each in self._reaches_ms)
        self._keeps = (join.keeps_left, join.keeps_right)
        self._condition = PairCondition(join.condition, len(join.left.columns), clock)
        self._watermark = MIN_WATERMARK
        self._without_time = 0
        self._output_schema = schema_of(join.columns)
        super().__init__([self._input(side) for side in range(2)], (join.condition,), clock)

    def _input(self, side: int) -> TimedInput:
        source, keys = self._join.inputs[side], (self._join.left_keys, self._join.right_keys)[side]
        # No row meets another one by NULL; but a number is what rows are kept by.
        equal_nulls = tuple(range(len(keys))) if any(self._keeps) else ()
        spec = SideSpec(schema_of(source.columns), keys, None, False, equal_nulls=equal_nulls, is_timed=True)
        return TimedInput(_NAMES[side], spec, tuple(source.columns[key].type for key in keys), self._keeps[side])

    @property
    def _life_ms(self) -> int:
        return sum(self._lives_ms)

    def _process(self, batch: ColumnBatch, side: int) -> None:
        self.records_in += len(batch)
        batch = as_schema(batch, self._inputs[side].spec.schema)
        if self._bounds.is_event_time:
            batch, times = self._timed(batch, self._times[side])
        else:
            now_ms = self._clock.now_ms()
            self._expire(now_ms)
            times = np.full(len(batch), now_ms, np.int64)
        if not len(batch):
            return
        numbers = self._rows.numbers(side, batch.data, 0)
        probes = self._without_nulls(batch, numbers, side)
        # Rows for which rows to come can be near enough; of an empty interval none are.
        is_kept = (self._reached_ms < times + self._reaches_ms[side]) & (not self._bounds.is_empty)
        has_match = self._meet(batch, probes, times, is_kept, side)
        kept = np.flatnonzero(is_kept & ((numbers if self._keeps[side] else probes) >= 0))
        if len(kept):
            data = batch.data if len(kept) == len(batch) else batch.data.take(pa.array(kept))
            matches = has_match[kept].astype(np.int64)
            self._sides[side].add(data, numbers[kept], np.ones(len(kept), np.uint8), matches, times[kept])
            self._rows.changed(side, numbers[kept])
        self._rows.end_batch()

    def _without_nulls(self, batch: ColumnBatch, numbers: Array, side: int) -> Array:
        """The numbers of keys; -1 where a part of one is NULL, and so equal to nothing."""
        spec = self._inputs[side].spec
        columns = [batch.data.column(spec.keys[index]) for index in spec.equal_nulls]
        for each in columns:
            if each.null_count:
                numbers = np.where(each.is_valid().to_numpy(zero_copy_only=False), numbers, -1)
        return numbers

    @property
    def _sides(self) -> list[TimedSide]:
        return self._rows.timed_sides

    def _timed(self, batch: ColumnBatch, index: int) -> tuple[ColumnBatch, Array]:
        """The rows that have a time, and their times."""
        column = batch.data.column(index)
        if column.null_count:
            self._without_time += column.null_count
            batch = batch.filter(column.is_valid())
            column = batch.data.column(index)
        if column.type.unit != "ms":
            column = column.cast(pa.timestamp("ms", column.type.tz), safe=False)
        return batch, np.asarray(column.view(pa.int64()))

    @property
    def _reached_ms(self) -> int:
        """How far time is. As in Flink event time begins in 1970."""
        return max(self._watermark, 0) if self._bounds.is_event_time else self._clock.now_ms()

    def _meet(self, batch: ColumnBatch, numbers: Array, times: Array, is_kept: Array, side: int) -> Array:
        """Sends the pairs that rows make with those of the other side; returns which rows have a match.

        A row without one that is not kept is sent with NULLs if its side is outer.
        """
        other = self._sides[1 - side]
        counts = other.counts(numbers) if not self._bounds.is_empty else np.zeros(len(batch), np.int64)
        has_match: Array = np.zeros(len(batch), bool)
        for begin, end in slices(counts):
            rows = slice(begin, end)
            part = batch.slice(begin, end - begin)
            own_rows, others = self._pairs(part, numbers[rows], counts[rows], times[rows], side)
            has_match[begin + own_rows] = True
            other.match(others)
            if self._keeps[1 - side]:
                self._rows.changed(1 - side, other.keys_of(others))
            if self._keeps[side]:
                # A row that is not kept has met all that it can meet: without a match it leaves now, between the pairs
                # of its neighbours. One that is kept may still find a match, and leaves when it expires.
                alone = np.flatnonzero(~has_match[rows] & ~is_kept[rows])
                order = np.argsort(np.concatenate([own_rows, alone]), kind="stable")
                own_rows = np.concatenate([own_rows, alone])[order]
                others = np.concatenate([others, np.full(len(alone), -1, np.int64)])[order]
            if len(own_rows):
                own = part.data.take(pa.array(own_rows)).columns
                self._emit(own, other.take(others), side)
        return has_match

    def _pairs(self, batch: ColumnBatch, numbers: Array, counts: Array, times: Array, side: int) -> tuple[Array, Array]:
        other = self._sides[1 - side]
        reach_ms, other_reach_ms = self._reaches_ms[side], self._reaches_ms[1 - side]
        own_rows, rows = other.near(numbers, counts, times, other_reach_ms, reach_ms)

        def own(indexes: Sequence[int]) -> list[pa.Array]:
            return [batch.data.column(index).take(pa.array(own_rows)) for index in indexes]

        def others(indexes: Sequence[int]) -> list[pa.Array]:
            return other.take(rows, indexes)

        fulfils = self._condition.fulfilled(*((own, others) if side == 0 else (others, own)), len(rows))
        return (own_rows, rows) if fulfils is None else (own_rows[fulfils], rows[fulfils])

    def _emit(self, own: Sequence[pa.Array], others: Sequence[pa.Array], side: int) -> None:
        columns = [*own, *others] if side == 0 else [*others, *own]
        self.output.emit_columns(ColumnBatch(pa.RecordBatch.from_arrays(columns, schema=self._output_schema)))

    # Time goes on

    def process_watermark(self, watermark: int) -> None:
        """Forgets rows that no row to come can match; holds the watermark back by as long as rows may wait."""
        if self._bounds.is_event_time:
            self._watermark = watermark
            self._expire(self._reached_ms)
        delay_ms = 0 if watermark == MAX_WATERMARK else self._join.watermark_delay_ms
        self.output.emit_watermark(max(watermark - delay_ms, MIN_WATERMARK))

    def _expire(self, reached_ms: int) -> None:
        """Forgets rows, and sends those of outer sides that have found no match, in the order in which they expire."""
        is_end = reached_ms == MAX_WATERMARK
        # Flink's formula, the 1 included: a row whose time plus its life is the watermark can still meet one at that
        # very time, which is late but not dropped.
        last_ms = [reached_ms if is_end else reached_ms - life_ms - 1 for life_ms in self._lives_ms]
        for each in self._rows.load_expired(last_ms):
            self._forget(each)
            self._rows.end_batch()

    def _forget(self, last_ms: Sequence[int]) -> None:
        """Forgets the rows until a time of each side."""
        alone: list[tuple[int, Any, Any]] = []
        for side, rows in enumerate(self._sides):
            expired = rows.expired(last_ms[side])
            if not len(expired):
                continue
            unmatched = expired[~rows.has_match(expired)] if self._keeps[side] else expired[:0]
            if len(unmatched):
                alone.append((side, rows.take(unmatched), rows.times(unmatched) + self._lives_ms[side]))
            self._rows.changed(side, rows.keys_of(expired))
            rows.remove(expired)
        if alone:
            self._send_alone(alone)

    def _send_alone(self, alone: Sequence[tuple[int, Any, Any]]) -> None:
        batches = []
        for side, columns, times in alone:
            nothing = [pa.nulls(len(times), kind) for kind in self._inputs[1 - side].spec.schema.types]
            both = [*columns, *nothing] if side == 0 else [*nothing, *columns]
            batches.append(pa.RecordBatch.from_arrays(both, schema=self._output_schema))
        order = np.argsort(np.concatenate([times for _, _, times in alone]), kind="stable")
        data = pa.concat_batches(batches) if len(batches) > 1 else batches[0]
        self.output.emit_columns(ColumnBatch(data.take(pa.array(order))))

    def on_processing_time(self, now_ms: int) -> None:
        if not self._bounds.is_event_time:
            self._expire(now_ms)

    def next_wakeup_ms(self) -> int | None:
        if self._bounds.is_event_time:
            return None
        firsts = [(self._rows.earliest(side), life_ms) for side, life_ms in enumerate(self._lives_ms)]
        return min((first + life_ms + 1 for first, life_ms in firsts if first is not None), default=None)

    def end_input(self) -> None:
        """As in Flink rows that the clock has not passed send nothing any more."""
        self.on_processing_time(self._clock.now_ms())

    # Snapshots

    def snapshot(self) -> OperatorStateSnapshot:
        """How far event time is: what is late stays late after a restart."""
        return OperatorStateSnapshot(unions={_WATERMARK: [self._watermark], **self._rows.marks()})

    def restore(self, state: OperatorStateSnapshot) -> None:
        self._watermark = min(state.unions[_WATERMARK])
        super().restore(state)

    def metrics(self) -> dict[str, Any]:
        return super().metrics() | {"numNullRowTimeRecordsDropped": self._without_time}
