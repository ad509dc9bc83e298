"""Gives records their timestamps and generates watermarks, for one input or for each split of a source.

Watermarks come at the auto-watermark interval, seen at the ends of batches and epochs, never between the records of a
batch. A user's own generator is shown each record, and what it emits there takes effect right behind that record.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK, Operator, OperatorContext, Output, TaskInfo
from funke.engine.operators.records.gathered_columns import GatheredColumns
from funke.engine.operators.time.watermark_trackers import BoundedTracker, CustomTracker, create_tracker
from funke.engine.types.columns.event_time import ColumnTimestampAssigner
from funke.engine.types.watermark_spec import NO_TIMESTAMP, WatermarkSpec

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["AssignTimestampsOperator", "SplitWatermarks", "assign_timestamps"]

_ONLY_SPLIT = ""


def assign_timestamps(spec: WatermarkSpec, values: list[Any], timestamps: list[int] | None) -> list[int] | None:
    """The timestamps that the strategy's assigner reads from the records; those they have if there is none."""
    assigner = spec.timestamp_assigner
    if assigner is None:
        return timestamps
    former = repeat(NO_TIMESTAMP) if timestamps is None else timestamps
    assigned = list(map(assigner.extract_timestamp, values, former))
    for kind in set(map(type, assigned)) - {int}:
        if not hasattr(kind, "__index__"):
            raise TypeError(
                f"the timestamp assigner must return milliseconds as an int, but it returned a {kind.__name__}"
            )
        # numpy integers and booleans
        assigned = [int(timestamp) for timestamp in assigned]
    return assigned


