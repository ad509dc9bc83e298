"""Conversion between type information and Arrow types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from funke.engine.errors import TypeMismatchError
from funke.engine.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from funke.engine.types.information.char_type import CharTypeInfo
from funke.engine.types.information.collection_types import is_byte_array
from funke.engine.types.information.decimal_type import DecimalTypeInfo
from funke.engine.types.information.time_types import ZonedTimestampTypeInfo

__all__ = ["DECIMAL_TYPE", "field_names", "from_arrow", "to_arrow"]

DECIMAL_TYPE = pa.decimal128(38, 18)
"""Arrow and Spark need a fixed precision and scale; 38 and 18 are what Flink assumes for BigDecimal."""

_BASIC_TO_ARROW = {
    BasicType.STRING: pa.string(),
    BasicType.CHAR: pa.string(),
    BasicType.BYTE: pa.int8(),
    BasicType.SHORT: pa.int16(),
    BasicType.INT: pa.int32(),
    BasicType.LONG: pa.int64(),
    BasicType.BOOLEAN: pa.bool_(),
    BasicType.FLOAT: pa.float32(),
    BasicType.DOUBLE: pa.float64(),
    BasicType.BIG_INT: pa.decimal128(38, 0),
    BasicType.BIG_DEC: DECIMAL_TYPE,
    BasicType.INSTANT: pa.timestamp("us", tz="UTC"),
}
_LOCAL_TO_ARROW = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: pa.date32(),
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: pa.time64("us"),
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: pa.timestamp("us"),
}
_LIST_TYPES = (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo)


def to_arrow(type_info: TypeInformation) -> Any:
    """Return the Arrow type for a type information; rows and tuples become structs."""
    if isinstance(type_info, ExternalTypeInfo):
        return to_arrow(type_info._type_info)
    if isinstance(type_info, DecimalTypeInfo):
        return pa.decimal128(type_info.precision, type_info.scale)
    if isinstance(type_info, CharTypeInfo):
        return pa.binary(type_info.length)
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC_TO_ARROW[type_info.basic_type]
    if isinstance(type_info, LocalTimeTypeInfo):
        return _LOCAL_TO_ARROW[type_info.time_type]
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        named = zip(field_names(type_info), type_info.get_field_types(), strict=True)
        return pa.struct([pa.field(name, to_arrow(field_type)) for name, field_type in named])
    if isinstance(type_info, MapTypeInfo):
        return pa.map_(to_arrow(type_info.key_type), to_arrow(type_info.value_type))
    if isinstance(type_info, _LIST_TYPES):
        return pa.binary() if is_byte_array(type_info) else pa.list_(to_arrow(type_info.element_type))
    return _simple_to_arrow(type_info)


def _simple_to_arrow(type_info: TypeInformation) -> Any:
    if isinstance(type_info, DateTypeInfo):
        return pa.date32()
    if isinstance(type_info, TimeTypeInfo):
        return pa.time32("ms")
    if isinstance(type_info, TimestampTypeInfo):
        return pa.timestamp("us")
    if isinstance(type_info, ZonedTimestampTypeInfo):
        return pa.timestamp("us", tz="UTC")
    if isinstance(type_info, PickledBytesTypeInfo):
        return pa.binary()
    raise TypeMismatchError(f"type {type_info} has no Arrow type")


def field_names(type_info: RowTypeInfo | TupleTypeInfo) -> list[str]:
    """Return the names of the columns for a row or tuple: the row's names, or f0, f1 and so on."""
    if isinstance(type_info, RowTypeInfo):
        return type_info.get_field_names()
    return [f"f{i}" for i in range(len(type_info.get_field_types()))]


def from_arrow(arrow_type: Any) -> TypeInformation:
    """Return the type information for an Arrow type; structs become rows with names."""
    checks = pa.types
    for matches, build in (
        (checks.is_struct, _row_from_arrow),
        (checks.is_map, lambda t: Types.MAP(from_arrow(t.key_type), from_arrow(t.item_type))),
        (checks.is_list, lambda t: _array_of(from_arrow(t.value_type))),
        (checks.is_large_list, lambda t: _array_of(from_arrow(t.value_type))),
        (checks.is_dictionary, lambda t: from_arrow(t.value_type)),
        (checks.is_decimal, lambda t: Types.BIG_DEC()),
        (checks.is_date, lambda t: Types.SQL_DATE()),
        (checks.is_time, lambda t: Types.SQL_TIME()),
        (checks.is_timestamp, lambda t: Types.SQL_TIMESTAMP() if t.tz is None else Types.INSTANT()),
    ):
        if matches(arrow_type):
            return build(arrow_type)
    return _basic_from_arrow(arrow_type)


def _row_from_arrow(struct: Any) -> TypeInformation:
    return Types.ROW_NAMED([field.name for field in struct], [from_arrow(field.type) for field in struct])


def _array_of(element_type: TypeInformation) -> TypeInformation:
    is_basic = isinstance(element_type, BasicTypeInfo) and element_type.basic_type not in (
        BasicType.BIG_DEC,
        BasicType.BIG_INT,
        BasicType.INSTANT,
    )
    return Types.BASIC_ARRAY(element_type) if is_basic else Types.OBJECT_ARRAY(element_type)


def _basic_from_arrow(arrow_type: Any) -> TypeInformation:
    build = {
        "string": Types.STRING,
        "large_string": Types.STRING,
        "string_view": Types.STRING,
        "null": Types.STRING,
        "bool": Types.BOOLEAN,
        "int8": Types.BYTE,
        "int16": Types.SHORT,
        "uint8": Types.SHORT,
        "int32": Types.INT,
        "uint16": Types.INT,
        "int64": Types.LONG,
        "uint32": Types.LONG,
        "uint64": Types.BIG_INT,
        "halffloat": Types.FLOAT,
        "float": Types.FLOAT,
        "double": Types.DOUBLE,
    }.get(str(arrow_type))
    if build is not None:
        return build()
    if "binary" in str(arrow_type):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    raise TypeMismatchError(f"Arrow type {arrow_type} has no type information")
