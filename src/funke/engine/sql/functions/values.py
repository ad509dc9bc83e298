"""Conversions between columns and Python values."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.types.columns.arrow_rows import to_python
from funke.engine.types.logical import TIMESTAMP, ArrayType, DataType, MapType, MultisetType, RowType, to_column_type

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["from_values", "to_value", "to_values"]

Convert = Callable[[Any], Any]


def to_values(column: pa.Array, data_type: DataType) -> list[SqlValue]:
    """Return the Python values of a column."""
    values: list[SqlValue] = to_python(column)
    convert = _from_arrow(data_type)
    return values if convert is None else [None if each is None else convert(each) for each in values]


def to_value(scalar: pa.Scalar, data_type: DataType) -> SqlValue:
    """Return the Python value of an Arrow scalar."""
    return to_values(pa.array([scalar.as_py()], scalar.type), data_type)[0]


def from_values(values: Sequence[SqlValue], data_type: DataType) -> pa.Array:
    """Return the column of some Python values."""
    convert = _to_arrow(data_type)
    if convert is not None:
        values = [None if each is None else convert(each) for each in values]
    return pa.array(values, to_column_type(data_type))


def _from_arrow(data_type: DataType) -> Convert | None:
    """Return the conversion from Arrow's Python form, in which maps are lists of pairs and rows are dicts."""
    if isinstance(data_type, RowType):
        fields = [(each.name, _from_arrow(each.data_type)) for each in data_type]
        return lambda row: tuple(_applied(convert, row[name]) for name, convert in fields)
    if isinstance(data_type, ArrayType):
        element = _from_arrow(data_type.element_type)
        return None if element is None else lambda items: [_applied(element, each) for each in items]
    if isinstance(data_type, (MapType, MultisetType)):
        key, value = _map_parts(data_type, _from_arrow)
        return lambda pairs: {_applied(key, first): _applied(value, second) for first, second in pairs}
    return None


def _to_arrow(data_type: DataType) -> Convert | None:
    if isinstance(data_type, RowType):
        fields = [(each.name, _to_arrow(each.data_type)) for each in data_type]
        return lambda row: {name: _applied(convert, value) for (name, convert), value in zip(fields, row)}
    if isinstance(data_type, ArrayType):
        element = _to_arrow(data_type.element_type)
        return None if element is None else lambda items: [_applied(element, each) for each in items]
    if isinstance(data_type, (MapType, MultisetType)):
        key, value = _map_parts(data_type, _to_arrow)
        return lambda items: [(_applied(key, first), _applied(value, second)) for first, second in items.items()]
    if isinstance(data_type, TIMESTAMP) and data_type.precision == 0:  # type: ignore[attr-defined]
        return lambda timestamp: timestamp.replace(microsecond=0)
    return _to_milliseconds if isinstance(data_type, TIMESTAMP) and data_type.precision <= 3 else None  # type: ignore[attr-defined]


def _to_milliseconds(timestamp: datetime.datetime) -> datetime.datetime:
    return timestamp.replace(microsecond=timestamp.microsecond // 1000 * 1000)


def _map_parts(data_type: Any, convert: Callable[[DataType], Convert | None]) -> tuple[Convert | None, Convert | None]:
    if isinstance(data_type, MultisetType):
        return convert(data_type.element_type), None
    return convert(data_type.key_type), convert(data_type.value_type)


def _applied(convert: Convert | None, value: SqlValue) -> SqlValue:
    return value if convert is None or value is None else convert(value)
