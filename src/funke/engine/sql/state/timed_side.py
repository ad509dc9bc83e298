"""The rows that one input of a join has, each with a time until which it can be matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from funke.engine.sql.state.join_side import JoinSide, SideSpec

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.columns.arrays import Array

__all__ = ["TimedSide"]

_NEVER = np.iinfo(np.int64).max
_NO_ROWS: Array = np.empty(0, np.int64)


class TimedSide(JoinSide):
    """Knows a time that no row is before, so that most of the time there is nothing to look for."""

    def __init__(self, spec: SideSpec) -> None:
        self._earliest = _NEVER
        super().__init__(spec)

    @property
    def earliest(self) -> int | None:
        """A time that no row is before; None without rows."""
        return self._earliest if len(self) else None

    def near(self, numbers: Array, counts: Array, times: Array, before_ms: int, behind_ms: int) -> tuple[Array, Array]:
        """The pairs of given rows and of rows with the same key that are as near: indexes, and numbers of rows."""
        # The rows of a key are not sorted by time: each new row is compared with all that its key keeps.
        rows = self.matching(numbers, int(counts.sum()))
        row_of_pair: Array = np.repeat(np.arange(len(numbers)), counts)
        distances = self._times[rows] - times[row_of_pair]
        is_near = (distances >= -before_ms) & (distances <= behind_ms)
        return row_of_pair[is_near], rows[is_near]

    def add(self, data: pa.RecordBatch, numbers: Array, takes_in: Array, matches: Array, now_ms: int | Array) -> None:
        if data.num_rows:
            super().add(data, numbers, takes_in, matches, now_ms)
            self._earliest = min(self._earliest, int(np.min(now_ms)))

    def put(self, data: pa.RecordBatch, numbers: Array, matches: Array, times: Array | None) -> None:
        assert times is not None
        self.add(data, numbers, np.ones(data.num_rows, np.uint8), matches, times)

    def put_first(self, data: pa.RecordBatch, numbers: Array, matches: Array, times: Array) -> None:
        super().put_first(data, numbers, matches, times)
        self._earliest = min(self._earliest, int(times.min(initial=_NEVER)))

    def match(self, rows: Array) -> None:
        """Marks rows as matched."""
        self.matches[rows] = 1

    def has_match(self, rows: Array) -> Array:
        """True for rows that have a match."""
        return self.matches[rows] > 0

    def times(self, rows: Array) -> Array:
        return self._times[rows]

    def expired(self, last_ms: int) -> Array:
        """The rows whose time is not behind this one."""
        if last_ms < self._earliest:
            return _NO_ROWS
        count = self._rows.count
        return np.flatnonzero((self._times[:count] <= last_ms) & (self._row_keys[:count] >= 0))

    def remove(self, rows: Array) -> None:
        if len(rows):
            super().remove(rows)
            count = self._rows.count
            # This looks at all rows, and saves looking again until the first of them can have expired.
            live = self._times[:count][self._row_keys[:count] >= 0]
            self._earliest = int(live.min(initial=_NEVER))
