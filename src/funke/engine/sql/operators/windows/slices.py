"""Slices: the longest pieces of time that belong to the same windows. A window is one slice or several.

A slice and a window are known by their ends. Times are milliseconds of the wall clock.
"""

from __future__ import annotations

from math import gcd
from typing import Any

from funke.engine.sql.binding.window_relations import Windows

__all__ = ["AttachedWindows", "Slices"]


class Slices:
    """The slices of tumbling, hopping or cumulating windows; methods take single ends, or arrays of them."""

    def __init__(self, windows: Windows) -> None:
        self._size, self._offset = windows.size_ms, windows.offset_ms
        self._kind = windows.kind
        # From one end of a window to the next.
        self._step = windows.size_ms if windows.kind == "tumble" else windows.slide_ms
        self.width = gcd(self._size, self._step)
        # Whether there are slices between windows.
        self.has_gaps = self._step > self._size

    def end_of(self, stamps: Any) -> Any:
        """The end of the slice that a time belongs to."""
        return self._begin(stamps, self.width) + self.width

    def first_window(self, slice_end: Any) -> Any:
        """The end of the first window that a slice belongs to."""
        if self._kind == "hop":
            # The first one that ends at or behind the slice.
            return self._begin(slice_end - 1 - self._size, self._step) + self._step + self._size
        return slice_end

    def last_window(self, slice_end: Any) -> Any:
        """The end of the last one; before that of the first if slices lie between windows."""
        if self._kind == "hop":
            return self._begin(slice_end - self.width, self._step) + self._size
        return self._begin(slice_end - self.width, self._size) + self._size

    def next_window(self, slice_end: int, closed: int) -> int | None:
        """The end of the first window of a slice that ends behind `closed`, if there is one."""
        first = self.first_window(slice_end)
        if first <= closed:
            first += ((closed - first) // self._step + 1) * self._step
        return first if first <= self.last_window(slice_end) else None

    def start_of(self, window_end: Any) -> Any:
        """Where a window begins."""
        if self._kind == "cumulate":
            return self._begin(window_end - 1, self._size)
        return window_end - self._size

    def window_counts(self, slice_ends: Any) -> Any:
        """How many windows each slice belongs to."""
        found = (self.last_window(slice_ends) - self.first_window(slice_ends)) // self._step + 1
        return found.clip(min=0)

    @property
    def step(self) -> int:
        """From the end of one window to that of the next."""
        return self._step

    def _begin(self, stamps: Any, width: int) -> Any:
        return (stamps - self._offset) // width * width + self._offset


class AttachedWindows:
    """Windows that rows carry already: each is a slice of its own."""

    width = 1
    has_gaps = False

    def first_window(self, slice_end: Any) -> Any:
        return slice_end

    def last_window(self, slice_end: Any) -> Any:
        return slice_end

    def next_window(self, slice_end: int, closed: int) -> int | None:
        return slice_end if slice_end > closed else None
