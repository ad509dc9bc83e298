"""Sessions: intervals of the same key that overlap or touch are one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from funke.engine.sql.functions.aggregates.segments import Segments

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["Sessions", "find_sessions", "is_within_sessions"]


@dataclass(frozen=True)
class Sessions:
    """Intervals in the order of keys and starts, and the sessions that they form."""

    # The indexes of the sorted intervals, and where the sessions begin among them.
    order: Array
    first: Array
    starts: Array
    ends: Array

    def __len__(self) -> int:
        return len(self.first)

    @property
    def lengths(self) -> Array:
        """The number of intervals of each session."""
        return np.diff(np.append(self.first, len(self.order)))


def find_sessions(codes: Array, starts: Array, ends: Array) -> Sessions:
    """The sessions of intervals (at least one) whose keys have numbers."""
    order = np.lexsort((starts, codes))
    codes, starts, ends = codes[order], starts[order], ends[order]
    keys: Array = np.append(0, np.flatnonzero(codes[1:] != codes[:-1]) + 1)
    # The latest end so far of the same key.
    reached = Segments(keys, len(codes)).running(np.maximum, ends[keys], ends)
    is_first: Array = np.ones(len(codes), bool)
    # As in Flink intervals that only touch are one session: with a gap of 5 s, rows at 0 s and 5 s belong together.
    is_first[1:] = starts[1:] > reached[:-1]
    is_first[keys] = True
    first = np.flatnonzero(is_first)
    return Sessions(order, first, starts[first], np.maximum.reduceat(ends, first))


def is_within_sessions(
    codes: Array, times: Array, gap_ms: int, closed: int, open_intervals: tuple[Array, Array, Array]
) -> Array:
    """True for rows whose session is open when they come, one by one; `open_intervals` are those before them.

    A row whose own session would be closed already (its time plus the gap is not behind `closed`) needs another one.
    """
    kept = times + gap_ms > closed
    late_codes = {*codes[~kept].tolist()}
    intervals: dict[int, list[tuple[int, int]]] = {each: [] for each in late_codes}
    for code, start, end in zip(*(each.tolist() for each in open_intervals)):
        if code in late_codes:
            intervals[code].append((start, end))
    for row in np.flatnonzero(np.isin(codes, list(late_codes))).tolist():
        start, mine = int(times[row]), intervals[int(codes[row])]
        end = start + gap_ms
        if not kept[row]:
            kept[row] = any(start <= other_end and other_start <= end for other_start, other_end in mine)
        if kept[row]:
            mine.append((start, end))
    return kept