class SplitWatermarks:
    """Timestamps and watermarks for a source: each split has a watermark, the source's is the lowest active one.

    Splits that go on over many epochs are registered before any is read, so that none is overtaken. What has to
    outlive an epoch is in `snapshot`.
    """

    def __init__(self, spec: WatermarkSpec, task: TaskInfo, output: Output | GatheredColumns) -> None:
        self._spec = spec
        self._output = output
        self._now_ms = task.clock.now_ms
        self._interval_ms = task.auto_watermark_interval_ms
        # In batch mode only the end of input makes progress.
        self._is_generating = spec.kind != "none" and not task.is_batch
        self._trackers: dict[str, BoundedTracker | CustomTracker] = {}
        self._current: BoundedTracker | CustomTracker | None = None
        self._ended = MIN_WATERMARK
        self._emitted = MIN_WATERMARK
        self._is_idle = False
        self._last_emit_ms: int | None = None
        # Of the batch that was sent last, where its records have a time of their own.
        self.latest_timestamp: int | None = None

    def register(self, split_id: str) -> None:
        """Lets a split hold back the watermark from now on."""
        if self._is_generating and split_id not in self._trackers:
            tracker = create_tracker(self._spec)
            if tracker is not None:
                tracker.last_event_ms = self._now_ms()
                self._trackers[split_id] = tracker

    def start_split(self, split_id: str) -> None:
        """The batches that follow are of this split."""
        self.register(split_id)
        self._current = self._trackers.get(split_id)

    def end_split(self, split_id: str) -> None:
        """No record of this split will follow in any epoch."""
        tracker = self._trackers.pop(split_id, None)
        if tracker is not None:
            # Its progress counts once no split is left; as in Flink, the end of a split alone emits nothing.
            tracker.on_periodic_emit()
            self._ended = max(self._ended, tracker.watermark)
        self._current = None

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Sends the records with their timestamps, and watermarks where they belong."""
        if not values:
            return
        timestamps = assign_timestamps(self._spec, values, timestamps)
        tracker = self._current
        if tracker is None:
            self._output.emit(values, timestamps)
            return
        self._see_records(tracker)
        if isinstance(tracker, CustomTracker):
            for start, end in self._cuts(tracker, values, timestamps):
                self._emit_slice(values, timestamps, start, end)
        else:
            self._output.emit(values, timestamps)
            if timestamps is not None:
                self.latest_timestamp = max(timestamps)
                tracker.observe(self.latest_timestamp)
        self._emit_if_due()

    def process_columns(self, batch: ColumnBatch) -> None:
        """Does the same for a batch of columns: timestamps and watermarks are those of its rows."""
        if not len(batch):
            return
        batch, values = self._with_timestamps(batch)
        tracker = self._current
        if tracker is None:
            self._output.emit_columns(batch)
            return
        self._see_records(tracker)
        if isinstance(tracker, CustomTracker):
            timestamps = None if batch.timestamps is None else batch.timestamps.tolist()
            for start, end in self._cuts(tracker, values or self._output.rows_of(batch)[0], timestamps):
                self._output.emit_columns(batch.slice(start, end - start))
        else:
            self._output.emit_columns(batch)
            if batch.timestamps is not None:
                self.latest_timestamp = int(batch.timestamps.max())
                tracker.observe(self.latest_timestamp)
        self._emit_if_due()

    def _with_timestamps(self, batch: ColumnBatch) -> tuple[ColumnBatch, list[Any] | None]:
        """The batch with the timestamps of the assigner, and its rows if they had to be made for that."""
        assigner = self._spec.timestamp_assigner
        if assigner is None:
            return batch, None
        if isinstance(assigner, ColumnTimestampAssigner):
            return batch.with_timestamps(assigner.timestamps_of(batch)), None
        import numpy as np

        values, timestamps = self._output.rows_of(batch)
        assigned = assign_timestamps(self._spec, values, timestamps)
        return batch.with_timestamps(np.array(assigned, np.int64)), values

    def _see_records(self, tracker: BoundedTracker | CustomTracker) -> None:
        """Takes note that the split is not idle; the user's generator says so itself unless there is a time limit."""
        tracker.last_event_ms = self._now_ms()
        if tracker.is_idle and (self._spec.idle_timeout_ms is not None or not isinstance(tracker, CustomTracker)):
            tracker.is_idle = False
            self._report_status()

    def _cuts(
        self, tracker: CustomTracker, values: list[Any], timestamps: list[int] | None
    ) -> Iterator[tuple[int, int]]:
        """Shows each record to the user's generator; yields the runs of records that a watermark follows."""
        on_event = tracker.on_event
        start = 0
        stamps = [NO_TIMESTAMP] * len(values) if timestamps is None else timestamps
        for position, (value, timestamp) in enumerate(zip(values, stamps, strict=True), 1):
            if on_event(value, timestamp):
                yield start, position
                start = position
                self._advance()
        if start < len(values):
            yield start, len(values)

    def _emit_slice(self, values: list[Any], timestamps: list[int] | None, start: int, end: int) -> None:
        if start == 0 and end == len(values):
            self._output.emit(values, timestamps)
        else:
            self._output.emit(values[start:end], None if timestamps is None else timestamps[start:end])

    def end_epoch(self) -> None:
        """Emits the progress of the epoch."""
        self.emit_periodically()

    def next_wakeup_ms(self) -> int | None:
        """When the next split falls idle, or the user's generator wants its turn."""
        times = [self._idle_at(tracker) for tracker in self._trackers.values() if not tracker.is_idle]
        if self._interval_ms > 0 and any(tracker.wants_turns for tracker in self._trackers.values()):
            last = self._now_ms() if self._last_emit_ms is None else self._last_emit_ms
            times.append(last + self._interval_ms)
        return min((time for time in times if time is not None), default=None)

    def emit_periodically(self) -> None:
        """What the auto-watermark timer does: every split's turn, then the lowest watermark."""
        now = self._last_emit_ms = self._now_ms()
        for tracker in self._trackers.values():
            idle_at = self._idle_at(tracker)
            if idle_at is not None and now >= idle_at:
                tracker.is_idle = True
            else:
                tracker.on_periodic_emit()
        self._advance()

    def end_input(self) -> None:
        """The source has ended: nothing will follow."""
        self._advance_to(MAX_WATERMARK)

    def snapshot(self) -> Any:
        """What the next epoch has to know; picklable if the user's generators are."""
        return self._trackers, self._ended, self._emitted, self._is_idle, self._last_emit_ms

    def restore(self, state: Any) -> None:
        """Takes back what `snapshot` gave, unless event time had come to its end: then it begins anew.

        The input of a drained job goes on after all; that of any other has ended, and says so again.
        """
        if state[2] < MAX_WATERMARK:
            self._trackers, self._ended, self._emitted, self._is_idle, self._last_emit_ms = state
        self._current = None

    def announce(self, at_least: int = MIN_WATERMARK) -> None:
        """After a restart: tells receivers, who have forgotten it, how far event time had come."""
        self._emitted = max(self._emitted, at_least)
        if self._emitted > MIN_WATERMARK:
            self._output.emit_watermark(self._emitted)
        self._is_idle = False
        self._report_status()

    def _idle_at(self, tracker: BoundedTracker | CustomTracker) -> int | None:
        timeout = self._spec.idle_timeout_ms
        return None if timeout is None or tracker.last_event_ms is None else tracker.last_event_ms + timeout

    def _emit_if_due(self) -> None:
        now = self._now_ms()
        if self._last_emit_ms is None:
            # The clock starts with the first record: a first burst is never cut.
            self._last_emit_ms = now
        elif self._interval_ms > 0 and now - self._last_emit_ms >= self._interval_ms:
            self.emit_periodically()

    def _advance(self) -> None:
        active = [tracker.watermark for tracker in self._trackers.values() if not tracker.is_idle]
        self._report_status()
        if active:
            self._advance_to(min(active))
        elif not self._trackers:
            self._advance_to(self._ended)

    def _advance_to(self, watermark: int) -> None:
        if watermark > self._emitted:
            self._emitted = watermark
            self._output.emit_watermark(watermark)

    def _report_status(self) -> None:
        is_idle = bool(self._trackers) and all(tracker.is_idle for tracker in self._trackers.values())
        if is_idle != self._is_idle:
            self._is_idle = is_idle
            self._output.emit_status(is_idle)


