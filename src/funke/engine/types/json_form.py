"""Frozen values as JSON and back, by the types of their fields."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
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
    kind: Any = type(value)
    names = _field_names(kind)
    if names is not None:
        return {name: to_json(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {str(to_json(key)): to_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(each) for each in value]
    return _text_of(value)


@cache
def _field_names(kind: Any) -> tuple[str, ...] | None:
    """Of a class of values with fields; None of others."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


def _text_of(value: Any) -> str:
    try:
        return str(value)[:_MOST_TEXT]
    except Exception:  # a user object
        return f"<{type(value).__name__}>"


def from_json(kind: type[T], content: Any) -> T:
    """The value of a frozen class that `to_json` has written; what this version does not know is left out."""
    of: Any = kind
    converted: T = _applied(_converter(of), content)
    return converted


# Views of jobs are read again and again. Looking at types once, and not for every value, takes a fifth of the time.
@cache
def _converter(kind: Any) -> Callable[[Any], Any] | None:
    """What makes values of a type; None where they are what they are in JSON."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        inner = _converter(next(each for each in arguments if each is not _NONE))
        return None if inner is None else lambda content: None if content is None else inner(content)
    if origin is tuple:
        return _tuple_converter(arguments)
    if origin is dict:
        return _dict_converter(*arguments)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind.__getitem__
    if isinstance(kind, type) and is_dataclass(kind):
        return partial(_to_dataclass, kind)
    return None


def _tuple_converter(kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
    if kinds[-1] is not Ellipsis:
        return lambda content: tuple(_applied(_converter(kind), each) for kind, each in zip(kinds, content))
    inner = _converter(kinds[0])
    return tuple if inner is None else lambda content: tuple(map(inner, content))


def _dict_converter(key: Any, value: Any) -> Callable[[Any], Any]:
    to_key, to_value = int if key is int else _converter(key), _converter(value)
    return lambda content: {_applied(to_key, name): _applied(to_value, each) for name, each in content.items()}


def _to_dataclass(kind: Any, content: Any) -> Any:
    converters = _fields(kind)
    return kind(**{name: _applied(converters[name], each) for name, each in content.items() if name in converters})


def _applied(convert: Callable[[Any], Any] | None, content: Any) -> Any:
    return content if convert is None else convert(content)


@cache
def _fields(kind: Any) -> dict[str, Callable[[Any], Any] | None]:
    hints = get_type_hints(kind)
    return {field.name: _converter(hints[field.name]) for field in fields(kind)}


_NONE = type(None)
