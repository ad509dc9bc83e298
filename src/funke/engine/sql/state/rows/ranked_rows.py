"""The first rows of keys, which have numbers from 0 on: rows in columns, and where they stand in slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.kernels.rank_rows import (
    ADDS_ALL,
    APPEND,
    CHANGE_WIDTH,
    ENTERED,
    GONE,
    LEAST_ROOM,
    NEEDED_CHANGES,
    NEEDED_SLOTS,
    RETRACT,
    SENT,
    UPDATE,
    USED_SLOTS,
    rank_rows,
)
from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.state.rows.ordered_rows import OrderedRows
from funke.engine.sql.state.rows.row_bytes import row_hashes
from funke.engine.sql.state.rows.rows_by_key import RowsByKey

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.columns.arrays import Array

__all__ = ["APPEND", "RETRACT", "UPDATE", "RankChanges", "RankRules", "RankedRows"]

_FIRST_KEYS, _FIRST_SLOTS, _FIRST_CHANGES = 1 << 8, 1 << 10, 1 << 12
_SIZES = 48
_NO_NUMBERS: Array = np.empty(0, np.int64)


@dataclass(frozen=True)
class RankRules:
    """Which rows count, and how their changes are emitted."""

    schema: pa.Schema
    order: tuple[SortKey, ...]
    # APPEND, UPDATE or RETRACT.
    strategy: int
    first: int
    last: int
    sends_numbers: bool
    sends_before: bool
    # The columns by which rows replace each other (UPDATE).
    row_key: tuple[int, ...] = ()

    @property
    def identity(self) -> Sequence[int]:
        """The columns by which a row is found again; none if rows stay."""
        if self.strategy == APPEND:
            return ()
        return self.row_key or range(len(self.schema))


@dataclass(frozen=True)
class RankChanges:
    """Changes in their order: kinds, rows, the numbers of these, and the rows of the input that they come from."""

    kinds: Array
    data: pa.RecordBatch
    numbers: Any
    sources: Any


class RankedRows(RowsByKey[RankChanges]):
    """Rows of a key stand in a run of slots."""

    def __init__(self, rules: RankRules) -> None:
        self._rules = rules
        self._rows = OrderedRows(rules.schema, rules.order)
        self._identity = list(rules.identity)
        self._width = 1 + self._rows.word_count + bool(self._identity)
        self._numbers: Array = np.array(
            [
                rules.strategy,
                rules.first,
                rules.last,
                rules.sends_numbers,
                rules.sends_before,
                self._rows.word_count,
                bool(self._identity),
                self._rows.has_strings,
                False,
            ],
            np.int64,
        )
        self._changes: Array = np.empty(_FIRST_CHANGES * CHANGE_WIDTH, np.int64)
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
        self._counters: Array = np.zeros(6, np.int64)

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

    def take_in(self, data: pa.RecordBatch, keys: Array, takes_in: Array) -> Iterator[RankChanges]:
        """Takes rows in, or back; what changes, in parts."""
        count, begin = data.num_rows, 0
        words, offsets, content = self._rows.words_of(data)
        identities = row_hashes(data, self._identity) if self._identity else _NO_NUMBERS
        first_row, entered = self._rows.count, np.empty(count, np.int64)
        self._numbers[ADDS_ALL] = self._rows.adds_all(data)
        self._counters[ENTERED] = added = 0
        is_first = True
        while begin < count:
            self._counters[SENT] = self._counters[NEEDED_SLOTS] = self._counters[NEEDED_CHANGES] = 0
            begin = rank_rows.run(
                count - begin,
                takes_in,
                keys,
                words,
                identities,
                begin,
                count,
                first_row,
                self._numbers,
                self._heads,
                self._slots,
                len(self._slots) // self._width,
                self._free,
                self._counters,
                offsets,
                content,
                entered,
                self._changes,
                len(self._changes) // CHANGE_WIDTH,
            )
            done = int(self._counters[ENTERED])
            self._rows.add(data, entered[added:done], is_first)
            self._entered += done - added
            added, is_first = done, False
            if self._counters[SENT]:
                yield self._sent()
            self._reserve()

    def _sent(self) -> RankChanges:
        changes: Array = self._changes[: int(self._counters[SENT]) * CHANGE_WIDTH].reshape(-1, CHANGE_WIDTH)
        rows, numbers, sources = changes.T[1:].copy()
        return RankChanges(changes[:, 0].astype(np.int8), self._rows.take(rows), numbers, sources)

    def _reserve(self) -> None:
        """Makes the room that was missing."""
        if self._counters[NEEDED_SLOTS]:
            size = 2 * len(self._slots) + int(self._counters[NEEDED_SLOTS]) * self._width
            slots: Array = np.empty(size - size % self._width, np.int64)
            slots[: len(self._slots)] = self._slots
            self._slots = slots
        if int(self._counters[NEEDED_CHANGES]) * CHANGE_WIDTH > len(self._changes):
            self._changes = np.empty(2 * int(self._counters[NEEDED_CHANGES]) * CHANGE_WIDTH, np.int64)

    def pack(self) -> None:
        keys = self.live_keys()
        slots = _indexes(self._heads[3 * keys], self.lengths(keys)) * self._width
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
        indexes = _indexes(starts, lengths)
        slots[indexes, 0] = np.arange(data.num_rows)
        slots[indexes, 1 : 1 + self._rows.word_count] = self._rows.put(data)
        if self._identity:
            slots[indexes, -1] = row_hashes(data, self._identity)
        self._entered = data.num_rows

    def rows_of(self, keys: Array) -> tuple[Array, Array]:
        """The numbers of the rows of some keys, one key after the other, each in its order; how many each has."""
        lengths = self.lengths(keys)
        return self._slots[_indexes(self._heads[3 * keys], lengths) * self._width], lengths

    def live_keys(self) -> Array:
        """The keys that have rows."""
        return np.flatnonzero(self._heads[1::3])

    def take(self, rows: Array) -> pa.RecordBatch:
        """Rows by their numbers."""
        return self._rows.take(rows)


def _indexes(starts: Array, lengths: Array) -> Array:
    """The indexes of runs, one after the other."""
    total = int(lengths.sum())
    before = np.cumsum(lengths) - lengths
    return np.arange(total) + np.repeat(starts - before, lengths)
