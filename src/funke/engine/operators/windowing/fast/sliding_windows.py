"""Sliding event-time windows that share what they have in common.

With twelve windows per record, a record would touch twelve accumulators. If the function allows it (see `merge_probe`),
records are combined per pane, a piece of time as long as the slide, and panes are merged when a window fires. Records
that come when one of their windows has fired already are added to the others one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from funke.engine.graph.operations import Window
from funke.engine.operators.windowing.fast.aligned_windows import AlignedWindowOperator
from funke.engine.operators.windowing.fast.merge_probe import can_share_aggregate, can_share_reduce, sample_of_one_key
from funke.engine.operators.windowing.fast.pane_stack import PaneStack
from funke.engine.operators.windowing.fast.record_adders import Table, adder_for
from funke.engine.operators.windowing.window_operator import CONTENTS
from funke.engine.operators.windowing.windows import TimeWindow
from funke.engine.state.keyed.state_kinds import kind_of
from funke.engine.state.snapshot.file_format import GroupPart, TableId
from funke.engine.state.snapshot.part_chunks import chunks_of

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
        entry = self._piece_tables.get(start)
        if entry is None:
            for window_start in self.starts_of(time):
                self._table_of(window_start)
            entry = self._piece_tables[start] = start, start + self.piece, [self._panes.open(start)]
        return entry

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
        super().finish_key(key)
        self._panes.clear()

    def snapshot_state(self) -> Iterator[tuple[int, GroupPart]]:
        """State as the general operator has it: what the panes hold is part of the windows."""
        if not self._panes:
            yield from super().snapshot_state()
            return
        for group, part in super().snapshot_state():
            others = {table_id: table for table_id, table in part.tables.items() if table_id.name != CONTENTS}
            if others:
                yield group, part._replace(tables=others)
        yield from chunks_of(self._contents(), self.context.task.key_groups)

    def _contents(self) -> Iterator[tuple[TableId, Iterable[tuple[Any, Any]]]]:
        kind = kind_of(self.contents_descriptor)
        # Combining uses panes up, so it is done with a copy.
        panes, self._panes = self._panes, self._panes.copy()
        try:
            for start in sorted(self._tables):
                window = TimeWindow(start, start + self.size)
                yield TableId(CONTENTS, window, False, kind), self.contents_of(start).items()
        finally:
            self._panes = panes
