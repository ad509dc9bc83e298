"""JSON messages: one row as one object, as Flink's JSON row schemas read and write it."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from funke.engine.errors import SourceError, UnsupportedFeatureError
from funke.engine.formats.text_values import basic_reader, read_base64, read_boolean, sql_reader
from funke.engine.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
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
from funke.engine.types.information.basic_types import INTEGER_BITS
from funke.engine.types.information.collection_types import is_byte_array
from funke.engine.types.number_text import double_text
from funke.engine.types.row import _create_row

__all__ = ["JsonRowReader"]

NodeReader = Callable[[Any], Any]

_ARRAYS = (BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo, ListTypeInfo)
_DECODER = json.JSONDecoder(strict=False)
_TIME = re.compile(r"(\d{2}:\d{2}:\d{2})Z")
_TIMESTAMP = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)Z")


@dataclass
class JsonRowReader:
    """Reads messages into rows of one type."""

    row_type: RowTypeInfo
    fails_on_missing_field: bool = False
    ignores_errors: bool = False

    def __post_init__(self) -> None:
        self._read: NodeReader | None = None

    def read(self, message: bytes) -> Row | None:
        """Return the row of a message; None for `null`, and for what cannot be read when errors are ignored."""
        if self._read is None:
            self._read = self._row_reader(self.row_type)
        try:
            row: Row | None = self._read(_first_node(message.decode()))
        except ValueError as error:
            if self.ignores_errors:
                return None
            raise SourceError(f"failed to deserialize JSON {message.decode(errors='replace')!r}: {error}") from error
        return row

    def _row_reader(self, row_type: RowTypeInfo) -> NodeReader:
        names = row_type.get_field_names()
        fields = [(name, self._reader(each)) for name, each in zip(names, row_type.get_field_types(), strict=True)]

        def read(node: Any) -> Row | None:
            if node is None:
                return None
            _require(node, dict, "an object")
            return _create_row(names, [self._read_field(node, name, each) for name, each in fields])

        return read

    def _read_field(self, node: dict[str, Any], name: str, read: NodeReader) -> Any:
        value = node.get(name)
        if value is None:
            if self.fails_on_missing_field and name not in node:
                raise ValueError(f"could not find field with name '{name}'")
            return None
        try:
            return read(value)
        except ValueError as error:
            if self.ignores_errors:
                return None
            raise ValueError(f"field '{name}': {error}") from error

    def _reader(self, type_info: TypeInformation) -> NodeReader:
        if isinstance(type_info, ExternalTypeInfo):
            return self._reader(type_info._type_info)
        if isinstance(type_info, PickledBytesTypeInfo):
            return lambda node: node
        if isinstance(type_info, BasicTypeInfo):
            return _basic_node_reader(type_info.basic_type)
        if is_byte_array(type_info):
            return lambda node: read_base64(_node_text(node))
        if isinstance(type_info, RowTypeInfo):
            return self._row_reader(type_info)
        if isinstance(type_info, _ARRAYS):
            return self._array_reader(type_info.element_type)
        if isinstance(type_info, MapTypeInfo):
            return self._map_reader(type_info)
        return _time_node_reader(type_info)

    def _array_reader(self, element_type: TypeInformation) -> NodeReader:
        read = self._reader(element_type)

        def read_items(node: Any) -> list[Any]:
            _require(node, list, "an array")
            return [None if item is None else read(item) for item in node]

        return read_items

    def _map_reader(self, map_type: MapTypeInfo) -> NodeReader:
        read_key, read_value = self._reader(map_type.key_type), self._reader(map_type.value_type)

        def read_entries(node: Any) -> dict[Any, Any]:
            _require(node, dict, "an object")
            return {read_key(key): None if value is None else read_value(value) for key, value in node.items()}

        return read_entries

    def __getstate__(self) -> dict[str, Any]:
        # The reader is a closure, which does not pickle; the receiver makes its own.
        return {**self.__dict__, "_read": None}


def _first_node(text: str) -> Any:
    # Flink reads the first value of a message and does not look at what follows.
    try:
        return _DECODER.raw_decode(text.lstrip())[0]
    except json.JSONDecodeError as error:
        raise ValueError(str(error)) from None


def _require(node: Any, expected_type: type, name: str) -> None:
    if not isinstance(node, expected_type):
        raise ValueError(f"{name} was expected, got {json.dumps(node)}")


def _node_text(node: Any) -> str:
    """Return the text of any value: strings as they are, numbers as Java writes them, the rest as JSON."""
    if isinstance(node, str):
        return node
    if isinstance(node, float):
        return double_text(node)
    return json.dumps(node, separators=(",", ":"), ensure_ascii=False)


def _basic_node_reader(basic_type: BasicType) -> NodeReader:
    if basic_type is BasicType.BOOLEAN:
        return lambda node: node if isinstance(node, bool) else read_boolean(_node_text(node))
    read = basic_reader(basic_type)
    if basic_type in (BasicType.INT, BasicType.LONG):
        return _truncating_reader(INTEGER_BITS[basic_type], read)
    if basic_type is BasicType.BIG_DEC:
        return lambda node: Decimal(node) if type(node) is int else read(_plain_number(node))
    if basic_type is BasicType.DOUBLE:
        return lambda node: node if type(node) is float else read(_node_text(node))
    return lambda node: read(_node_text(node))


def _truncating_reader(bits: int, read: NodeReader) -> NodeReader:
    limit = 1 << (bits - 1)

    def read_integer(node: Any) -> Any:
        # Flink: a number that fits loses its fraction; other values are read as text, where one is an error.
        if type(node) in (int, float) and -limit <= node < limit:
            return int(node)
        return read(_node_text(node))

    return read_integer


def _plain_number(node: Any) -> str:
    return repr(node) if isinstance(node, float) else _node_text(node)


def _time_node_reader(type_info: TypeInformation) -> NodeReader:
    if isinstance(type_info, TimeTypeInfo):
        return _read_utc_time
    if isinstance(type_info, TimestampTypeInfo):
        return _read_utc_timestamp
    read = sql_reader(type_info)
    if read is None:
        raise UnsupportedFeatureError(f"a JSON field of type {type_info}")
    return lambda node: read(_node_text(node))


def _read_utc_time(node: Any) -> datetime.time:
    match = _TIME.fullmatch(_node_text(node))
    if match is None:
        raise ValueError(f"{node!r} is not a time like 23:59:59Z (in UTC, without milliseconds)")
    return datetime.time.fromisoformat(match.group(1))


def _read_utc_timestamp(node: Any) -> datetime.datetime:
    match = _TIMESTAMP.fullmatch(_node_text(node))
    if match is None:
        raise ValueError(f"{node!r} is not a timestamp like 2020-12-31T23:59:59.123Z")
    seconds, _, fraction = match.group(2).partition(".")
    whole = datetime.datetime.fromisoformat(f"{match.group(1)} {seconds}")
    return whole.replace(microsecond=int(fraction.ljust(9, "0")[:6]) if fraction else 0)
