"""Joins each row with the rows that a changing table has when it comes, once the table has been loaded.

Flink's rules: rows of the left input wait in the load phase, and so do its watermarks; those of the right input are
never passed on. Changes of the right input become visible together when its watermark moves, ordered by their time, and
of equal times those that take rows back first: no row sees half of an update.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.operators.operator import MIN_WATERMARK, OperatorContext
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.joins.input_metrics import input_metrics
from funke.engine.sql.operators.joins.pair_condition import PairCondition, slices
from funke.engine.sql.operators.joins.timed_rows import TimedInput, TimedRows
from funke.engine.sql.operators.joins.timed_rows_operator import TimedRowsOperator
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.state.join_side import SideSpec
from funke.engine.sql.state.timed_side import TimedSide
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.joins.lateral_snapshot_join import LateralSnapshotJoin
    from funke.engine.types.columns import Array

__all__ = ["LateralSnapshotJoinOperator"]

_LOADING, _JOINING = 0, 1
_PHASE = "phase"


class LateralSnapshotJoinOperator(TimedRowsOperator):
    """The rows of the right input have a time: when their key was last looked up or changed."""

    has_input_watermarks = True

    def __init__(self, join: LateralSnapshotJoin, clock: Clock) -> None:
        self._join = join
        self._left, self._right = (schema_of(each.columns) for each in join.inputs)
        self._output_schema = schema_of(join.columns)
        self._keeps_left = join.keeps_left
        self._phase = _LOADING
        self._left_watermark = self._right_watermark = MIN_WATERMARK
        self._is_left_idle = False
        self._idle_since_ms = clock.now_ms()
        self._condition = PairCondition(join.condition, len(join.left.columns), clock)
        # Since then keys live: after the load phase, and after a restart, they are as good as new.
        self._alive_since_ms = clock.now_ms()
        self._next_expiry_ms = 0
        self._unmatched = self._evicted = 0
        inputs = [self._input("left-side", 0), self._input("right-rows", 1)]
        super().__init__(inputs, (join.condition,), clock)

    def _input(self, name: str, side: int) -> TimedInput:
        source, keys = self._join.inputs[side], self._keys(side)
        spec = SideSpec(schema_of(source.columns), keys, None, source.has_retractions, is_timed=True)
        return TimedInput(name, spec, tuple(source.columns[key].type for key in keys), False, bool(self._join.ttl_ms))

    def _keys(self, side: int) -> tuple[int, ...]:
        return (self._join.left_keys, self._join.right_keys)[side]

    @property
    def _life_ms(self) -> int | None:
        return self._join.ttl_ms or None

    def _create_rows(self, context: OperatorContext) -> TimedRows:
        rows = super()._create_rows(context)
        # Rows of the left input that wait for the end of the load phase; changes that wait for a watermark.
        self._waiting = self._buffer(rows, "left-rows", 0)
        self._changes = self._buffer(rows, "changes", 1)
        return rows

    def _buffer(self, rows: TimedRows, name: str, side: int) -> RowBuffer:
        key_types = [to_type_info(each) for each in self._timed_inputs[side].key_types]
        return rows.logs.create(name, self._keys(side), key_types, (self._left, self._right)[side], by_time=False)

    @property
    def _side(self) -> TimedSide:
        return self._rows.timed_sides[1]

    def _process(self, batch: ColumnBatch, side: int) -> None:
        (self.process_right if side else self.process_left)(batch)

    def process_left(self, batch: ColumnBatch) -> None:
        """Joins rows, or lets them wait."""
        self.records_in += len(batch)
        batch = as_schema(batch, self._left)
        if self._phase == _LOADING:
            self._waiting.add(batch)
        elif len(batch):
            self._send(batch)

    def process_right(self, batch: ColumnBatch) -> None:
        """Lets changes wait for the next watermark."""
        self.records_in += len(batch)
        batch = as_schema(batch, self._right)
        kinds: Array = np.zeros(len(batch), np.int8) if batch.kinds is None else batch.kinds
        self._changes.add(ColumnBatch(batch.data, None, kinds))

    def process_input_watermark(self, input_index: int, watermark: int) -> None:
        if input_index == 0:
            self._left_watermark = watermark
            if self._phase == _JOINING:
                self.output.emit_watermark(watermark)
            return
        self._right_watermark = watermark
        self._idle_since_ms = self._clock.now_ms()
        self._apply()
        if self._phase == _LOADING and watermark >= self._join.load.completed_ms:
            self._begin_joining()

    def process_input_status(self, input_index: int, is_idle: bool) -> None:
        if input_index == 0:
            self._is_left_idle = is_idle
            if self._phase == _JOINING:
                self.output.emit_status(is_idle)

    # The load phase

    def next_wakeup_ms(self) -> int | None:
        timeout_ms = self._join.load.idle_timeout_ms
        return None if timeout_ms is None or self._phase == _JOINING else self._idle_since_ms + timeout_ms

    def on_processing_time(self, now_ms: int) -> None:
        due_ms = self.next_wakeup_ms()
        if due_ms is not None and now_ms >= due_ms:
            self._begin_joining()

    def end_input(self) -> None:
        if self._phase == _LOADING:
            self._begin_joining()

    def _begin_joining(self) -> None:
        """Joins the rows that have waited; what was held back follows them."""
        self._apply()
        self._phase = _JOINING
        self._alive_since_ms = self._clock.now_ms()
        for rows in self._waiting.take_parts():
            self._send(rows)
        if self._left_watermark > MIN_WATERMARK:
            self.output.emit_watermark(self._left_watermark)
        if self._is_left_idle:
            self.output.emit_status(True)

    # The right input

    def _apply(self) -> None:
        """Takes in the changes that have waited."""
        changes = self._changes.take_all()
        if changes is None:
            return
        assert changes.kinds is not None
        takes_in = (changes.kinds == 0) | (changes.kinds == 2)
        order = np.lexsort((takes_in, self._times_of(changes.data)))
        data, takes_in = changes.data.take(pa.array(order)), takes_in[order].astype(np.uint8)
        numbers = self._rows.numbers(1, data, 0)
        self._side.add(data, numbers, takes_in, np.zeros(data.num_rows, np.int64), self._now_ms)
        self._rows.changed(1, numbers)
        if self._phase == _JOINING:
            self._touch(np.unique(numbers[numbers >= 0]))
        self._rows.end_batch()

    def _times_of(self, data: pa.RecordBatch) -> Array:
        time = self._join.right_time
        if time is None:
            return np.zeros(data.num_rows, np.int64)
        return data.column(time).cast(pa.int64()).fill_null(MIN_WATERMARK).to_numpy()

    def _touch(self, numbers: Array) -> None:
        """Keys that are asked for, or change, live longer as a whole."""
        if self._join.ttl_ms and len(numbers):
            counts = self._side.counts(numbers)
            self._side.touch(self._side.matching(numbers, int(counts.sum())), self._now_ms)
            self._rows.changed(1, numbers)

    # Joining

    def _send(self, batch: ColumnBatch) -> None:
        numbers = self._rows.numbers(0, batch.data, 0)
        counts = self._side.counts(numbers)
        for begin, end in slices(counts):
            self._meet(batch.slice(begin, end - begin), numbers[begin:end], counts[begin:end])
        self._rows.end_batch()

    def _meet(self, batch: ColumnBatch, numbers: Array, counts: Array) -> None:
        rows = self._side.matching(numbers, int(counts.sum()))
        own_rows: Array = np.repeat(np.arange(len(batch)), counts)
        last_ms = self._last_expired_ms
        if last_ms is not None:
            is_live = self._side.times(rows) > last_ms
            rows, own_rows = rows[is_live], own_rows[is_live]
        if self._join.ttl_ms:
            self._side.touch(rows, self._now_ms)
            self._rows.changed(1, numbers[own_rows])
        fulfils = self._fulfilling(batch, own_rows, rows)
        if fulfils is not None:
            rows, own_rows = rows[fulfils], own_rows[fulfils]
        is_alone: Array = np.ones(len(batch), bool)
        is_alone[own_rows] = False
        alone = np.flatnonzero(is_alone)
        self._unmatched += len(alone)
        if self._keeps_left and len(alone):
            order = np.argsort(np.concatenate([own_rows, alone]), kind="stable")
            rows = np.concatenate([rows, np.full(len(alone), -1, np.int64)])[order]
            own_rows = np.concatenate([own_rows, alone])[order]
        if len(own_rows):
            mine = batch.take(own_rows)
            data = pa.RecordBatch.from_arrays([*mine.data.columns, *self._side.take(rows)], schema=self._output_schema)
            self.output.emit_columns(ColumnBatch(data, mine.timestamps))

    def _fulfilling(self, batch: ColumnBatch, own_rows: Array, rows: Array) -> Array | None:
        """For which pairs the condition is true; None if there is none."""

        def own(indexes: Sequence[int]) -> list[pa.Array]:
            return [batch.data.column(index).take(pa.array(own_rows)) for index in indexes]

        return self._condition.fulfilled(own, lambda indexes: self._side.take(rows, indexes), len(rows))

    # State that is no longer needed

    @property
    def _now_ms(self) -> int:
        return self._clock.now_ms() if self._join.ttl_ms else 0

    @property
    def _last_expired_ms(self) -> int | None:
        """Keys that were asked for until then have expired; None if no key can have."""
        last_ms = self._now_ms - self._join.ttl_ms
        is_expiring = self._join.ttl_ms and self._phase == _JOINING and last_ms >= self._alive_since_ms
        return last_ms if is_expiring else None

    def end_epoch(self) -> None:
        """Removes unused keys, and compacts where many rows are gone."""
        last_ms = self._last_expired_ms
        if last_ms is not None and self._now_ms >= self._next_expiry_ms:
            self._expire(last_ms)
            self._next_expiry_ms = self._now_ms + self._join.ttl_ms // 4
        super().end_epoch()

    def _expire(self, last_ms: int) -> None:
        for _, until_ms in self._rows.load_expired([MIN_WATERMARK, last_ms]):
            expired = self._side.expired(until_ms)
            self._rows.changed(1, self._side.keys_of(expired))
            self._side.remove(expired)
            self._evicted += len(expired)
            self._rows.end_batch()

    # Snapshots

    def snapshot(self) -> OperatorStateSnapshot:
        return OperatorStateSnapshot(unions={_PHASE: [self._phase], **self._rows.marks()})

    def restore(self, state: OperatorStateSnapshot) -> None:
        """A subtask that was still loading has the others load, too: keys may have come from it."""
        self._phase = min(state.unions.get(_PHASE, [_LOADING]), default=_LOADING)
        super().restore(state)

    def metrics(self) -> dict[str, Any]:
        return {
            **super().metrics(),
            # Of the left input there is nothing else.
            **input_metrics(0, self._waiting.rows_in_memory, self._waiting.state_bytes),
            "currentPhase": self._phase,
            "currentBuildSideWatermark": self._right_watermark,
            "currentProbeSideWatermark": self._left_watermark,
            "numProbeSideRecordsBuffered": len(self._waiting),
            "numUnmatchedProbeRecords": self._unmatched,
            "numStateTtlEvictions": self._evicted,
        }
