"""Keyed columns in the memory of the slot: a dict from key to number, and arrays in which the number is the place."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from funke.engine.errors import StateError
from funke.engine.sql.state.keyed_columns import ColumnLayout, Columns, Fetched, KeyedColumns
from funke.engine.sql.state.stored_entries import from_entries, to_entries
from funke.engine.state.snapshot.file_format import GroupPart, TableId
from funke.engine.state.snapshot.part_chunks import chunks_of

__all__ = ["HeapColumns"]

_FIRST_CAPACITY = 1024


class HeapColumns(KeyedColumns):
    """A checkpoint's forked process sees the arrays as they were."""

    def __init__(self, layout: ColumnLayout, max_parallelism: int, now_ms: Callable[[], int]) -> None:
        self._layout = layout
        self._max_parallelism = max_parallelism
        self._now_ms = now_ms
        self._numbers: dict[Hashable, dict[Any, int]] = {}
        self._columns: list[Any] = list(layout.create(0))
        self._last_use: Any = np.empty(0, np.int64)
        self._size = 0
        self._free: list[int] = []
        self._next_sweep_ms = now_ms() + layout.ttl_ms

    def fetch(self, keys: list[Any], namespace: Hashable = None) -> Fetched:
        known = self._numbers.setdefault(namespace, {})
        places = np.fromiter(map(known.get, keys, repeat(-1)), np.int64, len(keys))
        is_known = places >= 0
        if self._layout.ttl_ms:
            is_known &= self._last_use[places] > self._now_ms() - self._layout.ttl_ms if self._size else False
        if is_known.all():
            return Fetched(keys, tuple(column[places] for column in self._columns), is_known, namespace, places)
        created = self._layout.create(len(keys))
        for mine, column in zip(created, self._columns):
            mine[is_known] = column[places[is_known]]
        return Fetched(keys, created, is_known, namespace, places)

    def store(self, fetched: Fetched, columns: Columns, kept: Any = None) -> None:
        keys, places = fetched.keys, fetched.places
        if kept is not None and not kept.all():
            self._remove(keys, places, ~kept, fetched.namespace)
            rows = np.flatnonzero(kept)
            keys = [keys[row] for row in rows.tolist()]
            places, columns = places[rows], tuple(column[rows] for column in columns)
        places = self._placed(keys, places, fetched.namespace)
        for mine, column in zip(self._columns, columns):
            mine[places] = column
        self._last_use[places] = self._now_ms()

    def _placed(self, keys: list[Any], places: Any, namespace: Hashable) -> Any:
        """Gives places to keys that have none."""
        missing = np.flatnonzero(places < 0).tolist()
        if not missing:
            return places
        reused = [self._free.pop() for _ in range(min(len(missing), len(self._free)))]
        fresh = len(missing) - len(reused)
        numbers = [*reused, *range(self._size, self._size + fresh)]
        self._size += fresh
        self._reserve()
        self._numbers[namespace].update(zip((keys[row] for row in missing), numbers))
        placed = places.copy()
        placed[missing] = numbers
        return placed

    def _reserve(self) -> None:
        capacity = len(self._last_use)
        if self._size > capacity:
            more = max(_FIRST_CAPACITY, self._size * 2) - capacity
            # What stands in free places is never seen, so that no objects are made for them.
            self._columns = [np.concatenate([column, np.empty(more, column.dtype)]) for column in self._columns]
            self._last_use = np.concatenate([self._last_use, np.zeros(more, np.int64)])

    def _remove(self, keys: list[Any], places: Any, chosen: Any, namespace: Hashable) -> None:
        known = self._numbers[namespace]
        for row in np.flatnonzero(chosen & (places >= 0)).tolist():
            del known[keys[row]]
            self._release(int(places[row]))

    def _release(self, place: int) -> None:
        self._free.append(place)
        for column in self._columns:
            if column.dtype == object:
                column[place] = None

    def entries(self, namespace: Hashable) -> tuple[list[Any], Columns]:
        known = self._numbers.get(namespace, {})
        places = np.fromiter(known.values(), np.int64, len(known))
        return list(known), tuple(column[places] for column in self._columns)

    def drop(self, namespace: Hashable) -> None:
        for place in self._numbers.pop(namespace, {}).values():
            self._release(place)

    def prune(self) -> None:
        ttl_ms, now = self._layout.ttl_ms, self._now_ms()
        if ttl_ms and now >= self._next_sweep_ms:
            self._next_sweep_ms = now + ttl_ms
            for namespace, known in self._numbers.items():
                keys, places = list(known), np.fromiter(known.values(), np.int64, len(known))
                self._remove(keys, places, self._last_use[places] <= now - ttl_ms, namespace)

    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        return chunks_of(self._tables(), self._max_parallelism)

    def _tables(self) -> Iterator[tuple[TableId, Iterable[tuple[Any, Any]]]]:
        layout = self._layout
        for namespace in self._numbers:
            keys, columns = self.entries(namespace)
            if keys:
                places = np.fromiter(self._numbers[namespace].values(), np.int64, len(keys))
                times = self._last_use[places].tolist() if layout.ttl_ms else None
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
                self._numbers.setdefault(table_id.namespace, {})
                places = self._placed(keys, np.full(len(keys), -1), table_id.namespace)
                for mine, column in zip(self._columns, from_entries(values, self._layout)):
                    mine[places] = column
                self._last_use[places] = times

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        raise StateError("state in memory cannot read files of another state backend; start from a savepoint")
