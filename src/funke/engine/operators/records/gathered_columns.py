"""Short batches of columns that leave a source together, in order with everything else that it sends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from funke.engine.operators.operator import Output
from funke.engine.operators.records.slice_sizer import SliceSizer
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["GatheredColumns"]

# With more rows a batch costs hardly less for each.
_MOST_ROWS = 1 << 13
# A copy of so many rows takes as long as what comes behind does for a batch without any.
_LONG_ROWS = 1 << 11


class GatheredColumns:
    """An output before which batches of columns wait for others, no more of them than fit into a slice."""

    def __init__(self, output: Output, sizer: SliceSizer) -> None:
        self._output = output
        self._sizer = sizer
        self._batches: list[ColumnBatch] = []
        self.rows = 0

    @property
    def most_rows(self) -> int:
        """With so many rows nothing waits any longer."""
        return min(_MOST_ROWS, self._sizer.most_rows)

    def slices(self, batch: ColumnBatch) -> Iterator[ColumnBatch]:
        """Cut a batch into pieces that may be sent with what waits."""
        start = 0
        while start < len(batch):
            length = max(1, self._sizer.most_rows - self.rows)
            yield batch.slice(start, length) if start or length < len(batch) else batch
            start += length

    def emit_columns(self, batch: ColumnBatch) -> None:
        is_long = len(batch) >= _LONG_ROWS
        if self._batches and (is_long or not self._batches[0].is_alike(batch)):
            self.send()
        self._batches.append(batch)
        self.rows += len(batch)
        if is_long:
            self.send()

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        if not self._output.takes_rows and values:
            self.emit_columns(self._output.columns_of(values, timestamps))
        else:
            self.send()
            self._output.emit(values, timestamps)

    def emit_watermark(self, watermark: int) -> None:
        self.send()
        self._output.emit_watermark(watermark)

    def emit_status(self, is_idle: bool) -> None:
        self.send()
        self._output.emit_status(is_idle)

    def rows_of(self, batch: ColumnBatch) -> tuple[list[Any], list[int] | None]:
        return self._output.rows_of(batch)

    def send(self) -> None:
        """Send what waits."""
        batches, rows, self._batches, self.rows = self._batches, self.rows, [], 0
        if batches:
            with self._sizer.piece(rows):
                self._output.emit_columns(ColumnBatch.concat(batches))
