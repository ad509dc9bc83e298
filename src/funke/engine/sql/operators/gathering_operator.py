"""The base of operators that have to see all rows: in batches they send what comes of them at the end of the input."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from funke.engine.operators.operator import Operator
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["GatheringOperator"]


class GatheringOperator(Operator):
    """Rows wait, and watermarks too: behind the last one, what is sent at the end would come too late."""

    takes_rows = False
    takes_columns = True

    def __init__(self) -> None:
        self._batches: list[ColumnBatch] = []
        self._watermark: int | None = None

    def process_columns(self, batch: ColumnBatch) -> None:
        """Keeps the rows until the end of the input."""
        self.records_in += len(batch)
        # All rows are in the memory of the slot until the end: a batch plan runs here what Spark does not compute
        # (docs/decisions/0011).
        self._batches.append(self.kept_part(batch))

    def process_watermark(self, watermark: int) -> None:
        """Keeps the watermark: in front of the result it would make that late."""
        self._watermark = watermark

    def end_input(self) -> None:
        """Computes the result and sends it, then the last watermark."""
        rows, self._batches = ColumnBatch.concat(self._batches) if self._batches else None, []
        results = self.results(rows)
        if results is not None:
            self.output.emit_columns(results)
        if self._watermark is not None:
            self.output.emit_watermark(self._watermark)

    def kept_part(self, batch: ColumnBatch) -> ColumnBatch:
        return batch

    @abstractmethod
    def results(self, rows: ColumnBatch | None) -> ColumnBatch | None:
        """The result for all rows of the input; None if there is none."""

    def snapshot(self) -> Any:
        """The rows that wait."""
        return self._batches or None

    def restore(self, state: Any) -> None:
        """Takes back the rows of a snapshot."""
        self._batches = list(state)
