"""Collects the changes of a bounded input and sends the rows that remain at its end."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.sql.operators.gathering_operator import GatheringOperator
from funke.engine.sql.table_rows import to_batches
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.plan.changelogs.final_rows import FinalRows
    from funke.engine.types.columns import Array

__all__ = ["FinalRowsOperator"]

_ADDED = (RowKind.INSERT.value, RowKind.UPDATE_AFTER.value)


class FinalRowsOperator(GatheringOperator):
    """All changes of a row must come to the same subtask."""

    def __init__(self, node: FinalRows) -> None:
        super().__init__()
        self._node = node

    def results(self, rows: ColumnBatch | None) -> ColumnBatch | None:
        """The rows that were added and not taken back, in the order in which they came."""
        if rows is not None and rows.kinds is not None:
            rows = rows.take(pa.array(_left(rows)))
        if rows is not None and len(rows):
            return ColumnBatch(rows.data, rows.timestamps)
        if self._node.otherwise is None:
            return None
        # SELECT COUNT(*) without rows is one row with 0, which no change has brought.
        (row,) = to_batches(self._node.columns, [self._node.otherwise])
        return row


def _left(changes: ColumnBatch) -> Array:
    is_added = np.isin(changes.kinds, _ADDED)
    # As bytes, since rows may hold lists and maps, which no dict takes as keys, and NaN, which is not equal to itself.
    keys = [pickle.dumps(row) for row in zip(*(column.to_pylist() for column in changes.data.columns))]
    gone = Counter(key for key, added in zip(keys, is_added) if not added)
    kept = []
    for index, (key, added) in enumerate(zip(keys, is_added)):
        # Equal rows cannot be told apart, so those that came first are the ones that go.
        if added and gone[key]:
            gone[key] -= 1
        elif added:
            kept.append(index)
    return np.array(kept, np.int64)
