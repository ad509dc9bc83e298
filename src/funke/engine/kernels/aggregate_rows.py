"""The loop of aggregates of numbers: each row's change of the results of its group, in the order in which rows come.

A table says where the parts of each call stand: for each of them `WORDS` integers, which are addresses, or 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funke.engine.kernels.copy_rows import set_bit
from funke.engine.kernels.kernel import Int64s, UInt8s, bytes_at, doubles_at, kernel, part, words_at

__all__ = [
    "ARGUMENT",
    "AVERAGE",
    "AVERAGE_OF_FLOATS",
    "COUNT",
    "COUNTING",
    "FIRST_FIELD",
    "GREATEST",
    "GREATEST_FLOAT",
    "LEAST",
    "LEAST_FLOAT",
    "NULLS",
    "OPERATION",
    "SECOND_FIELD",
    "SUM",
    "SUM_OF_FLOATS",
    "VALIDITY",
    "VALUES",
    "WORDS",
    "aggregate_rows",
]

WORDS = 8
OPERATION = 0
# By group: a count; a sum and a count; or a value (64 bits) and whether there is one (8 bits).
FIRST_FIELD, SECOND_FIELD = 1, 2
# By row: the argument, and which rows count (0: all do).
ARGUMENT, COUNTING = 3, 4
# The results that are sent, and bits that say which of them are there.
VALUES, VALIDITY, NULLS = 5, 6, 7

COUNT, SUM, SUM_OF_FLOATS, AVERAGE, AVERAGE_OF_FLOATS = 0, 1, 2, 3, 4
LEAST, GREATEST, LEAST_FLOAT, GREATEST_FLOAT = 5, 6, 7, 8


@part
def _has_floats(operation: Any) -> Any:
    return operation in (2, 4, 7, 8)


@part
def _take_in(table: Any, at: Any, group: Any, row: Any) -> Any:
    """Takes the argument of a row into the fields of a group."""
    operation, counting = table[at + OPERATION], table[at + COUNTING]
    if counting != 0 and bytes_at(counting)[row] == 0:
        return
    first, second = table[at + FIRST_FIELD], table[at + SECOND_FIELD]
    if operation == 0:
        words_at(first)[group] += 1
    elif operation in (1, 3):
        words_at(first)[group] += words_at(table[at + ARGUMENT])[row]
        words_at(second)[group] += 1
    elif operation in (2, 4):
        doubles_at(first)[group] += doubles_at(table[at + ARGUMENT])[row]
        words_at(second)[group] += 1
    elif operation in (5, 6):
        value, extreme = words_at(table[at + ARGUMENT])[row], words_at(first)[group]
        if bytes_at(second)[group] == 0 or (value < extreme if operation == 5 else value > extreme):
            words_at(first)[group] = value
            bytes_at(second)[group] = 1
    else:
        number, best = doubles_at(table[at + ARGUMENT])[row], doubles_at(first)[group]
        if bytes_at(second)[group] == 0 or (number < best if operation == 7 else number > best):
            doubles_at(first)[group] = number
            bytes_at(second)[group] = 1


@part
def _show(table: Any, at: Any, group: Any, index: Any) -> Any:
    """Puts the result of a group at a place."""
    operation, first, second = table[at + OPERATION], table[at + FIRST_FIELD], table[at + SECOND_FIELD]
    count = np.int64(1)
    if operation in (1, 2, 3, 4):
        count = words_at(second)[group]
    elif operation >= 5:
        count = np.int64(bytes_at(second)[group])
    set_bit(bytes_at(table[at + VALIDITY]), index, 1 if count != 0 else 0)
    if operation == 4 and count != 0:
        doubles_at(table[at + VALUES])[index] = np.true_divide(doubles_at(first)[group], count)
    elif operation == 3 and count != 0:
        total = words_at(first)[group]
        # NumPy's division does not raise. Towards zero, as in Java.
        quotient = np.floor_divide(total, count)
        if total < 0 and quotient * count != total:
            quotient += 1
        words_at(table[at + VALUES])[index] = quotient
    else:
        words_at(table[at + VALUES])[index] = words_at(first)[group]


@part
def _differs(table: Any, at: Any, index: Any, other: Any) -> Any:
    """Whether the results at two places differ; NaN differs from all."""
    bits = bytes_at(table[at + VALIDITY])
    is_there = (bits[index >> 3] >> (index & 7)) & 1
    if is_there != (bits[other >> 3] >> (other & 7)) & 1:
        return True
    if is_there == 0:
        return False
    values = table[at + VALUES]
    if _has_floats(table[at + OPERATION]):
        return doubles_at(values)[index] != doubles_at(values)[other]
    return words_at(values)[index] != words_at(values)[other]


@part
def _move(table: Any, at: Any, index: Any, target: Any) -> Any:
    bits, values = bytes_at(table[at + VALIDITY]), words_at(table[at + VALUES])
    set_bit(bits, target, (bits[index >> 3] >> (index & 7)) & 1)
    values[target] = values[index]


@kernel
def aggregate_rows(
    codes: Int64s,
    count: int,
    is_known: UInt8s,
    table: Int64s,
    calls: int,
    sends_before: int,
    sends_all: int,
    sent_kinds: UInt8s,
    sent_rows: Int64s,
) -> int:
    """Takes in rows; returns how many changes are sent, of which there are two of a row at most.

    Kinds are the values of RowKind. There is room for one change more.
    """
    total = 0
    for row in range(count):
        group = codes[row]
        is_changed = sends_all != 0
        for call in range(calls):
            at = call * WORDS
            _show(table, at, group, total)
            _take_in(table, at, group, row)
            _show(table, at, group, total + 1)
            if not is_changed:
                is_changed = _differs(table, at, total, total + 1)
        is_first = is_known[group] == 0
        is_known[group] = 1
        if is_first or is_changed:
            sent_rows[total] = row
            if sends_before != 0 and not is_first:
                sent_kinds[total] = 1
                total += 1
                sent_rows[total] = row
            else:
                for call in range(calls):
                    _move(table, call * WORDS, total + 1, total)
            sent_kinds[total] = 0 if is_first else 2
            total += 1
    for call in range(calls):
        at, nulls = call * WORDS, 0
        bits = bytes_at(table[at + VALIDITY])
        for index in range(total):
            if (bits[index >> 3] >> (index & 7)) & 1 == 0:
                nulls += 1
        table[at + NULLS] = nulls
    return total
