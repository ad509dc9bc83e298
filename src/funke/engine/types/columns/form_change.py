"""Changes the form of a batch: columns into rows and rows into columns, by the type of the edge they travel on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.errors import TypeMismatchError
from funke.engine.types import ExternalTypeInfo, Row, RowKind, RowTypeInfo, TupleTypeInfo, TypeInformation
from funke.engine.types.columns.arrow_records import table_encoder
from funke.engine.types.columns.arrow_rows import ArrowRows, row_type_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.information.arrow_types import to_arrow

__all__ = ["ColumnsToRows", "RowsToColumns"]

_KINDS = tuple(RowKind)


class ColumnsToRows:
    """Makes records of columns: rows, or tuples when the type says so; without a type, rows of what Arrow says."""

    def __init__(self, edge_type: TypeInformation | None) -> None:
        fields = _fields_of(edge_type)
        self._rows = None if fields is None else ArrowRows(fields)
        self._are_tuples = isinstance(fields, TupleTypeInfo)

    def convert(self, batch: ColumnBatch) -> tuple[list[Any], list[int] | None]:
        """Return the values and their timestamps."""
        rows = self._rows or ArrowRows(row_type_of(batch.data.schema))
        values: list[Any] = rows.tuples(batch.data) if self._are_tuples else rows.rows(batch.data)
        if batch.kinds is not None:
            _set_kinds(values, batch.kinds)
        return values, None if batch.timestamps is None else batch.timestamps.tolist()


class RowsToColumns:
    """Makes columns of rows or tuples of a known type."""

    def __init__(self, edge_type: TypeInformation | None) -> None:
        fields = _fields_of(edge_type)
        if fields is None:
            raise TypeMismatchError(
                f"records of type {edge_type} cannot become columns; declare rows, such as "
                "output_type=Types.ROW_NAMED(['id'], [Types.LONG()])"
            )
        self._schema = pa.schema(list(to_arrow(fields)))
        self._encode = table_encoder(fields)

    def convert(self, values: list[Any], timestamps: list[int] | None) -> ColumnBatch:
        """Return the batch; rows other than inserts keep their kinds."""
        if not values:
            data = pa.RecordBatch.from_pylist([], self._schema)
        else:
            (data,) = self._encode(values).to_batches()
        stamps = None if timestamps is None else np.array(timestamps, np.int64)
        return ColumnBatch(data, stamps, _kinds_of(values))


def _fields_of(edge_type: TypeInformation | None) -> RowTypeInfo | TupleTypeInfo | None:
    if isinstance(edge_type, ExternalTypeInfo):
        return _fields_of(edge_type._type_info)
    return edge_type if isinstance(edge_type, (RowTypeInfo, TupleTypeInfo)) else None


def _set_kinds(values: list[Any], kinds: Any) -> None:
    for position in np.flatnonzero(kinds):
        if not isinstance(values[position], Row):
            raise TypeMismatchError(f"a tuple cannot say that it is {_KINDS[kinds[position]]}; declare rows instead")
        values[position]._row_kind = _KINDS[kinds[position]]


def _kinds_of(values: list[Any]) -> Any:
    kinds = [value._row_kind._value_ if isinstance(value, Row) else 0 for value in values]
    return np.array(kinds, np.int8) if any(kinds) else None
