"""Keyed columns in the memory of the slot: a dict from key to number, and arrays in which the number is the index."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.errors import StateError
from funke.engine.sql.state.key_index import KeyIndex, Keys, chosen_keys
from funke.engine.sql.state.keyed_columns import ColumnLayout, Columns, DirectEntries, Fetched, KeyedColumns
from funke.engine.sql.state.stored_entries import from_entries, to_entries
from funke.engine.state.snapshot.file_format import GroupPart, TableId
from funke.engine.state.snapshot.part_chunks import chunks_of
from funke.engine.types.keys.key_groups import KeyGroups

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["HeapColumns"]

_FIRST_CAPACITY = 1024


class HeapColumns(KeyedColumns):
    """A checkpoint's forked process sees the arrays as they were."""

    def __init__(self, layout: ColumnLayout, key_groups: KeyGroups, now_ms: Callable[[], int]) -> None:
        self._layout = layout
        self._key_groups = key_groups
        self._now_ms = now_ms
        self._numbers: dict[Hashable, KeyIndex] = {}
        self._columns: tuple[Any, ...] = tuple(layout.create(0))
        self._last_use: Array = np.empty(0, np.int64)
        # 1 at the indexes that have an entry.
        self._is_known: Array = np.empty(0, np.uint8)
        self._size = 0
        self._free: list[int] = []
        self._next_sweep_ms = now_ms() + layout.ttl_ms

    def fetch(self, keys: Keys, namespace: Hashable = None) -> Fetched:
        positions = self._index(namespace).find(keys)
        is_known = positions >= 0
        if self._layout.ttl_ms:
            # An expired entry is unknown at once; its memory is freed by the next sweep.
            is_known &= self._last_use[positions] > self._now_ms() - self._layout.ttl_ms if self._size else False
        if is_known.all():
            return Fetched(keys, tuple(column[positions] for column in self._columns), is_known, namespace, positions)
        created = self._layout.create(len(keys))
        for mine, column in zip(created, self._columns):
            mine[is_known] = column[positions[is_known]]
        return Fetched(keys, created, is_known, namespace, positions)

    def direct(self, keys: Array) -> DirectEntries | None:
        if self._layout.ttl_ms:
            return None
        first, free = self._size, len(self._free)
        reusable = self._free[:]
        positions, self._size = self._index(None).intern(keys, first, self._free)
        self._reserve()
        for fresh in (slice(first, self._size), reusable[len(self._free) : free]):
            count = self._size - first if isinstance(fresh, slice) else len(fresh)
            if count:
                for mine, column in zip(self._columns, self._layout.create(count)):
                    mine[fresh] = column
        return DirectEntries(positions, self._columns, self._is_known)

    def store(self, fetched: Fetched, columns: Columns, kept: Array | None = None) -> None:
        keys, positions = fetched.keys, fetched.indexes
        if kept is not None and not kept.all():
            self._remove(keys, positions, ~kept, fetched.namespace)
            rows = np.flatnonzero(kept)
            keys = chosen_keys(keys, rows)
            positions, columns = positions[rows], tuple(column[rows] for column in columns)
        positions = self._placed(keys, positions, fetched.namespace)
        for mine, column in zip(self._columns, columns):
            mine[positions] = column
        self._last_use[positions] = self._now_ms()
        self._is_known[positions] = 1

    def _index(self, namespace: Hashable) -> KeyIndex:
        index = self._numbers.get(namespace)
        if index is None:
            index = self._numbers[namespace] = KeyIndex()
        return index

    def _placed(self, keys: Keys, positions: Array, namespace: Hashable) -> Array:
        """Gives positions to keys that have none."""
        missing = np.flatnonzero(positions < 0)
        if not len(missing):
            return positions
        # Positions of removed keys first: the arrays do not grow while keys come and go.
        reused = [self._free.pop() for _ in range(min(len(missing), len(self._free)))]
        fresh = len(missing) - len(reused)
        numbers = np.array([*reused, *range(self._size, self._size + fresh)], np.int64)
        self._size += fresh
        self._reserve()
        self._index(namespace).add(chosen_keys(keys, missing), numbers)
        placed = positions.copy()
        placed[missing] = numbers
        return placed

    def _reserve(self) -> None:
        capacity = len(self._last_use)
        if self._size > capacity:
            more = max(_FIRST_CAPACITY, self._size * 2) - capacity
            # Values at free positions are never read, so that no objects are made for them.
            self._columns = tuple(np.concatenate([column, np.empty(more, column.dtype)]) for column in self._columns)
            self._last_use = np.concatenate([self._last_use, np.zeros(more, np.int64)])
            self._is_known = np.concatenate([self._is_known, np.zeros(more, np.uint8)])

    def _remove(self, keys: Keys, positions: Array, chosen: Array, namespace: Hashable) -> None:
        rows = np.flatnonzero(chosen & (positions >= 0))
        if len(rows):
            self._index(namespace).remove(chosen_keys(keys, rows))
            self._release(positions[rows])

    def _release(self, positions: Array) -> None:
        self._free.extend(positions.tolist())
        self._is_known[positions] = 0
        for column in self._columns:
            # Arrays of numbers hold no memory of their own for an entry.
            if column.dtype == object:
                column[positions] = None

    def entries(self, namespace: Hashable) -> tuple[list[Any], Columns]:
        keys, positions = self._index(namespace).entries()
        return keys, tuple(column[positions] for column in self._columns)

    def drop(self, namespace: Hashable) -> None:
        index = self._numbers.pop(namespace, None)
        if index is not None:
            self._release(index.entries()[1])

    def prune(self) -> None:
        ttl_ms, now = self._layout.ttl_ms, self._now_ms()
        if ttl_ms and now >= self._next_sweep_ms:
            # One sweep for each time to live, since it looks at all entries: none outlives its time by more than that.
            self._next_sweep_ms = now + ttl_ms
            for namespace, index in self._numbers.items():
                keys, positions = index.entries()
                self._remove(keys, positions, self._last_use[positions] <= now - ttl_ms, namespace)

    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        return chunks_of(self._tables(), self._key_groups)

    def _tables(self) -> Iterator[tuple[TableId, Iterable[tuple[Any, Any]]]]:
        layout = self._layout
        for namespace in self._numbers:
            keys, positions = self._numbers[namespace].entries()
            if keys:
                columns = tuple(column[positions] for column in self._columns)
                times = self._last_use[positions].tolist() if layout.ttl_ms else None
                entries: Iterable[tuple[Any, Any]] = zip(keys, to_entries(columns, times))
                if times is not None:
                    oldest = self._now_ms() - layout.ttl_ms
                    entries = (each for each in entries if each[1][1] > oldest)
                yield TableId(layout.name, namespace, bool(layout.ttl_ms), "value"), entries

    def restore(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        now = self._now_ms()
        for _, part in parts:
            for table_id, table in part.tables.items():
                if table_id.name != self._layout.name or not table:
                    continue
                stored = list(table.values())
                times = [entry[1] for entry in stored] if table_id.has_ttl else [now] * len(stored)
                values = [entry[0] for entry in stored] if table_id.has_ttl else stored
                keys = list(table)
                positions = self._placed(keys, np.full(len(keys), -1), table_id.namespace)
                for mine, column in zip(self._columns, from_entries(values, self._layout)):
                    mine[positions] = column
                self._last_use[positions] = times
                self._is_known[positions] = 1

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        raise StateError("state in memory cannot read files of another state backend; start from a savepoint")
