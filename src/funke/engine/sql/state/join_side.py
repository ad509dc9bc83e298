"""The rows that one input of a join has: columns that grow, linked by the numbers of their keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.kernels.join_rows import (
    BY_HASH,
    KEEP_ALL,
    ONE_PER_KEY,
    add_slots,
    fill_matches,
    link_first,
    link_rows,
    match_rows,
    unlink_rows,
)
from funke.engine.sql.state.rows.growing_columns import GrowingColumns
from funke.engine.sql.state.rows.row_copies import BatchColumns
from funke.engine.sql.state.rows.row_hashes import RowHashes

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["JoinSide", "SideSpec"]

_FIRST_ROWS = 1 << 10
# From so many on there is little room for more: it takes memory too.
_MANY = 1 << 16
_NOTHING: Array = np.empty(0, np.int64)


@dataclass(frozen=True)
class SideSpec:
    """The properties of the rows of an input."""

    schema: pa.Schema
    keys: tuple[int, ...]
    # The columns that tell rows apart, also from those with another key; None: only whole rows do.
    unique_key: tuple[int, ...] | None
    # Whether rows may be taken back.
    has_retractions: bool
    ttl_ms: int = 0
    # The numbers of the keys where NULL is equal to NULL.
    equal_nulls: tuple[int, ...] = ()
    # Whether each row has a time of its own, by which its operator forgets it.
    is_timed: bool = False

    @property
    def has_times(self) -> bool:
        """True if rows have times: their own, or those at which they were written."""
        return self.is_timed or bool(self.ttl_ms)

    @property
    def way(self) -> int:
        """The way in which a row that is taken back or replaced is found."""
        # Flink's three kinds of state. A unique key within the join key: one row, which an update replaces. Otherwise a
        # row is found by a hash of its key, or of all its columns. If rows only come, none is looked for and no hash is
        # kept.
        if self.unique_key is not None and {*self.unique_key} <= {*self.keys}:
            return ONE_PER_KEY
        return BY_HASH if self.has_retractions or self.unique_key is not None else KEEP_ALL

    @property
    def identity(self) -> Sequence[int]:
        """The columns by which a row is found again."""
        # With the join key: the same unique key under another join key is another row, which a retraction has to find.
        return range(len(self.schema)) if self.unique_key is None else sorted({*self.unique_key, *self.keys})


class JoinSide:
    """Rows have numbers in the order in which they came; those that are gone leave theirs until all are packed."""

    def __init__(self, spec: SideSpec, counts_matches: bool = True) -> None:
        self._spec, self._counts_matches = spec, counts_matches
        self._clear()

    def _clear(self) -> None:
        self._rows = GrowingColumns(self._spec.schema)
        # By the number of a key: the first row, and how many there are.
        self._head, self._length = (_filled(_FIRST_ROWS, each) for each in (-1, 0))
        # By the number of a row.
        self._following, self._previous, self._row_keys = (_filled(_FIRST_ROWS, -1) for _ in range(3))
        # How many matches each row has, if rows know it.
        self.matches: Array = _filled(_FIRST_ROWS if self._counts_matches else 1, -1)
        self._hashes: Any = np.zeros(_FIRST_ROWS if self._spec.way == BY_HASH else 0, np.int64)
        self._times: Any = np.zeros(_FIRST_ROWS if self._spec.has_times else 0, np.int64)
        self._slots: Array = _filled(2 * _FIRST_ROWS if self._spec.way == BY_HASH else 1, -1)
        self._row_hashes = RowHashes(self._spec.identity)
        # What `pairs` gives.
        self._pairs: tuple[Array, Array] = np.empty(_FIRST_ROWS, np.int64), np.empty(_FIRST_ROWS, np.int64)
        # Rows that are gone, slots that are taken.
        self._counters: Array = np.zeros(2, np.int64)

    def __len__(self) -> int:
        """The number of rows."""
        return self._rows.count - self.gone

    @property
    def gone(self) -> int:
        """The number of rows that are gone and still take room."""
        return int(self._counters[0])

    def counts(self, numbers: Array) -> Array:
        """The number of rows with each of these keys."""
        self._reserve_keys(int(numbers.max(initial=-1)) + 1)
        return np.where(numbers >= 0, self._length[numbers], 0).astype(np.int64)

    def pairs(self, numbers: Array, most: int) -> tuple[Array, Array | None, Array]:
        """The number of rows with each of these keys; those rows, and beside each the index of its key.

        They are None if there are more than `most`, and good until the next call.
        """
        self._reserve_keys(int(numbers.max(initial=-1)) + 1)
        count = len(numbers)
        counts: Array = np.empty(count, np.int64)
        while True:
            rows, indexes = self._pairs
            arrays = self._head, self._length, self._following
            total = match_rows.run(count, numbers, count, *arrays, len(rows), counts, rows, indexes)
            if total <= len(rows):
                return counts, rows[:total], indexes[:total]
            if total > most:
                return counts, None, indexes
            self._pairs = np.empty(total, np.int64), np.empty(total, np.int64)

    def matching(self, numbers: Array, total: int) -> Array:
        """The rows with each of these keys, `total` in all, in the order of the keys, then as they came."""
        rows: Array = np.empty(total, np.int64)
        fill_matches.run(max(total, len(numbers)), numbers, len(numbers), self._head, self._following, rows)
        return rows

    def is_live(self, rows: Array, now_ms: int) -> Array | None:
        """True for rows that have not expired; None if rows do not expire."""
        return None if not self._spec.ttl_ms else self._times[rows] > now_ms - self._spec.ttl_ms

    def touch(self, rows: Array, now_ms: int) -> None:
        """Rows are written again, and so live longer."""
        if self._spec.has_times:
            self._times[rows] = now_ms

    def take(self, rows: Array, indexes: Sequence[int] | None = None) -> list[pa.Array]:
        """Columns of rows; a number below 0 is a row of NULLs."""
        return self._rows.take(rows, indexes)

    def words(self) -> Array | None:
        """The addresses of the columns for loops; None if loops cannot read them."""
        return self._rows.words() if self._rows.count else None

    def add(self, data: pa.RecordBatch, numbers: Array, takes_in: Array, matches: Array, now_ms: int | Array) -> None:
        """Takes rows in, with the number of matches that each has, or back; their time is one for all, or one each."""
        batch = BatchColumns(self._spec.schema)
        batch.hold(data)
        self.add_batch(batch, numbers, takes_in, matches, now_ms)

    def add_batch(
        self, batch: BatchColumns, numbers: Array, takes_in: Array, matches: Array, now_ms: int | Array
    ) -> None:
        """As `add`, for columns whose addresses may have been read already."""
        data = batch.data
        (chosen,) = np.nonzero((numbers >= 0) & (takes_in != 0))
        added = len(chosen)
        first, last = self._rows.count, self._rows.count + added
        self._reserve_keys(int(numbers.max(initial=-1)) + 1)
        self._reserve_rows(last)
        hashes = _NOTHING
        if self._spec.way == BY_HASH:
            hashes = self._hashes_of(batch)
            self._reserve_slots(added)
        if added:
            self._rows.add_rows(batch, chosen)
        link_rows.run(
            data.num_rows,
            takes_in,
            numbers,
            hashes,
            matches,
            data.num_rows,
            first,
            self._spec.way,
            int(self._spec.unique_key is not None),
            int(self._counts_matches),
            self._head,
            self._length,
            self._following,
            self._previous,
            self._row_keys,
            self.matches,
            self._hashes,
            self._slots,
            len(self._slots) - 1,
            self._counters,
        )
        if self._spec.has_times:
            self._times[first:last] = now_ms

    def _hashes_of(self, batch: BatchColumns) -> Array:
        if self._row_hashes.becomes_compiled(batch):
            # Those of the rows that are there were made in another form.
            count, words = self._rows.count, self.words()
            if words is not None:
                self._hashes[:count] = self._row_hashes.of_table(words, count)
                self._fill_slots(len(self._slots))
        return self._row_hashes.of(batch)

    def expire(self, now_ms: int) -> None:
        """Forgets rows that have not been written for too long."""
        if not self._spec.ttl_ms or not self._rows.count:
            return
        count = self._rows.count
        is_old = self._times[:count] <= now_ms - self._spec.ttl_ms
        self.remove(np.flatnonzero(is_old & (self._row_keys[:count] >= 0)))

    def remove(self, rows: Array) -> None:
        """Forgets rows that are there."""
        if len(rows):
            arrays = self._head, self._length, self._following, self._previous, self._row_keys
            unlink_rows.run(len(rows), rows, len(rows), *arrays)
            self._counters[0] += len(rows)

    def keys_of(self, rows: Array) -> Array:
        """The numbers of the keys of rows that are there."""
        return self._row_keys[rows].astype(np.int64)

    def live_rows(self) -> tuple[pa.RecordBatch, Array, Array | None]:
        """All rows that are there, in their order, with their matches and the times at which they were written."""
        return self.rows(np.flatnonzero(self._row_keys[: self._rows.count] >= 0))

    def rows(self, rows: Array) -> tuple[pa.RecordBatch, Array, Array | None]:
        """Some rows, with their matches and the times at which they were written."""
        data = self._rows.take_batch(rows)
        matches = self.matches[rows] if self._counts_matches else np.zeros(len(rows), np.int64)
        return data, matches.astype(np.int64), self._times[rows] if self._spec.has_times else None

    @property
    def memory_bytes(self) -> int:
        """About how much memory all rows take."""
        by_key = (self._head, self._length)
        by_row = (self._following, self._previous, self._row_keys, self.matches, self._hashes, self._times)
        return self._rows.memory_bytes + sum(int(each.nbytes) for each in (*by_key, *by_row, self._slots))

    def put(self, data: pa.RecordBatch, numbers: Array, matches: Array, times: Array | None) -> None:
        """Takes in rows that `live_rows` gave."""
        first = self._rows.count
        self.add(data, numbers, np.ones(data.num_rows, np.uint8), matches, 0)
        if times is not None and self._spec.has_times:
            self._times[first : self._rows.count] = times

    def put_first(self, data: pa.RecordBatch, numbers: Array, matches: Array, times: Array) -> None:
        """Takes in rows in front of those that their keys have already."""
        first, last = self._rows.count, self._rows.count + data.num_rows
        self._reserve_keys(int(numbers.max(initial=-1)) + 1)
        self._reserve_rows(last)
        if self._spec.way == BY_HASH:
            self._reserve_slots(data.num_rows)
            batch = BatchColumns(self._spec.schema)
            batch.hold(data)
            self._hashes[first:last] = self._hashes_of(batch)
        self._rows.add(data)
        if self._counts_matches:
            self.matches[first:last] = matches
        if self._spec.has_times:
            self._times[first:last] = times
        arrays = self._head, self._length, self._following, self._previous, self._row_keys
        link_first.run(data.num_rows, numbers, data.num_rows, first, *arrays)
        if self._spec.way == BY_HASH:
            slots = self._hashes, self._row_keys, first, last, self._slots, len(self._slots) - 1
            self._counters[1] += add_slots.run(data.num_rows, *slots)

    def clear(self) -> None:
        """Forgets everything."""
        self._clear()

    def _reserve_keys(self, count: int) -> None:
        if count > len(self._head):
            size = count + (count // 2 if count < _MANY else count // 16)
            self._head, self._length = (
                _longer(each, size, value) for each, value in ((self._head, -1), (self._length, 0))
            )

    def _reserve_rows(self, count: int) -> None:
        if count <= len(self._following):
            return
        size = count + (count // 4 if count < _MANY else count // 16)
        self._following, self._previous, self._row_keys = (
            _longer(each, size, -1) for each in (self._following, self._previous, self._row_keys)
        )
        if self._counts_matches:
            self.matches = _longer(self.matches, size, -1)
        if len(self._hashes):
            self._hashes = _longer(self._hashes, size, 0)
        if len(self._times):
            self._times = _longer(self._times, size, 0)

    def _reserve_slots(self, added: int) -> None:
        # At most two of three slots are taken.
        if (self._counters[1] + added) * 3 <= len(self._slots) * 2:
            return
        size = len(self._slots)
        while (len(self) + added) * 2 > size:
            size *= 2
        self._fill_slots(size)

    def _fill_slots(self, size: int) -> None:
        self._slots = _filled(size, -1)
        count = self._rows.count
        self._counters[1] = add_slots.run(count, self._hashes, self._row_keys, 0, count, self._slots, size - 1)


def _filled(size: int, value: int) -> Array:
    # 32 bits are enough for the rows of a slot, and take half of the memory.
    return np.full(size, value, np.int32)


def _longer(array: Array, size: int, value: int) -> Array:
    """The array with room for more, in place; it has no other owner."""
    length = len(array)
    array.resize(size, refcheck=False)
    if value:
        array[length:] = value
    return array
