"""The form in which ``execute_and_collect`` hands a typed value to the program."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from funke.engine.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from funke.engine.types.information.collection_types import is_byte_array
from funke.engine.types.number_text import shortest_float32
from funke.engine.types.row import _create_row

__all__ = ["Collector", "collector"]

Collector = Callable[[Any], Any]


def collector(type_info: TypeInformation | None) -> Collector | None:
    """Return the function that turns a value of a typed stream into what the program collects; None = unchanged.

    Collected values pass through Java objects in Flink, which shows: a 32-bit float comes back with its shortest
    digits (1.1, not 1.100000023841858), a byte array as a list of signed numbers, a time of day without its fraction.
    """
    convert = _converter_of(type_info)
    if convert is None:
        return None
    converting = convert
    return lambda value: None if value is None else converting(value)


def _converter_of(type_info: TypeInformation | None) -> Collector | None:
    if isinstance(type_info, ExternalTypeInfo):
        return _converter_of(type_info._type_info)
    if isinstance(type_info, BasicTypeInfo):
        return shortest_float32 if type_info.basic_type is BasicType.FLOAT else None
    if isinstance(type_info, TimeTypeInfo):
        return _without_fraction
    if isinstance(type_info, MapTypeInfo):
        return _map_converter(type_info)
    if isinstance(type_info, (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo)):
        return _signed_bytes if is_byte_array(type_info) else _list_converter(type_info.element_type)
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return _fields_converter(type_info)
    return None


def _without_fraction(value: datetime.time) -> datetime.time:
    return value.replace(microsecond=0)


def _signed_bytes(value: bytes) -> list[int]:
    return [byte - 256 if byte > 127 else byte for byte in value]


def _list_converter(element_type: TypeInformation) -> Collector | None:
    convert = collector(element_type)
    return None if convert is None else lambda values: list(map(convert, values))


def _map_converter(type_info: MapTypeInfo) -> Collector | None:
    key, value = collector(type_info.key_type), collector(type_info.value_type)
    if key is None and value is None:
        return None
    return lambda items: {
        (key(k) if key is not None else k): (value(v) if value is not None else v) for k, v in items.items()
    }


def _fields_converter(type_info: RowTypeInfo | TupleTypeInfo) -> Collector | None:
    converters = list(map(collector, type_info.get_field_types()))
    if not any(converters):
        return None

    def convert_fields(values: Any) -> list[Any]:
        pairs = zip(converters, values, strict=True)
        return [convert(value) if convert is not None else value for convert, value in pairs]

    if isinstance(type_info, TupleTypeInfo):
        return lambda values: tuple(convert_fields(values))
    names = type_info.get_field_names()
    return lambda row: _create_row(names, convert_fields(row), row.get_row_kind())
