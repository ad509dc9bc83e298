"""Looks after NOT NULL before rows are written."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from funke.engine.flink_exceptions import TableException
from funke.engine.operators.operator import Operator, TaskInfo
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["EnforceNotNull"]


@dataclass(frozen=True)
class EnforceNotNull:
    """Makes the operator: names and places of the columns."""

    names: tuple[str, ...]
    indexes: tuple[int, ...]
    is_dropping: bool

    def __call__(self, task: TaskInfo) -> Operator:
        return _EnforceOperator(self)


class _EnforceOperator(Operator):
    takes_rows = False
    takes_columns = True

    def __init__(self, rule: EnforceNotNull) -> None:
        self._rule = rule

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        for name, index in zip(self._rule.names, self._rule.indexes):
            column = batch.data.column(index)
            if column.null_count:
                batch = self._without_nulls(batch, name, index)
        if len(batch):
            self.output.emit_columns(batch)

    def _without_nulls(self, batch: ColumnBatch, name: str, index: int) -> ColumnBatch:
        if not self._rule.is_dropping:
            raise TableException(
                f"Column '{name}' is NOT NULL, however, a null value is being written into it. You can set job "
                "configuration 'table.exec.sink.not-null-enforcer'='DROP' to suppress this exception and drop such "
                "records silently."
            )
        return batch.filter(pc.is_valid(batch.data.column(index)))
