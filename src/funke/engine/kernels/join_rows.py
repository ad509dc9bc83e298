"""The loops of joins: rows of a side are linked by key; a batch looks for its matches, and is linked in itself.

Kinds are the values of RowKind: 0 insert, 1 update before, 2 update after, 3 delete; even ones take a row in.

A side has arrays by the number of a key (`head`, `length`) and by the number of a row (`following`, `previous`,
`row_keys` and so on). The row in front of a key's first one is its last one. Rows that are gone have no key (-1). With
`slots`, an open table of row numbers by hash, a row that is taken back is found without walking along its key.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funke.engine.kernels.kernel import Int32s, Int64s, UInt8s, kernel, part

__all__ = [
    "BY_HASH",
    "KEEP_ALL",
    "ONE_PER_KEY",
    "add_slots",
    "fill_matches",
    "find_rows",
    "link_first",
    "link_rows",
    "match_rows",
    "send_left",
    "send_pairs",
    "unlink_rows",
]

# How `link_rows` finds the row that one takes back, or replaces.
KEEP_ALL, BY_HASH, ONE_PER_KEY = 0, 1, 2


@kernel
def fill_matches(numbers: Int64s, count: int, head: Int32s, following: Int32s, rows: Int64s) -> int:
    """The rows with the key of each row of a batch, one key after the other; returns how many there are."""
    total = 0
    for index in range(count):
        if numbers[index] >= 0:
            row = head[numbers[index]]
            while row >= 0:
                rows[total] = row
                total += 1
                row = following[row]
    return total


@kernel
def match_rows(
    numbers: Int64s,
    count: int,
    head: Int32s,
    length: Int32s,
    following: Int32s,
    room: int,
    counts: Int64s,
    rows: Int64s,
    indexes: Int64s,
) -> int:
    """Pairs each row of a batch with those of its key: how many there are, which ones, and the index of the row itself.

    Returns how many pairs there are; if that is more than there is room for, only they are counted.
    """
    total = 0
    for index in range(count):
        counts[index] = length[numbers[index]] if numbers[index] >= 0 else 0
        total += counts[index]
    if total <= room:
        at = 0
        for index in range(count):
            if counts[index] > 0:
                row = head[numbers[index]]
                while row >= 0:
                    rows[at] = row
                    indexes[at] = index
                    at += 1
                    row = following[row]
    return total


@part
def _unlink(row: Any, head: Any, length: Any, following: Any, previous: Any, row_keys: Any) -> Any:
    key = row_keys[row]
    before, after = previous[row], following[row]
    if head[key] == row:
        head[key] = after
    else:
        following[before] = after
    if after >= 0:
        previous[after] = before
    elif head[key] >= 0:
        previous[head[key]] = before
    length[key] -= 1
    row_keys[row] = -1
    return key


@part
def _link_last(row: Any, key: Any, head: Any, length: Any, following: Any, previous: Any, row_keys: Any) -> Any:
    """Links a row behind all others of its key."""
    first = head[key]
    if first < 0:
        head[key] = previous[row] = row
    else:
        last = previous[first]
        following[last] = previous[first] = row
        previous[row] = last
    following[row] = -1
    length[key] += 1
    row_keys[row] = key


@part
def _slot_of_row(hashed: Any, key: Any, slots: Any, mask: Any, row_hashes: Any, row_keys: Any) -> Any:
    slot = hashed & mask
    while slots[slot] != -1:
        row = slots[slot]
        if row >= 0 and row_hashes[row] == hashed and row_keys[row] == key:
            return slot
        slot = (slot + 1) & mask
    return -1


@part
def _put_slot(hashed: Any, row: Any, slots: Any, mask: Any) -> Any:
    slot = hashed & mask
    while slots[slot] >= 0:
        slot = (slot + 1) & mask
    was_removed = slots[slot] == -2
    slots[slot] = row
    return was_removed


@kernel
def link_rows(
    takes_in: UInt8s,
    numbers: Int64s,
    hashes: Int64s,
    matches: Int64s,
    count: int,
    first_row: int,
    way: int,
    replaces: int,
    counts_matches: int,
    head: Int32s,
    length: Int32s,
    following: Int32s,
    previous: Int32s,
    row_keys: Int32s,
    row_matches: Int32s,
    row_hashes: Int64s,
    slots: Int32s,
    mask: int,
    counters: Int64s,
) -> int:
    """Links the rows of a batch that are taken in, and unlinks those that are taken back; returns the next row.

    `counters` are the rows that are gone, and the slots that are taken.
    """
    row = first_row
    for index in range(count):
        key = numbers[index]
        if key >= 0:
            if takes_in[index] == 0 or replaces != 0:
                gone = -1
                if way == 2:
                    gone = head[key]
                elif way == 1:
                    slot = _slot_of_row(hashes[index], key, slots, mask, row_hashes, row_keys)
                    if slot >= 0:
                        gone = slots[slot]
                        slots[slot] = -2
                if gone >= 0:
                    _unlink(gone, head, length, following, previous, row_keys)
                    counters[0] += 1
            if takes_in[index] != 0:
                _link_last(row, key, head, length, following, previous, row_keys)
                if counts_matches != 0:
                    row_matches[row] = matches[index]
                if way == 1:
                    row_hashes[row] = hashes[index]
                    if not _put_slot(hashes[index], row, slots, mask):
                        counters[1] += 1
                row += 1
    return row


@kernel
def link_first(
    numbers: Int64s,
    count: int,
    first_row: int,
    head: Int32s,
    length: Int32s,
    following: Int32s,
    previous: Int32s,
    row_keys: Int32s,
) -> None:
    """Links rows in front of those that their keys have already."""
    for index in range(count - 1, -1, -1):
        key = numbers[index]
        row, first = first_row + index, head[key]
        _link_last(row, key, head, length, following, previous, row_keys)
        if first >= 0:
            # The last row stands in front of the first one already.
            following[previous[row]] = -1
            following[row] = first
            head[key] = row


@kernel
def find_rows(content: UInt8s, lengths: Int64s, values: int, least: int, counts: Int64s, starts: Int64s) -> int:
    """Where rows begin, each with its size in front, in values one behind the other; -1 if they are not such rows."""
    total = 0
    begin = np.int64(0)
    for index in range(values):
        end = begin + lengths[index]
        while begin < end:
            size = (
                np.int64(content[begin])
                | np.int64(content[begin + 1]) << 8
                | np.int64(content[begin + 2]) << 16
                | np.int64(content[begin + 3]) << 24
            )
            if size < least or begin + size > end:
                return -1
            starts[total] = begin
            counts[index] += 1
            total += 1
            begin += size
    return total


@kernel
def unlink_rows(
    rows: Int64s,
    count: int,
    head: Int32s,
    length: Int32s,
    following: Int32s,
    previous: Int32s,
    row_keys: Int32s,
) -> None:
    """Unlinks rows that have expired; their slots lead to rows without a key."""
    for index in range(count):
        _unlink(rows[index], head, length, following, previous, row_keys)


@kernel
def add_slots(row_hashes: Int64s, row_keys: Int32s, begin: int, end: int, slots: Int32s, mask: int) -> int:
    """Puts the rows of a range that are there into slots; returns how many these are."""
    slots_used = 0
    for row in range(begin, end):
        if row_keys[row] >= 0:
            _put_slot(row_hashes[row], row, slots, mask)
            slots_used += 1
    return slots_used


@kernel
def send_pairs(
    kinds: UInt8s,
    offsets: Int64s,
    others: Int64s,
    count: int,
    keeps_input: int,
    keeps_other: int,
    other_matches: Int32s,
    sent_kinds: UInt8s,
    sent_inputs: Int64s,
    sent_others: Int64s,
) -> int:
    """The changes of a join with outer sides, for a batch whose rows have these matches; returns how many there are.

    A row without a match is sent with NULLs (-1). The first match of a row of an outer side takes that back, the loss
    of the last one sends it again.
    """
    total = 0
    for index in range(count):
        begin, end = offsets[index], offsets[index + 1]
        kind = kinds[index]
        takes_in = kind % 2 == 0
        if begin == end and keeps_input != 0:
            sent_kinds[total] = 0 if takes_in else 3
            sent_inputs[total] = index
            sent_others[total] = -1
            total += 1
        # Beside rows with NULLs there are no updates.
        pair_kind = kind
        if keeps_input != 0:
            pair_kind = 0 if takes_in else 3
        elif takes_in and keeps_other != 0:
            pair_kind = 0
        # As in Flink 2.3 a pair stands beside the row with NULLs that it takes back, or leaves.
        for position in range(begin, end):
            other = others[position]
            if takes_in and keeps_other != 0:
                if other_matches[other] == 0:
                    sent_kinds[total] = 3
                    sent_inputs[total] = -1
                    sent_others[total] = other
                    total += 1
                other_matches[other] += 1
            sent_kinds[total] = pair_kind
            sent_inputs[total] = index
            sent_others[total] = other
            total += 1
            if not takes_in and keeps_other != 0:
                if other_matches[other] == 1:
                    sent_kinds[total] = 0
                    sent_inputs[total] = -1
                    sent_others[total] = other
                    total += 1
                other_matches[other] -= 1
    return total


@kernel
def send_left(
    kinds: UInt8s,
    offsets: Int64s,
    others: Int64s,
    count: int,
    is_anti: int,
    left_matches: Int32s,
    sent_kinds: UInt8s,
    sent_rows: Int64s,
) -> int:
    """What rows of the right side make of those of the left side in a semi or anti join; returns how many changes."""
    total = 0
    for index in range(count):
        kind = kinds[index]
        takes_in = kind % 2 == 0
        for position in range(offsets[index], offsets[index + 1]):
            row = others[position]
            if left_matches[row] == (0 if takes_in else 1):
                if is_anti != 0:
                    sent_kinds[total] = 3 if takes_in else 0
                else:
                    sent_kinds[total] = kind
                sent_rows[total] = row
                total += 1
            left_matches[row] += 1 if takes_in else -1
    return total
