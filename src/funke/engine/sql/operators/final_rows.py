"""Keeps what changes leave, and gives it when all of them have come."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.operator import Operator, TaskInfo
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

__all__ = ["keep_final_rows"]

_ADDED = (RowKind.INSERT.value, RowKind.UPDATE_AFTER.value)


def keep_final_rows(task: TaskInfo) -> Operator:
    """Return the operator for a subtask; it must see all changes of the rows that it sees."""
    return _FinalRowsOperator()


class _FinalRowsOperator(Operator):
    takes_rows = False
    takes_columns = True

    def __init__(self) -> None:
        self._batches: list[ColumnBatch] = []

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        self._batches.append(batch)

    def end_input(self) -> None:
        """What was added and not taken back, in the order in which it came."""
        if not self._batches:
            return
        changes = ColumnBatch.concat(self._batches)
        self._batches = []
        if changes.kinds is not None:
            changes = changes.take(pa.array(_left(changes)))
        self.output.emit_columns(ColumnBatch(changes.data, changes.timestamps))

    def snapshot(self) -> Any:
        return self._batches or None

    def restore(self, state: Any) -> None:
        self._batches = list(state)


def _left(changes: ColumnBatch) -> Any:
    is_added = np.isin(changes.kinds, _ADDED)
    keys = [pickle.dumps(row) for row in zip(*(column.to_pylist() for column in changes.data.columns))]
    gone = Counter(key for key, added in zip(keys, is_added) if not added)
    kept = []
    for place, (key, added) in enumerate(zip(keys, is_added)):
        if added and gone[key]:
            gone[key] -= 1
        elif added:
            kept.append(place)
    return np.array(kept, np.int64)
