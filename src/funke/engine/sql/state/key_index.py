"""From stored keys to numbers: integers by an array, everything else by a dict."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np

from funke.engine.sql.state.integer_index import IntegerIndex

__all__ = ["KeyIndex", "Keys"]

# Stored keys, or an array of int64.
Keys = Any


class KeyIndex:
    """Keys with their numbers."""

    def __init__(self) -> None:
        self._integers = IntegerIndex()
        self._others: dict[Any, int] = {}

    def find(self, keys: Keys) -> Any:
        """The numbers of keys, -1 for those that are not there."""
        if isinstance(keys, np.ndarray):
            return self._integers.find(keys)
        is_integer = _are_integers(keys)
        if not is_integer.any():
            return np.fromiter(map(self._others.get, keys, repeat(-1)), np.int64, len(keys))
        found = np.fromiter(map(self._others.get, keys, repeat(-1)), np.int64, len(keys))
        found[is_integer] = self._integers.find(_integers(keys, is_integer))
        return found

    def add(self, keys: Keys, numbers: Any) -> None:
        """Adds keys that are not there, each of which occurs once."""
        if isinstance(keys, np.ndarray):
            self._integers.add(keys, numbers)
            return
        is_integer = _are_integers(keys)
        if is_integer.any():
            self._integers.add(_integers(keys, is_integer), numbers[is_integer])
        others = np.flatnonzero(~is_integer).tolist()
        self._others.update((keys[place], int(numbers[place])) for place in others)

    def remove(self, keys: Keys) -> None:
        """Removes keys that are there."""
        if not isinstance(keys, np.ndarray):
            is_integer = _are_integers(keys)
            for place in np.flatnonzero(~is_integer).tolist():
                del self._others[keys[place]]
            keys = _integers(keys, is_integer)
        if len(keys):
            self._integers.remove(keys)

    def entries(self) -> tuple[list[Any], Any]:
        """All keys and their numbers."""
        integers, numbers = self._integers.entries()
        others = np.fromiter(self._others.values(), np.int64, len(self._others))
        return [*integers.tolist(), *self._others], np.concatenate([numbers, others])


def _are_integers(keys: list[Any]) -> Any:
    """Which keys an array of int64 can hold."""
    return np.fromiter((type(key) is int and -(1 << 63) <= key < 1 << 63 for key in keys), np.bool_, len(keys))


def _integers(keys: list[Any], chosen: Any) -> Any:
    return np.array([keys[place] for place in np.flatnonzero(chosen).tolist()], np.int64)
