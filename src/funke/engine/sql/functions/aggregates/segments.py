"""Rows of a batch in the order of their groups, and running results within each group.

Rows are sorted by group, those of a group keep their order; a segment is the rows of one group.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["Segments"]

# Longer segments are run through one by one, 2 µs each; the others together, index by index.
_LONG = 48


class Segments:
    """The start of each segment. There is at least one segment, and none is empty."""

    def __init__(self, starts: Array, length: int) -> None:
        self.starts = starts
        self.length = length

    def __len__(self) -> int:
        return len(self.starts)

    @staticmethod
    def of_codes(codes: Array, count: int) -> tuple[Array, Segments]:
        """The order that sorts rows by the number of their group (0 … count-1, each of which occurs), and segments."""
        # Numbers of two bytes are sorted by radix: 9 instead of 60 ns for each.
        narrow = codes.astype(np.uint16) if count <= 1 << 16 else codes
        order = narrow.argsort(kind="stable")
        lengths = np.bincount(codes, minlength=count)
        starts: Array = np.zeros(count, np.int64)
        np.cumsum(lengths[:-1], out=starts[1:])
        return order, Segments(starts, len(codes))

    @cached_property
    def ends(self) -> Array:
        """The index of the last row of each segment."""
        return np.append(self.starts[1:], self.length) - 1

    @cached_property
    def lengths(self) -> Array:
        """The number of rows of each segment."""
        return self.ends - self.starts + 1

    @cached_property
    def segment_of_row(self) -> Array:
        """The number of the segment of every row."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    @cached_property
    def index_in_segment(self) -> Array:
        """The index of each row in its segment."""
        return np.arange(self.length) - self.starts[self.segment_of_row]

    @cached_property
    def _rounds(self) -> list[Array]:
        """For each index in short segments but the first: the rows that stand there."""
        lengths = np.where(self.lengths > _LONG, 0, self.lengths)
        longest = int(lengths.max())
        if longest < 2:
            return []
        by_length = np.argsort(-lengths, kind="stable")
        starts = self.starts[by_length]
        # How many segments are longer than each index.
        longer: Array = len(lengths) - np.searchsorted(np.sort(lengths), np.arange(1, longest), side="right")
        return [starts[:count] + index for index, count in enumerate(longer.tolist(), start=1)]

    @cached_property
    def _long(self) -> list[tuple[int, int]]:
        indexes = np.flatnonzero(self.lengths > _LONG)
        return list(zip(self.starts[indexes].tolist(), (self.ends[indexes] + 1).tolist()))

    def running(self, operation: np.ufunc, before: Array, values: Array) -> Array:
        """The results of an operation (a ufunc of two) from the first row of a segment up to each row, one by one.

        `before` has one value for each segment, which comes before its first row.
        """
        result = values.copy()
        starts = self.starts
        with np.errstate(over="ignore", invalid="ignore"):
            result[starts] = operation(before, values[starts])
            # All second rows in one call of numpy, then all third rows: as many calls as the longest short segment has
            # rows.
            for rows in self._rounds:
                result[rows] = operation(result[rows - 1], result[rows])
            for start, end in self._long:
                operation.accumulate(result[start:end], out=result[start:end])
        return result

    def running_sum(self, before: Array, values: Array) -> Array:
        """The same for a sum of integers, which wraps around: no order of adding them makes a difference."""
        total = np.cumsum(values, dtype=before.dtype)
        offsets = before - total[self.starts] + values[self.starts].astype(before.dtype)
        return total + offsets[self.segment_of_row]

    def total(self, operation: np.ufunc, before: Array, values: Array) -> Array:
        """The last of the running results of each segment, for operations whose order makes no difference."""
        return operation(before, operation.reduceat(values, self.starts))
