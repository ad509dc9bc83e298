"""The input rows of aggregates: columns of arguments in the order of segments, with signs and masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.sql.functions.aggregates.segments import Segments

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["AggregateRows", "ArgumentColumn", "unscaled_integers"]

_TWO_TO_64 = 1 << 64


class ArgumentColumn:
    """A column of arguments; its numbers are made once for all aggregates that use it."""

    def __init__(self, array: pa.Array) -> None:
        self.array = array

    @cached_property
    def present(self) -> Array | None:
        """Which rows have a value; None if all have."""
        return None if self.array.null_count == 0 else np.asarray(self.array.is_valid())

    @cached_property
    def numbers(self) -> Array:
        """Numbers, dates and times as a numpy array, decimals as unscaled integers; some number stands for NULL."""
        array = self.array
        if pa.types.is_decimal(array.type):
            return unscaled_integers(array)
        if pa.types.is_boolean(array.type):
            return np.asarray(array.fill_null(False)).astype(np.int8)
        if array.null_count:
            zero = pa.array([0], _STORED_AS.get(array.type.id, array.type)).view(array.type)[0]
            array = array.fill_null(zero)
        return np.asarray(array.view(_STORED_AS.get(array.type.id, array.type)))

    @cached_property
    def addends(self) -> Array:
        """The numbers in a form that is quick to add: decimals as 64 bits, if no sum of them can be larger."""
        if not pa.types.is_decimal(self.array.type):
            return self.numbers
        low, high = _words(self.array)
        signed = low.view(np.int64)
        # Below it no sum of the batch overflows, so that machine integers can be added instead of Python's.
        limit = (1 << 63) // max(len(signed), 1)
        is_small = np.array_equal(high, signed >> 63) and bool(((signed < limit) & (signed > -limit)).all())
        return signed if is_small else self.numbers


_STORED_AS = {
    pa.date32().id: pa.int32(),
    pa.time32("ms").id: pa.int32(),
    pa.time64("us").id: pa.int64(),
    pa.timestamp("ms").id: pa.int64(),
}


def unscaled_integers(column: pa.Array) -> Array:
    """The integers that a column of decimals consists of, as Python's (an array of objects); 0 for NULL."""
    low, high = _words(column)
    signed = low.view(np.int64)
    if np.array_equal(high, signed >> 63):
        return signed.astype(object)
    return low.astype(object) + high.astype(object) * _TWO_TO_64


def _words(column: pa.Array) -> tuple[Array, Array]:
    """The lower and the upper half of each decimal; 0 for NULL."""
    words = np.frombuffer(column.buffers()[1], np.uint64)[2 * column.offset : 2 * (column.offset + len(column))]
    low, high = words[0::2], words[1::2].view(np.int64)
    if column.null_count:
        present = np.asarray(column.is_valid())
        low, high = np.where(present, low, 0), np.where(present, high, 0)
    return low, high


@dataclass(frozen=True)
class AggregateRows:
    """Rows in the order of their segments.

    `signs` are 1 for rows that are accumulated and -1 for those that are retracted (int8), None if all are accumulated;
    `mask` has the rows that count for this aggregate (FILTER), None if all do.
    """

    segments: Segments
    arguments: Sequence[ArgumentColumn] = ()
    signs: Array | None = None
    mask: Array | None = None

    def __len__(self) -> int:
        return self.segments.length

    @cached_property
    def counting(self) -> Array | None:
        """Which rows count and have all arguments; None if all do."""
        masks = [each.present for each in self.arguments if each.present is not None]
        if self.mask is not None:
            masks.append(self.mask)
        return np.logical_and.reduce(masks) if masks else None

    @cached_property
    def weights(self) -> Array | None:
        """1, -1, or 0 for rows that do not count, as int64; None if all are 1."""
        if self.counting is None:
            return None if self.signs is None else self.signs.astype(np.int64)
        if self.signs is None:
            return self.counting.astype(np.int64)
        return np.where(self.counting, self.signs, 0).astype(np.int64)

    def running_count(self, before: Array) -> Array:
        """The number of rows that count, up to each row of each segment."""
        segments = self.segments
        if self.weights is None:
            return before[segments.segment_of_row] + segments.index_in_segment + 1
        return segments.running_sum(before, self.weights)

    def total_count(self, before: Array) -> Array:
        """The number of rows that count in each segment."""
        if self.weights is None:
            return before + self.segments.lengths
        return before + np.add.reduceat(self.weights, self.segments.starts)
