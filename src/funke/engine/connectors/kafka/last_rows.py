"""Holds rows back for a while, and writes of those with the same key the last one only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from funke.engine.connectors.sink import SinkWriter, WriterContext
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.form_change import RowsToColumns

__all__ = ["HoldingBack", "LastRowsWriter"]


@dataclass(frozen=True)
class HoldingBack:
    """How many rows wait at most, and for how long."""

    rows: int
    interval_ms: int
    # The places of the columns that are the key.
    key: tuple[int, ...]


class LastRowsWriter(SinkWriter):
    """Stands before another writer, which does everything else; at a checkpoint nothing is held back."""

    def __init__(self, writer: SinkWriter, settings: HoldingBack, context: WriterContext) -> None:
        self._writer, self._settings, self._context = writer, settings, context
        self._held: list[ColumnBatch] = []
        self._due_ms: int | None = None

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Takes rows in the form of columns too."""
        if values:
            self.write_columns(RowsToColumns(self._context.input_type).convert(values, timestamps))

    def write_columns(self, batch: ColumnBatch) -> None:
        self._held.append(batch)
        if self._due_ms is None:
            self._due_ms = self._context.now_ms() + self._settings.interval_ms
        if sum(map(len, self._held)) >= self._settings.rows:
            self._let_go()

    def _let_go(self) -> None:
        held, self._held, self._due_ms = self._held, [], None
        if held:
            rows = ColumnBatch.concat(held)
            self._writer.write_columns(rows.take(pa.array(_last_of_each(rows, self._settings.key))))

    def write_watermark(self, watermark: int) -> None:
        self._writer.write_watermark(watermark)

    def flush(self, end_of_input: bool) -> None:
        if end_of_input:
            self._let_go()
        self._writer.flush(end_of_input)

    def prepare_commit(self) -> list[Any]:
        self._let_go()
        return self._writer.prepare_commit()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        self._let_go()
        self._writer.prepare_snapshot(checkpoint_id)

    def snapshot(self) -> Any:
        return self._writer.snapshot()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._writer.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._writer.notify_checkpoint_aborted(checkpoint_id)

    @property
    def awaits_commit(self) -> bool:
        return self._writer.awaits_commit

    def next_wakeup_ms(self) -> int | None:
        wakeups = (self._due_ms, self._writer.next_wakeup_ms())
        return min((each for each in wakeups if each is not None), default=None)

    def on_processing_time(self, now_ms: int) -> None:
        if self._due_ms is not None and now_ms >= self._due_ms:
            self._let_go()
        self._writer.on_processing_time(now_ms)

    def close(self) -> None:
        self._writer.close()


def _last_of_each(rows: ColumnBatch, indexes: Sequence[int]) -> list[int]:
    keys = zip(*(rows.data.column(index).to_pylist() for index in indexes))
    return sorted({key: number for number, key in enumerate(keys)}.values())
