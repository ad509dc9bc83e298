"""The types of Python values that a program makes a table of: inferred if not declared, else checked."""

from __future__ import annotations

import array
import ctypes
import datetime
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

from funke.engine.types.logical import (
    ArrayType,
    BinaryType,
    CharType,
    DataType,
    DataTypes,
    IntType,
    MapType,
    MultisetType,
    NullType,
    RowField,
    RowType,
    SmallIntType,
    TinyIntType,
    UserDefinedType,
    VarBinaryType,
    VarCharType,
)
from funke.engine.types.row import Row

__all__ = [
    "SIGNED_TYPECODES",
    "TYPECODE_TYPES",
    "UNSIGNED_TYPECODES",
    "infer_row_type",
    "infer_type",
    "merged_type",
    "to_fields",
    "verifier",
]

Verify = Callable[[Any], None]

_TYPES: dict[type, DataType] = {
    bool: DataTypes.BOOLEAN(),
    int: DataTypes.BIGINT(),
    float: DataTypes.DOUBLE(),
    str: DataTypes.STRING(),
    bytearray: DataTypes.BYTES(),
    Decimal: DataTypes.DECIMAL(38, 18),
    datetime.date: DataTypes.DATE(),
    datetime.datetime: DataTypes.TIMESTAMP_LTZ(6),
    datetime.time: DataTypes.TIME(0),
}
_SIZED_INTEGERS = {1: DataTypes.TINYINT(), 2: DataTypes.SMALLINT(), 4: DataTypes.INT(), 8: DataTypes.BIGINT()}
SIGNED_TYPECODES: dict[str, type[Any]] = {
    "b": ctypes.c_byte,
    "h": ctypes.c_short,
    "i": ctypes.c_int,
    "l": ctypes.c_long,
}
UNSIGNED_TYPECODES: dict[str, type[Any]] = {
    "B": ctypes.c_ubyte,
    "H": ctypes.c_ushort,
    "I": ctypes.c_uint,
    "L": ctypes.c_ulong,
}
# What elements of an `array.array` are. Java has no unsigned numbers: the next wider type holds them, if there is one.
TYPECODE_TYPES: dict[str, DataType] = {
    "u": DataTypes.CHAR(array.array("u").itemsize),
    "f": DataTypes.FLOAT(),
    "d": DataTypes.DOUBLE(),
    **{code: _SIZED_INTEGERS[ctypes.sizeof(each)] for code, each in SIGNED_TYPECODES.items()},
    **{
        code: _SIZED_INTEGERS[2 * ctypes.sizeof(each)]
        for code, each in UNSIGNED_TYPECODES.items()
        if 2 * ctypes.sizeof(each) in _SIZED_INTEGERS
    },
}
_INTEGER_BITS: dict[type[DataType], int] = {TinyIntType: 8, SmallIntType: 16, IntType: 32}
_CLASSES: dict[str, tuple[type, ...]] = {
    "BooleanType": (bool,),
    "TinyIntType": (int,),
    "SmallIntType": (int,),
    "IntType": (int,),
    "BigIntType": (int,),
    "FloatType": (float,),
    "DoubleType": (float,),
    "DecimalType": (Decimal,),
    "CharType": (str,),
    "VarCharType": (str,),
    # Beyond PyFlink, which takes bytearrays alone.
    "BinaryType": (bytearray, bytes),
    "VarBinaryType": (bytearray, bytes),
    "DateType": (datetime.date, datetime.datetime),
    "TimeType": (datetime.time,),
    "TimestampType": (datetime.datetime,),
    "DayTimeIntervalType": (datetime.timedelta,),
    "LocalZonedTimestampType": (datetime.datetime,),
    "ZonedTimestampType": (datetime.datetime,),
    "ArrayType": (list, tuple, array.array),
    "MapType": (dict,),
}


def infer_row_type(elements: Sequence[Any], names: Sequence[str] | None = None) -> RowType:
    """Return the type of rows that all elements are: tuples, lists, dicts, Rows, or objects with attributes."""
    if not elements:
        raise ValueError("can not infer schema from empty data set")
    row_type = reduce(lambda one, other: _merged_rows(one, other, None), (_row_type(each, names) for each in elements))
    if _has_null_type(row_type):
        raise ValueError("Some column types cannot be determined after inferring")
    return row_type


