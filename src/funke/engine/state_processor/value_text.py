"""The text of keys and values of any type in a table: strings as they are, everything else as JSON."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
from decimal import Decimal
from typing import Any

from funke.engine.types.row import Row

__all__ = ["to_value_text"]


def to_value_text(value: Any) -> str | None:
    """The text of a value; None stays None.

    >>> to_value_text("ann"), to_value_text((1, "b")), to_value_text({1: [True]})
    ('ann', '[1, "b"]', '{"1": [true]}')
    """
    if value is None or isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Row) and hasattr(value, "_fields"):
        return {name: _plain(field) for name, field in zip(value._fields, value)}
    if isinstance(value, (list, tuple, Row)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(item) for item in value), key=repr)
    if isinstance(value, dict):
        return {str(to_value_text(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return repr(value)
