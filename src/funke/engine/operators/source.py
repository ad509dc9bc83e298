"""The head of a source's chain: reads the splits it is given, with timestamps and watermarks, a few records at a time.

It lives in a slot as long as the attempt: its reader holds connections, and a split that was left in the middle goes on
where it was.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from funke.engine.connectors.source import Batch, ReadOutcome, Split, SplitReader
from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK, Operator, OperatorContext
from funke.engine.operators.records.gathered_columns import GatheredColumns
from funke.engine.operators.records.slice_sizer import SliceSizer
from funke.engine.operators.time.timestamps import SplitWatermarks
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.watermark_spec import WatermarkSpec

__all__ = ["ReadCommand", "ReadReport", "SourceOperator"]

# How long short batches may wait for others in one turn: no longer than the timers of other subtasks.
_GATHER_S = 0.001


@dataclass(frozen=True)
class ReadCommand:
    """A command to a source subtask: what to read, and whether anything will follow."""

    vertex_id: int
    subtask: int
    splits: tuple[Split, ...] = ()
    # By position in `splits`: records that an earlier attempt has read already; none when left out.
    skips: tuple[int, ...] = ()
    # Stop reading after so long; what is left goes on with the next order.
    deadline_ms: int | None = None
    # These are the last splits of the source: once they are read, it holds back event time no longer.
    is_over: bool = False
    # What there is to read is delivered with the order: rows that Spark has read.
    has_rows: bool = False
    # After a restart the receivers have forgotten the source's event time: it had come this far.
    restored_watermark: int | None = None
    # Nothing is to be read but this: how far event time may go, because others of its group are behind.
    watermark_limit: int | None = None


@dataclass(frozen=True)
class ReadReport:
    """What a source subtask has read since the last report."""

    # Without the payloads: they may be large, and the sender of the command has them.
    outcomes: tuple[ReadOutcome, ...]
    # Of the splits that are left, in their order: how many records were read.
    unfinished: tuple[int, ...]
    watermark: int
    is_idle: bool
    records: int
    # Of the same splits: what is left of them, if the reader knows it better than by a number; may be left out.
    rests: tuple[Split | None, ...] = ()
    # Whether it has been given anything; else what an earlier attempt had left is not among `unfinished`.
    has_begun: bool = True


@dataclass
class _Reading:
    """A split that is being read, or waits for its turn."""

    split: Split
    records: int
    steps: Iterator[None] | None = None


class SourceOperator(Operator):
    """Reads for one subtask of a source."""

    def __init__(self, reader: SplitReader, watermarks: WatermarkSpec | None) -> None:
        self._reader = reader
        self._spec = watermarks or WatermarkSpec()
        self._sizer = SliceSizer()
        # In the order in which they were given.
        self._waiting: list[_Reading] = []
        # Whose turn it is, among those that are read side by side.
        self._turn = 0
        self._outcomes: list[ReadOutcome] = []
        self._records = 0
        # Whether pieces of a batch may be left, however little the reader has to offer.
        self._is_within_batch = False
        self._has_begun = self._is_over = False
        self._is_open = False
        self._limit = MAX_WATERMARK
        self._last_read_ms: int | None = None
        # Whether there was ever anything to read; until then the subtask must not hold back event time.
        self._has_read = reader.is_never_idle

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._gathered = GatheredColumns(context.output, self._sizer)
        self._marks = SplitWatermarks(self._spec, context.task, self._gathered)
        self._reader.wake = context.task.wake

    def open(self) -> None:
        self._is_open = True
        self._reader.open()

    @property
    def is_idle(self) -> bool:
        """Whether this subtask has no say about event time."""
        return self._reader.is_always_idle or not self._has_read

    @property
    def is_reading(self) -> bool:
        """Whether there is something to read now."""
        is_there = bool(self._waiting) and (self._is_within_batch or self._reader.has_more)
        return is_there and self.output.current_watermark <= self._limit

    @property
    def has_outcomes(self) -> bool:
        """Whether splits were read to their end since the last report."""
        return bool(self._outcomes)

    def take(self, command: ReadCommand) -> None:
        """Takes more splits, to be read behind those that it has."""
        if command.watermark_limit is not None:
            self._limit = command.watermark_limit
            return
        self._has_begun = True
        self._has_read = self._has_read or bool(command.splits)
        self._is_over = command.is_over
        for split in command.splits:
            # Before any is read, so that none is overtaken; not those that are read one after the other.
            if not split.is_last or self._reader.is_concurrent:
                self._marks.register(split.id)
        skips = command.skips or (0,) * len(command.splits)
        self._waiting.extend(_Reading(split, skip) for split, skip in zip(command.splits, skips, strict=True))
        self._reader.prepare(list(command.splits))
        if command.restored_watermark is not None:
            self._marks.announce(command.restored_watermark)

    def read(self) -> bool:
        """Reads the next records and sends them on; False when there is nothing left to read.

        Short batches of columns that are there leave together: what comes behind costs about as much for ten rows as
        for a thousand. None of them waits for what is still to come.
        """
        until = time.perf_counter() + _GATHER_S
        while self._read_some() and self.is_reading and time.perf_counter() < until:
            pass
        self._gathered.send()
        return bool(self._waiting)

    def _read_some(self) -> bool:
        """Reads a batch or a piece of it; whether more of them may leave together."""
        reading = self._next()
        if reading is None:
            return False
        if reading.steps is None:
            reading.steps = self._steps(reading)
        # Their watermarks do not mix.
        self._marks.start_split(reading.split.id)
        rows = self._gathered.rows
        for _ in reading.steps:
            return rows < self._gathered.rows < self._gathered.most_rows
        self._waiting.remove(reading)
        # The next split may have to be opened first.
        return False

    def _next(self) -> _Reading | None:
        """One split after the other, or those that have something in turn, a batch at a time."""
        waiting = self._waiting
        if not self._reader.is_concurrent:
            return waiting[0] if waiting else None
        if self._is_within_batch:
            return waiting[self._turn]
        for step in range(1, len(waiting) + 1):
            index = (self._turn + step) % len(waiting)
            if self._reader.has_records(waiting[index].split):
                self._turn = index
                return waiting[index]
        return None

    def may_read_on(self, patience_s: float) -> bool:
        """In an epoch: waits for what is to be read; False when it is not worth it."""
        if not self.is_reading and self._waiting:
            self._reader.await_records(patience_s)
        return self.is_reading or not self.has_endless

    @property
    def has_endless(self) -> bool:
        """Whether a split that has no end is among those to be read."""
        return any(reading.split.is_endless for reading in self._waiting)

    def _steps(self, reading: _Reading) -> Iterator[None]:
        """Reads a split behind the records that are known already, slice by slice."""
        split, skip, now_ms = reading.split, reading.records, self.context.task.clock.now_ms
        rest = self._reader.behind(split, skip)
        batches = self._batches(split if rest is None else rest)
        skip = skip if rest is None else 0
        while True:
            try:
                batch = next(batches)
            except StopIteration as end:
                result = end.value
                break
            if skip:
                skipped = min(skip, _length(batch))
                skip -= skipped
                batch = _behind(batch, skipped)
            left = _length(batch)
            if not left:
                yield  # nothing is there yet
            for part in self._slices(batch):
                left -= _length(part)
                self._is_within_batch = left > 0
                # First: whatever the functions behind it do, these records are on their way.
                reading.records += _length(part)
                self._records += _length(part)
                self._last_read_ms = now_ms()
                if isinstance(part, ColumnBatch):
                    self._marks.process_columns(part)
                else:
                    self._marks.process_batch(*part)
                yield
        if split.is_last:
            self._marks.end_split(split.id)
        self._outcomes.append(ReadOutcome(split, reading.records, result))

    def _batches(self, split: Split) -> Iterator[Batch | ColumnBatch]:
        """The records of a split, as columns if a receiver wants columns and the reader can."""
        columns = self._reader.read_columns(split) if self.output.wants_columns else None
        return self._reader.read(split) if columns is None else columns

    def _slices(self, batch: Batch | ColumnBatch) -> Iterator[Batch] | Iterator[ColumnBatch]:
        return self._gathered.slices(batch) if isinstance(batch, ColumnBatch) else self._sizer.slices(*batch)

    def report(self) -> ReadReport:
        """What was read since the last report."""
        outcomes = tuple(replace(outcome, split=replace(outcome.split, payload=None)) for outcome in self._outcomes)
        unfinished = tuple(reading.records for reading in self._waiting)
        mark = self.output.current_watermark
        report = ReadReport(outcomes, unfinished, mark, self.is_idle, self._records, self._rests(), self._has_begun)
        self._outcomes.clear()
        self._records = 0
        return report

    def _rests(self) -> tuple[Split | None, ...]:
        # One after the other: only the first has been touched.
        touched = self._waiting if self._reader.is_concurrent else islice(self._waiting, 1)
        return tuple(self._reader.rest(reading.split, reading.records) for reading in touched)

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        self._reader.note(checkpoint_id, [split for split in self._rests() if split is not None])

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._is_open:
            self._reader.notify_checkpoint_complete(checkpoint_id)

    def end_epoch(self) -> None:
        if self._is_over and not self._waiting:
            self._marks.end_input()
        elif self._has_read:
            self._marks.end_epoch()

    def end_input(self) -> None:
        self._marks.end_input()

    def next_wakeup_ms(self) -> int | None:
        return self._marks.next_wakeup_ms()

    def on_processing_time(self, now_ms: int) -> None:
        if self._has_read:
            self._marks.emit_periodically()

    def snapshot(self) -> Any:
        return self._marks.snapshot(), self._has_read

    def restore(self, state: Any) -> None:
        marks, self._has_read = state
        self._marks.restore(marks)

    def announce(self) -> None:
        """After a restart: tells receivers how far event time had come."""
        self._marks.announce()

    def metrics(self) -> dict[str, Any]:
        metrics = self._reader.metrics() if self._is_open else {}
        metrics |= {"numRecordsOut": self.output.records_out, "currentOutputWatermark": self.output.current_watermark}
        return metrics | self._lags() | self._drift()

    def _drift(self) -> dict[str, Any]:
        """With watermark alignment: how far event time is ahead of the last of the group, once that was announced."""
        allowed, mark = self._spec.alignment_drift_ms, self.output.current_watermark
        if allowed is None or self._limit == MAX_WATERMARK or not MIN_WATERMARK < mark < MAX_WATERMARK:
            return {}
        lowest = self._limit - allowed
        return {"watermarkAlignmentDrift": mark - lowest} if lowest > MIN_WATERMARK else {}

    def _lags(self) -> dict[str, Any]:
        """How far what was read is behind the clock; of event time only where records have one."""
        now, mark, last_ms = self.context.task.clock.now_ms(), self.output.current_watermark, self._last_read_ms
        lags = {"watermarkLag": now - mark} if MIN_WATERMARK < mark < MAX_WATERMARK else {}
        if last_ms is None:
            return lags
        latest = self._marks.latest_timestamp
        if latest is not None:
            lags["currentEmitEventTimeLag"] = last_ms - latest
        return {**lags, "sourceIdleTime": 0 if self.is_reading else now - last_ms}

    def close(self) -> None:
        """Ends what is being read, then the reader."""
        if self._is_open:
            self._is_open = False
            self._waiting.clear()
            self._reader.close()


def _length(batch: Batch | ColumnBatch) -> int:
    return len(batch) if isinstance(batch, ColumnBatch) else len(batch[0])


def _behind(batch: Batch | ColumnBatch, records: int) -> Batch | ColumnBatch:
    """A batch without its first records."""
    if isinstance(batch, ColumnBatch):
        return batch.slice(records)
    values, timestamps = batch
    return values[records:], None if timestamps is None else timestamps[records:]