def to_fields(element: Any, row_type: RowType) -> tuple[Any, ...]:
    """Return the values of an element in the order of a type's fields."""
    if isinstance(element, dict):
        return tuple(element.get(name) for name in row_type.names)
    if isinstance(element, Row):
        if element._from_dict:
            return tuple(element[name] for name in row_type.names)
        return tuple(element)
    if isinstance(element, (tuple, list)):
        return tuple(element)
    if hasattr(element, "__dict__"):
        return tuple(element.__dict__.get(name) for name in row_type.names)
    raise ValueError(f"Unexpected tuple {element!r} with RowType")


def verifier(data_type: DataType, name: str | None = None) -> Verify:
    """Return what rejects values that are not of a type, in PyFlink's words; the name is that of the field."""
    verify_value = _value_verifier(data_type, name)

    def verify(value: Any) -> None:
        if value is not None:
            verify_value(value)
        elif not data_type._nullable:
            raise ValueError(_with_field(name, "This field is not nullable, but got None"))

    return verify


def _row_type(element: Any, names: Sequence[str] | None = None) -> RowType:
    if isinstance(element, dict):
        items: Iterable[tuple[str, Any]] = sorted(element.items())
    elif isinstance(element, (Row, tuple, list)):
        values = tuple(element)
        fields = getattr(element, "_fields", None)
        if fields is None:
            known_names = list(names or ())
            fields = known_names + [f"_{index}" for index in range(len(known_names) + 1, len(values) + 1)]
        items = zip(fields, values)
    elif hasattr(element, "__dict__"):
        items = sorted(element.__dict__.items())
    else:
        raise TypeError(f"Can not infer schema for type: {type(element)}")
    return RowType([RowField(name, infer_type(value)) for name, value in items])


def infer_type(value: Any) -> DataType:
    """Return the type of a value."""
    if value is None:
        return NullType()
    if hasattr(value, "__UDT__"):
        own: DataType = value.__UDT__
        return own
    if type(value) in _TYPES:
        return _TYPES[type(value)]
    if isinstance(value, dict):
        pairs = ((key, each) for key, each in value.items() if key is not None and each is not None)
        key, each = next(pairs, (None, None))
        return MapType(infer_type(key).not_null() if key is not None else NullType(), infer_type(each))
    if isinstance(value, list):
        return ArrayType(next((infer_type(each) for each in value if each is not None), NullType()))
    if isinstance(value, array.array):
        return ArrayType(_typecode_type(value).not_null())
    try:
        return _row_type(value)
    except TypeError:
        raise TypeError(f"not supported type: {type(value)}") from None


def _typecode_type(values: array.array[Any]) -> DataType:
    if values.typecode not in TYPECODE_TYPES:
        raise TypeError(f"not supported type: array({values.typecode})")
    return TYPECODE_TYPES[values.typecode]


def merged_type(one: DataType, other: DataType, name: str | None = None) -> DataType:
    """Return the type that values of both types have; the name is that of the field."""
    if isinstance(one, NullType):
        return other
    if isinstance(other, NullType):
        return one
    if type(one) is not type(other):
        raise TypeError(_with_field(name, f"Can not merge type {type(one)} and {type(other)}"))
    if isinstance(one, RowType) and isinstance(other, RowType):
        return _merged_rows(one, other, name)
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return ArrayType(merged_type(one.element_type, other.element_type, f"element in array {name}"))
    if isinstance(one, MapType) and isinstance(other, MapType):
        key = merged_type(one.key_type, other.key_type, f"key of map {name}")
        return MapType(key, merged_type(one.value_type, other.value_type, f"value of map {name}"))
    return one


def _merged_rows(one: RowType, other: RowType, name: str | None) -> RowType:
    others = {each.name: each.data_type for each in other}
    fields = [
        RowField(
            each.name, merged_type(each.data_type, others.pop(each.name, NullType()), _field_name(each.name, name))
        )
        for each in one
    ]
    return RowType([*fields, *(RowField(*each) for each in others.items())])


