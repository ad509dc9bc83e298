"""Combines the panes of a sliding window in a constant number of merges per key and slide.

A pane holds what was combined per key in one piece of time. A window is a run of panes; the next one drops panes in
front and gains panes behind. Of the older panes the stack keeps, for every pane, the combination from there to the
newest of them; the newer ones are combined as they come. A window is then one of the former merged with the latter.
When the older ones are used up, the newer ones become the older ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["PaneStack"]

Table = dict[Any, Any]


class PaneStack:
    """The panes of the windows that have not fired; merging must not change what it is given."""

    def __init__(self, merge: Callable[[Any, Any], Any]) -> None:
        self.merge = merge
        self.clear()

    def clear(self) -> None:
        """Forgets all panes."""
        # Panes that no window has used yet, by their start.
        self._waiting: dict[int, Table] = {}
        # Older panes, the newest first: each combined with all older panes behind it.
        self._older: list[tuple[int, Table]] = []
        self._newer: list[tuple[int, Table]] = []
        self._newer_combined: Table = {}

    def copy(self) -> PaneStack:
        """A stack with the same panes that can be used up; values are shared, since merging does not change them."""
        copied = PaneStack(self.merge)
        copied._waiting = {start: dict(pane) for start, pane in self._waiting.items()}
        copied._older = list(self._older)
        copied._newer = list(self._newer)
        copied._newer_combined = dict(self._newer_combined)
        return copied

    def __bool__(self) -> bool:
        return bool(self._waiting or self._older or self._newer)

    def open(self, start: int) -> Table:
        """The pane that starts at a time no window has used yet."""
        return self._waiting.setdefault(start, {})

    def combined(self, start: int, end: int) -> Table:
        """The combination of the panes from `start` to `end`; earlier panes are forgotten."""
        self._use(end)
        older = self._older
        while older and older[-1][0] < start:
            older.pop()
        if not older and self._newer:
            self._turn_over(start)
        combined = dict(older[-1][1]) if older else {}
        self._merge_into(combined, self._newer_combined)
        return combined

    def _use(self, end: int) -> None:
        for start in sorted(start for start in self._waiting if start < end):
            pane = self._waiting.pop(start)
            self._newer.append((start, pane))
            self._merge_into(self._newer_combined, pane)

    def _turn_over(self, start: int) -> None:
        combined: Table = {}
        for pane_start, pane in reversed(self._newer):
            if pane_start >= start:
                behind, combined = combined, dict(pane)
                self._merge_into(combined, behind)
                self._older.append((pane_start, combined))
        self._newer, self._newer_combined = [], {}

    def _merge_into(self, target: Table, added: Table) -> None:
        if not target:
            target.update(added)
            return
        merge, current_of = self.merge, target.get
        for key, contents in added.items():
            current = current_of(key)
            target[key] = contents if current is None else merge(current, contents)
