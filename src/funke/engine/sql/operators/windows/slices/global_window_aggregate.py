"""The second phase of window aggregates: merges the entries that a local phase has sent."""

from __future__ import annotations

import numpy as np

from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.operators.calculate import as_schema
from funke.engine.sql.operators.windows.key_codes import slice_codes
from funke.engine.sql.operators.windows.slices.partial_aggregate import entries_of
from funke.engine.sql.operators.windows.slices.window_aggregate import SliceWindowOperator
from funke.engine.types.columns import ColumnBatch

__all__ = ["EntryWindowOperator"]


class EntryWindowOperator(SliceWindowOperator):
    """Takes entries instead of rows."""

    # Entries have every key once in each batch, however many rows it has.
    watches_keys = False

    def add_rows(self, batch: ColumnBatch, now_ms: int) -> None:
        block, ends = entries_of(as_schema(batch, self._input).data, len(self._key_types), self._aggregates)
        is_late = self._windows.last_window(ends) <= self.closed
        is_between = self._windows.last_window(ends) < self._windows.first_window(ends)
        self.late += int(block.counts[is_late & ~is_between].sum())
        kept = np.flatnonzero(~is_late & ~is_between)
        if len(kept):
            ends, block = ends[kept], block.take(kept)
            codes, count = slice_codes(block.keys, ends, self._windows.width_ms)
            order, segments = Segments.of_codes(codes, count)
            self._add_by_slice(
                self._aggregates.folded(block.take(order), segments.starts), ends[order][segments.starts]
            )
