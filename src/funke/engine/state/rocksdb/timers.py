"""Timers that need not fit into memory: those that are due first are in memory, the others in RocksDB.

Rows in RocksDB are ordered by time. The frontier is a row: timers before it are in memory, all others are in RocksDB,
or wait to be written there. Timers of keys without a form as bytes are always in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from funke.engine.state.keyed.timer_queue import TimerQueue, Timers
from funke.engine.state.rocksdb.store import RocksDBStore
from funke.engine.state.rocksdb.timer_rows import decode_timer, encode_timers, group_of_timer, is_plain, timers_prefix
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["RocksDBTimerQueue"]

# Behind all times that a row can have.
_NEVER = 1 << 64


class RocksDBTimerQueue(Timers):
    """Timers of one clock, of which up to about `limit` are in memory and as many wait to be written."""

    def __init__(
        self,
        get_store: Callable[[], RocksDBStore],
        number: int,
        has_namespaces: bool,
        key_groups: KeyGroups,
        groups: set[int],
        limit: int,
    ) -> None:
        self._get_store = get_store
        self._number = number
        self._has_namespaces = has_namespaces
        self._key_groups = key_groups
        # The key groups of which the database has rows, shared with all tables.
        self._groups = groups
        self._limit = limit
        self._near = TimerQueue()
        # Nothing is outside memory.
        self._frontier: bytes | None = None
        self._frontier_time = _NEVER
        # What RocksDB does not have yet: timers that are set, and timers that are deleted.
        self._fresh: dict[tuple[int, Any], bool] = {}
        self._registered = 0
        self._is_firing = False

    def __len__(self) -> int:
        return sum(1 for _ in self.items())

    def register(self, time: int, entry: Any) -> None:
        if time >= self._frontier_time and self._is_far(time, entry):
            self._change(time, entry, True)
            return
        self._near.register(time, entry)
        self._registered += 1
        # Not after every timer: counting them looks at all buckets of the queue.
        if self._registered > self._limit // 4:
            self._registered = 0
            self._spill()

    def delete(self, time: int, entry: Any) -> None:
        if time >= self._frontier_time and self._is_far(time, entry):
            self._change(time, entry, False)
        else:
            self._near.delete(time, entry)

    def _is_far(self, time: int, entry: Any) -> bool:
        if not self._is_plain(time, entry):
            return False
        return time > self._frontier_time or self._rows([(time, entry)])[0] >= (self._frontier or b"")

    def _change(self, time: int, entry: Any, is_set: bool) -> None:
        self._fresh[time, entry] = is_set
        if len(self._fresh) > self._limit:
            self._flush()

    def next_time(self) -> int | None:
        near = self._near.next_time()
        while self._frontier is not None and (near is None or near > self._frontier_time):
            self._load()
            near = self._near.next_time()
        return near

    def fire(self, until: int, on_timer: Callable[[int, Any], None]) -> int:
        self._is_firing = True
        try:
            fired = self._near.fire(min(until, self._frontier_time), on_timer)
            while self._frontier_time <= until:
                self._load()
                fired += self._near.fire(min(until, self._frontier_time), on_timer)
            return fired
        finally:
            self._is_firing = False

    def _load(self) -> None:
        """Takes the timers that are due first out of RocksDB."""
        self._flush()
        store, most = self._get_store(), max(1, self._limit // 2)
        rows = [row for row, _ in islice(store.scan(timers_prefix(self._number), self._frontier), most)]
        for row in rows:
            self._near.register(*decode_timer(row))
        store.write((row, None) for row in rows)
        if len(rows) < most:
            self._frontier, self._frontier_time = None, _NEVER
        else:
            # The smallest row behind the last one that was taken.
            self._frontier, self._frontier_time = rows[-1] + b"\0", decode_timer(rows[-1])[0]

    def _spill(self) -> None:
        """Moves timers that are due last to RocksDB if there are too many in memory."""
        # Not while timers fire: those that are firing belong before the frontier.
        if self._is_firing or len(self._near) <= self._limit:
            return
        timers = list(self._near.items())
        plain = [(time, entry) for time, entry in timers if self._is_plain(time, entry)]
        ordered = sorted(zip(self._rows(plain), range(len(plain))))
        moved = ordered[self._limit // 2 :]
        if not moved:
            return
        self._write((row, b"") for row, _ in moved)
        gone = {plain[position] for _, position in moved}
        self._near = TimerQueue()
        self._near.restore(timer for timer in timers if timer not in gone)
        self._frontier, self._frontier_time = moved[0][0], plain[moved[0][1]][0]

    def _is_plain(self, time: int, entry: Any) -> bool:
        return is_plain(time, entry[0] if self._has_namespaces else entry)

    def _rows(self, timers: list[tuple[int, Any]]) -> list[bytes]:
        return encode_timers(timers, self._number, self._has_namespaces, self._key_groups)

    def _flush(self) -> None:
        if self._fresh:
            self._write(self.fresh_rows())
            self._fresh = {}

    def _write(self, rows: Iterable[tuple[bytes, bytes | None]]) -> None:
        written = list(rows)
        self._groups.update(group_of_timer(row) for row, _ in written)
        self._get_store().write(written)

    def fresh_rows(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The rows that RocksDB does not have yet; None for those it must delete."""
        rows = self._rows(list(self._fresh))
        return ((row, b"" if is_set else None) for row, is_set in zip(rows, self._fresh.values()))

    def take_over(self) -> None:
        """RocksDB has got rows from a snapshot; called before any timer is set."""
        # Before all rows: queries for the next timer read RocksDB.
        self._frontier, self._frontier_time = timers_prefix(self._number), -_NEVER

    def items(self) -> Iterator[tuple[int, Any]]:
        yield from self._near.items()
        if self._frontier is not None:
            self._flush()
            for row, _ in self._get_store().scan(timers_prefix(self._number), self._frontier):
                yield decode_timer(row)

    def snapshot(self, key_groups: KeyGroups, key_of: Callable[[Any], Any]) -> dict[int, list[tuple[int, Any]]]:
        return self._near.snapshot(key_groups, key_of)
