"""Projection and filter on columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from funke.engine.graph.column_expressions import Column
from funke.engine.graph.operations import ProjectColumns
from funke.engine.operators.operator import Operator
from funke.engine.operators.table.column_functions import columns_in, compile_expression
from funke.engine.types import RowTypeInfo, Types
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.information.arrow_types import field_names, from_arrow, to_arrow

__all__ = ["ProjectColumnsOperator", "projected_type"]


class ProjectColumnsOperator(Operator):
    """Computes columns of the rows that a condition keeps; event times and kinds stay with their rows."""

    takes_rows = False
    takes_columns = True

    def __init__(self, operation: ProjectColumns) -> None:
        self._projection = _Projection(operation)
        self._condition = None if operation.condition is None else compile_expression(operation.condition)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends on the columns of what is kept."""
        self.records_in += len(batch)
        if self._condition is not None:
            mask = self._condition(batch.data)
            batch = self._kept(batch, mask)
        if len(batch):
            self.output.emit_columns(batch.with_data(self._projection.of(batch.data)))

    def _kept(self, batch: ColumnBatch, mask: Any) -> ColumnBatch:
        if isinstance(mask, pa.Scalar):
            return batch if mask.as_py() else batch.slice(0, 0)
        # Columns without a reader are not copied.
        needed = batch.with_data(batch.data.select(self._projection.inputs(batch.data.schema.names)))
        return needed.filter(mask.fill_null(False))

    def metrics(self) -> dict[str, Any]:
        """Flink's metrics of an operator."""
        return {
            "numRecordsIn": self.records_in,
            "numRecordsOut": self.output.records_out,
            "currentOutputWatermark": self.output.current_watermark,
        }


class _Projection:
    """The columns that a projection makes of a record batch."""

    def __init__(self, operation: ProjectColumns) -> None:
        self._names = [name for name, _ in operation.columns]
        self._functions = [compile_expression(expression) for _, expression in operation.columns]
        self._inputs = frozenset().union(*(columns_in(expression) for _, expression in operation.columns))

    def inputs(self, names: list[str]) -> list[str]:
        """The columns that are read; at least one, since a record batch without any has no rows."""
        return [name for name in names if name in self._inputs] or names[:1]

    def of(self, data: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of a batch."""
        columns = [function(data) for function in self._functions]
        return pa.RecordBatch.from_arrays(
            [pa.repeat(column, len(data)) if isinstance(column, pa.Scalar) else column for column in columns],
            self._names,
        )


def projected_type(operation: ProjectColumns, input_type: RowTypeInfo) -> RowTypeInfo:
    """The type of the rows that a projection makes: what a column was, it stays; else what Arrow computes."""
    input_types = dict(zip(field_names(input_type), input_type.get_field_types()))
    schema = _Projection(operation).of(pa.RecordBatch.from_pylist([], pa.schema(list(to_arrow(input_type))))).schema
    types = [
        input_types[expression.name] if isinstance(expression, Column) else from_arrow(field.type)
        for (_, expression), field in zip(operation.columns, schema)
    ]
    return Types.ROW_NAMED([name for name, _ in operation.columns], types)
