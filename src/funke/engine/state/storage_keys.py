"""The form in which keys are kept: the key itself, or a stand-in for keys that a dict cannot hold."""

from __future__ import annotations

import datetime
from collections import deque
from decimal import Decimal
from typing import Any

from funke.engine.types.stable_hash import key_group, stable_hash

__all__ = ["KeyStandIn", "group_of", "original_key", "storage_key", "storage_keys"]

# Always hashable, and equal to itself.
_SAFE = frozenset({str, int, bool, bytes, type(None), datetime.date, datetime.datetime, datetime.timedelta})
_MAY_BE_NAN = frozenset({float, Decimal, complex})


class KeyStandIn:
    """Stands for a key without a hash (a list, a dict) or unequal to itself (NaN)."""

    __slots__ = ("_hash", "original")

    def __init__(self, original: Any) -> None:
        self.original = original
        self._hash = stable_hash(original)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyStandIn):
            return False
        return bool(self.original == other.original) or (_is_nan(self.original) and _is_nan(other.original))

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyStandIn, (self.original,)

    def __repr__(self) -> str:
        return f"KeyStandIn({self.original!r})"


def _is_nan(key: Any) -> bool:
    return bool(key != key)  # noqa: PLR0124 - only NaN is unequal to itself, whatever its class


def storage_key(key: Any) -> Any:
    """The form of one key."""
    if type(key) in _SAFE:
        return key
    if type(key) in _MAY_BE_NAN and _is_nan(key):
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
    if kinds.isdisjoint(_MAY_BE_NAN):
        try:
            deque(map(hash, keys), maxlen=0)
        except TypeError:
            pass
        else:
            return keys
    return list(map(storage_key, keys))


def original_key(key: Any) -> Any:
    """The user's key behind a stored one."""
    return key.original if type(key) is KeyStandIn else key


def group_of(key: Any, max_parallelism: int) -> int:
    """The key group of a stored key."""
    return key_group(key.original if type(key) is KeyStandIn else key, max_parallelism)
