"""The loops that copy rows from columns to columns, whatever these hold: one call for all columns.

A table says where columns stand: for each of them `WORDS` integers, which are addresses, or say what stands there. Rows
are copied from two sources at once, by their numbers in each: what a join sends is taken from both of its sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funke.engine.kernels.kernel import Int64s, bytes_at, halves_at, kernel, part, shorts_at, words_at

__all__ = [
    "FORM",
    "IS_FLOAT",
    "NULLS",
    "OFFSET",
    "SOURCE",
    "TARGET_FORM",
    "TARGET_STRINGS",
    "TARGET_VALIDITY",
    "TARGET_VALUES",
    "STRINGS",
    "TEXT_BYTES",
    "VALIDITY",
    "VALUES",
    "WIDTH",
    "WORDS",
    "bit_of",
    "copy_rows",
    "describe_rows",
    "lay_out_rows",
    "read_columns",
    "set_bit",
    "text_offset",
]

WORDS = 14
# The bytes of a value; 0 for texts.
WIDTH = 0
# Where it is copied from: bits (0: there is no NULL), values or offsets, the bytes of texts, the first row.
VALIDITY, VALUES, STRINGS, OFFSET = 1, 2, 3, 4
# 1: truth values are bits, not bytes; offsets have 64 bits, not 32.
FORM = 5
# The same where it is copied to; in what `lay_out_rows` makes, places behind the address of the first one.
TARGET_VALIDITY, TARGET_VALUES, TARGET_STRINGS, TARGET_FORM = 6, 7, 8, 9
# 0: rows of the first source, 1: of the second one.
SOURCE = 10
# What was copied.
NULLS, TEXT_BYTES = 11, 12
# Whether a number is a floating-point one, which may be equal to one with other bits.
IS_FLOAT = 13

# Arrow aligns buffers so.
_ALIGNED = 64


@part
def bit_of(bits: Any, number: Any) -> Any:
    return (bits[number >> 3] >> (number & 7)) & 1


@part
def set_bit(bits: Any, number: Any, value: Any) -> Any:
    if value != 0:
        bits[number >> 3] |= 1 << (number & 7)
    else:
        bits[number >> 3] &= 255 - (1 << (number & 7))


@part
def text_offset(address: Any, is_wide: Any, row: Any) -> Any:
    return words_at(address)[row] if is_wide != 0 else np.int64(halves_at(address)[row])


@kernel
def read_columns(array: int, count: int, table: Int64s) -> None:
    """Notes where the columns of an Arrow array in C's form stand; a column without a NULL has no validity."""
    struct = words_at(array)
    length = struct[0]
    children = words_at(struct[6])
    for index in range(count):
        at = index * WORDS
        child = words_at(children[index])
        buffers = words_at(child[5])
        offset = struct[2] + child[2]
        table[at + OFFSET] = offset
        table[at + VALIDITY] = 0
        if buffers[0] != 0:
            validity = bytes_at(buffers[0])
            for row in range(offset, offset + length):
                if bit_of(validity, row) == 0:
                    table[at + VALIDITY] = buffers[0]
                    break
        table[at + VALUES] = buffers[1]
        if table[at + WIDTH] == 0:
            table[at + STRINGS] = buffers[2]
            wide = table[at + FORM]
            begin, end = text_offset(buffers[1], wide, offset), text_offset(buffers[1], wide, offset + length)
            table[at + TEXT_BYTES] = end - begin


@part
def _has_missing(rows: Any, count: Any) -> Any:
    for index in range(count):
        if rows[index] < 0:
            return 1
    return 0


