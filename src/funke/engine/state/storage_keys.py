"""The form in which keys are kept: the key itself, or a stand-in for keys that a dict cannot tell apart or not hold.

Flink compares keys as bytes, so 1, 1.0 and True are three keys, every NaN is the same key, and a list can be one.
"""

from __future__ import annotations

import datetime
import pickle
from collections.abc import Callable
from itertools import chain
from typing import Any

from funke.engine.types import KeyGroups, Row

__all__ = ["KeyStandIn", "group_of", "groups_of", "original_key", "storage_key", "storage_keys"]

# Hashable, and equal only to keys of the same type. Floats equal an integer only when they are whole.
_SAFE = frozenset({str, int, bytes, type(None), datetime.date, datetime.datetime, datetime.timedelta})


# Snapshots name this class by its place: it stays in this module, or old savepoints cannot be read.
class KeyStandIn:
    """Stands for a key; equal to the stand-ins of keys of the same type and value."""

    __slots__ = ("_hash", "_identity", "original")

    def __init__(self, original: Any) -> None:
        self.original = original
        self._identity = _identity_of(original)
        self._hash = hash(self._identity)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyStandIn) and bool(self._identity == other._identity)

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyStandIn, (self.original,)

    def __repr__(self) -> str:
        return f"KeyStandIn({self.original!r})"


def _identity_of(key: Any) -> Any:
    """A hashable form in which values of different types differ, at any depth."""
    kind = type(key)
    if kind in _SAFE:
        return key
    form = _FORMS.get(kind)
    if form is not None:
        return kind, form(key)
    if key != key:  # noqa: PLR0124 - only NaN is unequal to itself, whatever its class
        return kind, "NaN"
    try:
        hash(key)
    except TypeError:
        return kind, pickle.dumps(key, protocol=4)
    return kind, key


_FORMS: dict[type, Callable[[Any], Any]] = {
    tuple: lambda key: tuple(map(_identity_of, key)),
    list: lambda key: tuple(map(_identity_of, key)),
    set: lambda key: frozenset(map(_identity_of, key)),
    dict: lambda key: frozenset((_identity_of(name), _identity_of(value)) for name, value in key.items()),
    bytearray: bytes,
    Row: lambda key: (key.get_row_kind(), tuple(map(_identity_of, key))),
}
_TRUE, _FALSE = KeyStandIn(True), KeyStandIn(False)


def storage_key(key: Any) -> Any:
    """The form of one key."""
    kind = type(key)
    if kind in _SAFE:
        return key
    if kind is bool:
        return _TRUE if key else _FALSE
    if kind is float:
        return KeyStandIn(key) if key != key or key.is_integer() else key  # noqa: PLR0124 - NaN
    if kind is tuple or kind is Row:
        return key if all(storage_key(item) is item for item in key) else KeyStandIn(key)
    # Numbers of other classes may equal an int or a float.
    if hasattr(key, "__complex__") or hasattr(key, "__float__"):
        return KeyStandIn(key)
    try:
        hash(key)
    except TypeError:
        return KeyStandIn(key)
    return key


def storage_keys(keys: list[Any]) -> list[Any]:
    """The form of many keys; looks at their types in bulk (20 ns per key), since most jobs have only plain ones."""
    kinds = set(map(type, keys))
    if kinds <= _SAFE:
        return keys
    if kinds == {tuple} and set(map(type, chain.from_iterable(keys))) <= _SAFE:
        return keys
    return list(map(storage_key, keys))


def original_key(key: Any) -> Any:
    """The user's key behind a stored one."""
    return key.original if type(key) is KeyStandIn else key


def groups_of(keys: list[Any], key_groups: KeyGroups) -> list[int]:
    """The key groups of many stored keys."""
    if KeyStandIn in set(map(type, keys)):
        keys = list(map(original_key, keys))
    return key_groups.of_each(keys)


def group_of(key: Any, key_groups: KeyGroups) -> int:
    """The key group of a stored key."""
    return key_groups.of(key.original if type(key) is KeyStandIn else key)