class AssignTimestampsOperator(Operator):
    """Timestamps and watermarks in the middle of a stream; watermarks from upstream are ignored, except the last."""

    def __init__(self, spec: WatermarkSpec) -> None:
        self._spec = spec

    takes_columns = True

    @property
    def wants_columns(self) -> bool:
        """Whether those behind it want them."""
        return self.output.wants_columns

    def setup(self, context: OperatorContext) -> None:
        """Makes the generator."""
        super().setup(context)
        self._marks = SplitWatermarks(self._spec, context.task, context.output)

    def open(self) -> None:
        """Starts to watch for records."""
        self._marks.start_split(_ONLY_SPLIT)

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Sends the records with their timestamps."""
        self.records_in += len(values)
        self._marks.process_batch(values, timestamps)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends the rows with their timestamps."""
        self.records_in += len(batch)
        self._marks.process_columns(batch)

    def process_watermark(self, watermark: int) -> None:
        """Only the end of input counts."""
        if watermark == MAX_WATERMARK:
            self._marks.end_input()

    def process_status(self, is_idle: bool) -> None:
        """Idleness from upstream does not count either."""

    def end_epoch(self) -> None:
        """Emits the progress of the epoch."""
        self._marks.end_epoch()

    def next_wakeup_ms(self) -> int | None:
        """When idleness or the user's generator has to be looked at."""
        return self._marks.next_wakeup_ms()

    def on_processing_time(self, now_ms: int) -> None:
        """The auto-watermark timer."""
        self._marks.emit_periodically()

    def snapshot(self) -> Any:
        """The progress so far."""
        return self._marks.snapshot()

    def restore(self, state: Any) -> None:
        """Takes the progress back; also works once the operator is open."""
        self._marks.restore(state)
        self._marks.start_split(_ONLY_SPLIT)

    def announce(self) -> None:
        """After a restart: tells receivers how far event time had come."""
        self._marks.announce()

    def metrics(self) -> dict[str, Any]:
        """Flink's metrics of an operator."""
        return {
            "numRecordsIn": self.records_in,
            "numRecordsOut": self.output.records_out,
            "currentOutputWatermark": self.output.current_watermark,
        }
