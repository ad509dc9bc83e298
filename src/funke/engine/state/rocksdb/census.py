"""Counts what a database holds by state: a little at each checkpoint, all of it in the course of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from funke.engine.state.keyed.timer_queue import EVENT_TIME
from funke.engine.state.rocksdb.copies import StateInfo
from funke.engine.state.rocksdb.rows import split_row
from funke.engine.state.rocksdb.store import RocksDBStore
from funke.engine.state.rocksdb.timer_rows import TIMERS
from funke.engine.state.snapshot.file_format import HeldState

__all__ = ["Census"]

# Rows that are counted while processing waits: about 2 ms.
_ROWS = 1_000


class Census:
    """Walks through the rows again and again; a walk that has not come to its end is scaled to all that there is."""

    def __init__(self, most_rows: int = _ROWS) -> None:
        self._most_rows = most_rows
        # Where the walk goes on.
        self._start: bytes | None = None
        # By state, or queue of timers: rows and bytes.
        self._rows: Counter[tuple[bool, int]] = Counter()
        self._bytes: Counter[tuple[bool, int]] = Counter()
        self._whole: tuple[Counter[tuple[bool, int]], Counter[tuple[bool, int]]] | None = None

    def go_on(self, store: RocksDBStore) -> None:
        """Counts some more rows."""
        for seen, (row, value) in enumerate(islice(store.scan(b"", self._start), self._most_rows + 1)):
            if seen == self._most_rows:
                self._start = row
                return
            group, number = split_row(row)[:2]
            what = group == TIMERS, number
            self._rows[what] += 1
            self._bytes[what] += len(row) + len(value)
        self._whole = self._rows, self._bytes
        self._start, self._rows, self._bytes = None, Counter(), Counter()

    def held(self, states: Iterable[StateInfo], store: RocksDBStore) -> tuple[HeldState, ...]:
        """Entries and bytes by state."""
        rows, sizes = self._whole or (self._rows, self._bytes)
        # Until all of it was seen once, RocksDB's own estimate tells how much there is.
        scale = 1.0 if self._whole else max(1.0, store.measure("estimate-num-keys") / max(1, rows.total()))
        kinds = {(False, each.number): (each.name, each.kind) for each in states}
        return tuple(
            HeldState(*kinds.get(what, _timers(what[1])), round(count * scale), round(sizes[what] * scale))
            for what, count in rows.items()
        )


def _timers(number: int) -> tuple[str, str]:
    return ("event-time timers" if number == EVENT_TIME else "processing-time timers"), "timers"
