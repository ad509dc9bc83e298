"""Numbers for keys: rows with the same values in the columns of the key get the same number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array
    from funke.engine.types.logical.sql_value import SqlValue

__all__ = ["dense", "first_rows", "key_codes", "slice_codes"]

# Above this many possible codes, those that occur are found by sorting.
_MOST_ENTRIES = 1 << 22
# Numbers that lie so close together are their own codes.
_FEW_ENTRIES = 1 << 12


def key_codes(columns: Sequence[pa.Array], length: int) -> tuple[Array, int]:
    """The number of each row's key (0 … count-1, each of which occurs), and count; NULLs are equal."""
    if not columns:
        return np.zeros(length, np.int64), 1
    codes, count = _column_codes(columns[0])
    for column in columns[1:]:
        more, times = _column_codes(column)
        codes, count = dense(codes * times + more, count * times)
    return codes, count


def slice_codes(columns: Sequence[pa.Array], ends: Array, width: int) -> tuple[Array, int]:
    """The number of each row's slice and key, in the order of slices, and the count of numbers."""
    codes, count = key_codes(columns, len(ends))
    first, last = int(ends.min()), int(ends.max())
    if last == first:
        return codes, count
    return dense((ends - first) // width * count + codes, ((last - first) // width + 1) * count)


def dense(codes: Array, indexes: int) -> tuple[Array, int]:
    """Numbers below `indexes` as numbers without gaps, in the same order, and how many there are."""
    if indexes > _MOST_ENTRIES:
        distinct, codes = np.unique(codes, return_inverse=True)
        return codes, len(distinct)
    occurs: Array = np.zeros(indexes, bool)
    occurs[codes] = True
    count = int(np.count_nonzero(occurs))
    return (codes, count) if count == indexes else ((np.cumsum(occurs) - 1)[codes], count)


def first_rows(codes: Array, count: int) -> Array:
    """For each number one row that has it: the first."""
    rows: Array = np.empty(count, np.int64)
    rows[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return rows


def _column_codes(column: pa.Array) -> tuple[Array, int]:
    if pa.types.is_dictionary(column.type):
        # Entries may occur twice, or not at all.
        column = column.dictionary_decode()
    if pa.types.is_nested(column.type):
        return _value_codes(column.to_pylist())
    if pa.types.is_integer(column.type) and column.null_count == 0 and len(column):
        numbers = np.asarray(column)
        first = int(numbers.min())
        width = int(numbers.max()) - first + 1
        if width <= max(_FEW_ENTRIES, 4 * len(numbers)):
            # Hashing takes 28 ns for each row, this 4.
            return dense(numbers.astype(np.int64) - first, width)
    encoded = column.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices).astype(np.int64), len(encoded.dictionary)


def _value_codes(values: list[SqlValue]) -> tuple[Array, int]:
    """By their texts: values of nested types cannot be hashed."""
    numbers: dict[str, int] = {}
    codes = np.fromiter((numbers.setdefault(repr(each), len(numbers)) for each in values), np.int64, len(values))
    return codes, len(numbers)
