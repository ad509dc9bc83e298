"""Frozen values as JSON and back, by the types of their fields."""

from __future__ import annotations

import math
import types
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["from_json", "to_json"]

T = TypeVar("T")

# What of an object that JSON does not know is kept as text.
_MOST_TEXT = 1000


def to_json(value: Any) -> Any:
    """A value as dictionaries, lists, texts and numbers; an object that is none of these as its text.

    >>> to_json({1: (True, None), "x": float("nan")})
    {'1': [True, None], 'x': 'NaN'}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value.name if isinstance(value, Enum) else value
    if isinstance(value, float):
        # Not in JSON; Flink writes them like this.
        return value if math.isfinite(value) else str(value).replace("nan", "NaN").replace("inf", "Infinity")
    if isinstance(value, Enum):
        return value.name
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(to_json(key)): to_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(each) for each in value]
    return _text_of(value)


def _text_of(value: Any) -> str:
    try:
        return str(value)[:_MOST_TEXT]
    except Exception:  # an object of the user's
        return f"<{type(value).__name__}>"


def from_json(kind: type[T], content: Any) -> T:
    """The value of a frozen class that `to_json` has written; what this version does not know is left out."""
    converted: T = _converted(kind, content)
    return converted


def _converted(kind: Any, content: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if content is None else _converted(next(each for each in arguments if each is not _NONE), content)
    if origin is tuple:
        kinds = [arguments[0]] * len(content) if arguments[-1] is Ellipsis else arguments
        return tuple(map(_converted, kinds, content))
    if origin is dict:
        return {_key(arguments[0], key): _converted(arguments[1], each) for key, each in content.items()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind[content]
    if isinstance(kind, type) and is_dataclass(kind):
        known = _hints(kind)
        return kind(**{name: _converted(known[name], each) for name, each in content.items() if name in known})
    return content


def _key(kind: Any, text: str) -> Any:
    return int(text) if kind is int else _converted(kind, text)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


_NONE = type(None)
