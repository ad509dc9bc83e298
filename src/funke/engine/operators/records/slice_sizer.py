"""Cuts batches into slices that take a moment each, so that timers and watermarks keep pace with slow functions."""

from __future__ import annotations

import contextlib
import math
import resource
import time
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["SliceSizer"]

_QUICK_S = 0.02
_SLOW_S = 0.1
_FIRST_RECORDS = 1
_FACTOR = 4
# Rows of wide tables take so many times as long as the calls for each column, if that is not too long.
_SHARE = 4
_LONGEST_S = 1.0
_THREAD: int | None = getattr(resource, "RUSAGE_THREAD", None)
_MORE = count()


class SliceSizer:
    """Learns how many records can be processed between two looks at the clock.

    A function that takes a second per record is given one record at a time; for the others slices soon are whole
    batches, and the cost is a slice of a list now and then.
    """

    def __init__(self) -> None:
        self._records = _FIRST_RECORDS
        # Of columns: the rows and the time of a piece, and what pieces take without their rows.
        self._piece: tuple[int, float] | None = None
        self._fixed: float | None = None

    def slices(
        self, values: list[Any], timestamps: list[int] | None, until: float = math.inf
    ) -> Iterator[tuple[list[Any], list[int] | None]]:
        """The batch in pieces; the time until the next piece is asked for is taken as the time of the last.

        So slices are short, too, where the receiver is slow: less is in flight. There are no more when
        the performance counter has come to `until`.
        """
        start = 0
        while start < len(values):
            end = start + self._records
            began = time.perf_counter()
            if start == 0 and end >= len(values):
                yield values, timestamps
            else:
                yield values[start:end], None if timestamps is None else timestamps[start:end]
            now = time.perf_counter()
            self._learn(min(end, len(values)) - start, now - began)
            start = len(values) if now > until else end

    def column_slices(self, batch: ColumnBatch, until: float = math.inf) -> Iterator[ColumnBatch]:
        """The same for a batch of columns; a piece with few rows may take nearly as long as one with many."""
        start = 0
        while start < len(batch):
            length = min(self.most_rows, len(batch) - start)
            with self.piece(length):
                yield batch if length == len(batch) else batch.slice(start, length)
            start = len(batch) if time.perf_counter() > until else start + length

    @contextlib.contextmanager
    def piece(self, rows: int) -> Iterator[None]:
        """A piece of columns is processed meanwhile; only the time that the thread itself needs counts."""
        wall, cpu, waits = time.perf_counter(), time.thread_time(), _waits()
        yield
        # A thread that others kept from running was not slow itself; one that waited for something was.
        has_waited = _waits() > waits
        self._learn_columns(rows, time.perf_counter() - wall if has_waited else time.thread_time() - cpu)

    @property
    def most_rows(self) -> int:
        """How many rows of columns a piece may have."""
        return self._records

    def _learn(self, records: int, seconds: float) -> None:
        if seconds > _SLOW_S:
            self._records = max(1, int(records * _QUICK_S / seconds))
        elif seconds < _QUICK_S and records >= self._records:
            self._records *= _FACTOR

    def _learn_columns(self, rows: int, seconds: float) -> None:
        """Only what rows take counts: what a piece takes however many rows it has is paid for each piece."""
        fixed_s = self._fixed_s(rows, seconds)
        if fixed_s is None:
            # One piece says nothing about it.
            self._records = max(self._records, rows * (_FACTOR if seconds < _QUICK_S else 2))
            return
        rows_s = max(seconds - fixed_s, 0.0)
        wanted_s = min(max(_QUICK_S, _SHARE * fixed_s), _LONGEST_S)
        if rows_s > max(_SLOW_S, wanted_s):
            self._records = max(1, int(rows * wanted_s / rows_s))
        elif 2 * rows_s < wanted_s and rows >= self._records:
            self._records = int(rows * min(_FACTOR * _FACTOR, wanted_s / max(rows_s, 1e-9)))

    def _fixed_s(self, rows: int, seconds: float) -> float | None:
        """What a piece takes without its rows, by two pieces of different length; None before there are two."""
        if self._piece is None or max(rows, self._piece[0]) < 2 * min(rows, self._piece[0]):
            if self._piece is None:
                self._piece = rows, seconds
            return self._fixed
        (fewer, fewer_s), (more, more_s) = sorted((self._piece, (rows, seconds)))
        per_row_s = max(more_s - fewer_s, 0.0) / (more - fewer)
        self._fixed = max(fewer_s - per_row_s * fewer, 0.0)
        self._piece = rows, seconds
        return self._fixed


def _waits() -> int:
    """How often this thread has given up the processor of its own accord; without such a count, always."""
    return resource.getrusage(_THREAD).ru_nvcsw if _THREAD is not None else next(_MORE)
