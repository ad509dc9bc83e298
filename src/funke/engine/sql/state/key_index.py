"""From stored keys to numbers: integers and texts by compiled indexes, everything else by a dict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.kernels.bytes_index import ByteKeys, BytesIndex
from funke.engine.kernels.integer_index import IntegerIndex

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["KeyIndex", "Keys", "TextKeys", "chosen_keys"]

# Stored keys; an array of int64; or TextKeys.
Keys = Any


class TextKeys(Sequence[str]):
    """Strings in Arrow's layout; Python strings are made on access."""

    def __init__(self, column: pa.Array) -> None:
        self.column = column
        self._strings: list[str] | None = None

    def tolist(self) -> list[str]:
        if self._strings is None:
            self._strings = self.column.to_pylist()
        return self._strings

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, index: Any) -> Any:
        return self.tolist()[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())


def chosen_keys(keys: Keys, rows: Array) -> Keys:
    """The keys in some rows."""
    if isinstance(keys, np.ndarray):
        return keys[rows]
    if isinstance(keys, TextKeys):
        return TextKeys(keys.column.take(pa.array(rows)))
    return [keys[row] for row in rows.tolist()]


class KeyIndex:
    """Keys with their numbers."""

    def __init__(self) -> None:
        self._integers = IntegerIndex()
        # Until its kernels are compiled, texts are among the others.
        self._strings: BytesIndex | None = None
        self._others: dict[Any, int] = {}

    def find(self, keys: Keys) -> Array:
        """The numbers of keys, -1 for those that are not there."""
        if isinstance(keys, np.ndarray):
            return self._integers.find(keys)
        if isinstance(keys, TextKeys):
            strings = self._text_index(len(keys))
            if strings is not None:
                return strings.find(ByteKeys.of_column(keys.column))
            return np.fromiter(map(self._others.get, keys, repeat(-1)), np.int64, len(keys))
        numbers = np.fromiter(map(self._others.get, keys, repeat(-1)), np.int64, len(keys))
        # The same key may come in an array now and in a list later, after a restore or beside a NULL: lists are divided
        # among the same three indexes.
        integers, strings_there = self._divided(keys)
        if len(integers):
            numbers[integers] = self._integers.find(_integers(keys, integers))
        if self._strings is not None and len(strings_there):
            numbers[strings_there] = self._strings.find(_strings(keys, strings_there))
        return numbers

    def intern(self, keys: Array, following: int, free: list[int]) -> tuple[Array, int]:
        """The numbers of integers, which may occur several times; those that are not there get one that is free, or
        `following` and so on. Returns the next one beside them.
        """
        numbers, following = self._integers.intern_from(keys, following, free)
        return numbers, following

    def add(self, keys: Keys, numbers: Array) -> None:
        """Adds keys that are not there, each of which occurs once."""
        if isinstance(keys, np.ndarray):
            self._integers.add(keys, numbers)
            return
        if isinstance(keys, TextKeys):
            if self._strings is not None:
                self._strings.add(ByteKeys.of_column(keys.column), numbers)
            else:
                self._others.update(zip(keys, numbers.tolist()))
            return
        integers, strings = self._divided(keys)
        if len(integers):
            self._integers.add(_integers(keys, integers), numbers[integers])
        if self._strings is not None and len(strings):
            self._strings.add(_strings(keys, strings), numbers[strings])
        others = self._others_in(keys, integers, strings)
        self._others.update((keys[row], int(numbers[row])) for row in others)

    def remove(self, keys: Keys) -> None:
        """Removes keys that are there."""
        if isinstance(keys, np.ndarray):
            self._integers.remove(keys)
            return
        if isinstance(keys, TextKeys) and self._strings is not None:
            self._strings.remove(ByteKeys.of_column(keys.column))
            return
        integers, strings = self._divided(keys)
        if len(integers):
            self._integers.remove(_integers(keys, integers))
        if self._strings is not None and len(strings):
            self._strings.remove(_strings(keys, strings))
        for row in self._others_in(keys, integers, strings):
            del self._others[keys[row]]

    def entries(self) -> tuple[list[Any], Array]:
        """All keys and their numbers."""
        integers, numbers = self._integers.entries()
        keys, all_numbers = [*integers.tolist(), *self._others], [numbers]
        all_numbers.append(np.fromiter(self._others.values(), np.int64, len(self._others)))
        if self._strings is not None:
            strings, text_numbers = self._strings.entries()
            keys.extend(strings.to_column(pa.large_string()).to_pylist())
            all_numbers.append(text_numbers)
        return keys, np.concatenate(all_numbers)

    def _text_index(self, rows: int) -> BytesIndex | None:
        if self._strings is None and BytesIndex.is_ready(rows):
            self._strings = BytesIndex()
            text_keys = {key: number for key, number in self._others.items() if _is_text(key)}
            if text_keys:
                column = pa.array(list(text_keys), pa.large_string())
                self._strings.add(ByteKeys.of_column(column), np.fromiter(text_keys.values(), np.int64, len(text_keys)))
                self._others = {key: number for key, number in self._others.items() if key not in text_keys}
        return self._strings

    def _divided(self, keys: Sequence[Any]) -> tuple[Array, Array]:
        """The rows of keys that an array of int64 can hold, and those of texts that have a form as bytes."""
        kinds = set(map(type, keys))
        nothing: Array = np.empty(0, np.int64)
        integers = [row for row, key in enumerate(keys) if _is_integer(key)] if int in kinds else nothing
        strings = [row for row, key in enumerate(keys) if _is_text(key)] if str in kinds and self._strings else nothing
        return np.asarray(integers, np.int64), np.asarray(strings, np.int64)

    def _others_in(self, keys: Sequence[Any], integers: Array, strings: Array) -> list[int]:
        is_other: Array = np.ones(len(keys), np.bool_)
        is_other[integers] = False
        if self._strings is not None:
            is_other[strings] = False
        return list(np.flatnonzero(is_other).tolist())


def _is_integer(key: Any) -> bool:
    return type(key) is int and -(1 << 63) <= key < 1 << 63


def _is_text(key: Any) -> bool:
    """Whether Arrow can hold the key: a text with half of a surrogate pair has no form as bytes."""
    if type(key) is not str:
        return False
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def _integers(keys: Sequence[Any], rows: Array) -> Array:
    return np.array([keys[row] for row in rows.tolist()], np.int64)


def _strings(keys: Sequence[Any], rows: Array) -> ByteKeys:
    return ByteKeys.of_column(pa.array([keys[row] for row in rows.tolist()], pa.large_string()))
