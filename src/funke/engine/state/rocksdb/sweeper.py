"""Removes expired entries that are never read: one key group at a time, all of them once per time to live."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from funke.engine.state.rocksdb.rows import split_row, state_prefix
from funke.engine.state.rocksdb.store import RocksDBStore
from funke.engine.state.rocksdb.tables import entries_of
from funke.engine.state.ttl.states import TtlState
from funke.engine.state.value_codec import unpack

__all__ = ["Sweeper"]

_FIRST_SHARES = 128


class Sweeper:
    """Sweeps the rows of one expiring state."""

    def __init__(self, number: int, handle: TtlState, now_ms: Callable[[], int]) -> None:
        self._number = number
        self._handle = handle
        self._now_ms = now_ms
        self._waiting: list[int] = []
        self._pause_ms = 0
        self._next_ms = now_ms() + handle.ttl_ms

    def sweep(
        self,
        store: RocksDBStore,
        groups: Iterable[int],
        table_of: Callable[[Any], Any],
        flush_share: Callable[[int], None],
    ) -> None:
        """Looks through the next key group if it is time; `table_of` gives the table of a namespace.

        `flush_share` writes one of so many shares of what the database does not have yet: what is expired there is
        seen now, or the next time.
        """
        if self._now_ms() < self._next_ms:
            return
        flush_share(len(self._waiting) or _FIRST_SHARES)
        if not self._waiting:
            self._waiting = sorted(groups)
            self._pause_ms = self._handle.ttl_ms // max(1, len(self._waiting))
        if self._waiting:
            self._next_ms = self._now_ms() + self._pause_ms
            for namespace, key, kept in list(self._expired(store, self._waiting.pop())):
                table = table_of(namespace)
                # What the cache has is newer.
                if not table.is_changed(key):
                    if kept:
                        table[key] = kept
                    else:
                        del table[key]

    def _expired(self, store: RocksDBStore, group: int) -> Iterator[tuple[Any, Any, Any]]:
        unexpired = self._handle.unexpired
        for row, value in store.scan(state_prefix(group, self._number)):
            _, _, namespace, encoded = split_row(row)
            for key, stored in entries_of(encoded, value):
                kept = unexpired(stored)
                if not kept or len(kept) != len(stored):
                    yield unpack(namespace) if namespace else None, key, kept
