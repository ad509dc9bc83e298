"""Mini-batches: rows wait until there are enough of them, or the first one has waited long enough."""

from __future__ import annotations

from collections.abc import Iterator

from funke.engine.operators.operator import Operator, OperatorContext
from funke.engine.sql.plan.changelogs.changes import MiniBatch
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["BundledOperator"]


class BundledOperator(Operator):
    """Works on bundles; without a mini-batch, on batches as they come. No watermark passes rows that wait."""

    takes_rows = False
    takes_columns = True

    mini_batch: MiniBatch | None = None

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._clock = context.task.clock
        self._waiting: list[ColumnBatch] = []
        self._count = 0
        self._due_ms: int | None = None
        self._held_watermark: int | None = None

    def process_bundle(self, batch: ColumnBatch) -> None:
        """Takes in the rows of a bundle, at least one."""
        raise NotImplementedError

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        if not len(batch):
            return
        if self.mini_batch is None:
            self.process_bundle(batch)
            return
        for part in self._cut(batch, self.mini_batch.size):
            self._waiting.append(part)
            self._count += len(part)
            if self._count == self.mini_batch.size:
                self.finish_bundle()
        if self._waiting and self._due_ms is None:
            self._due_ms = self._clock.now_ms() + self.mini_batch.latency_ms

    def _cut(self, batch: ColumnBatch, size: int) -> Iterator[ColumnBatch]:
        """The rows for this bundle and the next ones."""
        # A bundle ends after exactly `size` rows, also in the middle of a batch: the changes that leave must not depend
        # on how the input was cut into batches.
        start, room = 0, size - self._count
        while start < len(batch):
            yield batch if not start and room >= len(batch) else batch.slice(start, min(room, len(batch) - start))
            start, room = start + room, size

    def finish_bundle(self) -> None:
        """Takes in what waits."""
        waiting, self._waiting, self._count, self._due_ms = self._waiting, [], 0, None
        if waiting:
            self.process_bundle(ColumnBatch.concat(waiting) if len(waiting) > 1 else waiting[0])
        if self._held_watermark is not None:
            watermark, self._held_watermark = self._held_watermark, None
            self.output.emit_watermark(watermark)

    def process_watermark(self, watermark: int) -> None:
        """Waits with the rows: the downstream operator sees them first."""
        if self._waiting:
            # A later watermark replaces one that waits: all rows of the bundle leave before either of them.
            self._held_watermark = watermark
        else:
            self.output.emit_watermark(watermark)

    def next_wakeup_ms(self) -> int | None:
        return self._due_ms

    def on_processing_time(self, now_ms: int) -> None:
        if self._due_ms is not None and now_ms >= self._due_ms:
            self.finish_bundle()

    def release_waiting(self) -> None:
        self.finish_bundle()

    def end_input(self) -> None:
        self.finish_bundle()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Waiting rows are not state: they are sent on before the barrier."""
        self.finish_bundle()
        super().prepare_snapshot(checkpoint_id)
