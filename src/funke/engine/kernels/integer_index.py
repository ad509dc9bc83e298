"""From integers to numbers, many at a time: open addressing in arrays.

The compiled loops and the NumPy forms beside them work on the same arrays, so that the change from one to the other is
one between two batches. For a key in 100 000 the loop takes 15 ns, NumPy 60; in a million 35 and 600; a dict
takes 316 and 819, since it needs Python's integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funke.engine.kernels.kernel import Int32s, Int64s, address, kernel, part

__all__ = ["IntegerIndex"]

_FIRST_SLOTS = 1 << 11
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_EMPTY, _REMOVED = -1, -2
_MOVED_AT_ONCE = 1 << 16


@part
def _start_of(key: Any, shift: Any) -> Any:
    # The highest bits of a product are those that all bits of a factor have a share in.
    return np.int64(np.uint64(key) * _FACTOR >> np.uint64(shift))


@part
def _slot_of(key: Any, slot_keys: Any, slot_numbers: Any, mask: Any, shift: Any) -> Any:
    """The slot of a key, or the empty one at which looking for it ends."""
    slot = _start_of(key, shift)
    while slot_numbers[slot] != _EMPTY and (slot_numbers[slot] < 0 or slot_keys[slot] != key):
        slot = (slot + 1) & mask
    return slot


@part
def _free_slot(key: Any, slot_numbers: Any, mask: Any, shift: Any) -> Any:
    """The first slot for a key that is not there: one that is empty, or was left."""
    slot = _start_of(key, shift)
    while slot_numbers[slot] >= 0:
        slot = (slot + 1) & mask
    return slot


@kernel
def find_integers(
    keys: Int64s, count: int, slot_keys: Int64s, slot_numbers: Int32s, mask: int, shift: int, numbers: Int64s
) -> None:
    """The numbers of keys, -1 for those that are not there."""
    for row in range(count):
        numbers[row] = slot_numbers[_slot_of(keys[row], slot_keys, slot_numbers, mask, shift)]


@kernel
def add_integers(
    keys: Int64s, numbers: Int64s, count: int, slot_keys: Int64s, slot_numbers: Int32s, mask: int, shift: int
) -> int:
    """Adds keys that are not there; returns how many slots are taken that never were."""
    slots_used = 0
    for row in range(count):
        slot = _free_slot(keys[row], slot_numbers, mask, shift)
        if slot_numbers[slot] == _EMPTY:
            slots_used += 1
        slot_keys[slot] = keys[row]
        slot_numbers[slot] = numbers[row]
    return slots_used


@kernel
def intern_integers(
    keys: Int64s,
    begin: int,
    count: int,
    slot_keys: Int64s,
    slot_numbers: Int32s,
    mask: int,
    shift: int,
    most_taken: int,
    free: Int64s,
    counters: Int64s,
    numbers: Int64s,
) -> int:
    """The numbers of keys from a row on; those that are not there get one that is free, or the next.

    `counters` are the slots that are taken, the next number, and how many are free. Returns the row at which the table
    is too full to go on.
    """
    for row in range(begin, count):
        key = keys[row]
        slot = _slot_of(key, slot_keys, slot_numbers, mask, shift)
        if slot_numbers[slot] == _EMPTY:
            slot = _free_slot(key, slot_numbers, mask, shift)
            if slot_numbers[slot] == _EMPTY:
                if counters[0] >= most_taken:
                    return row
                counters[0] += 1
            if counters[2] > 0:
                counters[2] -= 1
                slot_numbers[slot] = free[counters[2]]
            else:
                slot_numbers[slot] = counters[1]
                counters[1] += 1
            slot_keys[slot] = key
        numbers[row] = slot_numbers[slot]
    return count


@kernel
def remove_integers(keys: Int64s, count: int, slot_keys: Int64s, slot_numbers: Int32s, mask: int, shift: int) -> None:
    """Removes keys that are there; their slots are tombstones."""
    for row in range(count):
        slot_numbers[_slot_of(keys[row], slot_keys, slot_numbers, mask, shift)] = _REMOVED


@kernel
def move_integers(
    old_keys: Int64s,
    old_numbers: Int32s,
    old_slots: int,
    slot_keys: Int64s,
    slot_numbers: Int32s,
    mask: int,
    shift: int,
) -> int:
    """Moves all keys into empty slots; returns how many there are."""
    moved = 0
    for old in range(old_slots):
        if old_numbers[old] >= 0:
            slot = _free_slot(old_keys[old], slot_numbers, mask, shift)
            slot_keys[slot] = old_keys[old]
            slot_numbers[slot] = old_numbers[old]
            moved += 1
    return moved


class IntegerIndex:
    """Keys are int64; numbers are given by the caller (`add`) or by the index (`intern`), from 0 on."""

    def __init__(self) -> None:
        self._clear(_FIRST_SLOTS)
        # Of numbers that the index gives: the next one, and those that are free again.
        self._next = 0
        self._free: list[Any] = []

    def _clear(self, slots: int) -> None:
        self._keys: Any = np.empty(slots, np.int64)
        self._numbers: Any = np.full(slots, _EMPTY, np.int32)
        self._shift = 64 - slots.bit_length() + 1
        self._slots_used = 0
        self._table = (
            address(self._keys, np.int64),
            address(self._numbers, np.int32),
            slots - 1,
            self._shift,
        )

    @property
    def kept_bytes(self) -> int:
        """How much memory the slots take."""
        return int(self._keys.nbytes + self._numbers.nbytes)

    @property
    def issued(self) -> int:
        """How many keys have a number that the index has given."""
        return self._next - len(self._free)

    @staticmethod
    def most_taken(slots: int) -> int:
        """How many of so many slots may be taken."""
        # NumPy looks at slot after slot for all keys of a batch, so it wants short ways.
        return slots // 2 if move_integers.compiled(0) is None else slots - slots // 4

    def find(self, keys: Any) -> Any:
        """The numbers of keys, -1 for those that are not there."""
        find = find_integers.compiled(len(keys))
        if find is None:
            slots = self._slots_of(keys)
            return np.where(slots >= 0, self._numbers[slots], _EMPTY).astype(np.int64)
        numbers: Any = np.empty(len(keys), np.int64)
        find(address(keys, np.int64), len(keys), *self._table, address(numbers, np.int64))
        return numbers

    def add(self, keys: Any, numbers: Any) -> None:
        """Adds keys that are not there, each of which occurs once."""
        self._reserve(len(keys))
        add = add_integers.compiled(len(keys))
        if add is None:
            self._put(keys, numbers)
        else:
            slots = address(keys, np.int64), address(numbers, np.int64)
            self._slots_used += add(*slots, len(keys), *self._table)

    def remove(self, keys: Any) -> None:
        """Removes keys that are there, each of which occurs once; the caller knows what becomes of their numbers."""
        remove = remove_integers.compiled(len(keys))
        if remove is None:
            self._numbers[self._slots_of(keys)] = _REMOVED
        else:
            remove(address(keys, np.int64), len(keys), *self._table)

    def intern(self, keys: Any) -> Any:
        """The numbers of keys, which may occur several times; those that are not there get one."""
        numbers, self._next = self.intern_from(keys, self._next, self._free)
        return numbers

    def intern_from(self, keys: Any, following: int, free: list[Any]) -> tuple[Any, int]:
        """The same with numbers of the caller's: those that are free, the last one first, then `following` and so on.

        Returns the next number beside those of the keys.
        """
        intern = intern_integers.compiled(len(keys))
        if intern is None:
            return self._intern_distinct(keys, following, free)
        numbers: Any = np.empty(len(keys), np.int64)
        begin = 0
        free_numbers = np.array(free, np.int64)
        counters = np.array([self._slots_used, following, len(free)], np.int64)
        others = address(free_numbers, np.int64), address(counters, np.int64), address(numbers, np.int64)
        while begin < len(keys):
            most = self.most_taken(len(self._keys))
            begin = intern(address(keys, np.int64), begin, len(keys), *self._table, most, *others)
            if begin < len(keys):
                self._slots_used = int(counters[0])
                self._reserve(len(keys) - begin)
                counters[0] = self._slots_used
        self._slots_used, following, left = counters.tolist()
        del free[left:]
        return numbers, following

    def _intern_distinct(self, keys: Any, following: int, free: list[Any]) -> tuple[Any, int]:
        distinct, codes = np.unique(keys, return_inverse=True)
        numbers = self.find(distinct)
        missing = np.flatnonzero(numbers < 0)
        reused = [free.pop() for _ in range(min(len(missing), len(free)))]
        fresh = len(missing) - len(reused)
        numbers[missing] = [*reused, *range(following, following + fresh)]
        self.add(distinct[missing], numbers[missing])
        return numbers[codes], following + fresh

    def release(self, keys: Any) -> Any:
        """Removes keys that are there and frees their numbers, which are returned."""
        numbers = self.find(keys)
        self.remove(keys)
        self._free.extend(numbers.tolist())
        return numbers

    def entries(self) -> tuple[Any, Any]:
        """All keys and their numbers."""
        return self._in_slots(np.flatnonzero(self._numbers >= 0))

    @property
    def slots(self) -> int:
        """How many keys it would hold if it were full."""
        return len(self._numbers)

    def occupied(self, slots: Any) -> tuple[Any, Any]:
        """The keys in some of the slots, and their numbers."""
        return self._in_slots(slots[self._numbers[slots] >= 0])

    def _in_slots(self, slots: Any) -> tuple[Any, Any]:
        return self._keys[slots], self._numbers[slots].astype(np.int64)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._numbers >= 0))

    def _reserve(self, more: int) -> None:
        """Makes the table larger unless it has room for so many more keys."""
        if self._slots_used + more <= self.most_taken(len(self._keys)):
            return
        old_keys, old_numbers, count = self._keys, self._numbers, len(self)
        slots = _FIRST_SLOTS
        while self.most_taken(slots) < count + more:
            slots *= 2
        self._clear(slots)
        move = move_integers.compiled(count)
        if move is None:
            # Some at a time: what NumPy needs for all at once is more than the table.
            for begin in range(0, len(old_keys), _MOVED_AT_ONCE):
                positions: Any = begin + np.flatnonzero(old_numbers[begin : begin + _MOVED_AT_ONCE] >= 0)
                self._put(old_keys[positions], old_numbers[positions])
        else:
            old = address(old_keys, np.int64), address(old_numbers, np.int32)
            self._slots_used = move(*old, len(old_keys), *self._table)

    def _put(self, keys: Any, numbers: Any) -> None:
        self._slots_used += len(keys)
        slots, mask = self._starts(keys), len(self._keys) - 1
        while len(keys):
            is_free = self._numbers[slots] == _EMPTY
            free = slots[is_free]
            # Where several want the same slot, the last one gets it.
            self._numbers[free], self._keys[free] = numbers[is_free], keys[is_free]
            waits = self._numbers[slots] != numbers
            keys, numbers, slots = keys[waits], numbers[waits], (slots[waits] + 1) & mask

    def _starts(self, keys: Any) -> Any:
        return (keys.view(np.uint64) * _FACTOR >> np.uint64(self._shift)).view(np.int64)

    def _slots_of(self, keys: Any) -> Any:
        slots = self._starts(keys)
        numbers = self._numbers[slots]
        hits = np.where((self._keys[slots] == keys) & (numbers >= 0), slots, -1)
        open_ones = np.flatnonzero((hits < 0) & (numbers != _EMPTY))
        mask = len(self._keys) - 1
        slots = slots[open_ones]
        while len(open_ones):
            slots = (slots + 1) & mask
            numbers, sought = self._numbers[slots], keys[open_ones]
            is_hit = (self._keys[slots] == sought) & (numbers >= 0)
            hits[open_ones[is_hit]] = slots[is_hit]
            goes_on = ~is_hit & (numbers != _EMPTY)
            open_ones, slots = open_ones[goes_on], slots[goes_on]
        return hits
