"""Sliding event-time windows that share what they have in common.

With twelve windows per record, a record would touch twelve accumulators. If the function allows it (see `merge_probe`),
records are combined per pane, a piece of time as long as the slide, and panes are merged when a window fires. Records
that come when one of their windows has fired already are added to the others one by one.
"""

from __future__ import annotations

from typing import Any

from funke.engine.graph.operations import Window
from funke.engine.operators.windowing.aligned_windows import AlignedWindowOperator
from funke.engine.operators.windowing.merge_probe import can_share_aggregate, can_share_reduce, sample_of_one_key
from funke.engine.operators.windowing.pane_stack import PaneStack
from funke.engine.operators.windowing.record_adders import Table, adder_for

__all__ = ["SlidingWindowOperator"]


class SlidingWindowOperator(AlignedWindowOperator):
    """Begins with a table per window; goes over to panes once the records have shown that it can."""

    def __init__(self, operation: Window, size: int, slide: int, offset: int) -> None:
        super().__init__(operation, size, slide, offset)
        merge = self._reduce if self._reduce is not None else operation.aggregate.merge
        self._panes = PaneStack(merge)
        self._add_to_panes = adder_for(self._reduce, operation.aggregate, True)
        self._is_sharing: bool | None = None

    def add_records(self, keys: list[Any], values: list[Any], timestamps: list[int]) -> None:
        """Adds records to panes, or to each of their windows."""
        if self._is_sharing is None:
            self._is_sharing = self._probe(keys, values)
            self._piece_tables.clear()
        if self._is_sharing:
            self._add_to_panes(self._find_pane, keys, values, timestamps)
        else:
            super().add_records(keys, values, timestamps)

    def _probe(self, keys: list[Any], values: list[Any]) -> bool | None:
        if self.call.has_clear:  # it is called for each key of a window, which the panes do not tell
            return False
        sample = sample_of_one_key(keys, values)
        if sample is None:
            return None
        if self._reduce is not None:
            return can_share_reduce(self._reduce, sample)
        return can_share_aggregate(self.operation.aggregate, sample)

    def _find_pane(self, time: int) -> tuple[int, int, list[Table]]:
        start = time - (time - self.offset) % self.piece
        found = self._piece_tables.get(start)
        if found is None:
            for window_start in self.starts_of(time):
                self._table_of(window_start)
            found = self._piece_tables[start] = start, start + self.piece, [self._panes.open(start)]
        return found

    def contents_of(self, start: int) -> Table:
        """What the panes hold, and what was added to the window itself."""
        own = self._tables[start]
        if not self._panes:
            return own
        combined = self._panes.combined(start, start + self.size)
        merge = self._panes.merge
        for key, contents in own.items():
            combined[key] = merge(combined[key], contents) if key in combined else contents
        return combined

    def finish_key(self, key: Any) -> None:
        """In batch mode, fires the windows of the key."""
        super().finish_key(key)
        self._panes.clear()

    def keyed_snapshot(self) -> dict[int, Any]:
        """State as the general operator has it: panes become part of the windows."""
        for start in sorted(self._tables):
            table = self._tables[start]
            combined = self.contents_of(start)
            if combined is not table:
                table.update(combined)
        self._panes.clear()
        self._piece_tables.clear()
        return super().keyed_snapshot()
