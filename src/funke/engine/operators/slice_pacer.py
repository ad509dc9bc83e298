"""Cuts batches into slices that take a moment each, so that timers and watermarks keep pace with slow functions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["SlicePacer"]

_QUICK_S = 0.02
_SLOW_S = 0.1
_FIRST_RECORDS = 1
_FACTOR = 4


class SlicePacer:
    """Learns how many records can be processed between two looks at the clock.

    A function that takes a second per record is given one record at a time; for the others slices soon are whole
    batches, and the cost is a slice of a list now and then.
    """

    def __init__(self) -> None:
        self._records = _FIRST_RECORDS

    def slices(self, values: list[Any], timestamps: list[int] | None) -> Iterator[tuple[list[Any], list[int] | None]]:
        """The batch in pieces; the time until the next piece is asked for is taken as the time of the last."""
        start = 0
        while start < len(values):
            end = start + self._records
            began = time.perf_counter()
            if start == 0 and end >= len(values):
                yield values, timestamps
            else:
                yield values[start:end], None if timestamps is None else timestamps[start:end]
            self._learn(min(end, len(values)) - start, time.perf_counter() - began)
            start = end

    def column_slices(self, batch: ColumnBatch) -> Iterator[ColumnBatch]:
        """The same for a batch of columns."""
        start = 0
        while start < len(batch):
            length = min(self._records, len(batch) - start)
            began = time.perf_counter()
            yield batch if length == len(batch) else batch.slice(start, length)
            self._learn(length, time.perf_counter() - began)
            start += length

    def _learn(self, records: int, seconds: float) -> None:
        if seconds > _SLOW_S:
            self._records = max(1, int(records * _QUICK_S / seconds))
        elif seconds < _QUICK_S and records >= self._records:
            self._records *= _FACTOR
