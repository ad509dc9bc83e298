"""The rows that changes leave, each at its index: an update keeps the index of its row."""

from __future__ import annotations

from collections import defaultdict
from heapq import nsmallest

from funke.engine.types.row import Row, RowKind

__all__ = ["LiveRows"]


class LiveRows:
    """Takes in changes one by one; of more rows than `most`, those go that have not changed for longest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: dict[int, Row] = {}
        self._numbers: dict[str, list[int]] = defaultdict(list)
        self._next = 0
        # Where a row stood whose update is still to come.
        self._gap: int | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def apply(self, row: Row) -> None:
        """Take in a change; one that takes back a row that is not there changes nothing."""
        kind, name = row.get_row_kind(), repr(tuple(row))
        if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            if kind is RowKind.INSERT or self._gap is None:
                self._gap, self._next = self._next, self._next + 1
            self._rows[self._gap] = row
            self._numbers[name].append(self._gap)
            self._gap = None
            if len(self._rows) > self._most:
                self._remove(repr(tuple(next(iter(self._rows.values())))))
            return
        number = self._remove(name)
        self._gap = number if kind is RowKind.UPDATE_BEFORE else None

    def _remove(self, name: str) -> int | None:
        if name not in self._numbers:
            return None
        number = self._numbers[name].pop(0)
        if not self._numbers[name]:
            del self._numbers[name]
        del self._rows[number]
        return number

    def first(self, count: int) -> list[Row]:
        """The rows that stand in front, in their order."""
        return [self._rows[number] for number in nsmallest(count, self._rows)]

    def all(self) -> list[Row]:
        """All rows in their order."""
        return self.first(len(self))