def _has_null_type(data_type: DataType) -> bool:
    if isinstance(data_type, RowType):
        return any(_has_null_type(each.data_type) for each in data_type)
    if isinstance(data_type, (ArrayType, MultisetType)):
        return _has_null_type(data_type.element_type)
    if isinstance(data_type, MapType):
        return _has_null_type(data_type.key_type) or _has_null_type(data_type.value_type)
    return isinstance(data_type, NullType)


def _value_verifier(data_type: DataType, name: str | None) -> Verify:
    if isinstance(data_type, RowType):
        return _row_verifier(data_type, name)
    if isinstance(data_type, UserDefinedType):
        return _user_verifier(data_type, name)
    accepted = _class_verifier(data_type, name)
    if isinstance(data_type, ArrayType):
        return _and_each(accepted, verifier(data_type.element_type, f"element in array {name}"), list)
    if isinstance(data_type, MapType):
        keys = _and_each(accepted, verifier(data_type.key_type, f"key of map {name}"), dict.keys)
        return _and_each(keys, verifier(data_type.value_type, f"value of map {name}"), dict.values)
    return _range_verifier(data_type, name, accepted)


def _class_verifier(data_type: DataType, name: str | None) -> Verify:
    classes = _CLASSES.get(type(data_type).__name__)
    if classes is None:
        raise AssertionError(_with_field(name, f"unknown datatype: {data_type}"))

    def verify(value: Any) -> None:
        if type(value) not in classes:
            raise TypeError(_with_field(name, f"{data_type} can not accept object {value!r} in type {type(value)}"))

    return verify


def _range_verifier(data_type: DataType, name: str | None, accepted: Verify) -> Verify:
    type_name = type(data_type).__name__

    def verify(value: Any) -> None:
        accepted(value)
        bits = _INTEGER_BITS.get(type(data_type))
        if bits is not None and not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise ValueError(_with_field(name, f"object of {type_name} out of range, got: {value}"))
        if isinstance(data_type, (CharType, BinaryType)) and len(value) != data_type.length:
            raise ValueError(_with_field(name, f"length of object ({value}) of {type_name} is not: {data_type.length}"))
        if isinstance(data_type, (VarCharType, VarBinaryType)) and len(value) > data_type.length:
            raise ValueError(
                _with_field(name, f"length of object ({value}) of {type_name} exceeds: {data_type.length}")
            )

    return verify


def _and_each(verify_whole: Verify, verify_part: Verify, parts: Callable[[Any], Iterable[Any]]) -> Verify:
    def verify(value: Any) -> None:
        verify_whole(value)
        for each in parts(value):
            verify_part(each)

    return verify


def _row_verifier(row_type: RowType, name: str | None) -> Verify:
    verifiers = [verifier(each.data_type, _field_name(each.name, name)) for each in row_type]

    def verify(value: Any) -> None:
        if isinstance(value, (tuple, list)) and len(value) != len(verifiers):
            raise ValueError(
                _with_field(
                    name, f"Length of object ({len(value)}) does not match with length of fields ({len(verifiers)})"
                )
            )
        if not isinstance(value, (dict, Row, tuple, list)) and not hasattr(value, "__dict__"):
            raise TypeError(_with_field(name, f"RowType can not accept object {value!r} in type {type(value)}"))
        for verify_field, each in zip(verifiers, to_fields(value, row_type)):
            verify_field(each)

    return verify


def _user_verifier(data_type: UserDefinedType, name: str | None) -> Verify:
    verify_inner = verifier(data_type.sql_type(), name)

    def verify(value: Any) -> None:
        if getattr(value, "__UDT__", None) != data_type:
            raise ValueError(_with_field(name, f"{value!r} is not an instance of type {data_type!r}"))
        verify_inner(data_type.serialize(value))

    return verify


def _field_name(field: str, name: str | None) -> str:
    return f"field {field}" if name is None else f"field {field} in {name}"


def _with_field(name: str | None, message: str) -> str:
    return message if name is None else f"{name}: {message}"
