"""Which type of a union a value belongs to."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from funke.engine.formats.avro.avro_schema import branches_of, is_record, kind_of, logical_kind_of

__all__ = ["is_of_type"]

_KINDS: dict[str, Callable[[Any], bool]] = {
    "boolean": lambda value: isinstance(value, bool),
    "int": lambda value: _is_integer(value, 32),
    "long": lambda value: _is_integer(value, 64),
    "float": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "double": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "bytes": lambda value: isinstance(value, bytes),
    "array": lambda value: isinstance(value, (list, tuple)),
    "map": lambda value: isinstance(value, dict),
}
_LOGICAL: dict[str, type] = {
    "date": datetime.date,
    "time-millis": datetime.time,
    "time-micros": datetime.time,
    "timestamp-millis": datetime.datetime,
    "timestamp-micros": datetime.datetime,
    "decimal": Decimal,
}


def is_of_type(value: Any, schema: Any) -> bool:
    """Whether a value looks like one of a type; what it contains is not looked at.

    >>> is_of_type(1, "string"), is_of_type(1, "long"), is_of_type(True, "long")
    (False, True, False)
    """
    logical = _LOGICAL.get(logical_kind_of(schema) or "")
    if logical is not None:
        return isinstance(value, logical)
    kind = kind_of(schema)
    if is_record(schema):
        return isinstance(value, dict) and _has_fields(value, schema["fields"])
    if kind == "enum":
        return value in schema["symbols"]
    if kind == "fixed":
        return isinstance(value, bytes) and len(value) == schema["size"]
    return _KINDS[kind](value)


def _is_integer(value: Any, bits: int) -> bool:
    limit = 1 << (bits - 1)
    return isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit


def _has_fields(record: dict[str, Any], fields: list[Any]) -> bool:
    names = {field["name"] for field in fields}
    needed = {field["name"] for field in fields if "default" not in field and not _is_optional(field["type"])}
    return needed <= record.keys() <= names


def _is_optional(schema: Any) -> bool:
    return kind_of(schema) == "null" or (isinstance(schema, list) and len(branches_of(schema)) < len(schema))
