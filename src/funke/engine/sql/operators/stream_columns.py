"""Rows of a stream as columns of a table, with event time as a column if it has one; and a column as event time."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from funke.engine.operators.operator import Operator, TaskInfo
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.operators.assign_watermarks import event_times
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["StreamColumns", "TimestampedRows"]


@dataclass(frozen=True)
class StreamColumns:
    """Makes the operator: `fields` are the indexes of the columns in the stream's rows, None for event time."""

    columns: tuple[Column, ...]
    fields: tuple[int | None, ...]

    def __call__(self, task: TaskInfo) -> Operator:
        return _StreamColumnsOperator(self)


class _StreamColumnsOperator(Operator):
    takes_rows = False
    takes_columns = True

    def __init__(self, node: StreamColumns) -> None:
        self._schema = schema_of(node.columns)
        self._fields = node.fields

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        arrays = [self._array(batch, index, field.type) for index, field in zip(self._fields, self._schema)]
        self.output.emit_columns(batch.with_data(pa.RecordBatch.from_arrays(arrays, schema=self._schema)))

    def _array(self, batch: ColumnBatch, index: int | None, arrow_type: pa.DataType) -> pa.Array:
        if index is not None:
            column = batch.data.column(index)
            return column if column.type == arrow_type else column.cast(arrow_type, safe=False)
        if batch.timestamps is None:
            raise ValueError(
                "Rowtime timestamp is not defined. Please make sure that a proper TimestampAssigner is defined and the "
                "stream environment uses the EventTime time characteristic."
            )
        return pa.array(batch.timestamps, pa.timestamp("ms", getattr(arrow_type, "tz", None))).cast(arrow_type)


@dataclass(frozen=True)
class TimestampedRows:
    """Makes the operator that takes a column away and makes it the timestamp of its rows."""

    columns: tuple[Column, ...]
    rowtime: int

    def __call__(self, task: TaskInfo) -> Operator:
        return _TimestampedRowsOperator(self)


class _TimestampedRowsOperator(Operator):
    takes_rows = False
    takes_columns = True

    def __init__(self, node: TimestampedRows) -> None:
        self._schema = schema_of(node.columns)
        self._rowtime = node.rowtime

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        batch = as_schema(batch, self._schema)
        timestamps = event_times(batch.data.column(self._rowtime))
        self.output.emit_columns(batch.with_timestamps(timestamps).with_data(batch.data.remove_column(self._rowtime)))
