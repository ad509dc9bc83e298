"""Writes a stream to a sink; what must become visible at once is sent to the driver to be committed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext
from funke.engine.operators.operator import MIN_WATERMARK, Operator
from funke.engine.types.driver_messages import PreparedCommits

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["SinkOperator"]


class SinkOperator(Operator):
    """Feeds one writer."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.takes_columns = sink.takes_columns
        self._restored: Any = None
        self._writer: SinkWriter | None = None
        self._state: Any = None
        self._input_watermark = MIN_WATERMARK
        # What the writer took for the last batch.
        self._send_ms = 0.0
        self._has_ended = False
        self._is_to_be_closed = False

    @property
    def wants_columns(self) -> bool:
        """Senders need not convert columns to rows."""
        return self.takes_columns

    def open(self) -> None:
        task = self.context.task
        context = WriterContext(
            task.job_id,
            task.subtask,
            task.parallelism,
            task.attempt,
            self.context.input_type,
            task.clock.now_ms,
            task.send_to_driver,
            self.context.operator_id,
            task.staging_folder,
            restored_checkpoint_id=task.restored_checkpoint_id,
            has_epochs=task.has_epochs,
        )
        self._writer = self._sink.create_writer(context, self._restored)

    @property
    def writer(self) -> SinkWriter:
        """The writer of this subtask."""
        if self._writer is None:
            raise RuntimeError("the sink operator is not open")
        return self._writer

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        began = time.perf_counter()
        self.writer.write(values, timestamps)
        self._send_ms = (time.perf_counter() - began) * 1000

    def process_columns(self, batch: ColumnBatch) -> None:
        """Writes a batch of columns."""
        self.records_in += len(batch)
        began = time.perf_counter()
        self.writer.write_columns(batch)
        self._send_ms = (time.perf_counter() - began) * 1000

    def process_watermark(self, watermark: int) -> None:
        """A stream ends here."""
        self._input_watermark = watermark
        self.writer.write_watermark(watermark)

    def flush(self) -> None:
        if not self._has_ended:
            self.writer.flush(end_of_input=False)

    def end_epoch(self) -> None:
        self.flush()

    def end_input(self) -> None:
        """Finishes what is written and hands it to the committer."""
        self._has_ended = True
        self.writer.flush(end_of_input=True)
        self._send_committables()

    def next_wakeup_ms(self) -> int | None:
        """When the writer wants to be called."""
        return self.writer.next_wakeup_ms()

    def on_processing_time(self, now_ms: int) -> None:
        self.writer.on_processing_time(now_ms)

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """At a checkpoint: what was written so far is handed to the committer, the rest is the writer's state."""
        self.writer.prepare_snapshot(checkpoint_id)
        self._send_committables()
        # Taken here and not in `snapshot`: a writer may flush its buffers for it, which only its own process may do.
        self._state = self.writer.snapshot()

    def snapshot(self) -> Any:
        """The writer's state as it was when the checkpoint was prepared."""
        return self._state

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._writer is not None:
            self._writer.notify_checkpoint_complete(checkpoint_id)
            if self._is_to_be_closed and not self._writer.awaits_commit:
                self.close()

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        if self._writer is not None:
            self._writer.notify_checkpoint_aborted(checkpoint_id)

    def restore(self, state: Any) -> None:
        """Keeps the writer's state for `open`."""
        self._restored = state

    def metrics(self) -> dict[str, Any]:
        return {
            "numRecordsIn": self.records_in,
            "numRecordsSend": self.records_in,
            "currentSendTime": self._send_ms,
            "currentInputWatermark": self._input_watermark,
        }

    @property
    def awaits_commit(self) -> bool:
        """Whether the input has ended, but not what the writer has to do."""
        return self._has_ended and self._writer is not None and self._writer.awaits_commit

    def close(self) -> None:
        self._is_to_be_closed = True
        if self._writer is not None and not self.awaits_commit:
            writer, self._writer = self._writer, None
            writer.close()

    def _send_committables(self) -> None:
        committables = self.writer.prepare_commit()
        if committables:
            self.context.task.send_to_driver(PreparedCommits(self.context.operator_id, committables))
