"""Computes columns, and keeps the rows for which a condition is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.binding.expressions import BoundExpression, RepeatedExpressions, column_of
from funke.engine.sql.binding.relations import Calculation, Column
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical.column_types import column_schema

__all__ = ["Calculate", "CalculateOperator", "as_schema", "schema_of"]


@dataclass(frozen=True)
class Calculate:
    """Makes the operator of a calculation for a subtask."""

    inputs: tuple[Column, ...]
    columns: tuple[Column, ...]
    expressions: tuple[BoundExpression, ...]
    condition: BoundExpression | None

    @staticmethod
    def of(calculation: Calculation) -> Calculate:
        """What a subtask has to know of a calculation."""
        return Calculate(calculation.input.columns, calculation.columns, calculation.expressions, calculation.condition)

    def __call__(self, task: TaskInfo) -> CalculateOperator:
        return CalculateOperator(self)


class CalculateOperator(FunctionsOperator):
    """Works on batches of columns; event times and kinds stay with their rows."""

    takes_rows = False
    takes_columns = True

    def __init__(self, calculation: Calculate) -> None:
        self._input = schema_of(calculation.inputs)
        self._output_schema = schema_of(calculation.columns)
        self._repeated = RepeatedExpressions((*calculation.expressions, calculation.condition))
        self._getters = [column_of(expression, self._repeated) for expression in calculation.expressions]
        condition = calculation.condition
        self._condition = None if condition is None else column_of(condition, self._repeated)
        self.functions = OpenedFunctions((*calculation.expressions, calculation.condition))

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends on what is computed of the rows that are kept."""
        self.records_in += len(batch)
        batch = as_schema(batch, self._input)
        self._repeated.begin()
        if self._condition is not None:
            batch = self._kept(batch, self._condition(batch.data))
        if len(batch):
            columns = [self._as_array(get(batch.data), len(batch)) for get in self._getters]
            data = pa.RecordBatch.from_arrays(columns, schema=self._output_schema)
            self.output.emit_columns(batch.with_data(data))

    def _kept(self, batch: ColumnBatch, mask: Any) -> ColumnBatch:
        if isinstance(mask, pa.Scalar):
            return batch if mask.as_py() else batch.slice(0, 0)
        mask = mask.fill_null(False)
        self._repeated.keep(mask)
        return batch.filter(mask)

    @staticmethod
    def _as_array(column: Any, length: int) -> Any:
        return pa.repeat(column, length) if isinstance(column, pa.Scalar) else column


def as_schema(batch: ColumnBatch, schema: Any) -> ColumnBatch:
    """The same rows with the names and types of a table: streams know timestamps and decimals of one size each."""
    if batch.data.schema == schema:
        return batch
    # Tables that are put together have the names of the first.
    return batch.with_data(batch.data.rename_columns(schema.names).cast(schema, safe=False))


def schema_of(columns: Sequence[Column]) -> Any:
    """The Arrow schema of columns."""
    return column_schema([column.name for column in columns], [column.type for column in columns])
