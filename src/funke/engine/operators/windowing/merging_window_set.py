"""The windows of one key when windows merge: which are open, and under which window each keeps its contents.

When windows become one, the contents of one of them stay where they are and those of the others are moved there. So a
window's contents are found under its *state window*, which is one of the windows it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from funke.engine.errors import StateError
from funke.engine.operators.windowing.assigner import MergingWindowAssigner

__all__ = ["MergingWindowSet"]

# merge_result, merged windows, state window of the result, state windows whose contents move there
OnMerge = Callable[[Any, list[Any], Any, list[Any]], None]


class MergingWindowSet:
    """Works on a dict from open window to state window, which it changes in place."""

    def __init__(self, assigner: MergingWindowAssigner[Any, Any], mapping: dict[Any, Any]) -> None:
        self._assigner = assigner
        self.mapping = mapping

    def state_window(self, window: Any) -> Any:
        """The window under which the contents are kept; None when the window is not open."""
        return self.mapping.get(window)

    def retire(self, window: Any) -> None:
        """Forgets a window."""
        del self.mapping[window]

    def add(self, new_window: Any, on_merge: OnMerge) -> Any:
        """Opens a window and returns the one it became part of; tells `on_merge` about windows that became one."""
        merges = _Merges()
        self._assigner.merge_windows([*self.mapping, new_window], merges)
        result, is_merged = new_window, False
        for merge_result, group in merges.groups.items():
            if new_window in group:
                is_merged, result = True, merge_result
            self._merge(merge_result, self._open_ones(group, new_window), on_merge)
        if not is_merged:
            # The same window may be open, with its contents under another one.
            self.mapping[new_window] = self.mapping.pop(new_window, new_window)
        return result

    def _open_ones(self, group: list[Any], new_window: Any) -> list[Any]:
        """The windows of a group that were open before, in the order in which elements last came to them."""
        unknown = [window for window in group if window not in self.mapping and window != new_window]
        merged = [window for window in self.mapping if window in group]
        if unknown or not merged:
            raise StateError(f"{type(self._assigner).__name__} merged windows that are not open: {unknown or group}")
        return merged

    def _merge(self, merge_result: Any, merged: list[Any], on_merge: OnMerge) -> None:
        target, *moved = [self.mapping.pop(window) for window in merged]
        self.mapping[merge_result] = target
        # A new element inside an open window changes nothing.
        if merged != [merge_result]:
            on_merge(merge_result, merged, target, moved)


class _Merges(MergingWindowAssigner.MergeCallback[Any]):
    """Notes which windows become one."""

    def __init__(self) -> None:
        self.groups: dict[Any, list[Any]] = {}

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.groups[merge_result] = list(to_be_merged)
