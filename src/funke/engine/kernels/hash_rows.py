"""The loop that hashes rows: SipHash-1-3: without the key an attacker cannot choose keys that collide."""

from __future__ import annotations

from typing import Any

import numpy as np

from funke.engine.kernels.copy_rows import (
    FORM,
    IS_FLOAT,
    OFFSET,
    STRINGS,
    VALIDITY,
    VALUES,
    WIDTH,
    WORDS,
    bit_of,
    text_offset,
)
from funke.engine.kernels.kernel import (
    Int64s,
    bytes_at,
    doubles_at,
    floats_at,
    halves_at,
    kernel,
    part,
    shorts_at,
    words_at,
)

__all__ = ["hash_rows"]

_START_0 = np.uint64(0x736F6D6570736575)
_START_1 = np.uint64(0x646F72616E646F6D)
_START_2 = np.uint64(0x6C7967656E657261)
_START_3 = np.uint64(0x7465646279746573)
_END = np.uint64(0xFF)
_NAN = np.uint64(0x7FF8000000000000)


@part
def _rotated(word: Any, bits: Any) -> Any:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@part
def _round(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    v0, v2 = v0 + v1, v2 + v3
    v1, v3 = _rotated(v1, 13) ^ v0, _rotated(v3, 16) ^ v2
    v0, v2 = _rotated(v0, 32) + v3, v2 + v1
    v3, v1 = _rotated(v3, 21) ^ v0, _rotated(v1, 17) ^ v2
    return v0, v1, _rotated(v2, 32), v3


@part
def _with_word(v0: Any, v1: Any, v2: Any, v3: Any, word: Any) -> Any:
    v0, v1, v2, v3 = _round(v0, v1, v2, v3 ^ word)
    return v0 ^ word, v1, v2, v3


@part
def _fixed_word(table: Any, at: Any, row: Any, width: Any) -> Any:
    values = table[at + VALUES]
    if width == 8:
        return np.uint64(words_at(values)[row])
    if width == 4:
        return np.uint64(halves_at(values)[row])
    if width == 2:
        return np.uint64(shorts_at(values)[row])
    if table[at + FORM] != 0:
        return np.uint64(bit_of(bytes_at(values), row))
    return np.uint64(bytes_at(values)[row])


@part
def _float_word(table: Any, at: Any, row: Any, width: Any) -> Any:
    # One form of zero, and one of NaN.
    values = table[at + VALUES]
    number = doubles_at(values)[row] if width == 8 else np.float64(floats_at(values)[row])
    if number == 0:
        return np.uint64(0)
    return _NAN if np.isnan(number) else _fixed_word(table, at, row, width)


@part
def _packed(data: Any, begin: Any, end: Any) -> Any:
    word = np.uint64(0)
    for index in range(begin, end):
        word |= np.uint64(data[index]) << np.uint64(8 * (index - begin))
    return word


@part
def _with_bytes(v0: Any, v1: Any, v2: Any, v3: Any, data: Any, begin: Any, end: Any) -> Any:
    for index in range(begin, end, 8):
        v0, v1, v2, v3 = _with_word(v0, v1, v2, v3, _packed(data, index, min(index + 8, end)))
    return v0, v1, v2, v3


@part
def _with_value(v0: Any, v1: Any, v2: Any, v3: Any, table: Any, at: Any, row: Any) -> Any:
    width = table[at + WIDTH]
    if width == 0:
        begin = text_offset(table[at + VALUES], table[at + FORM], row)
        end = text_offset(table[at + VALUES], table[at + FORM], row + 1)
        v0, v1, v2, v3 = _with_word(v0, v1, v2, v3, np.uint64(end - begin))
        return _with_bytes(v0, v1, v2, v3, bytes_at(table[at + STRINGS]), begin, end)
    if table[at + IS_FLOAT] != 0:
        return _with_word(v0, v1, v2, v3, _float_word(table, at, row, width))
    if width in (1, 2, 4, 8):
        return _with_word(v0, v1, v2, v3, _fixed_word(table, at, row, width))
    return _with_bytes(v0, v1, v2, v3, bytes_at(table[at + VALUES]), row * width, (row + 1) * width)


@kernel
def hash_rows(
    table: Int64s,
    columns: Int64s,
    column_count: int,
    count: int,
    first_key: int,
    second_key: int,
    hashes: Int64s,
) -> None:
    """Hashes of some columns of the first rows; rows with equal values have the same."""
    first, second = np.uint64(np.int64(first_key)), np.uint64(np.int64(second_key))
    for index in range(count):
        v0, v1, v2, v3 = _START_0 ^ first, _START_1 ^ second, _START_2 ^ first, _START_3 ^ second
        # Which values are NULL comes first: all others are as long as their type, or their length, says.
        mask = np.uint64(0)
        for number in range(column_count):
            at = columns[number] * WORDS
            mask = mask << np.uint64(1)
            if table[at + VALIDITY] != 0:
                mask |= np.uint64(1 - bit_of(bytes_at(table[at + VALIDITY]), table[at + OFFSET] + index))
            if number % 60 == 59 or number == column_count - 1:
                v0, v1, v2, v3 = _with_word(v0, v1, v2, v3, mask)
                mask = np.uint64(0)
        for number in range(column_count):
            at = columns[number] * WORDS
            row = table[at + OFFSET] + index
            if table[at + VALIDITY] == 0 or bit_of(bytes_at(table[at + VALIDITY]), row) != 0:
                v0, v1, v2, v3 = _with_value(v0, v1, v2, v3, table, at, row)
        v2 ^= _END
        for _ in range(3):
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        hashes[index] = np.int64((v0 ^ v1 ^ v2 ^ v3) >> np.uint64(1))
