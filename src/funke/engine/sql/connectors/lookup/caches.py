"""Lookups without a cache, with recently used keys, or with the whole table."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.sql.connectors.lookup.lookup import FoundRows, KeyedTable, Lookup, numbers_of, rows_by_number
from funke.engine.sql.connectors.lookup.reload_times import ReloadTimes
from funke.engine.sql.state.key_numbers import KeyNumbers

if TYPE_CHECKING:
    from funke.engine.operators.time.clock import Clock
    from funke.engine.types.columns.arrays import Array

__all__ = ["FullCache", "NoCache", "PartialCache", "PartialCacheSettings"]

# The values of the key columns, as Arrow gives them to Python.
Key = tuple[Hashable, ...]

# Rows of keys that have gone stay as long as there are fewer of them than others, and than this.
_FEW_ROWS = 4096


class _TableLookup(Lookup):
    def __init__(self, table: KeyedTable, keys: Sequence[int]) -> None:
        self._table = table
        self._keys = keys

    def release(self) -> None:
        self._table.close()

    def close(self) -> None:
        self._table.close()


class NoCache(_TableLookup):
    """Asks for every key."""

    def find(self, keys: pa.RecordBatch) -> FoundRows:
        rows = self._table.fetch(keys)
        return FoundRows(rows, *rows_by_number(numbers_of(keys, rows, self._keys), keys.num_rows))


@dataclass(frozen=True)
class PartialCacheSettings:
    """The bounds of a partial cache: number and age of keys, and whether keys without rows are kept."""

    max_rows: int | None = None
    expire_after_write_ms: int | None = None
    expire_after_access_ms: int | None = None
    caches_missing: bool = True


@dataclass
class _Entry:
    indexes: Any
    written_ms: int
    used_ms: int


class PartialCache(_TableLookup):
    """Keeps the rows of keys that were asked for; the least recently used key goes first."""

    def __init__(self, table: KeyedTable, keys: Sequence[int], settings: PartialCacheSettings, clock: Clock) -> None:
        super().__init__(table, keys)
        self._settings = settings
        self._now_ms = clock.now_ms
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        # The rows of all entries, and of some that have gone.
        self._rows: Any = None
        self._live = 0
        # Held while entries are looked at, not while the table is asked.
        self._lock = threading.Lock()

    def find(self, keys: pa.RecordBatch) -> FoundRows:
        asked: list[Key] = list(zip(*(each.to_pylist() for each in keys.columns)))
        now_ms = self._now_ms()
        with self._lock:
            cached = {key: indexes for key in asked if (indexes := self._cached(key, now_ms)) is not None}
            held = self._rows
        missing = [number for number, key in enumerate(asked) if key not in cached]
        if not missing:
            return _rows_of_keys(held, [cached[key] for key in asked])
        missing_keys = keys.take(pa.array(missing, pa.int64()))
        rows = self._table.fetch(missing_keys)
        by_number = _indexes(numbers_of(missing_keys, rows, self._keys), len(missing))
        with self._lock:
            self._keep([asked[number] for number in missing], by_number, rows, now_ms)
        # Cached and new rows are in one batch for this answer alone.
        first = 0 if held is None else held.num_rows
        for number, indexes in zip(missing, by_number):
            cached[asked[number]] = indexes + first
        return _rows_of_keys(rows if held is None else pa.concat_batches([held, rows]), [cached[key] for key in asked])

    def _cached(self, key: Key, now_ms: int) -> Any:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._is_expired(entry, now_ms):
            self._forget(key)
            return None
        entry.used_ms = now_ms
        self._entries.move_to_end(key)
        return entry.indexes

    def _is_expired(self, entry: _Entry, now_ms: int) -> bool:
        written, used = self._settings.expire_after_write_ms, self._settings.expire_after_access_ms
        return (written is not None and now_ms >= entry.written_ms + written) or (
            used is not None and now_ms >= entry.used_ms + used
        )

    def _keep(self, keys: Sequence[Key], by_number: Sequence[Any], rows: pa.RecordBatch, now_ms: int) -> None:
        first = 0 if self._rows is None else self._rows.num_rows
        self._rows = rows if self._rows is None else pa.concat_batches([self._rows, rows])
        for key, indexes in zip(keys, by_number):
            if key in self._entries:
                self._forget(key)  # another thread has asked for it meanwhile
            if len(indexes) or self._settings.caches_missing:
                self._entries[key] = _Entry(indexes + first, now_ms, now_ms)
                self._live += len(indexes)
        self._shrink()

    def _forget(self, key: Key) -> None:
        self._live -= len(self._entries.pop(key).indexes)

    def _shrink(self) -> None:
        most = self._settings.max_rows
        while most is not None and len(self._entries) > most:
            self._forget(next(iter(self._entries)))
        # By now more than half of the rows are dead: to copy the others costs less than it cost to add these.
        if len(self._rows) > max(_FEW_ROWS, 2 * self._live):
            kept = [_NOWHERE, *(each.indexes for each in self._entries.values())]
            self._rows = self._rows.take(pa.array(np.concatenate(kept), pa.int64()))
            first = 0
            for each in self._entries.values():
                each.indexes = np.arange(first, first + len(each.indexes))
                first += len(each.indexes)


class FullCache(_TableLookup):
    """Holds the whole table. When it is too old, the next batch waits until it was read again."""

    def __init__(self, table: KeyedTable, keys: Sequence[int], times: ReloadTimes | None, clock: Clock) -> None:
        super().__init__(table, keys)
        self._times = times
        self._now_ms = clock.now_ms
        self._due_ms: int | None = 0
        self._held: _HeldTable | None = None
        self._lock = threading.Lock()

    def open(self) -> None:
        self._load()

    def _load(self) -> None:
        started_ms = self._now_ms()
        self._held = _HeldTable(self._table.fetch_all(), self._keys)
        self._due_ms = None if self._times is None else self._times.next_ms(started_ms, self._now_ms())

    def find(self, keys: pa.RecordBatch) -> FoundRows:
        with self._lock:
            # Under the lock: other threads wait for the new table instead of reading it as well.
            if self._held is None or (self._due_ms is not None and self._now_ms() >= self._due_ms):
                self._load()
            assert self._held is not None
            return self._held.find(keys)


class _HeldTable:
    """All rows of a table in the order of their keys' numbers."""

    def __init__(self, rows: pa.RecordBatch, columns: Sequence[int]) -> None:
        self._numbers = KeyNumbers([rows.schema.types[each] for each in columns])
        numbers = self._numbers.numbers([rows.column(each) for each in columns], rows.num_rows)
        self._counts, indexes = rows_by_number(numbers, len(self._numbers))
        self._starts = np.cumsum(self._counts) - self._counts
        self._rows = rows.take(pa.array(indexes))

    def find(self, keys: pa.RecordBatch) -> FoundRows:
        """The rows of keys."""
        numbers = self._numbers.find(keys.columns, keys.num_rows)
        if not len(self._counts):
            return FoundRows(self._rows, np.zeros(keys.num_rows, np.int64), _NOWHERE)
        # A missing key has the number -1, which reads the last entry; `where` discards it.
        counts = np.where(numbers >= 0, self._counts[numbers], 0)
        starts = np.where(numbers >= 0, self._starts[numbers], 0)
        # Where the run of each key begins, and how far into it each row is.
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        return FoundRows(self._rows, counts, np.repeat(starts, counts) + within)


_NOWHERE: Array = np.empty(0, np.int64)


def _indexes(numbers: Array, keys: int) -> list[Array]:
    """The indexes of the rows of each key."""
    counts, indexes = rows_by_number(numbers, keys)
    return np.split(indexes, np.cumsum(counts)[:-1])


def _rows_of_keys(rows: Any, by_key: Sequence[Any]) -> FoundRows:
    counts = np.fromiter(map(len, by_key), np.int64, len(by_key))
    return FoundRows(rows, counts, np.concatenate(by_key) if by_key else _NOWHERE)
