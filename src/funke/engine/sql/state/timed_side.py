"""The rows that one input of a join has, each with a time until which it can be matched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from funke.engine.sql.state.join_side import JoinSide, SideSpec

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.columns.arrays import Array

__all__ = ["TimedSide"]

_GONE = np.iinfo(np.int64).max
_NO_ROWS: Array = np.empty(0, np.int64)


class TimedSide:
    """Rows are linked by the numbers of their keys, from 1 on; 0 is that of rows whose key has a NULL."""

    def __init__(self, schema: pa.Schema, keys: tuple[int, ...]) -> None:
        self._rows = JoinSide(SideSpec(schema, keys, None, False))
        # By the number of a row; of one that is gone it is later than any other.
        self._times: Array = np.full(1 << 10, _GONE, np.int64)
        self._earliest = _GONE

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def gone(self) -> int:
        """How many rows are gone and still take room."""
        return self._rows.gone

    @property
    def earliest(self) -> int | None:
        """A time that no row is before; None without rows."""
        return self._earliest if len(self) else None

    def counts(self, numbers: Array) -> Array:
        """How many rows there are with each of these keys."""
        return self._rows.counts(_probes(numbers))

    def near(self, numbers: Array, counts: Array, times: Array, before_ms: int, behind_ms: int) -> tuple[Array, Array]:
        """The pairs of given rows and of rows with the same key that are as near: indexes, and numbers of rows."""
        rows = self._rows.matching(_probes(numbers), int(counts.sum()))
        given: Array = np.repeat(np.arange(len(numbers)), counts)
        distances = self._times[rows] - times[given]
        is_near = (distances >= -before_ms) & (distances <= behind_ms)
        return given[is_near], rows[is_near]

    def add(self, data: pa.RecordBatch, numbers: Array, times: Array, has_match: Array) -> None:
        """Takes rows in."""
        if not data.num_rows:
            return
        first = len(self) + self.gone
        self._rows.add(data, numbers + 1, np.ones(len(numbers), np.uint8), has_match.astype(np.int64), 0)
        last = first + len(numbers)
        if last > len(self._times):
            longer: Array = np.full(last + last // 4, _GONE, np.int64)
            longer[:first] = self._times[:first]
            self._times = longer
        self._times[first:last] = times
        self._earliest = min(self._earliest, int(times.min()))

    def match(self, rows: Array) -> None:
        """Rows have a match."""
        self._rows.matches[rows] = 1

    def take(self, rows: Array, indexes: Sequence[int] | None = None) -> list[pa.Array]:
        """Columns of rows; a number below 0 is a row of NULLs."""
        return self._rows.take(rows, indexes)

    def expired(self, last_ms: int) -> Array:
        """The rows whose time is not behind this one."""
        return np.flatnonzero(self._live_times() <= min(last_ms, _GONE - 1)) if last_ms >= self._earliest else _NO_ROWS

    def times(self, rows: Array) -> Array:
        """The times of rows."""
        return self._times[rows]

    def has_match(self, rows: Array) -> Array:
        """Which rows have a match."""
        return self._rows.matches[rows] > 0

    def remove(self, rows: Array) -> None:
        """Forgets rows."""
        if len(rows):
            self._rows.remove(rows)
            self._times[rows] = _GONE
            self._earliest = int(self._live_times().min(initial=_GONE))

    def live_rows(self) -> tuple[pa.RecordBatch, Array, Array]:
        """All rows in their order, their times, and which have a match."""
        data, matches, _ = self._rows.live_rows()
        times = self._live_times()
        return data, times[times != _GONE], matches > 0

    def _live_times(self) -> Array:
        return self._times[: len(self) + self.gone]


def _probes(numbers: Array) -> Array:
    """The numbers to look for: NULL is equal to nothing."""
    return np.where(numbers < 0, -1, numbers + 1)
