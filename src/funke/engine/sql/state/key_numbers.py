"""Numbers for keys of any columns, from 0 on: what rows of both sides of a join meet by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.kernels.bytes_index import ByteKeys, BytesIndex
from funke.engine.kernels.integer_index import IntegerIndex
from funke.engine.sql.state.rows.row_bytes import row_bytes

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["KeyNumbers"]


class KeyNumbers:
    """One integer or time is a key by itself; other keys are bytes. Without columns all rows have the same key.

    NULL is equal to nothing, but in the columns `equal_nulls` (by their number among those of the key) to NULL.
    """

    def __init__(self, kinds: Sequence[pa.DataType], equal_nulls: Sequence[int] = ()) -> None:
        is_integer = len(kinds) == 1 and (pa.types.is_integer(kinds[0]) or pa.types.is_temporal(kinds[0]))
        self._is_integer = is_integer and not equal_nulls
        self._refusing_nulls = [index for index in range(len(kinds)) if index not in equal_nulls]
        self._has_columns = bool(kinds)
        self._integers = IntegerIndex()
        # Until the kernels of the index are compiled, a dict.
        self._bytes: BytesIndex | None = None
        self._by_bytes: dict[bytes, int] = {}

    def __len__(self) -> int:
        """The number of keys that have numbers."""
        if not self._has_columns:
            return 1
        if self._is_integer:
            return self._integers.issued
        return len(self._by_bytes) if self._bytes is None else len(self._bytes)

    def numbers(self, columns: Sequence[pa.Array], count: int) -> Array:
        """The number of each row's key; -1 where a part of it is NULL and so equal to nothing."""
        return self._of_whole_keys(columns, count, self._numbers_of)

    def find(self, columns: Sequence[pa.Array], count: int) -> Array:
        """The number of each row's key; -1 where it has none, or a part of it is NULL."""
        return self._of_whole_keys(columns, count, self._numbers_without_new)

    def _of_whole_keys(
        self, columns: Sequence[pa.Array], count: int, numbers_of: Callable[[Sequence[pa.Array]], Array]
    ) -> Array:
        if not self._has_columns:
            return np.zeros(count, np.int64)
        refusing = [columns[index] for index in self._refusing_nulls]
        if not any(each.null_count for each in refusing):
            return numbers_of(columns)
        is_whole: Array = np.ones(count, bool)
        for each in refusing:
            is_whole &= each.is_valid().to_numpy(zero_copy_only=False)
        numbers: Array = np.full(count, -1, np.int64)
        mask = pa.array(is_whole)
        if is_whole.any():
            numbers[is_whole] = numbers_of([each.filter(mask) for each in columns])
        return numbers

    def group_numbers(self, columns: Sequence[pa.Array], count: int) -> Array:
        """The number of each row's key, where NULLs are equal to each other; for those who ask for nothing else."""
        if not self._has_columns:
            return np.zeros(count, np.int64)
        if not self._is_integer:
            return self._numbers_of(columns)
        (column,) = columns
        if not column.null_count:
            return self._integers.intern(_integers(column)) + 1
        # NULL always has 0, and the others are counted from 1 on even if none has come yet.
        numbers: Array = np.zeros(count, np.int64)
        is_there = column.is_valid()
        numbers[np.asarray(is_there)] = self._integers.intern(_integers(column.filter(is_there))) + 1
        return numbers

    def _numbers_of(self, columns: Sequence[pa.Array]) -> Array:
        if self._is_integer:
            return self._integers.intern(_integers(columns[0]))
        keys = row_bytes(columns)
        # A key of a dict costs as much as four of an index in NumPy.
        if self._bytes is None and BytesIndex.is_ready(4 * len(keys)):
            self._bytes = BytesIndex()
            if self._by_bytes:
                key_column = pa.array(list(self._by_bytes), pa.large_binary())
                # In the order in which numbers were given, so that each gets its own again.
                self._bytes.intern(ByteKeys.of_column(key_column))
                self._by_bytes = {}
        if self._bytes is not None:
            return self._bytes.intern(ByteKeys.of_column(keys))
        known_keys = self._by_bytes
        numbers = [known_keys.setdefault(each, len(known_keys)) for each in keys.to_pylist()]
        return np.array(numbers, np.int64)

    def _numbers_without_new(self, columns: Sequence[pa.Array]) -> Array:
        if self._is_integer:
            return self._integers.find(_integers(columns[0]))
        keys = row_bytes(columns)
        if self._bytes is not None:
            return self._bytes.find(ByteKeys.of_column(keys))
        number_of_key = self._by_bytes
        return np.array([number_of_key.get(each, -1) for each in keys.to_pylist()], np.int64)


def _integers(column: pa.Array) -> Array:
    if pa.types.is_temporal(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
