"""Rows of keys, which have numbers from 0 on: rows in columns, and where they stand in slots by an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from funke.engine.kernels.rank_rows import GONE, LEAST_ROOM, NEEDED_SLOTS, USED_SLOTS
from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.state.rows.ordered_rows import OrderedRows
from funke.engine.sql.state.rows.row_bytes import row_hashes
from funke.engine.sql.state.rows.rows_by_key import RowsByKey

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.columns.arrays import Array

__all__ = ["SortedRuns", "indexes_of_runs"]

_FIRST_KEYS, _FIRST_SLOTS = 1 << 8, 1 << 10
_SIZES = 48
_NO_NUMBERS: Array = np.empty(0, np.int64)

Changes = TypeVar("Changes")


class SortedRuns(RowsByKey[Changes]):
    """Rows of a key stand in a run of slots. Subclasses run the loop that lets rows in and out."""

    # How many counters the loop has.
    counter_count: int

    def __init__(self, schema: pa.Schema, order: Sequence[SortKey], identity: Sequence[int]) -> None:
        self._rows = OrderedRows(schema, order)
        # The columns by which a row is found again; none if rows stay.
        self._identity = list(identity)
        self._width = 1 + self._rows.word_count + bool(self._identity)
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self._rows.clear()
        # How many rows have come in.
        self._entered = 0
        # For each key its first slot, its rows, its room.
        self._heads: Array = np.zeros(3 * _FIRST_KEYS, np.int64)
        self._slots: Array = np.empty(_FIRST_SLOTS * self._width, np.int64)
        self._free: Array = np.full(_SIZES, -1, np.int64)
        self._counters: Array = np.zeros(self.counter_count, np.int64)

    @property
    def gone(self) -> int:
        """How many rows take room that no key has."""
        return self._rows.count - self._entered + int(self._counters[GONE])

    @property
    def count(self) -> int:
        """How many rows take room."""
        return self._rows.count

    def lengths(self, keys: Array) -> Array:
        """How many rows some keys have."""
        self.reserve_keys(int(keys.max(initial=-1)) + 1)
        return self._heads[3 * keys + 1]

    def forget(self, keys: Array) -> None:
        """Some keys, each of which occurs once, have no rows any more."""
        self._counters[GONE] += self.lengths(keys).sum()
        self._heads[3 * keys + 1] = 0

    def reserve_keys(self, count: int) -> None:
        """There may be so many keys."""
        if 3 * count > len(self._heads):
            heads: Array = np.zeros(3 * (count + count // 2), np.int64)
            heads[: len(self._heads)] = self._heads
            self._heads = heads

    def _identities(self, data: pa.RecordBatch) -> Array:
        return row_hashes(data, self._identity) if self._identity else _NO_NUMBERS

    def _add(self, data: pa.RecordBatch, entered: Array, is_first: bool) -> None:
        """Adds the rows of a batch that have entered; `is_first` if none of the batch has done so before."""
        self._rows.add(data, entered, is_first)
        self._entered += len(entered)

    def _reserve_slots(self) -> None:
        """Makes the room that was missing."""
        if self._counters[NEEDED_SLOTS]:
            size = 2 * len(self._slots) + int(self._counters[NEEDED_SLOTS]) * self._width
            slots: Array = np.empty(size - size % self._width, np.int64)
            slots[: len(self._slots)] = self._slots
            self._slots = slots

    def pack(self) -> None:
        keys = self.live_keys()
        slots = indexes_of_runs(self._heads[3 * keys], self.lengths(keys)) * self._width
        self._rows.keep(self._slots[slots])
        self._slots[slots] = np.arange(len(slots))
        self._entered, self._counters[GONE] = len(slots), 0

    def put(self, data: pa.RecordBatch, keys: Array, lengths: Array) -> None:
        """Rows of keys, one key after the other, each in its order; before, there was nothing."""
        self.reserve_keys(int(keys.max(initial=-1)) + 1)
        rooms: Array = np.full(len(keys), LEAST_ROOM, np.int64)
        while (rooms < lengths).any():
            rooms[rooms < lengths] *= 2
        starts = np.cumsum(rooms) - rooms
        self._heads[3 * keys], self._heads[3 * keys + 1], self._heads[3 * keys + 2] = starts, lengths, rooms
        used = int(rooms.sum())
        if used * self._width > len(self._slots):
            self._slots = np.empty((used + used // 2) * self._width, np.int64)
        self._counters[USED_SLOTS] = used
        slots = self._slots[: used * self._width].reshape(-1, self._width)
        indexes = indexes_of_runs(starts, lengths)
        slots[indexes, 0] = np.arange(data.num_rows)
        slots[indexes, 1 : 1 + self._rows.word_count] = self._rows.put(data)
        if self._identity:
            slots[indexes, -1] = row_hashes(data, self._identity)
        self._entered = data.num_rows

    def rows_of(self, keys: Array) -> tuple[Array, Array]:
        """The numbers of the rows of some keys, one key after the other, each in its order; how many each has."""
        lengths = self.lengths(keys)
        return self._slots[indexes_of_runs(self._heads[3 * keys], lengths) * self._width], lengths

    def live_keys(self) -> Array:
        """The keys that have rows."""
        return np.flatnonzero(self._heads[1::3])

    def take(self, rows: Array) -> pa.RecordBatch:
        """Rows by their numbers."""
        return self._rows.take(rows)


def indexes_of_runs(starts: Array, lengths: Array) -> Array:
    """The indexes of runs, one after the other."""
    total = int(lengths.sum())
    before = np.cumsum(lengths) - lengths
    return np.arange(total) + np.repeat(starts - before, lengths)
