"""Gives rows the event time of a column, and sends the watermarks that an expression computes of each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.operator import MAX_WATERMARK, Operator, OperatorContext
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.binding.current_time import with_clock
from funke.engine.sql.binding.expressions import column_of
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.assign_watermarks import AssignWatermarks
    from funke.engine.types.columns import Array

__all__ = ["AssignWatermarksOperator", "event_times"]

_PER_MILLISECOND = {"ms": 1, "us": 1_000, "ns": 1_000_000}
_NONE = np.iinfo(np.int64).min


class AssignWatermarksOperator(Operator):
    """Sends a watermark behind the row with which it has come further than the auto-watermark interval since the last.

    So Flink does it: rows stand on the same side of a watermark however they came in. What remains is sent when the
    interval has passed on the clock. Upstream watermarks mean nothing here but the end of input.
    """

    takes_rows = False
    takes_columns = True

    def __init__(self, assigner: AssignWatermarks, clock: Clock) -> None:
        self._schema = schema_of(assigner.input.columns)
        self._rowtime = assigner.rowtime
        self._watermarks = column_of(with_clock(assigner.expression, clock))
        self._idle_timeout_ms = assigner.idle_timeout_ms
        self._rows_per_watermark = assigner.rows_per_watermark
        self._rows = 0
        self._step = assigner.step
        self._current = self._sent = 0
        # Up to where watermarks were due, sent or not.
        self._due = 0
        self._is_idle = False
        self._last_row_ms = 0
        self._next_turn_ms: int | None = None

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._now_ms = context.task.clock.now_ms
        self._interval_ms = context.task.auto_watermark_interval_ms
        # In batch mode only the end of input makes progress.
        self._is_generating = not context.task.is_batch

    def open(self) -> None:
        # Idleness counts from here, so a source that never sends a row does not hold back the others either.
        self._last_row_ms = self._now_ms()

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends on the rows, cut where watermarks stand."""
        self.records_in += len(batch)
        batch = as_schema(batch, self._schema)
        batch = batch.with_timestamps(event_times(batch.data.column(self._rowtime)))
        if not self._is_generating or not len(batch):
            self.output.emit_columns(batch)
            return
        self._see_rows()
        reached = self._reached(batch.data)
        start = 0
        for end in self._seen_ends(reached, batch.timestamps):
            self.output.emit_columns(batch.slice(start, end - start))
            self._advance(int(reached[end - 1]))
            start = end
        if start < len(batch):
            self.output.emit_columns(batch.slice(start) if start else batch)
        self._current = int(reached[-1])
        if self._is_seen(self._due):
            self._advance(self._due)
        if self._current > self._sent and self._next_turn_ms is None and self._interval_ms > 0:
            self._next_turn_ms = self._now_ms() + self._interval_ms

    def _reached(self, data: pa.RecordBatch) -> Array:
        """The event time that is reached behind each row."""
        watermarks = self._watermarks(data)
        if isinstance(watermarks, pa.Scalar):
            watermarks = pa.repeat(watermarks, len(data))
        values = _milliseconds(watermarks)
        if watermarks.null_count:
            # As in Flink a row whose expression is NULL does not move event time.
            values = np.where(np.asarray(watermarks.is_null()), _NONE, values)
        return np.maximum(np.maximum.accumulate(values), self._current)

    def _seen_ends(self, reached: Array, times: Any) -> Iterator[int]:
        """The ends of the parts behind which consumers see a watermark."""
        ends = list(self._ends(reached))
        if not ends:
            return
        due = reached[np.array(ends) - 1]
        # A cut makes two short batches of one, so it is made only where a consumer can tell the difference
        # (`plan/watermarks.py`): in front of a row that the watermark makes late, or for a node that sees every
        # watermark.
        is_cut: Array = np.ones(len(ends), bool)
        if self._step is None or self._step.is_for_late_rows:
            # The earliest row between each end and the next; a session that ends at its time would take it in.
            inner = ends if ends[-1] < len(times) else ends[:-1]
            is_cut[len(inner) :] = False
            is_cut[: len(inner)] = np.minimum.reduceat(times, inner) <= due[: len(inner)] + 1 if inner else False
        for end, watermark in zip(np.array(ends)[is_cut].tolist(), due[is_cut].tolist()):
            if self._is_seen(watermark):
                yield end
        self._due = max(self._due, int(due[-1]))

    def _is_seen(self, watermark: int) -> bool:
        """True if the watermark has passed another multiple of the step since the last one that was sent."""
        step = self._step
        return step is not None and (
            (watermark + 1 - step.offset_ms) // step.size_ms > (self._sent + 1 - step.offset_ms) // step.size_ms
        )

    def _ends(self, reached: Array) -> Iterator[int]:
        """The ends of the parts that Flink's watermarks would follow."""
        if self._rows_per_watermark is not None:
            yield from self._ends_by_rows(reached, self._rows_per_watermark)
            return
        # Flink's rule, which asks no clock: a watermark follows a row whose event time is more than the interval past
        # the last watermark. Behind 1000, with 200 ms, 1200 gets none and 1201 does.
        sent = self._due
        while True:
            # What is reached never falls.
            index = int(np.searchsorted(reached, sent + self._interval_ms, side="right"))
            if index == len(reached):
                return
            yield index + 1
            sent = int(reached[index])

    def _ends_by_rows(self, reached: Array, gap: int) -> Iterator[int]:
        before, self._rows = self._rows, self._rows + len(reached)
        sent = self._due
        for end in range(gap - before % gap, len(reached) + 1, gap):
            if reached[end - 1] > sent:
                sent = int(reached[end - 1])
                yield end

    def _see_rows(self) -> None:
        self._last_row_ms = self._now_ms()
        if self._is_idle:
            self._is_idle = False
            self.output.emit_status(False)

    def _advance(self, watermark: int) -> None:
        if watermark > self._sent:
            self._sent = watermark
            self._due = max(self._due, watermark)
            self.output.emit_watermark(watermark)

    def process_watermark(self, watermark: int) -> None:
        if watermark == MAX_WATERMARK:
            self.output.emit_watermark(watermark)

    def process_status(self, is_idle: bool) -> None:
        self._is_idle = is_idle
        self.output.emit_status(is_idle)

    def next_wakeup_ms(self) -> int | None:
        idle_at = self._idle_at()
        times = [each for each in (self._next_turn_ms, idle_at) if each is not None]
        return min(times, default=None)

    def on_processing_time(self, now_ms: int) -> None:
        if self._next_turn_ms is not None and now_ms >= self._next_turn_ms:
            self._next_turn_ms = None
            self._advance(self._current)
        idle_at = self._idle_at()
        if idle_at is not None and now_ms >= idle_at:
            self._is_idle = True
            self.output.emit_status(True)

    def _idle_at(self) -> int | None:
        if self._idle_timeout_ms is None or self._is_idle or not self._is_generating:
            return None
        return self._last_row_ms + self._idle_timeout_ms

    def metrics(self) -> dict[str, Any]:
        return {"numRecordsIn": self.records_in, "currentOutputWatermark": self._sent}


def event_times(column: pa.Array) -> Array:
    """Return a column of time as timestamps of rows."""
    if column.null_count:
        raise ValueError("RowTime field should not be null, please convert it to a non-null long value.")
    return _milliseconds(column)


def _milliseconds(column: pa.Array) -> Array:
    """Milliseconds since the epoch, rounded down; of nulls anything."""
    timestamps = np.asarray(column.fill_null(0).view(pa.int64()) if column.null_count else column.view(pa.int64()))
    return timestamps * 1000 if column.type.unit == "s" else timestamps // _PER_MILLISECOND[column.type.unit]
