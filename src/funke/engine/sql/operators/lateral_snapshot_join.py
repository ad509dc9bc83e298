"""Joins each row with the rows that a changing table has when it comes, once the table has been loaded.

Flink's rules: rows of the left input wait in the load phase, and so do its watermarks; those of the right input are
never passed on. Changes of the right input become visible together when its watermark moves, ordered by their time, and
of equal times those that take rows back first: no row sees half of an update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.operators.clock import Clock
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.operators.pair_condition import PairCondition, slices
from funke.engine.sql.operators.windows.row_buffer import RowBuffer
from funke.engine.sql.state.join_side import JoinSide, SideSpec
from funke.engine.sql.state.key_numbers import KeyNumbers
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.lateral_snapshot_join import LateralSnapshotJoin
    from funke.engine.types.columns.arrays import Array

__all__ = ["LateralSnapshotJoinOperator"]

_LOADING, _JOINING = 0, 1
# Fewer rows that are gone are not worth packing.
_FEW_ROWS = 1 << 12
_PHASE = "phase"


class LateralSnapshotJoinOperator(FunctionsOperator):
    """The rows of the right input stand in memory with any backend."""

    takes_rows = False
    takes_columns = True
    has_input_watermarks = True

    def __init__(self, join: LateralSnapshotJoin, clock: Clock) -> None:
        self._join, self._clock = join, clock
        self._left, self._right = (schema_of(each.columns) for each in join.inputs)
        self._output_schema = schema_of(join.columns)
        self._keeps_left = join.keeps_left
        self._phase = _LOADING
        self._left_watermark = self._right_watermark = MIN_WATERMARK
        self._is_left_idle = False
        self._idle_since_ms = clock.now_ms()
        self._clear()
        # Rows of the left input that wait for the end of the load phase; changes that wait for a watermark.
        self._waiting = self._buffer("left-rows", 0)
        self._changes = self._buffer("changes", 1)
        self._condition = PairCondition(join.condition, len(join.left.columns), clock)
        self._next_expiry_ms = 0
        self._unmatched = self._evicted = 0
        self.functions = OpenedFunctions((join.condition,))

    def _clear(self) -> None:
        self._numbers = KeyNumbers([self._right.types[key] for key in self._join.right_keys])
        has_retractions = self._join.right.has_retractions
        self._side = JoinSide(SideSpec(self._right, self._join.right_keys, None, has_retractions, self._join.ttl_ms))

    def _buffer(self, name: str, side: int) -> RowBuffer:
        source = self._join.inputs[side]
        keys = (self._join.left_keys, self._join.right_keys)[side]
        key_types = [to_type_info(source.columns[key].type) for key in keys]
        return RowBuffer(name, keys, key_types, (self._left, self._right)[side])

    def columns_handler(self, input_index: int) -> Callable[[ColumnBatch], None]:
        return self.process_right if input_index else self.process_left

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
        # Keys that nobody asked for while they were loaded are as good as new.
        self._touch(np.arange(len(self._numbers)))
        rows = self._waiting.all()
        self._waiting = self._buffer("left-rows", 0)
        if rows is not None:
            self._send(rows)
        if self._left_watermark > MIN_WATERMARK:
            self.output.emit_watermark(self._left_watermark)
        if self._is_left_idle:
            self.output.emit_status(True)

    # The right input

    def _apply(self) -> None:
        """Takes in the changes that have waited."""
        changes = self._changes.all()
        if changes is None:
            return
        self._changes = self._buffer("changes", 1)
        assert changes.kinds is not None
        takes_in = (changes.kinds == 0) | (changes.kinds == 2)
        order = np.lexsort((takes_in, self._times_of(changes.data)))
        data, takes_in = changes.data.take(pa.array(order)), takes_in[order].astype(np.uint8)
        numbers = self._numbers.numbers([data.column(key) for key in self._join.right_keys], data.num_rows)
        self._side.add(data, numbers, takes_in, np.zeros(data.num_rows, np.int64), self._now_ms)
        if self._phase == _JOINING:
            self._touch(np.unique(numbers[numbers >= 0]))

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

    # Joining

    def _send(self, batch: ColumnBatch) -> None:
        columns = [batch.data.column(key) for key in self._join.left_keys]
        numbers = self._numbers.find(columns, len(batch))
        counts = self._side.counts(numbers)
        for begin, end in slices(counts):
            self._meet(batch.slice(begin, end - begin), numbers[begin:end], counts[begin:end])

    def _meet(self, batch: ColumnBatch, numbers: Array, counts: Array) -> None:
        rows = self._side.matching(numbers, int(counts.sum()))
        given: Array = np.repeat(np.arange(len(batch)), counts)
        is_live = self._side.is_live(rows, self._now_ms)
        if is_live is not None:
            rows, given = rows[is_live], given[is_live]
            self._side.touch(rows, self._now_ms)
        fulfils = self._fulfilling(batch, given, rows)
        if fulfils is not None:
            rows, given = rows[fulfils], given[fulfils]
        is_alone: Array = np.ones(len(batch), bool)
        is_alone[given] = False
        alone = np.flatnonzero(is_alone)
        self._unmatched += len(alone)
        if self._keeps_left and len(alone):
            order = np.argsort(np.concatenate([given, alone]), kind="stable")
            rows = np.concatenate([rows, np.full(len(alone), -1, np.int64)])[order]
            given = np.concatenate([given, alone])[order]
        if len(given):
            mine = batch.take(given)
            data = pa.RecordBatch.from_arrays([*mine.data.columns, *self._side.take(rows)], schema=self._output_schema)
            self.output.emit_columns(ColumnBatch(data, mine.timestamps))

    def _fulfilling(self, batch: ColumnBatch, given: Array, rows: Array) -> Array | None:
        """For which pairs the condition is true; None if there is none."""

        def own(indexes: Sequence[int]) -> list[pa.Array]:
            return [batch.data.column(index).take(pa.array(given)) for index in indexes]

        return self._condition.fulfilled(own, lambda indexes: self._side.take(rows, indexes), len(rows))

    # State that is no longer needed

    @property
    def _now_ms(self) -> int:
        return self._clock.now_ms() if self._join.ttl_ms else 0

    def end_epoch(self) -> None:
        """Forgets keys that nobody has asked for, and makes room where many rows are gone."""
        ttl_ms = self._join.ttl_ms
        if ttl_ms and self._phase == _JOINING and self._now_ms >= self._next_expiry_ms:
            before = len(self._side)
            self._side.expire(self._now_ms)
            self._evicted += before - len(self._side)
            self._next_expiry_ms = self._now_ms + ttl_ms // 4
        if self._side.gone > max(_FEW_ROWS, len(self._side)):
            data, _, times = self._side.live_rows()
            self._clear()
            self._put(data, times)

    def _put(self, data: pa.RecordBatch, times: Array) -> None:
        numbers = self._numbers.numbers([data.column(key) for key in self._join.right_keys], data.num_rows)
        self._side.put(data, numbers, np.zeros(data.num_rows, np.int64), times)

    # Snapshots

    def snapshot(self) -> OperatorStateSnapshot:
        return OperatorStateSnapshot(unions={_PHASE: [self._phase]})

    def restore(self, state: OperatorStateSnapshot) -> None:
        """A subtask that was still loading has the others load, too: keys may have come from it."""
        self._phase = min(state.unions.get(_PHASE, [_LOADING]), default=_LOADING)

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        data, _, _ = self._side.live_rows()
        rows = self._buffer("right-rows", 1)
        rows.add(ColumnBatch(data))
        for buffer in (rows, self._changes, self._waiting):
            yield from buffer.snapshot_parts(self.context.task.key_groups)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        every = list(parts)
        self._changes.restore(every)
        self._waiting.restore(every)
        kept = self._buffer("right-rows", 1)
        kept.restore(every)
        rows = kept.all()
        if rows is not None:
            # As in Flink keys live as long again after a restart.
            self._put(rows.data, np.full(len(rows), self._now_ms, np.int64))

    def metrics(self) -> dict[str, Any]:
        return {
            **super().metrics(),
            "currentPhase": self._phase,
            "currentBuildSideWatermark": self._right_watermark,
            "currentProbeSideWatermark": self._left_watermark,
            "numProbeSideRecordsBuffered": len(self._waiting),
            "numUnmatchedProbeRecords": self._unmatched,
            "numStateTtlEvictions": self._evicted,
        }
