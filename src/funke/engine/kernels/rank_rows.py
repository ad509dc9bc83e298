"""The loop of Top-N: rows of a key stand sorted in a run of slots; each that comes or goes changes some places.

A slot holds the number of a row, the words that it is sorted by and, where rows are replaced or taken back, what it is
known by. `heads` has three entries for each key: its first slot, its rows, its room. A run without room moves to one
twice as large; runs that are free are linked by size.
"""

from __future__ import annotations

from typing import Any

from funke.engine.kernels.kernel import Int64s, UInt8s, kernel, part

__all__ = [
    "ADDS_ALL",
    "APPEND",
    "CHANGE_WIDTH",
    "ENTERED",
    "GONE",
    "LEAST_ROOM",
    "NEEDED_CHANGES",
    "NEEDED_SLOTS",
    "RETRACT",
    "SENT",
    "UPDATE",
    "USED_SLOTS",
    "compared",
    "has_room",
    "move_back",
    "move_forward",
    "rank_rows",
]

# Places in `counters`.
USED_SLOTS, ENTERED, GONE, SENT, NEEDED_SLOTS, NEEDED_CHANGES = range(6)
# Places in `rules`.
_STRATEGY, _FIRST, _LAST, _SENDS_NUMBERS, _SENDS_BEFORE, _WORDS, _HAS_IDENTITY, _HAS_STRINGS, ADDS_ALL = range(9)
APPEND, UPDATE, RETRACT = range(3)
_INSERT, _BEFORE, _AFTER, _DELETE = range(4)
# The room of a run: this, or that times a power of two.
LEAST_ROOM = 4
# A change: its kind, its row, that row's number among those of its key, and the row of the input that it comes from.
CHANGE_WIDTH = 4


@part
def _send(changes: Any, counters: Any, rules: Any, kind: Any, row: Any, number: Any, source: Any) -> Any:
    """Sends a change, if its number is told."""
    is_sent = rules[_FIRST] <= number <= rules[_LAST]
    if is_sent and (kind != _BEFORE or rules[_SENDS_BEFORE] != 0):
        at = counters[SENT] * CHANGE_WIDTH
        changes[at] = kind
        changes[at + 1] = row
        changes[at + 2] = number
        changes[at + 3] = source
        counters[SENT] += 1


@part
def compared(
    words: Any, at: Any, row: Any, slots: Any, slot: Any, word_count: Any, has_strings: Any, offsets: Any, strings: Any
) -> Any:
    """Below 0 if a row stands in front of the one in a slot, 0 if they are equal by the order."""
    for word in range(word_count):
        own, other = words[at + word], slots[slot + 1 + word]
        if own != other:
            return -1 if own < other else 1
    if has_strings != 0:
        begin, other_begin = offsets[row], offsets[slots[slot]]
        shared = min(offsets[row + 1] - begin, offsets[slots[slot] + 1] - other_begin)
        for index in range(shared):
            one, two = strings[begin + index], strings[other_begin + index]
            if one != two:
                return -1 if one < two else 1
    return 0


@part
def position_of(
    words: Any,
    at: Any,
    row: Any,
    slots: Any,
    base: Any,
    length: Any,
    width: Any,
    word_count: Any,
    has_strings: Any,
    offsets: Any,
    strings: Any,
) -> Any:
    """The position of a row among the sorted rows of its key: behind those that are equal."""
    position, end = 0, length
    while position < end:
        middle = (position + end) >> 1
        if compared(words, at, row, slots, base + middle * width, word_count, has_strings, offsets, strings) < 0:
            end = middle
        else:
            position = middle + 1
    return position


@part
def has_room(length: Any, head: Any, width: Any, heads: Any, slots: Any, most_slots: Any, runs: Any, c: Any) -> Any:
    """Makes room for one more row of a key; False if there are too few slots."""
    if length < heads[head + 2]:
        return True
    room = LEAST_ROOM if length == 0 else 2 * length
    size = 0
    while LEAST_ROOM << size < room:
        size += 1
    index = runs[size]
    if index >= 0:
        runs[size] = slots[index * width]
    elif c[USED_SLOTS] + room <= most_slots:
        index = c[USED_SLOTS]
        c[USED_SLOTS] += room
    else:
        c[NEEDED_SLOTS] = room
        return False
    old = heads[head]
    for each in range(length * width):
        slots[index * width + each] = slots[old * width + each]
    if length > 0:
        slots[old * width] = runs[size - 1]
        runs[size - 1] = old
    heads[head] = index
    heads[head + 2] = room
    return True


@part
def move_back(slots: Any, base: Any, begin: Any, end: Any, width: Any) -> Any:
    """Moves the rows at places from `begin` to before `end` by one place."""
    for each in range((end - begin) * width):
        target = base + (end + 1) * width - 1 - each
        slots[target] = slots[target - width]


@part
def move_forward(slots: Any, base: Any, begin: Any, end: Any, width: Any) -> Any:
    """Moves the rows at places behind `begin`, up to `end`, by one place."""
    for each in range(base + begin * width, base + end * width):
        slots[each] = slots[each + width]


@part
def _send_insert(
    changes: Any,
    counters: Any,
    rules: Any,
    slots: Any,
    base: Any,
    width: Any,
    row: Any,
    index: Any,
    length: Any,
    at: Any,
) -> Any:
    """A row comes in at a place, in front of rows that still stand where they were."""
    last = rules[_LAST]
    sent_count = min(length, last)
    if rules[_SENDS_NUMBERS] != 0:
        after = row
        for each in range(index, sent_count):
            before = slots[base + each * width]
            _send(changes, counters, rules, _BEFORE, before, each + 1, at)
            _send(changes, counters, rules, _AFTER, after, each + 1, at)
            after = before
        if length < last:
            _send(changes, counters, rules, _INSERT, after, length + 1, at)
    elif index < last:
        if length >= last:
            _send(changes, counters, rules, _DELETE, slots[base + (last - 1) * width], last, at)
        _send(changes, counters, rules, _INSERT, row, index + 1, at)