@kernel
def lay_out_rows(table: Int64s, columns: int, first_rows: Int64s, second_rows: Int64s, count: int) -> int:
    """Where columns with these rows will stand, one behind the other; returns how many bytes they take."""
    missing_first, missing_second = _has_missing(first_rows, count), _has_missing(second_rows, count)
    used = 0
    for index in range(columns):
        at = index * WORDS
        is_second = table[at + SOURCE] != 0
        missing = missing_second if is_second else missing_first
        table[at + TARGET_VALIDITY] = -1
        if table[at + VALIDITY] != 0 or missing != 0:
            table[at + TARGET_VALIDITY] = used
            used += ((count + 7) // 8 + _ALIGNED - 1) // _ALIGNED * _ALIGNED
        table[at + TARGET_VALUES] = used
        width = table[at + WIDTH]
        size = count * width
        if width == 0:
            size = (count + 1) * (8 if table[at + TARGET_FORM] != 0 else 4)
        elif width == 1 and table[at + TARGET_FORM] != 0:
            size = (count + 7) // 8
        used += (size + _ALIGNED - 1) // _ALIGNED * _ALIGNED
        if width == 0:
            rows = second_rows if is_second else first_rows
            total = np.int64(0)
            offset, wide, offsets = table[at + OFFSET], table[at + FORM], table[at + VALUES]
            for each in range(count):
                row = rows[each]
                if row >= 0:
                    total += text_offset(offsets, wide, offset + row + 1) - text_offset(offsets, wide, offset + row)
            table[at + TEXT_BYTES] = total
            table[at + TARGET_STRINGS] = used
            used += (total + _ALIGNED - 1) // _ALIGNED * _ALIGNED
    return used


@part
def _copy_validity(table: Any, at: Any, rows: Any, count: Any, target: Any, first: Any) -> Any:
    bits, nulls = bytes_at(target), 0
    source, offset = bytes_at(table[at + VALIDITY]), table[at + OFFSET]
    has_nulls = table[at + VALIDITY] != 0
    for index in range(count):
        row = rows[index]
        is_valid = 0
        if row >= 0 and (not has_nulls or bit_of(source, offset + row) != 0):
            is_valid = 1
        nulls += 1 - is_valid
        set_bit(bits, first + index, is_valid)
    return nulls


@part
def _copy_words(table: Any, at: Any, rows: Any, count: Any, target: Any, first: Any, words: Any) -> Any:
    source, copied, offset = words_at(table[at + VALUES]), words_at(target), table[at + OFFSET]
    for index in range(count):
        row = rows[index]
        for word in range(words):
            copied[(first + index) * words + word] = source[(offset + row) * words + word] if row >= 0 else 0


@part
def _copy_each(source: Any, offset: Any, rows: Any, count: Any, copied: Any, first: Any) -> Any:
    for index in range(count):
        row = rows[index]
        copied[first + index] = source[offset + row] if row >= 0 else 0


@part
def _copy_bytes(table: Any, at: Any, rows: Any, count: Any, target: Any, first: Any, width: Any) -> Any:
    source, copied, offset = bytes_at(table[at + VALUES]), bytes_at(target), table[at + OFFSET]
    for index in range(count):
        row = rows[index]
        for position in range(width):
            copied[(first + index) * width + position] = source[(offset + row) * width + position] if row >= 0 else 0


@part
def _copy_truth(table: Any, at: Any, rows: Any, count: Any, target: Any, first: Any) -> Any:
    source, copied, offset = bytes_at(table[at + VALUES]), bytes_at(target), table[at + OFFSET]
    has_bits, takes_bits = table[at + FORM] != 0, table[at + TARGET_FORM] != 0
    for index in range(count):
        row, value = rows[index], np.int64(0)
        if row >= 0:
            value = np.int64(bit_of(source, offset + row)) if has_bits else np.int64(source[offset + row])
        if takes_bits:
            set_bit(copied, first + index, value)
        else:
            copied[first + index] = value


@part
def _copy_strings(table: Any, at: Any, rows: Any, count: Any, target: Any, strings: Any, first: Any) -> Any:
    offset, offsets, wide = table[at + OFFSET], table[at + VALUES], table[at + FORM]
    source, copied = bytes_at(table[at + STRINGS]), bytes_at(strings)
    is_wide = table[at + TARGET_FORM] != 0
    words, halves = words_at(target), halves_at(target)
    used = np.int64(0)
    if first > 0:
        used = words[first] if is_wide else np.int64(halves[first])
    elif is_wide:
        words[0] = 0
    else:
        halves[0] = 0
    for index in range(count):
        row = rows[index]
        if row >= 0:
            begin, end = text_offset(offsets, wide, offset + row), text_offset(offsets, wide, offset + row + 1)
            for position in range(begin, end):
                copied[used + position - begin] = source[position]
            used += end - begin
        if is_wide:
            words[first + index + 1] = used
        else:
            halves[first + index + 1] = used


@kernel
def copy_rows(
    table: Int64s, columns: int, first_rows: Int64s, second_rows: Int64s, count: int, base: int, first: int
) -> None:
    """Copies rows behind the `first` ones that the targets have; a number below 0 is a row of NULLs.

    Places of targets are addresses behind `base`.
    """
    for index in range(columns):
        at = index * WORDS
        rows = second_rows if table[at + SOURCE] != 0 else first_rows
        target, width = base + table[at + TARGET_VALUES], table[at + WIDTH]
        values, offset = table[at + VALUES], table[at + OFFSET]
        table[at + NULLS] = 0
        if table[at + TARGET_VALIDITY] >= 0:
            table[at + NULLS] = _copy_validity(table, at, rows, count, base + table[at + TARGET_VALIDITY], first)
        if width == 0:
            _copy_strings(table, at, rows, count, target, base + table[at + TARGET_STRINGS], first)
        elif width == 8:
            _copy_each(words_at(values), offset, rows, count, words_at(target), first)
        elif width == 4:
            _copy_each(halves_at(values), offset, rows, count, halves_at(target), first)
        elif width == 2:
            _copy_each(shorts_at(values), offset, rows, count, shorts_at(target), first)
        elif width == 1:
            _copy_truth(table, at, rows, count, target, first)
        elif width % 8 == 0:
            _copy_words(table, at, rows, count, target, first, width // 8)
        else:
            _copy_bytes(table, at, rows, count, target, first, width)


@kernel
def describe_rows(
    table: Int64s,
    columns: int,
    count: int,
    message: Int64s,
    size: int,
    body: int,
    length: int,
    nodes: int,
    buffers: int,
) -> None:
    """Says in the head of an Arrow message where columns were copied to.

    The last arguments are the words of it that have the size of its body, the number of rows, and those of columns.
    """
    message[body] = size
    message[length] = count
    bits = (count + 7) // 8
    for index in range(columns):
        at = index * WORDS
        nulls = table[at + NULLS]
        message[nodes] = count
        message[nodes + 1] = nulls
        nodes += 2
        message[buffers] = table[at + TARGET_VALIDITY] if nulls > 0 else 0
        message[buffers + 1] = bits if nulls > 0 else 0
        message[buffers + 2] = table[at + TARGET_VALUES]
        width, form = table[at + WIDTH], table[at + TARGET_FORM]
        if width == 0:
            message[buffers + 3] = (count + 1) * (8 if form != 0 else 4)
            message[buffers + 4] = table[at + TARGET_STRINGS]
            message[buffers + 5] = table[at + TEXT_BYTES]
            buffers += 6
        else:
            message[buffers + 3] = bits if width == 1 and form != 0 else count * width
            buffers += 4
