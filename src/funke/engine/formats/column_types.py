"""Table types as stream types, so that file formats can be described by either."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.errors import TypeMismatchError
from funke.engine.types import RowTypeInfo, TypeInformation, Types
from funke.engine.types.information.char_type import CharTypeInfo
from funke.engine.types.information.decimal_type import DecimalTypeInfo
from funke.engine.types.information.time_types import ZonedTimestampTypeInfo

__all__ = ["to_row_type", "to_type_info"]

# By name: the Table API's types lie in a layer above this one.
_SIMPLE: dict[str, Callable[[], TypeInformation]] = {
    "BooleanType": Types.BOOLEAN,
    "TinyIntType": Types.BYTE,
    "SmallIntType": Types.SHORT,
    "IntType": Types.INT,
    "BigIntType": Types.LONG,
    "FloatType": Types.FLOAT,
    "DoubleType": Types.DOUBLE,
    "CharType": Types.STRING,
    "VarCharType": Types.STRING,
    "VariantType": Types.STRING,
    "DateType": Types.SQL_DATE,
    "TimeType": Types.SQL_TIME,
    "TimestampType": Types.SQL_TIMESTAMP,
    "LocalZonedTimestampType": ZonedTimestampTypeInfo,
}


def to_row_type(row_type: Any, is_padded: bool = False) -> RowTypeInfo:
    """Return the stream type of rows."""
    converted = to_type_info(row_type, is_padded)
    if not isinstance(converted, RowTypeInfo):
        raise TypeMismatchError(f"a row type was expected, got {row_type}")
    return converted


def to_type_info(data_type: Any, is_padded: bool = False) -> TypeInformation:
    """Return the stream type of a table type; a stream type is returned as it is.

    With `is_padded` a CHAR keeps its length; else it is a string like any other.
    """
    if isinstance(data_type, TypeInformation):
        return data_type
    name = type(data_type).__name__
    if is_padded and name == "CharType":
        return CharTypeInfo(data_type.length)
    if name in _SIMPLE:
        return _SIMPLE[name]()
    if name == "DecimalType":
        return DecimalTypeInfo(data_type.precision, data_type.scale)
    if name in ("BinaryType", "VarBinaryType", "BitmapType"):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    if name == "ArrayType":
        return Types.LIST(to_type_info(data_type.element_type, is_padded))
    if name == "MapType":
        return Types.MAP(to_type_info(data_type.key_type, is_padded), to_type_info(data_type.value_type, is_padded))
    if name in ("RowType", "StructuredType"):
        types = [to_type_info(each, is_padded) for each in data_type.field_types()]
        return Types.ROW_NAMED(list(data_type.field_names()), types)
    raise TypeMismatchError(f"{data_type!r} is neither a TypeInformation nor a DataType that streams and files have")
