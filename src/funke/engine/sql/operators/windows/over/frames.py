"""OVER windows with a lower bound: when each row enters an accumulator, and when it leaves it again.

Rows are sorted by key and time; those that were processed before stand in front of the new ones of their key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from funke.engine.sql.functions.aggregates.segments import Segments

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["FrameEvents", "frame_events", "last_peers"]


@dataclass(frozen=True)
class FrameEvents:
    """Rows that are taken in and back, in order: their indexes, and 1 or -1 for each."""

    rows: Array
    signs: Array
    segments: Segments
    # The events that take new rows in, in the order of these rows.
    entries: Array
    # Which rows are in the accumulators after all of it.
    is_inside: Array


def frame_events(codes: Array, times: Array, is_new: Array, preceding: int, is_rows: bool) -> FrameEvents:
    """The events of frames that begin `preceding` rows, or milliseconds, before each row."""
    leaves = _leaving_rows(codes, preceding) if is_rows else _leaving_times(codes, times, preceding)
    indexes = np.arange(len(codes))
    leaving = np.flatnonzero(leaves < len(codes))
    entering = indexes[is_new]
    when = np.concatenate([leaves[leaving], entering])
    rows = np.concatenate([leaving, entering])
    signs = np.concatenate([np.full(len(leaving), -1, np.int8), np.ones(len(entering), np.int8)])
    # A row leaves before the one that pushes it out comes in.
    order = np.lexsort((rows, signs, when))
    rows, signs = rows[order], signs[order]
    keys = codes[rows]
    starts: Array = np.append(0, np.flatnonzero(keys[1:] != keys[:-1]) + 1)
    is_inside = leaves >= len(codes)
    return FrameEvents(rows, signs, Segments(starts, len(rows)), np.flatnonzero(signs > 0), is_inside)


def _leaving_rows(codes: Array, preceding: int) -> Array:
    """The row at which each row leaves; the number of rows if it stays."""
    count = len(codes)
    leaves: Array = np.arange(count) + preceding + 1
    stays = leaves >= count
    stays[~stays] = codes[leaves[~stays]] != codes[~stays]
    return np.where(stays, count, leaves)


def _leaving_times(codes: Array, times: Array, preceding: int) -> Array:
    first = times.min()
    width = int(times.max()) - int(first) + preceding + 2
    points = codes * width + (times - first)
    leaves: Array = np.searchsorted(points, points + preceding, side="right")
    stays = leaves >= len(codes)
    stays[~stays] = codes[leaves[~stays]] != codes[~stays]
    return np.where(stays, len(codes), leaves)


def last_peers(codes: Array, times: Array) -> Array:
    """For each of the sorted rows the last one with the same key and time."""
    is_last: Array = np.ones(len(codes), bool)
    is_last[:-1] = (codes[1:] != codes[:-1]) | (times[1:] != times[:-1])
    ends = np.flatnonzero(is_last)
    return ends[np.searchsorted(ends, np.arange(len(codes)))]
