"""Partitions whose rows are all there, in an order: the indexes of rows, and the frames that functions see."""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.binding.windows.window_relations import Frame
from funke.engine.sql.functions.aggregates.rows import ArgumentColumn
from funke.engine.sql.functions.aggregates.segments import Segments

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["SortedPartitions"]

# Sums of integers below it and of a bound do not overflow.
_SAFE = 1 << 62


class SortedPartitions:
    """Rows sorted by partition and order; `codes` tell the partitions apart, `peers` the values of the order."""

    def __init__(self, codes: Array, peers: Array) -> None:
        is_new = codes[1:] != codes[:-1]
        self.length = len(codes)
        self.segments = Segments(_starts(is_new), self.length)
        self._peers = Segments(_starts(is_new | (peers[1:] != peers[:-1])), self.length)

    @cached_property
    def indexes(self) -> Array:
        return np.arange(self.length)

    @cached_property
    def first(self) -> Array:
        """The first row of each row's partition."""
        return self.segments.starts[self.segments.segment_of_row]

    @cached_property
    def end(self) -> Array:
        """The row behind the last one of each row's partition."""
        return self.segments.ends[self.segments.segment_of_row] + 1

    @cached_property
    def first_peer(self) -> Array:
        """The first row that is equal to each row by the order."""
        return self._peers.starts[self._peers.segment_of_row]

    @cached_property
    def end_of_peers(self) -> Array:
        return self._peers.ends[self._peers.segment_of_row] + 1

    @cached_property
    def peer_number(self) -> Array:
        """The number of different order values before that of each row in its partition."""
        numbers = self._peers.segment_of_row
        return numbers - numbers[self.first]

    def bounds(self, frame: Frame, data: pa.RecordBatch, order: tuple[SortKey, ...]) -> tuple[Array, Array]:
        """The first row of each row's frame, and the one behind its last; a frame without rows ends where it begins."""
        if frame.is_rows:
            lower = self.first if frame.lower is None else self.indexes + frame.lower
            upper = self.end if frame.upper is None else self.indexes + frame.upper + 1
        # RANGE without a distance sees peers alone: nothing is added to values, so the order may have any type and
        # several columns.
        elif {frame.lower, frame.upper} <= {None, 0}:
            lower = self.first if frame.lower is None else self.first_peer
            upper = self.end if frame.upper is None else self.end_of_peers
        else:
            lower, upper = self._by_distance(frame, data, order[0])
        low = np.clip(lower, self.first, self.end)
        return low, np.maximum(np.minimum(upper, self.end), low)

    def _by_distance(self, frame: Frame, data: pa.RecordBatch, key: SortKey) -> tuple[Array, Array]:
        """By values that rise; NULLs are equal to each other, and far from everything else."""
        column = ArgumentColumn(data.column(key.index))
        below, above = (None if each is None else _in_units(each, column.array.type) for each in _bounds(frame))
        # A NULL has no values around it.
        lower = self.first_peer if below is None or below <= 0 else self.end_of_peers
        upper = self.end_of_peers if above is None or above >= 0 else self.first_peer
        lower, upper = lower.copy(), upper.copy()
        numbers = _safe(column.numbers, below or 0, above or 0)
        if not key.is_ascending:
            numbers = -numbers
        present = np.ones(self.length, bool) if column.present is None else column.present
        # One partition after the other, 10 µs for each: their values overlap.
        for start, end in zip(self.segments.starts.tolist(), (self.segments.ends + 1).tolist()):
            mine = np.flatnonzero(present[start:end])
            if not len(mine):
                continue
            rows = slice(start + int(mine[0]), start + int(mine[-1]) + 1)
            values = numbers[rows]
            if below is not None:
                lower[rows] = rows.start + np.searchsorted(values, values + below, side="left")
            if above is not None:
                upper[rows] = rows.start + np.searchsorted(values, values + above, side="right")
        return self.first if below is None else lower, self.end if above is None else upper


def _bounds(frame: Frame) -> tuple[Any, Any]:
    return frame.lower, frame.upper


def _in_units(distance: Any, arrow_type: pa.DataType) -> Any:
    """A distance as the numbers of a column have it."""
    if pa.types.is_decimal(arrow_type):
        return Decimal(distance).scaleb(arrow_type.scale)
    if pa.types.is_floating(arrow_type):
        return float(distance)
    if pa.types.is_date(arrow_type):
        return Decimal(distance) / 86_400_000
    if pa.types.is_timestamp(arrow_type) or pa.types.is_time(arrow_type):
        return distance * _IN_A_MILLISECOND[arrow_type.unit]
    return distance


_IN_A_MILLISECOND = {"s": Decimal("0.001"), "ms": 1, "us": 1000, "ns": 1_000_000}


def _starts(is_new: Array) -> Array:
    return np.append(0, np.flatnonzero(is_new) + 1)


def _safe(numbers: Array, below: Any, above: Any) -> Array:
    """Numbers to which distances may be added: Python's where others would overflow, or have no fractions."""
    if numbers.dtype.kind != "i":
        return numbers
    is_small = max(map(abs, (below, above, int(numbers.min()), int(numbers.max())))) < _SAFE
    is_whole = isinstance(below, int) and isinstance(above, int)
    return numbers.astype(np.int64 if is_small and is_whole else object)
