"""Keeps what changes leave, and gives it when all of them have come."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.operators.operator import Operator, TaskInfo
from funke.engine.sql.binding.final_rows import FinalRows
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.meaning.column_texts import ColumnTexts
from funke.engine.sql.meaning.state_parts import rows_fact
from funke.engine.sql.operators.gathering_operator import GatheringOperator
from funke.engine.sql.table_rows import to_batches
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

__all__ = ["KeepFinalRows"]

_ADDED = (RowKind.INSERT.value, RowKind.UPDATE_AFTER.value)


@dataclass(frozen=True)
class KeepFinalRows:
    """Makes the operator for a subtask, which must see all changes of the rows that it sees."""

    columns: tuple[Column, ...]
    otherwise: tuple[Any, ...] | None = None

    @staticmethod
    def meaning(final: FinalRows) -> StateMeaning:
        """What its state means: all changes that have come."""
        texts = ColumnTexts()
        return StateMeaning("FinalRows", (rows_fact(texts, final.input), ("the condition", texts.rows(final.input))))

    def __call__(self, task: TaskInfo) -> Operator:
        return _FinalRowsOperator(self)


class _FinalRowsOperator(GatheringOperator):
    def __init__(self, made: KeepFinalRows) -> None:
        super().__init__()
        self._made = made

    def results(self, rows: ColumnBatch | None) -> ColumnBatch | None:
        """What was added and not taken back, in the order in which it came."""
        if rows is not None and rows.kinds is not None:
            rows = rows.take(pa.array(_left(rows)))
        if rows is not None and len(rows):
            return ColumnBatch(rows.data, rows.timestamps)
        if self._made.otherwise is None:
            return None
        (row,) = to_batches(self._made.columns, [self._made.otherwise])
        return row


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
