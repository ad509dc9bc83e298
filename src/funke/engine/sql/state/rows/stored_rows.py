"""Whole rows as an entry of keyed columns: numbers and times as arrays of numbers, everything else as objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.sql.state.keyed_columns import Columns

__all__ = ["StoredRows", "to_plain"]


class StoredRows:
    """The rows of an Arrow schema; a number has an array beside it that says whether it is there."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._dtypes = [_dtype(each.type) for each in schema]

    @property
    def widths(self) -> list[int]:
        """The number of arrays that each column takes."""
        return [1 if each is object else 2 for each in self._dtypes]

    def create(self, count: int) -> Columns:
        """Rows without values."""
        columns: list[Any] = []
        for dtype in self._dtypes:
            columns.append(np.full(count, None, object) if dtype is object else np.zeros(count, dtype))
            if dtype is not object:
                columns.append(np.zeros(count, np.bool_))
        return tuple(columns)

    def encode(self, data: pa.RecordBatch) -> Columns:
        """The entries of rows."""
        columns: list[Any] = []
        for dtype, column in zip(self._dtypes, data.columns):
            if dtype is object:
                columns.append(np.fromiter(column.to_pylist(), object, len(column)))
                continue
            numbers = to_plain(column).cast(pa.from_numpy_dtype(dtype))
            columns.append(np.asarray(numbers.fill_null(0)))
            columns.append(np.asarray(numbers.is_valid()))
        return tuple(columns)

    def decode(self, columns: Columns) -> pa.RecordBatch:
        """The rows of entries."""
        arrays, remaining = [], iter(columns)
        for dtype, field in zip(self._dtypes, self._schema):
            values = next(remaining)
            if dtype is object:
                arrays.append(pa.array(values.tolist(), field.type))
                continue
            numbers = pa.array(values, mask=~next(remaining))
            arrays.append(numbers.cast(_plain_type(field.type)).cast(field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def to_plain(column: pa.Array) -> pa.Array:
    """The column with numbers in place of times."""
    plain = _plain_type(column.type)
    return column if plain == column.type else column.cast(plain)


def _dtype(kind: pa.DataType) -> Any:
    # Widening loses nothing, so two types of arrays are enough for all numbers and times.
    if pa.types.is_floating(kind):
        return np.float64
    is_number = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind)
    return np.int64 if is_number else object


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if not pa.types.is_temporal(kind):
        return kind
    return pa.int32() if kind.bit_width == 32 else pa.int64()
