"""Joins rows whose times are near each other; a row is kept until no row that is not late can be near enough.

Flink's rules: a late row meets those that are still kept, and is kept itself only if rows to come can match it. Rows
that have expired never match, while Flink may still have them if they came after a later one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.operators.clock import Clock
from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.operators.pair_condition import PairCondition, slices
from funke.engine.sql.operators.windows.row_buffer import RowBuffer
from funke.engine.sql.state.key_numbers import KeyNumbers
from funke.engine.sql.state.timed_side import TimedSide
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.interval_join import IntervalJoin
    from funke.engine.types.columns.arrays import Array

__all__ = ["IntervalJoinOperator"]

_NAMES = ("left-rows", "right-rows")
# Fewer rows that are gone are not worth packing.
_FEW_ROWS = 1 << 12


class IntervalJoinOperator(FunctionsOperator):
    """The rows of both inputs stand in memory with any backend; both share the numbers of keys."""

    takes_rows = False
    takes_columns = True

    def __init__(self, join: IntervalJoin, clock: Clock) -> None:
        self._join, self._clock = join, clock
        self._bounds = join.bounds
        self._schemas = [schema_of(each.columns) for each in join.inputs]
        self._output_schema = schema_of(join.columns)
        self._keys = (join.left_keys, join.right_keys)
        self._times = (join.bounds.left_time, join.bounds.right_time)
        self._reaches_ms = (join.left_reach_ms, join.right_reach_ms)
        # How long behind its time a row is kept.
        self._lives_ms = tuple(each + join.cleanup_ms for each in self._reaches_ms)
        self._keeps = (join.keeps_left, join.keeps_right)
        self._condition = PairCondition(join.condition, len(join.left.columns), clock)
        self.functions = OpenedFunctions((join.condition,))
        self._watermark = MIN_WATERMARK
        self._without_time = 0
        self._clear()

    def _clear(self) -> None:
        self._numbers = KeyNumbers([self._schemas[0].types[key] for key in self._keys[0]])
        self._sides = [TimedSide(schema, keys) for schema, keys in zip(self._schemas, self._keys)]

    def columns_handler(self, input_index: int) -> Callable[[ColumnBatch], None]:
        return lambda batch: self._process(batch, input_index)

    def _process(self, batch: ColumnBatch, side: int) -> None:
        self.records_in += len(batch)
        batch = as_schema(batch, self._schemas[side])
        if self._bounds.is_event_time:
            batch, times = self._timed(batch, self._times[side])
        else:
            now_ms = self._clock.now_ms()
            self._expire(now_ms)
            times = np.full(len(batch), now_ms, np.int64)
        if not len(batch):
            return
        numbers = self._numbers.numbers([batch.data.column(key) for key in self._keys[side]], len(batch))
        # Rows for which rows to come can be near enough; of an empty interval none are.
        is_kept = (self._reached_ms < times + self._reaches_ms[side]) & (not self._bounds.is_empty)
        has_match = self._meet(batch, numbers, times, is_kept, side)
        kept = np.flatnonzero(is_kept)
        if len(kept):
            data = batch.data if len(kept) == len(batch) else batch.data.take(pa.array(kept))
            self._sides[side].add(data, numbers[kept], times[kept], has_match[kept])

    def _timed(self, batch: ColumnBatch, place: int) -> tuple[ColumnBatch, Array]:
        """The rows that have a time, and their times."""
        column = batch.data.column(place)
        if column.null_count:
            self._without_time += column.null_count
            batch = batch.filter(column.is_valid())
            column = batch.data.column(place)
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
            given, others = self._pairs(part, numbers[rows], counts[rows], times[rows], side)
            has_match[begin + given] = True
            other.match(others)
            if self._keeps[side]:
                alone = np.flatnonzero(~has_match[rows] & ~is_kept[rows])
                order = np.argsort(np.concatenate([given, alone]), kind="stable")
                given = np.concatenate([given, alone])[order]
                others = np.concatenate([others, np.full(len(alone), -1, np.int64)])[order]
            if len(given):
                own = part.data.take(pa.array(given)).columns
                self._emit(own, other.take(others), side)
        return has_match

    def _pairs(self, batch: ColumnBatch, numbers: Array, counts: Array, times: Array, side: int) -> tuple[Array, Array]:
        other = self._sides[1 - side]
        reach_ms, other_reach_ms = self._reaches_ms[side], self._reaches_ms[1 - side]
        given, rows = other.near(numbers, counts, times, other_reach_ms, reach_ms)

        def own(indexes: Sequence[int]) -> list[pa.Array]:
            return [batch.data.column(index).take(pa.array(given)) for index in indexes]

        def others(indexes: Sequence[int]) -> list[pa.Array]:
            return other.take(rows, indexes)

        fulfils = self._condition.fulfilled(*((own, others) if side == 0 else (others, own)), len(rows))
        return (given, rows) if fulfils is None else (given[fulfils], rows[fulfils])

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
        alone: list[tuple[int, Any, Any]] = []
        for side, rows in enumerate(self._sides):
            last_ms = reached_ms if reached_ms == MAX_WATERMARK else reached_ms - self._lives_ms[side] - 1
            expired = rows.expired(last_ms)
            unmatched = expired[~rows.has_match(expired)] if self._keeps[side] else expired[:0]
            if len(unmatched):
                alone.append((side, rows.take(unmatched), rows.times(unmatched) + self._lives_ms[side]))
            rows.remove(expired)
        if alone:
            self._send_alone(alone)
        self._pack_if_worth()

    def _send_alone(self, alone: Sequence[tuple[int, Any, Any]]) -> None:
        batches = []
        for side, columns, times in alone:
            nothing = [pa.nulls(len(times), kind) for kind in self._schemas[1 - side].types]
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
        firsts = [(each.earliest, life_ms) for each, life_ms in zip(self._sides, self._lives_ms)]
        return min((first + life_ms + 1 for first, life_ms in firsts if first is not None), default=None)

    def end_input(self) -> None:
        """As in Flink rows that the clock has not passed send nothing any more."""
        self.on_processing_time(self._clock.now_ms())

    def _pack_if_worth(self) -> None:
        """Makes room where many rows are gone, or many keys: rows that are not kept have numbers too."""
        live = sum(map(len, self._sides))
        spare = max(sum(each.gone for each in self._sides), len(self._numbers) - live)
        if spare > _FEW_ROWS and spare > live:
            kept = [each.live_rows() for each in self._sides]
            self._clear()
            for side, rows in enumerate(kept):
                self._put(side, *rows)

    def _put(self, side: int, data: pa.RecordBatch, times: Array, has_match: Array) -> None:
        numbers = self._numbers.numbers([data.column(key) for key in self._keys[side]], data.num_rows)
        self._sides[side].add(data, numbers, times, has_match)

    # Snapshots

    def snapshot(self) -> OperatorStateSnapshot:
        """How far event time is: what is late stays late after a restart."""
        return OperatorStateSnapshot(unions={"watermark": [self._watermark]})

    def restore(self, state: OperatorStateSnapshot) -> None:
        self._watermark = min(state.unions["watermark"])

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        """The rows of both sides, with their times, and of outer sides whether they have a match."""
        for side, own in enumerate(self._sides):
            data, times, has_match = own.live_rows()
            buffer = self._buffer(side)
            if self._keeps[side]:
                columns = [*data.columns, pa.array(has_match)]
                data = pa.RecordBatch.from_arrays(columns, schema=self._kept_schema(side))
            buffer.add(ColumnBatch(data, times))
            yield from buffer.snapshot_parts(self.context.task.key_groups)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        every = list(parts)
        for side in range(2):
            buffer = self._buffer(side)
            buffer.restore(every)
            rows = buffer.all()
            if rows is None:
                continue
            data = rows.data
            has_match: Array = np.zeros(len(rows), bool)
            if self._keeps[side]:
                *columns, matched = data.columns
                data = pa.RecordBatch.from_arrays(columns, schema=self._schemas[side])
                has_match = matched.to_numpy(zero_copy_only=False)
            self._put(side, data, rows.timestamps, has_match)

    def _kept_schema(self, side: int) -> pa.Schema:
        schema = self._schemas[side]
        return schema.append(pa.field("$has_match", pa.bool_())) if self._keeps[side] else schema

    def _buffer(self, side: int) -> RowBuffer:
        source = self._join.inputs[side]
        key_types = [to_type_info(source.columns[key].type) for key in self._keys[side]]
        return RowBuffer(_NAMES[side], self._keys[side], key_types, self._kept_schema(side))

    def metrics(self) -> dict[str, Any]:
        return super().metrics() | {"numNullRowTimeRecordsDropped": self._without_time}
