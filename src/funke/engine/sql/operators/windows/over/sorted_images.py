"""Partitions as they are after each of some changes, side by side, and OVER functions of their rows.

What stands in front of all changes of a partition is the same in all of its images, and so is left out of them; of
frames with a lower bound also what stands behind.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.sql.binding.relations import BoundAggregate
from funke.engine.sql.functions.aggregates.kernel import Fields
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.operators.windows.over.framed_rows import framed_rows
from funke.engine.sql.operators.windows.over.frames import last_peers
from funke.engine.sql.operators.windows.slices.gathered_rows import group_kernel
from funke.engine.sql.state.rows.stepped_rows import Images

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["ImageFunction", "SortedImages", "image_function"]

# As in Flink these are made of a count and of sums: one more value is a change also if the result stays the same.
_COUNTING = ("avg", "stddev_pop", "stddev_samp", "var_pop", "var_samp")


class SortedImages:
    """The rows of images, in order. `values` has the same number for rows that are equal by the order; None if each row
    stands for itself.
    """

    def __init__(self, data: pa.RecordBatch, values: Array | None, images: Images) -> None:
        self.data = data
        # Those with results, of functions that compute each result anew.
        self.asked_rows: Array = np.empty(0, np.int64)
        self._values = values
        self.rows, self.prefix_lengths, self._images = images.rows, images.prefix_lengths, images
        is_there = images.lengths > 0
        self.segments = Segments(images.starts[is_there], len(self.rows))
        # Whose they are.
        self.owners = images.owners[is_there]

    def ask(self, *rows: Array) -> list[Array]:
        """These rows have results, and no others; returns their positions among all that have."""
        is_asked: Array = np.zeros(self.segments.length, np.bool_)
        for each in rows:
            is_asked[each] = True
        self.asked_rows, positions = np.flatnonzero(is_asked), np.cumsum(is_asked) - 1
        return [positions[each] for each in rows]

    @property
    def prefix_rows(self) -> Array:
        """The rows that are left out, one partition after the other."""
        return self._images.prefix_rows

    @cached_property
    def sources(self) -> Array:
        """For each row of the images the one whose result it has: the last one that is equal."""
        segments = self.segments
        if self._values is None:
            return np.arange(segments.length)
        return last_peers(segments.segment_of_row, self._values[self.rows])

    @cached_property
    def is_first_peer(self) -> Array:
        """True for the first of the rows of an image that are equal by the order."""
        is_first: Array = np.ones(self.segments.length, np.bool_)
        if self._values is not None:
            values = self._values[self.rows]
            is_first[1:] = values[1:] != values[:-1]
            is_first[self.segments.starts] = True
        return is_first

    def prefix_peers(self) -> Array:
        """The number of different values in front of the images of each partition."""
        assert self._values is not None
        values, ends = self._values[self.prefix_rows], np.cumsum(self.prefix_lengths)
        starts = ends - self.prefix_lengths
        is_first: Array = np.ones(len(values), np.bool_)
        is_first[1:] = values[1:] != values[:-1]
        is_first[starts[self.prefix_lengths > 0]] = True
        counts = np.concatenate([[0], np.cumsum(is_first)])
        return counts[ends] - counts[starts]


class ImageFunction:
    """One function of the rows of images."""

    # Whether it can go on from rows that all images of a partition have in front.
    has_prefixes = True

    def results(self, images: SortedImages) -> list[pa.Array]:
        """The result of each row, and what else makes a change of it."""
        raise NotImplementedError


def image_function(aggregate: BoundAggregate, preceding: int | None) -> ImageFunction:
    """The function of a call over all rows before each row, or over so many of them."""
    if preceding is not None:
        return _Framed(aggregate, preceding)
    return _RANKS.get(aggregate.call.function.name, _Running)(aggregate)


class _Running(ImageFunction):
    """An aggregate of all rows up to each row."""

    def __init__(self, aggregate: BoundAggregate) -> None:
        self._aggregate = aggregate
        self._kernel = group_kernel(aggregate.call)
        # Objects are changed in place: the images would share them.
        self.has_prefixes = object not in self._kernel.dtypes
        call = aggregate.call
        is_sum = call.function.name == "sum" and call.types[0]._nullable
        self._is_counting = is_sum or call.function.name in _COUNTING

    def results(self, images: SortedImages) -> list[pa.Array]:
        rows = framed_rows(self._aggregate, images.data, images.segments, images.rows)
        _, results = self._kernel.running(self._before(images), rows)
        if not self._is_counting:
            return [results]
        return [results, pa.array(rows.running_count(np.zeros(len(images.segments), np.int64)))]

    def _before(self, images: SortedImages) -> Fields:
        kernel, lengths = self._kernel, images.prefix_lengths
        if not lengths.any():
            return kernel.create(len(images.segments))
        fields, is_there = kernel.create(len(lengths)), lengths > 0
        starts = (np.cumsum(lengths) - lengths)[is_there]
        segments = Segments(starts, len(images.prefix_rows))
        rows = framed_rows(self._aggregate, images.data, segments, images.prefix_rows)
        for one, value in zip(fields, kernel.accumulate(kernel.create(len(starts)), rows)):
            one[is_there] = value
        return tuple(field[images.owners] for field in fields)


class _Framed(ImageFunction):
    """An aggregate of each row and some rows before it, computed anew for each: nothing is rounded twice."""

    has_prefixes = False

    def __init__(self, aggregate: BoundAggregate, preceding: int) -> None:
        self._aggregate, self._preceding = aggregate, preceding
        self._kernel = group_kernel(aggregate.call)

    def results(self, images: SortedImages) -> list[pa.Array]:
        segments, rows = images.segments, images.asked_rows
        first = np.maximum(rows - self._preceding, segments.starts[segments.segment_of_row[rows]])
        lengths = rows - first + 1
        starts = np.cumsum(lengths) - lengths
        indexes = np.arange(int(lengths.sum())) + np.repeat(first - starts, lengths)
        framed = framed_rows(self._aggregate, images.data, Segments(starts, len(indexes)), images.rows[indexes])
        kernel = self._kernel
        return [kernel.values(kernel.accumulate(kernel.create(len(rows)), framed))]


class _Rank(ImageFunction):
    """One more than the rows before the first one that is equal."""

    def __init__(self, aggregate: BoundAggregate) -> None:
        pass

    def results(self, images: SortedImages) -> list[pa.Array]:
        segments = images.segments
        indexes = np.arange(segments.length)
        first = np.maximum.accumulate(np.where(images.is_first_peer, indexes, 0))
        before = images.prefix_lengths[images.owners] - segments.starts
        return [pa.array(first + before[segments.segment_of_row] + 1)]


class _DenseRank(_Rank):
    """The number of the value."""

    def results(self, images: SortedImages) -> list[pa.Array]:
        segments = images.segments
        counts = np.cumsum(images.is_first_peer)
        before = images.prefix_peers()[images.owners] - counts[segments.starts]
        return [pa.array(counts + before[segments.segment_of_row] + 1)]


_RANKS: dict[str, type[_Running | _Rank]] = {"rank": _Rank, "dense_rank": _DenseRank}
