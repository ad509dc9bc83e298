"""Lookups with and without caches: none, the keys that were asked for lately, or the whole table."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.sql.connectors.lookup.lookup import FoundRows, Key, KeyedTable, Lookup, places_by_key
from funke.engine.sql.connectors.lookup.reload_times import ReloadTimes

if TYPE_CHECKING:
    from funke.engine.operators.clock import Clock

__all__ = ["FullCache", "NoCache", "PartialCache", "PartialCacheSettings"]

# Rows of keys that have gone stay as long as there are fewer of them than others, and than this.
_FEW_ROWS = 4096


class NoCache(Lookup):
    """Asks for every key."""

    def __init__(self, table: KeyedTable, keys: Sequence[int]) -> None:
        self._table = table
        self._keys = keys

    def find(self, keys: Sequence[Key]) -> FoundRows:
        rows = self._table.fetch(keys)
        places = places_by_key(rows, self._keys)
        return FoundRows(rows, [places.get(key, ()) for key in keys])

    def close(self) -> None:
        self._table.close()


@dataclass(frozen=True)
class PartialCacheSettings:
    """How many keys are kept and how long; whether keys without rows are, too."""

    max_rows: int | None = None
    expire_after_write_ms: int | None = None
    expire_after_access_ms: int | None = None
    caches_missing: bool = True


@dataclass
class _Entry:
    places: list[int]
    written_ms: int
    used_ms: int


class PartialCache(Lookup):
    """Keeps the rows of keys that were asked for; the one that was not for the longest time goes first."""

    def __init__(self, table: KeyedTable, keys: Sequence[int], settings: PartialCacheSettings, clock: Clock) -> None:
        self._table = table
        self._keys = keys
        self._settings = settings
        self._now_ms = clock.now_ms
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        # The rows of all entries, and of some that have gone.
        self._rows: Any = None
        self._live = 0

    def find(self, keys: Sequence[Key]) -> FoundRows:
        now_ms = self._now_ms()
        known = {key: places for key in keys if (places := self._known(key, now_ms)) is not None}
        missing = [key for key in keys if key not in known]
        if missing:
            known |= self._fetched(missing, now_ms)
        found = FoundRows(self._rows, [known[key] for key in keys])
        self._shrink()
        return found

    def _known(self, key: Key, now_ms: int) -> list[int] | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._is_expired(entry, now_ms):
            self._forget(key)
            return None
        entry.used_ms = now_ms
        self._entries.move_to_end(key)
        return entry.places

    def _is_expired(self, entry: _Entry, now_ms: int) -> bool:
        written, used = self._settings.expire_after_write_ms, self._settings.expire_after_access_ms
        return (written is not None and now_ms >= entry.written_ms + written) or (
            used is not None and now_ms >= entry.used_ms + used
        )

    def _fetched(self, keys: Sequence[Key], now_ms: int) -> dict[Key, list[int]]:
        rows = self._table.fetch(keys)
        first = 0 if self._rows is None else len(self._rows)
        self._rows = rows if self._rows is None else pa.concat_batches([self._rows, rows])
        by_key = places_by_key(rows, self._keys)
        found = {key: [first + place for place in by_key.get(key, ())] for key in keys}
        for key, places in found.items():
            if places or self._settings.caches_missing:
                self._entries[key] = _Entry(places, now_ms, now_ms)
                self._live += len(places)
        return found

    def _forget(self, key: Key) -> None:
        self._live -= len(self._entries.pop(key).places)

    def _shrink(self) -> None:
        most = self._settings.max_rows
        while most is not None and len(self._entries) > most:
            self._forget(next(iter(self._entries)))
        if len(self._rows) > max(_FEW_ROWS, 2 * self._live):
            self._rows = self._rows.take(pa.array([x for each in self._entries.values() for x in each.places], "int64"))
            first = 0
            for each in self._entries.values():
                each.places = list(range(first, first + len(each.places)))
                first += len(each.places)

    def close(self) -> None:
        self._table.close()


class FullCache(Lookup):
    """Holds the whole table, and reads it again when it is time; the batch that comes then waits for it."""

    def __init__(self, table: KeyedTable, keys: Sequence[int], times: ReloadTimes, clock: Clock) -> None:
        self._table = table
        self._keys = keys
        self._times = times
        self._now_ms = clock.now_ms
        self._due_ms = 0
        self._rows: Any = None
        self._places: dict[Key, list[int]] = {}

    def open(self) -> None:
        self._load()

    def _load(self) -> None:
        started_ms = self._now_ms()
        self._rows = self._table.fetch_all()
        self._places = places_by_key(self._rows, self._keys)
        self._due_ms = self._times.next_ms(started_ms, self._now_ms())

    def find(self, keys: Sequence[Key]) -> FoundRows:
        if self._now_ms() >= self._due_ms:
            self._load()
        return FoundRows(self._rows, [self._places.get(key, ()) for key in keys])

    def close(self) -> None:
        self._table.close()
