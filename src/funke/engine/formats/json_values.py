"""Turns parsed JSON into values of a given type."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from funke.engine.types.basic_types import BasicType, BasicTypeInfo
from funke.engine.types.collection_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    is_byte_array,
)
from funke.engine.types.composite_types import RowTypeInfo
from funke.engine.types.row import _create_row
from funke.engine.types.time import Instant
from funke.engine.types.time_types import DateTypeInfo, LocalTimeTypeInfo, TimestampTypeInfo, TimeTypeInfo
from funke.engine.types.type_information import TypeInformation

__all__ = ["from_json_value"]

Converter = Callable[[Any], Any]


def from_json_value(type_info: TypeInformation) -> Converter:
    """Return the function that turns what `json.loads` gives into a value of a type.

    Fields that an object lacks are None; numbers and booleans where a string is wanted become their JSON text; dates
    and times are read in ISO form, bytes in base64.
    """
    convert = _present_value(type_info)
    return lambda value: None if value is None else convert(value)


def _present_value(type_info: TypeInformation) -> Converter:
    if isinstance(type_info, RowTypeInfo):
        return _row(type_info)
    if isinstance(type_info, MapTypeInfo):
        return _map(type_info)
    if isinstance(type_info, (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo)):
        return base64.b64decode if is_byte_array(type_info) else _list(type_info.element_type)
    parse = _TEXT_PARSERS.get(_kind(type_info))
    coerce = type_info.coercer() or (lambda value: value)
    return coerce if parse is None else (lambda value: coerce(parse(value)))


def _kind(type_info: TypeInformation) -> Any:
    if isinstance(type_info, BasicTypeInfo):
        return type_info.basic_type
    return type_info.time_type if isinstance(type_info, LocalTimeTypeInfo) else type(type_info)


def _row(type_info: RowTypeInfo) -> Converter:
    names = list(type_info.get_field_names())
    fields = list(zip(names, map(from_json_value, type_info.get_field_types())))

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"a JSON object is needed, not {json.dumps(value)[:80]}")
        return _create_row(names, [parse(value.get(name)) for name, parse in fields])

    return convert


def _list(element_type: TypeInformation) -> Converter:
    convert = from_json_value(element_type)
    return lambda values: [convert(value) for value in values]


def _map(type_info: MapTypeInfo) -> Converter:
    convert = from_json_value(type_info.value_type)
    convert_key = from_json_value(type_info.key_type)
    return lambda entries: {convert_key(key): convert(value) for key, value in entries.items()}


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _to_number(value: Any) -> Any:
    # Flink reads numbers written as strings too.
    return Decimal(value) if isinstance(value, str) else value


def _to_datetime(text: str) -> datetime.datetime:
    # Python 3.10 knows neither Z nor fractions of other than three or six digits.
    head, dot, fraction = text.removesuffix("Z").partition(".")
    return datetime.datetime.fromisoformat(f"{head}.{fraction[:6]:0<6}" if dot else head)


def _to_instant(text: str) -> Instant:
    since_epoch = _to_datetime(text) - datetime.datetime(1970, 1, 1)
    return Instant(since_epoch.days * 86_400 + since_epoch.seconds, since_epoch.microseconds * 1000)


def _to_time(text: str) -> datetime.time:
    return _to_datetime(f"1970-01-01T{text}").time()


_LOCAL = LocalTimeTypeInfo.TimeType
_TEXT_PARSERS: dict[Any, Converter] = {
    BasicType.STRING: _to_text,
    BasicType.INSTANT: _to_instant,
    DateTypeInfo: datetime.date.fromisoformat,
    _LOCAL.LOCAL_DATE: datetime.date.fromisoformat,
    TimeTypeInfo: _to_time,
    _LOCAL.LOCAL_TIME: _to_time,
    TimestampTypeInfo: _to_datetime,
    _LOCAL.LOCAL_DATE_TIME: _to_datetime,
    **dict.fromkeys(
        (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.FLOAT, BasicType.DOUBLE), _to_number
    ),
}
