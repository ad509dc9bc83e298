"""All rows of keys by an order, and the steps of a batch: which row comes or goes where, among which others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from funke.engine.kernels.step_rows import (
    COUNTERS,
    ENTERED,
    KNOWN,
    NEEDED_KNOWN,
    NEEDED_SLOTS,
    PARTITION_WIDTH,
    PARTITIONS,
    SENT,
    SIZE,
    STEP_WIDTH,
    copy_images,
    step_rows,
)
from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.state.rows.sorted_runs import SortedRuns, indexes_of_runs

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.columns.arrays import Array

__all__ = ["Images", "SteppedRows", "Steps"]

_FIRST_KNOWN = 1 << 12


@dataclass(frozen=True)
class Images:
    """Partitions before all steps, and behind them those after each step: row numbers, one image after the other.

    Rows that are the same in all images of a partition are left out of them as far as results do not need them.
    """

    rows: Array
    starts: Array
    lengths: Array
    # The partition of each image, and the image before each step.
    owners: Array
    before: Array
    # What is left out in front of the images of each partition: where it stands among the rows, and how many these are.
    prefix_starts: Array
    prefix_lengths: Array

    @cached_property
    def prefix_rows(self) -> Array:
        """The rows in front of images, one partition after the other; only if there are results of them."""
        return indexes_of_runs(self.prefix_starts, self.prefix_lengths)


class Steps:
    """Steps of some partitions, in their order; rows have numbers among those at hand."""

    def __init__(self, data: pa.RecordBatch, partitions: Array, steps: Array, known_count: int) -> None:
        # All rows of the partitions: those before, then those that come.
        self.data = data
        self._partitions, self._steps, self._known_count = partitions, steps, known_count
        lines = steps.reshape(-1, STEP_WIDTH)
        # The first row whose result may change, how many there are from it on, where the row is that comes or goes.
        columns = lines.T.copy()
        self.partitions, self.firsts, self.lengths, self.positions, fresh, self.sources, self._row_counts = columns
        self.is_in = fresh >= 0

    @cached_property
    def images(self) -> Images:
        """The partitions before the steps and after each."""
        partitions = self._partitions.reshape(-1, PARTITION_WIDTH)
        count, steps = len(partitions), len(self.firsts)
        _, begins, counts, prefix_lengths, suffix_lengths, _, _ = partitions.T
        left_out = prefix_lengths + suffix_lengths
        size = int((counts - left_out).sum() + (self._row_counts - left_out[self.partitions]).sum())
        rows, before, latest, starts, lengths = map(_empty, (size, steps, count, count + steps, count + steps))
        copy_images.run(
            size, self._partitions, count, self._steps, steps, self._known_count, latest, before, starts, lengths, rows
        )
        owners = np.concatenate([np.arange(count), self.partitions])
        return Images(rows, starts, lengths, owners, before, begins, prefix_lengths)


class SteppedRows(SortedRuns[Steps]):
    """Every row stays until it is taken back."""

    counter_count = COUNTERS

    def __init__(
        self,
        schema: pa.Schema,
        order: tuple[SortKey, ...],
        *,
        is_rows: bool,
        has_prefixes: bool,
        preceding: int | None,
        most_size: int,
    ) -> None:
        """`is_rows`: rows that are equal by the order have results of their own; `most_size`: rows of images."""
        super().__init__(schema, order, range(len(schema)))
        self._rules = (int(is_rows), int(has_prefixes), -1 if preceding is None else preceding, most_size)
        self._has_frames = preceding is not None
        self._earlier_rows = _empty(_FIRST_KNOWN)

    def clear(self) -> None:
        super().clear()
        # The partitions of keys in a chunk of steps: -1 behind it.
        self._partition_of: Array = np.full(len(self._heads) // 3, -1, np.int64)

    def reserve_keys(self, count: int) -> None:
        super().reserve_keys(count)
        more = len(self._heads) // 3 - len(self._partition_of)
        if more:
            self._partition_of = np.concatenate([self._partition_of, np.full(more, -1, np.int64)])

    def take_in(self, data: pa.RecordBatch, keys: Array, takes_in: Array) -> Iterator[Steps]:
        """Takes rows in, or back; the steps, some of them at a time."""
        count, begin = data.num_rows, 0
        words, offsets, content = self._rows.words_of(data)
        identities = self._identities(data)
        first_row, counters = self._rows.count, self._counters
        entered, steps, partitions = map(_empty, (count, count * STEP_WIDTH, count * PARTITION_WIDTH))
        counters[ENTERED] = added = 0
        is_first = True
        while begin < count:
            counters[[SENT, NEEDED_SLOTS, PARTITIONS, KNOWN, NEEDED_KNOWN, SIZE]] = 0
            # It also stops when images get large: a row that comes in front of a partition of a million moves all of
            # them.
            begin = step_rows.run(
                count - begin,
                takes_in,
                keys,
                words,
                identities,
                begin,
                count,
                first_row,
                self._rows.word_count,
                int(self._rows.has_strings),
                int(self._rows.adds_all(data)),
                *self._rules,
                self._heads,
                self._slots,
                len(self._slots) // self._width,
                self._free,
                counters,
                offsets,
                content,
                self._partition_of,
                partitions,
                self._earlier_rows,
                len(self._earlier_rows),
                entered,
                steps,
            )
            done = int(counters[ENTERED])
            self._add(data, entered[added:done], is_first)
            added, is_first = done, False
            chunk = partitions[: int(counters[PARTITIONS]) * PARTITION_WIDTH].copy()
            self._partition_of[chunk[::PARTITION_WIDTH]] = -1
            if counters[SENT]:
                yield self._sent(chunk, steps[: int(counters[SENT]) * STEP_WIDTH].copy())
            self._reserve()

    def _sent(self, partitions: Array, steps: Array) -> Steps:
        earlier_rows = self._earlier_rows[: int(self._counters[KNOWN])]
        if self._has_frames:
            earlier_rows = _in_images(partitions.reshape(-1, PARTITION_WIDTH), earlier_rows)
        rows = steps[4::STEP_WIDTH]
        return Steps(self.take(np.concatenate([earlier_rows, rows[rows >= 0]])), partitions, steps, len(earlier_rows))

    def _reserve(self) -> None:
        self._reserve_slots()
        missing = int(self._counters[NEEDED_KNOWN])
        if missing:
            self._earlier_rows = _empty(2 * (len(self._earlier_rows) + missing))


def _in_images(partitions: Array, earlier_rows: Array) -> Array:
    """The rows of partitions without those that all of their images leave out."""
    fronts = partitions[:, 3]
    lengths = partitions[:, 2] - fronts - partitions[:, 4]
    rows = earlier_rows[indexes_of_runs(partitions[:, 1] + fronts, lengths)]
    # Where the first row of each partition would stand.
    partitions[:, 1] = np.cumsum(lengths) - lengths - fronts
    return rows


def _empty(size: int) -> Array:
    return np.empty(size, np.int64)
