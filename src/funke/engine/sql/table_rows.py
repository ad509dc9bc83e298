"""Rows of a program as batches of columns, and batches as the rows that a program sees."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from funke.engine.errors import TypeMismatchError
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.sql.user_values import to_user_value
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical import DayTimeIntervalType, column_schema
from funke.engine.types.row import Row, RowKind

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["schema_of", "to_batches", "to_rows"]

# As many rows as an operator works on without losing time to the beginning and end of its work.
ROWS_PER_BATCH = 10_000

_KINDS = tuple(RowKind)
_MILLISECOND = datetime.timedelta(milliseconds=1)


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of columns."""
    return column_schema([column.name for column in columns], [column.type for column in columns])


def to_batches(columns: Sequence[Column], rows: Sequence[Sequence[SqlValue]]) -> Iterator[ColumnBatch]:
    """The batches of rows, each a sequence with the values of all columns."""
    schema = schema_of(columns)
    for start in range(0, len(rows), ROWS_PER_BATCH):
        values = zip(*rows[start : start + ROWS_PER_BATCH], strict=True)
        arrays = [_array(column, each) for column, each in zip(columns, values, strict=True)]
        yield ColumnBatch(pa.RecordBatch.from_arrays(arrays, schema=schema))


def to_rows(columns: Sequence[Column], batch: ColumnBatch) -> list[Row]:
    """The rows of a batch with their kinds; as in PyFlink their fields have no names."""
    converts = [to_user_value(column.type, is_collected=True) for column in columns]
    lists = [to_values(each, column.type) for each, column in zip(batch.data.columns, columns)]
    values = [each if convert is None else list(map(convert, each)) for each, convert in zip(lists, converts)]
    rows = [Row(*each) for each in zip(*values)]
    if batch.kinds is not None:
        for row, kind in zip(rows, batch.kinds.tolist()):
            row.set_row_kind(_KINDS[kind])
    return rows


def _array(column: Column, values: Sequence[SqlValue]) -> pa.Array:
    if isinstance(column.type, DayTimeIntervalType):
        values = [each // _MILLISECOND if isinstance(each, datetime.timedelta) else each for each in values]
    try:
        return from_values(values, column.type)
    except (pa.ArrowException, OverflowError, TypeError, ValueError, AttributeError) as error:
        raise TypeMismatchError(f"column {column.name!r} cannot take its values: {error}") from error
