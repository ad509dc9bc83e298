"""Conversion of values of a stream into what Arrow takes, and of what Arrow gives into values of a stream."""

from __future__ import annotations

import datetime
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from funke.engine.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    Instant,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from funke.engine.types.information.arrow_types import field_names
from funke.engine.types.information.char_type import CharTypeInfo
from funke.engine.types.information.collection_types import is_byte_array
from funke.engine.types.information.decimal_type import DecimalTypeInfo
from funke.engine.types.information.time_types import ZonedTimestampTypeInfo
from funke.engine.types.row import _create_row

__all__ = ["Converter", "from_arrow_value", "to_arrow_value"]

Converter = Callable[[Any], Any]
Composite = RowTypeInfo | TupleTypeInfo


def to_arrow_value(type_info: TypeInformation) -> Converter | None:
    """Return the function that turns a value into what ``pyarrow.array`` accepts; None means it accepts it as it is."""
    return _converter(type_info, _TO_ARROW)


def from_arrow_value(type_info: TypeInformation) -> Converter | None:
    """Return the function that turns a value of ``to_pylist`` into the value of the stream; None means unchanged."""
    return _converter(type_info, _FROM_ARROW)


def _instant_to_datetime(value: Instant) -> datetime.datetime:
    since_epoch = datetime.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + since_epoch


def _datetime_to_instant(value: datetime.datetime) -> Instant:
    since_epoch = value - datetime.datetime(1970, 1, 1, tzinfo=value.tzinfo and datetime.UTC)
    return Instant(since_epoch.days * 86400 + since_epoch.seconds, since_epoch.microseconds * 1000)


def _any_to_datetime(value: Instant | datetime.datetime) -> datetime.datetime:
    return _instant_to_datetime(value) if isinstance(value, Instant) else value


def _fields_to_dict(type_info: Composite, converters: Sequence[Converter | None]) -> Converter:
    names = field_names(type_info)

    def convert(values: Any) -> dict[str, Any]:
        triples = zip(names, converters, values, strict=True)
        return {name: value if change is None else change(value) for name, change, value in triples}

    return convert


def _dict_to_fields(type_info: Composite, converters: Sequence[Converter | None]) -> Converter:
    names = field_names(type_info)

    def values_of(fields: dict[str, Any]) -> list[Any]:
        pairs = zip(names, converters, strict=True)
        return [fields[name] if change is None else change(fields[name]) for name, change in pairs]

    if isinstance(type_info, TupleTypeInfo):
        return lambda fields: tuple(values_of(fields))
    return lambda fields: _create_row(names, values_of(fields))


@dataclass(frozen=True)
class _Direction:
    """What differs between the way into Arrow and the way out of it."""

    basic: dict[BasicType, Converter]
    decimal: Callable[[DecimalTypeInfo], Converter | None]
    char: Callable[[CharTypeInfo], Converter]
    zoned: Converter
    pickled: Converter
    fields: Callable[[Composite, Sequence[Converter | None]], Converter]
    entries: Converter


_TO_ARROW = _Direction(
    basic={BasicType.INSTANT: _instant_to_datetime, BasicType.BIG_INT: Decimal},
    decimal=lambda type_info: type_info.written,
    char=lambda type_info: type_info.written,
    zoned=_any_to_datetime,
    pickled=pickle.dumps,
    fields=_fields_to_dict,
    entries=list,
)
_FROM_ARROW = _Direction(
    basic={BasicType.INSTANT: _datetime_to_instant, BasicType.BIG_INT: int},
    decimal=lambda _: None,
    char=lambda _: bytes.decode,
    zoned=datetime.datetime.astimezone,
    pickled=pickle.loads,
    fields=_dict_to_fields,
    entries=dict,
)


def _converter(type_info: TypeInformation, direction: _Direction) -> Converter | None:
    if isinstance(type_info, PickledBytesTypeInfo):
        return direction.pickled  # None is pickled like any other object
    convert = _converter_of_present(type_info, direction)
    if convert is None:
        return None
    converting = convert
    return lambda value: None if value is None else converting(value)


def _converter_of_present(type_info: TypeInformation, direction: _Direction) -> Converter | None:
    if isinstance(type_info, ExternalTypeInfo):
        return _converter(type_info._type_info, direction)
    if isinstance(type_info, DecimalTypeInfo):
        return direction.decimal(type_info)
    if isinstance(type_info, CharTypeInfo):
        return direction.char(type_info)
    if isinstance(type_info, ZonedTimestampTypeInfo):
        return direction.zoned
    if isinstance(type_info, BasicTypeInfo):
        return direction.basic.get(type_info.basic_type)
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return direction.fields(type_info, [_converter(field, direction) for field in type_info.get_field_types()])
    if isinstance(type_info, MapTypeInfo):
        return _map_converter(type_info, direction)
    if isinstance(type_info, (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo)):
        return None if is_byte_array(type_info) else _list_converter(type_info.element_type, direction)
    return None


def _list_converter(element_type: TypeInformation, direction: _Direction) -> Converter | None:
    convert = _converter(element_type, direction)
    return None if convert is None else lambda values: list(map(convert, values))


def _map_converter(type_info: MapTypeInfo, direction: _Direction) -> Converter:
    key, value = _converter(type_info.key_type, direction), _converter(type_info.value_type, direction)

    def convert(items: Any) -> Any:
        pairs = items.items() if isinstance(items, dict) else items
        return direction.entries((key(k) if key else k, value(v) if value else v) for k, v in pairs)

    return convert
