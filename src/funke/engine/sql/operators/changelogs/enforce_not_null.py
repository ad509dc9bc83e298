"""Enforces NOT NULL before rows are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from funke.engine.flink_exceptions import TableException
from funke.engine.operators.operator import Operator
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.changelogs.constraint_enforcer import ConstraintEnforcer

__all__ = ["EnforceNotNullOperator"]


class EnforceNotNullOperator(Operator):
    """Checks the columns of a sink that are NOT NULL."""

    takes_rows = False
    takes_columns = True

    def __init__(self, node: ConstraintEnforcer) -> None:
        self._node = node

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        for index in self._node.indexes:
            if batch.data.column(index).null_count:
                batch = self._without_nulls(batch, index)
        if len(batch):
            self.output.emit_columns(batch)

    def _without_nulls(self, batch: ColumnBatch, index: int) -> ColumnBatch:
        if not self._node.is_dropping:
            name = self._node.columns[index].name
            raise TableException(
                f"Column '{name}' is NOT NULL, however, a null value is being written into it. You can set job "
                "configuration 'table.exec.sink.not-null-enforcer'='DROP' to suppress this exception and drop such "
                "records silently."
            )
        # If an UPDATE_AFTER is dropped, the row before it must go all the same, or the table would keep an outdated
        # row: the node asks for UPDATE_BEFORE (`ConstraintEnforcer.needs_before`).
        return batch.filter(pc.is_valid(batch.data.column(index)))
