"""Columns of tables in the form in which Spark carries them.

Spark has no TIME, no nanoseconds and no intervals: what it would not keep as it is travels as the integers that it
consists of, which are ordered and equal as the values are, and nested values as bytes that Spark does not look into.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from funke.engine.sql.binding.relations import Column
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.types.logical import APPROXIMATE, DataType, to_column_type

__all__ = [
    "carried_schema",
    "carried_type",
    "from_carried",
    "is_comparable",
    "is_key",
    "to_carried",
    "to_carried_array",
]


def is_comparable(data_type: DataType) -> bool:
    """True if values are equal and ordered for Spark as they are in tables."""
    arrow_type = to_column_type(data_type)
    return not pa.types.is_nested(arrow_type) and not pa.types.is_null(arrow_type)


def is_key(data_type: DataType) -> bool:
    """True if Spark tells values apart as tables do: it has one zero and takes NaN for a number."""
    return is_comparable(data_type) and not isinstance(data_type, APPROXIMATE)


def carried_schema(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of columns on their way through Spark; names may occur several times in a table, not there."""
    return pa.schema([pa.field(f"c{index}", carried_type(each.type)) for index, each in enumerate(columns)])


def to_carried(data: Any, columns: Sequence[Column], schema: Any) -> pa.RecordBatch:
    """A record batch of a table's columns as Spark carries it."""
    arrays = [to_carried_array(array, column.type) for array, column in zip(data, columns)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def from_carried(data: Any, columns: Sequence[Column]) -> pa.RecordBatch:
    """A record batch from Spark as columns of a table."""
    schema = schema_of(columns)
    arrays = [_from_carried(array, column.type, field.type) for array, column, field in zip(data, columns, schema)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def carried_type(data_type: DataType) -> pa.DataType:
    """The Arrow type of a column on its way through Spark."""
    arrow_type = to_column_type(data_type)
    if pa.types.is_timestamp(arrow_type) or pa.types.is_time64(arrow_type):
        return pa.int64()
    if pa.types.is_time32(arrow_type):
        return pa.int32()
    if pa.types.is_nested(arrow_type) or pa.types.is_fixed_size_binary(arrow_type):
        return pa.binary()
    return pa.utf8() if pa.types.is_null(arrow_type) or pa.types.is_large_string(arrow_type) else arrow_type


def to_carried_array(array: Any, data_type: DataType) -> Any:
    """A column of a table as Spark carries it."""
    spark_type = carried_type(data_type)
    if array.type == spark_type:
        return array
    if pa.types.is_nested(array.type):
        values = to_values(array, data_type)
        return pa.array([None if each is None else pickle.dumps(each) for each in values], spark_type)
    return array.view(spark_type) if pa.types.is_temporal(array.type) else array.cast(spark_type)


def _from_carried(array: Any, data_type: DataType, arrow_type: Any) -> Any:
    if array.type == arrow_type:
        return array
    if pa.types.is_nested(arrow_type):
        # Pickled by this very job's tasks.
        return from_values([None if each is None else pickle.loads(each) for each in array.to_pylist()], data_type)
    if pa.types.is_null(arrow_type):
        return pa.nulls(len(array))
    return array.view(arrow_type) if pa.types.is_temporal(arrow_type) else array.cast(arrow_type)
