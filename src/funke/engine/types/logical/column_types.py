"""Data types as Arrow's types for columns inside of jobs.

Unlike PyFlink's mapping (`arrow_types`) it has no gaps: whatever a column may hold is held, at any depth.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from funke.engine.types.logical.arrow_types import from_arrow_type, to_arrow_type
from funke.engine.types.logical.collection_types import ArrayType, MapType, MultisetType
from funke.engine.types.logical.data_type import DataType, RawType
from funke.engine.types.logical.families import with_nullable
from funke.engine.types.logical.interval_types import DayTimeIntervalType, YearMonthIntervalType
from funke.engine.types.logical.row_type import RowField, RowType
from funke.engine.types.logical.time_types import LocalZonedTimestampType, TimestampType, TimeType

__all__ = ["column_schema", "from_column_type", "to_column_type"]


def column_schema(names: list[str], data_types: list[DataType]) -> Any:
    """Return the Arrow schema of columns."""
    return pa.schema([_field(name, each) for name, each in zip(names, data_types)])


def to_column_type(data_type: DataType) -> Any:
    """Return the Arrow type of a column.

    Instants stand in UTC, intervals are whole months (int32) or milliseconds (int64), a multiset counts its elements.
    As in Flink a time has milliseconds whatever its precision says, which counts for casts and texts.
    """
    if isinstance(data_type, LocalZonedTimestampType):
        return pa.timestamp(to_arrow_type(TimestampType(data_type.precision)).unit, "UTC")
    if isinstance(data_type, TimeType) and data_type.precision < 3:
        return pa.time32("ms")
    if isinstance(data_type, YearMonthIntervalType):
        return pa.int32()
    if isinstance(data_type, DayTimeIntervalType):
        return pa.int64()
    if isinstance(data_type, RawType):
        return pa.binary()
    return _to_nested(data_type)


def from_column_type(arrow_type: Any, nullable: bool = True) -> DataType:
    """Return the data type of an Arrow type; what Arrow does not tell apart comes back as the wider type."""
    if pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None:
        plain: Any = from_arrow_type(pa.timestamp(arrow_type.unit))
        return LocalZonedTimestampType(plain.precision, nullable)
    if pa.types.is_struct(arrow_type):
        fields = [RowField(each.name, from_column_type(each.type, each.nullable)) for each in arrow_type]
        return RowType(fields, nullable)
    if pa.types.is_map(arrow_type):
        key = from_column_type(arrow_type.key_type)
        return MapType(key, from_column_type(arrow_type.item_type, arrow_type.item_field.nullable), nullable)
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
        return ArrayType(from_column_type(arrow_type.value_type, arrow_type.value_field.nullable), nullable)
    if pa.types.is_large_string(arrow_type):
        return from_arrow_type(pa.utf8(), nullable)
    return with_nullable(from_arrow_type(arrow_type, nullable), nullable)


def _to_nested(data_type: DataType) -> Any:
    if isinstance(data_type, ArrayType):
        return pa.list_(_field("item", data_type.element_type))
    if isinstance(data_type, MultisetType):
        return pa.map_(to_column_type(data_type.element_type), pa.field("value", pa.int32(), False))
    if isinstance(data_type, MapType):
        return pa.map_(to_column_type(data_type.key_type), _field("value", data_type.value_type))
    if isinstance(data_type, RowType):
        return pa.struct([_field(each.name, each.data_type) for each in data_type])
    return to_arrow_type(data_type)


def _field(name: str, data_type: DataType) -> Any:
    return pa.field(name, to_column_type(data_type), data_type._nullable)
