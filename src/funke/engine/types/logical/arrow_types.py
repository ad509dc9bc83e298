"""Data types of tables as Arrow's types, and the other way round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from funke.engine.types.logical.atomic_types import (
    BigIntType,
    BinaryType,
    BitmapType,
    BooleanType,
    CharType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    VariantType,
)
from funke.engine.types.logical.collection_types import ArrayType, MapType
from funke.engine.types.logical.data_type import DataType, NullType
from funke.engine.types.logical.families import LONGEST
from funke.engine.types.logical.row_type import RowField, RowType
from funke.engine.types.logical.time_types import DateType, LocalZonedTimestampType, TimestampType, TimeType

__all__ = ["create_arrow_schema", "from_arrow_type", "to_arrow_type"]

_DIGITS_OF_UNIT = {"s": 0, "ms": 3, "us": 6, "ns": 9}
# PyFlink's Arrow writers have no way for these inside of others.
_NEVER_NESTED = (LocalZonedTimestampType, RowType)


def create_arrow_schema(field_names: list[str], field_types: list[DataType]) -> Any:
    """Return the Arrow schema of some fields."""
    named = zip(field_names, field_types)
    return pa.schema([pa.field(name, to_arrow_type(each), each._nullable) for name, each in named])


def to_arrow_type(data_type: DataType) -> Any:
    """Return the Arrow type of a data type.

    >>> from funke.engine.types.logical.data_types import DataTypes
    >>> to_arrow_type(DataTypes.ARRAY(DataTypes.INT()))
    ListType(list<item: int32>)
    """
    for kind, convert in _TO_ARROW.items():
        if isinstance(data_type, kind):
            return convert(data_type)
    raise ValueError(f"the type {data_type!r} has no Arrow type")


def from_arrow_type(arrow_type: Any, nullable: bool = True) -> DataType:
    """Return the data type of an Arrow type.

    >>> from_arrow_type(pa.int64())
    BigIntType(true)
    """
    for matches, convert in _FROM_ARROW:
        if matches(arrow_type):
            return convert(arrow_type, nullable)
    raise TypeError(f"the Arrow type {arrow_type} has no data type")


def _to_time(data_type: Any) -> Any:
    unit = _unit(data_type.precision)
    return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)


def _to_list(data_type: Any) -> Any:
    if isinstance(data_type.element_type, _NEVER_NESTED):
        raise ValueError(f"Arrow conversion has no arrays of {data_type.element_type!r}")
    return pa.list_(to_arrow_type(data_type.element_type))


def _to_struct(data_type: Any) -> Any:
    for field in data_type:
        if isinstance(field.data_type, _NEVER_NESTED):
            raise TypeError(f"Arrow conversion has no rows with a field of {field.data_type!r}")
    return pa.struct(list(create_arrow_schema(data_type.field_names(), data_type.field_types())))


def _from_struct(struct: Any, nullable: bool) -> DataType:
    if any(pa.types.is_struct(field.type) for field in struct):
        raise TypeError(f"Arrow conversion has no rows within rows: {struct}")
    return RowType([RowField(field.name, from_arrow_type(field.type, field.nullable)) for field in struct])


def _unit(digits: int) -> str:
    """Return the coarsest unit that has so many digits behind the point of a second."""
    return next(unit for unit, held in _DIGITS_OF_UNIT.items() if digits <= held)


_TO_ARROW: dict[type[DataType], Callable[[Any], Any]] = {
    TinyIntType: lambda _: pa.int8(),
    SmallIntType: lambda _: pa.int16(),
    IntType: lambda _: pa.int32(),
    BigIntType: lambda _: pa.int64(),
    BooleanType: lambda _: pa.bool_(),
    FloatType: lambda _: pa.float32(),
    DoubleType: lambda _: pa.float64(),
    CharType: lambda _: pa.utf8(),
    VarCharType: lambda _: pa.utf8(),
    VariantType: lambda _: pa.utf8(),
    BinaryType: lambda data_type: pa.binary(data_type.length),
    VarBinaryType: lambda _: pa.binary(),
    BitmapType: lambda _: pa.binary(),
    DecimalType: lambda data_type: pa.decimal128(data_type.precision, data_type.scale),
    DateType: lambda _: pa.date32(),
    TimeType: _to_time,
    TimestampType: lambda data_type: pa.timestamp(_unit(data_type.precision)),
    LocalZonedTimestampType: lambda data_type: pa.timestamp(_unit(data_type.precision)),
    MapType: lambda data_type: pa.map_(to_arrow_type(data_type.key_type), to_arrow_type(data_type.value_type)),
    ArrayType: _to_list,
    RowType: _to_struct,
    NullType: lambda _: pa.null(),
}

_FROM_ARROW: tuple[tuple[Callable[[Any], bool], Callable[[Any, bool], DataType]], ...] = (
    (pa.types.is_boolean, lambda _, nullable: BooleanType(nullable)),
    (pa.types.is_int8, lambda _, nullable: TinyIntType(nullable)),
    (pa.types.is_int16, lambda _, nullable: SmallIntType(nullable)),
    (pa.types.is_int32, lambda _, nullable: IntType(nullable)),
    (pa.types.is_int64, lambda _, nullable: BigIntType(nullable)),
    (pa.types.is_float32, lambda _, nullable: FloatType(nullable)),
    (pa.types.is_float64, lambda _, nullable: DoubleType(nullable)),
    (pa.types.is_decimal, lambda arrow, nullable: DecimalType(arrow.precision, arrow.scale, nullable)),
    (pa.types.is_string, lambda _, nullable: VarCharType(LONGEST, nullable)),
    (pa.types.is_fixed_size_binary, lambda arrow, nullable: BinaryType(arrow.byte_width, nullable)),
    (pa.types.is_binary, lambda _, nullable: VarBinaryType(LONGEST, nullable)),
    (pa.types.is_date32, lambda _, nullable: DateType(nullable)),
    (pa.types.is_time, lambda arrow, nullable: TimeType(_DIGITS_OF_UNIT[arrow.unit], nullable)),
    (pa.types.is_timestamp, lambda arrow, nullable: TimestampType(_DIGITS_OF_UNIT[arrow.unit], nullable)),
    (
        pa.types.is_map,
        lambda arrow, nullable: MapType(from_arrow_type(arrow.key_type), from_arrow_type(arrow.item_type), nullable),
    ),
    (pa.types.is_list, lambda arrow, nullable: ArrayType(from_arrow_type(arrow.value_type), nullable)),
    (pa.types.is_struct, _from_struct),
    (pa.types.is_null, lambda _arrow, _nullable: NullType()),
)