@part
def _send_removal(
    changes: Any, counters: Any, rules: Any, slots: Any, base: Any, width: Any, index: Any, length: Any, at: Any
) -> Any:
    """The row at a place goes; it, and those behind it, still stand where they were."""
    last = rules[_LAST]
    if rules[_SENDS_NUMBERS] != 0:
        for each in range(index, min(last, length - 1)):
            _send(changes, counters, rules, _BEFORE, slots[base + each * width], each + 1, at)
            _send(changes, counters, rules, _AFTER, slots[base + (each + 1) * width], each + 1, at)
        if length <= last:
            _send(changes, counters, rules, _DELETE, slots[base + (length - 1) * width], length, at)
    elif index < last:
        _send(changes, counters, rules, _DELETE, slots[base + index * width], index + 1, at)
        if length > last:
            _send(changes, counters, rules, _INSERT, slots[base + last * width], last, at)


@kernel
def rank_rows(  # noqa: PLR0912, PLR0915 - its parts share too many numbers
    takes_in: UInt8s,
    numbers: Int64s,
    words: Int64s,
    identities: Int64s,
    begin: int,
    count: int,
    first_row: int,
    rules: Int64s,
    heads: Int64s,
    slots: Int64s,
    most_slots: int,
    free_runs: Int64s,
    counters: Int64s,
    offsets: Int64s,
    strings: UInt8s,
    entered: Int64s,
    changes: Int64s,
    most_changes: int,
) -> int:
    """Takes rows in, or back, from one on; returns the row at which there is no room to go on.

    Rows get numbers from `first_row` on: those that enter or, as ADDS_ALL says, all. So it is with texts, which decide
    where words are equal, since these are there before.
    """
    last, strategy = rules[_LAST], rules[_STRATEGY]
    word_count, has_strings = rules[_WORDS], rules[_HAS_STRINGS]
    identity_at = 1 + word_count
    width = identity_at + rules[_HAS_IDENTITY]
    for index in range(begin, count):
        head = 3 * numbers[index]
        length = heads[head + 1]
        if counters[SENT] + 2 * min(length, last) + 3 > most_changes:
            counters[NEEDED_CHANGES] = 2 * min(length, last) + 3
            return index
        is_full = strategy != RETRACT and length >= last
        may_grow = takes_in[index] != 0 and not is_full
        if may_grow and not has_room(length, head, width, heads, slots, most_slots, free_runs, counters):
            return index
        row = first_row + (index if rules[ADDS_ALL] != 0 else counters[ENTERED])
        at, base = index * word_count, heads[head] * width

        position = position_of(words, at, row, slots, base, length, width, word_count, has_strings, offsets, strings)

        old_position = -1
        if takes_in[index] == 0:
            # The first row that is the same goes; one that is not there was forgotten.
            each = position - 1
            while (
                each >= 0
                and compared(words, at, row, slots, base + each * width, word_count, has_strings, offsets, strings) == 0
            ):
                if slots[base + each * width + identity_at] == identities[index]:
                    old_position = each
                each -= 1
            if old_position >= 0:
                _send_removal(changes, counters, rules, slots, base, width, old_position, length, index)
                move_forward(slots, base, old_position, length - 1, width)
                heads[head + 1] = length - 1
                counters[GONE] += 1
            continue

        if strategy == UPDATE:
            for each in range(length):
                if old_position < 0 and slots[base + each * width + identity_at] == identities[index]:
                    old_position = each
        if old_position >= 0:
            if (
                compared(words, at, row, slots, base + old_position * width, word_count, has_strings, offsets, strings)
                == 0
            ):
                position = old_position
            elif old_position < position:
                position -= 1
            if rules[_SENDS_NUMBERS] != 0:
                # As in Flink: first what all of them were.
                for each in range(min(position, old_position), max(position, old_position) + 1):
                    _send(changes, counters, rules, _BEFORE, slots[base + each * width], each + 1, index)
            else:
                _send(changes, counters, rules, _BEFORE, slots[base + old_position * width], old_position + 1, index)
            if old_position < position:
                move_forward(slots, base, old_position, position, width)
            else:
                move_back(slots, base, position, old_position, width)
            counters[GONE] += 1
        elif is_full:
            if position >= last:
                continue
            _send_insert(changes, counters, rules, slots, base, width, row, position, length, index)
            move_back(slots, base, position, last - 1, width)
            counters[GONE] += 1
        else:
            _send_insert(changes, counters, rules, slots, base, width, row, position, length, index)
            move_back(slots, base, position, length, width)
            heads[head + 1] = length + 1
        slot = base + position * width
        slots[slot] = row
        for each in range(word_count):
            slots[slot + 1 + each] = words[at + each]
        if rules[_HAS_IDENTITY] != 0:
            slots[slot + identity_at] = identities[index]
        entered[counters[ENTERED]] = index
        counters[ENTERED] += 1
        if old_position >= 0 and rules[_SENDS_NUMBERS] != 0:
            for each in range(min(position, old_position), max(position, old_position) + 1):
                _send(changes, counters, rules, _AFTER, slots[base + each * width], each + 1, index)
        elif old_position >= 0:
            _send(changes, counters, rules, _AFTER, row, position + 1, index)
    return count
