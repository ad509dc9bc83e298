"""Rows as JSON messages, in the form of Flink's JSON row schema."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from funke.engine.errors import SinkError, UnsupportedFeatureError
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
    Row,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from funke.engine.types.information.collection_types import is_byte_array
from funke.engine.types.number_text import double_text, float_text
from funke.engine.types.text_form import text_writer

__all__ = ["JsonRowWriter"]

NodeWriter = Callable[[Any], str]

_ARRAYS = (BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo, ListTypeInfo)


@dataclass
class JsonRowWriter:
    """Writes rows of one type as messages."""

    row_type: RowTypeInfo

    def __post_init__(self) -> None:
        self._write: NodeWriter | None = None

    def write(self, row: Any) -> bytes:
        """Return the message of a row."""
        if self._write is None:
            self._write = _row_writer(self.row_type)
        try:
            return self._write(row).encode()
        except (ValueError, TypeError, AttributeError) as error:
            raise SinkError(f"could not serialize row {row!r} as JSON of type {self.row_type}: {error}") from error

    def __getstate__(self) -> dict[str, Any]:
        # The writer is a closure, which does not pickle; the receiver makes its own.
        return {**self.__dict__, "_write": None}


def _node_writer(type_info: TypeInformation) -> NodeWriter:
    write = _writer_of(type_info)
    return lambda value: "null" if value is None else write(value)


def _writer_of(type_info: TypeInformation) -> NodeWriter:
    if isinstance(type_info, ExternalTypeInfo):
        return _writer_of(type_info._type_info)
    if isinstance(type_info, PickledBytesTypeInfo):
        return _to_json
    if isinstance(type_info, BasicTypeInfo):
        return _basic_writer(type_info)
    if is_byte_array(type_info):
        return lambda value: _to_json(base64.b64encode(value).decode())
    if isinstance(type_info, RowTypeInfo):
        return _row_writer(type_info)
    if isinstance(type_info, _ARRAYS):
        write = _node_writer(type_info.element_type)
        return lambda values: f"[{','.join(map(write, values))}]"
    if isinstance(type_info, MapTypeInfo):
        return _map_writer(type_info)
    return _time_writer(type_info)


def _row_writer(row_type: RowTypeInfo) -> NodeWriter:
    prefixes = [f"{_to_json(name)}:" for name in row_type.get_field_names()]
    writers = [_node_writer(each) for each in row_type.get_field_types()]

    def write(row: Any) -> str:
        values = row._values if isinstance(row, Row) else row
        fields = zip(prefixes, writers, values, strict=True)
        return "{" + ",".join([prefix + each(value) for prefix, each, value in fields]) + "}"

    return write


def _map_writer(map_type: MapTypeInfo) -> NodeWriter:
    key_text, write = text_writer(map_type.key_type), _node_writer(map_type.value_type)

    def write_entries(entries: dict[Any, Any]) -> str:
        return "{" + ",".join([f"{_to_json(key_text(key))}:{write(value)}" for key, value in entries.items()]) + "}"

    return write_entries


def _basic_writer(type_info: BasicTypeInfo) -> NodeWriter:
    basic_type = type_info.basic_type
    if basic_type in (BasicType.STRING, BasicType.CHAR):
        return _to_json
    if basic_type is BasicType.BOOLEAN:
        return lambda value: "true" if value else "false"
    if basic_type is BasicType.DOUBLE:
        return double_text
    if basic_type is BasicType.FLOAT:
        return float_text
    if basic_type is BasicType.BIG_DEC:
        return lambda value: format(Decimal(value), "f")
    if basic_type is BasicType.INSTANT:
        to_text = text_writer(type_info)
        return lambda value: _to_json(to_text(value))
    return lambda value: str(int(value))


def _time_writer(type_info: TypeInformation) -> NodeWriter:
    if isinstance(type_info, (DateTypeInfo, LocalTimeTypeInfo)):
        return lambda value: _to_json(value.isoformat())
    if isinstance(type_info, TimeTypeInfo):
        return lambda value: _to_json(value.strftime("%H:%M:%SZ"))
    if isinstance(type_info, TimestampTypeInfo):
        return lambda value: _to_json(_utc_text(value))
    raise UnsupportedFeatureError(f"a JSON field of type {type_info}")


def _utc_text(value: datetime.datetime) -> str:
    precision = "milliseconds" if value.microsecond else "seconds"
    return value.isoformat(timespec=precision) + "Z"


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
