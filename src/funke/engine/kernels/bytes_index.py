"""From keys of any length to numbers, many at a time: open addressing, and an arena with the bytes of all keys.

Keys come as Arrow has them: where each begins, where the last one ends, and their bytes one behind the other.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.kernels.kernel import Int32s, Int64s, UInt8s, UInt32s, address, kernel, part

__all__ = ["BytesIndex", "ByteKeys"]

_FIRST_SLOTS = 1 << 10
_FIRST_ARENA = 1 << 14
_EMPTY, _REMOVED = -1, -2
_PRIME = np.uint64(0x9DDFEA08EB382D69)


@dataclass(frozen=True)
class ByteKeys:
    """Some keys: the i-th one is `data[offsets[i]:offsets[i + 1]]`."""

    offsets: Any
    data: Any

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @staticmethod
    def of_column(column: Any) -> ByteKeys:
        """The values of an Arrow column of texts or bytes without nulls, which are not copied."""
        wide = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
        _, offsets, data = column.buffers()
        whole = np.frombuffer(offsets, np.int64 if wide else np.int32)[column.offset :][: len(column) + 1]
        return ByteKeys(whole.astype(np.int64), np.frombuffer(data or b"", np.uint8))

    def to_column(self, kind: Any) -> Any:
        """The keys as an Arrow column of `large_string` or `large_binary`."""
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(kind, len(self), buffers)

    def take(self, rows: Any) -> ByteKeys:
        """The keys in some rows."""
        kept = self.to_column(pa.large_binary()).take(pa.array(rows))
        return ByteKeys.of_column(kept)


@part
def _hash_of(data: Any, begin: Any, end: Any, seed: Any) -> Any:
    hashed = np.uint64(seed)
    for index in range(begin, end):
        hashed = (hashed ^ np.uint64(data[index])) * _PRIME
    hashed = (hashed ^ hashed >> np.uint64(32)) * _PRIME
    return np.uint32(hashed >> np.uint64(32))


@part
def _are_equal(data: Any, begin: Any, end: Any, arena: Any, start: Any, length: Any) -> Any:
    is_equal = end - begin == length
    index = begin
    while is_equal and index < end:
        is_equal = data[index] == arena[start + index - begin]
        index += 1
    return is_equal


@part
def _slot_of(
    data: Any,
    begin: Any,
    end: Any,
    hashed: Any,
    hashes: Any,
    starts: Any,
    lengths: Any,
    slot_numbers: Any,
    mask: Any,
    arena: Any,
) -> Any:
    """The slot of a key, or the empty one at which looking for it ends."""
    slot = np.int64(hashed) & mask
    while slot_numbers[slot] != _EMPTY and (
        slot_numbers[slot] < 0
        or hashes[slot] != hashed
        or not _are_equal(data, begin, end, arena, starts[slot], lengths[slot])
    ):
        slot = (slot + 1) & mask
    return slot


@part
def _free_slot(hashed: Any, slot_numbers: Any, mask: Any) -> Any:
    """The first slot for a key that is not there: one that is empty, or was left."""
    slot = np.int64(hashed) & mask
    while slot_numbers[slot] >= 0:
        slot = (slot + 1) & mask
    return slot


@part
def _put_key(
    slot: Any,
    hashed: Any,
    data: Any,
    begin: Any,
    length: Any,
    used: Any,
    hashes: Any,
    starts: Any,
    lengths: Any,
    arena: Any,
) -> Any:
    """Puts the bytes of a key behind those that the arena has; returns how many it has then."""
    hashes[slot] = hashed
    starts[slot] = used
    lengths[slot] = length
    for at in range(length):
        arena[used + at] = data[begin + at]
    return used + length


@kernel
def find_bytes(
    offsets: Int64s,
    data: UInt8s,
    count: int,
    seed: int,
    hashes: UInt32s,
    starts: Int64s,
    lengths: Int32s,
    slot_numbers: Int32s,
    mask: int,
    arena: UInt8s,
    numbers: Int64s,
) -> None:
    """The numbers of keys, -1 for those that are not there."""
    for row in range(count):
        begin, end = offsets[row], offsets[row + 1]
        hashed = _hash_of(data, begin, end, seed)
        slot = _slot_of(data, begin, end, hashed, hashes, starts, lengths, slot_numbers, mask, arena)
        numbers[row] = slot_numbers[slot]


@kernel
def intern_bytes(
    offsets: Int64s,
    data: UInt8s,
    begin_row: int,
    count: int,
    seed: int,
    hashes: UInt32s,
    starts: Int64s,
    lengths: Int32s,
    slot_numbers: Int32s,
    mask: int,
    arena: UInt8s,
    most_taken: int,
    most_bytes: int,
    free: Int64s,
    counters: Int64s,
    numbers: Int64s,
) -> int:
    """The numbers of keys from a row on; those that are not there get one that is free, or the next.

    `counters` are the slots that are taken, the next number, how many are free, the bytes of the arena in use, and the
    keys. Returns the row at which table or arena are too full to go on.
    """
    for row in range(begin_row, count):
        begin, end = offsets[row], offsets[row + 1]
        hashed = _hash_of(data, begin, end, seed)
        slot = _slot_of(data, begin, end, hashed, hashes, starts, lengths, slot_numbers, mask, arena)
        if slot_numbers[slot] == _EMPTY:
            slot = _free_slot(hashed, slot_numbers, mask)
            is_new = slot_numbers[slot] == _EMPTY
            if (is_new and counters[0] >= most_taken) or counters[3] + end - begin > most_bytes:
                return row
            if is_new:
                counters[0] += 1
            if counters[2] > 0:
                counters[2] -= 1
                slot_numbers[slot] = free[counters[2]]
            else:
                slot_numbers[slot] = counters[1]
                counters[1] += 1
            counters[3] = _put_key(slot, hashed, data, begin, end - begin, counters[3], hashes, starts, lengths, arena)
            counters[4] += 1
        numbers[row] = slot_numbers[slot]
    return count


@kernel
def add_bytes(
    offsets: Int64s,
    data: UInt8s,
    numbers: Int64s,
    count: int,
    seed: int,
    hashes: UInt32s,
    starts: Int64s,
    lengths: Int32s,
    slot_numbers: Int32s,
    mask: int,
    arena: UInt8s,
    used: int,
) -> int:
    """Adds keys that are not there, with these numbers; returns how many slots are taken that never were."""
    slots_used = 0
    for row in range(count):
        begin, end = offsets[row], offsets[row + 1]
        hashed = _hash_of(data, begin, end, seed)
        slot = _free_slot(hashed, slot_numbers, mask)
        if slot_numbers[slot] == _EMPTY:
            slots_used += 1
        slot_numbers[slot] = numbers[row]
        used = _put_key(slot, hashed, data, begin, end - begin, used, hashes, starts, lengths, arena)
    return slots_used


@kernel
def remove_bytes(
    offsets: Int64s,
    data: UInt8s,
    count: int,
    seed: int,
    hashes: UInt32s,
    starts: Int64s,
    lengths: Int32s,
    slot_numbers: Int32s,
    mask: int,
    arena: UInt8s,
) -> None:
    """Removes keys that are there; their slots are tombstones, their bytes go when the table is made anew."""
    for row in range(count):
        begin, end = offsets[row], offsets[row + 1]
        hashed = _hash_of(data, begin, end, seed)
        slot = _slot_of(data, begin, end, hashed, hashes, starts, lengths, slot_numbers, mask, arena)
        slot_numbers[slot] = _REMOVED


@kernel
def move_bytes(
    old_hashes: UInt32s,
    old_starts: Int64s,
    old_lengths: Int32s,
    old_numbers: Int32s,
    old_slots: int,
    old_arena: UInt8s,
    hashes: UInt32s,
    starts: Int64s,
    lengths: Int32s,
    slot_numbers: Int32s,
    mask: int,
    arena: UInt8s,
) -> int:
    """Moves all keys into empty slots and an empty arena; returns how many bytes that has then."""
    used = 0
    for old in range(old_slots):
        if old_numbers[old] >= 0:
            slot = _free_slot(old_hashes[old], slot_numbers, mask)
            slot_numbers[slot] = old_numbers[old]
            begin, length = old_starts[old], old_lengths[old]
            used = _put_key(slot, old_hashes[old], old_arena, begin, length, used, hashes, starts, lengths, arena)
    return used


class BytesIndex:
    """Needs its kernels: where they are not compiled, a dict of Python's texts or bytes is faster than plain bodies."""

    def __init__(self) -> None:
        # An attacker cannot choose keys that all have the same hash.
        self._seed = secrets.randbits(63)
        self._live = 0
        self._next = 0
        self._free: list[int] = []
        self._clear(_FIRST_SLOTS, _FIRST_ARENA)

    @staticmethod
    def is_ready(rows: int) -> bool:
        """Whether all kernels are compiled; `rows` says for how many rows they are wanted now."""
        return None not in [each.compiled(rows) for each in _KERNELS]

    def _clear(self, slots: int, arena_bytes: int) -> None:
        self._hashes: Any = np.empty(slots, np.uint32)
        self._starts: Any = np.empty(slots, np.int64)
        self._lengths: Any = np.empty(slots, np.int32)
        self._numbers: Any = np.full(slots, _EMPTY, np.int32)
        self._arena: Any = np.empty(arena_bytes, np.uint8)
        self._slots_used = self._used = 0
        self._table = (
            address(self._hashes, np.uint32),
            address(self._starts, np.int64),
            address(self._lengths, np.int32),
            address(self._numbers, np.int32),
            slots - 1,
            address(self._arena, np.uint8),
        )

    @property
    def kept_bytes(self) -> int:
        """How much memory the index takes."""
        return len(self._numbers) * 20 + len(self._arena)

    def __len__(self) -> int:
        return self._live

    def find(self, keys: ByteKeys) -> Any:
        """The numbers of keys, -1 for those that are not there."""
        numbers: Any = np.empty(len(keys), np.int64)
        _native(find_bytes)(*_addresses(keys), len(keys), self._seed, *self._table, address(numbers, np.int64))
        return numbers

    def add(self, keys: ByteKeys, numbers: Any) -> None:
        """Adds keys that are not there, each of which occurs once."""
        size = int(keys.offsets[-1] - keys.offsets[0])
        self._reserve(len(keys), size)
        number_address = address(numbers, np.int64)
        self._slots_used += _native(add_bytes)(
            *_addresses(keys), number_address, len(keys), self._seed, *self._table, self._used
        )
        self._used += size
        self._live += len(keys)

    def remove(self, keys: ByteKeys) -> None:
        """Removes keys that are there, each of which occurs once; the caller knows what becomes of their numbers."""
        _native(remove_bytes)(*_addresses(keys), len(keys), self._seed, *self._table)
        self._live -= len(keys)

    def intern(self, keys: ByteKeys) -> Any:
        """The numbers of keys, which may occur several times; those that are not there get one."""
        numbers: Any = np.empty(len(keys), np.int64)
        row = 0
        free = np.array(self._free, np.int64)
        counters = np.array([self._slots_used, self._next, len(free), self._used, self._live], np.int64)
        while row < len(keys):
            row = _native(intern_bytes)(
                *_addresses(keys),
                row,
                len(keys),
                self._seed,
                *self._table,
                self.most_taken(len(self._numbers)),
                len(self._arena),
                address(free, np.int64),
                address(counters, np.int64),
                address(numbers, np.int64),
            )
            if row < len(keys):
                self._slots_used, _, _, self._used, self._live = counters.tolist()
                self._reserve(len(keys) - row, int(keys.offsets[-1] - keys.offsets[row]))
                counters[0], counters[3] = self._slots_used, self._used
        self._slots_used, self._next, _, self._used, self._live = counters.tolist()
        del self._free[int(counters[2]) :]
        return numbers

    def release(self, keys: ByteKeys) -> Any:
        """Removes keys that are there and frees their numbers, which are returned."""
        numbers = self.find(keys)
        self.remove(keys)
        self._free.extend(numbers.tolist())
        return numbers

    def entries(self) -> tuple[ByteKeys, Any]:
        """All keys and their numbers."""
        return self._in_slots(np.flatnonzero(self._numbers >= 0))

    @property
    def slots(self) -> int:
        """How many keys it would hold if it were full."""
        return len(self._numbers)

    @staticmethod
    def most_taken(slots: int) -> int:
        """How many of so many slots may be taken."""
        return slots - slots // 4

    def occupied(self, slots: Any) -> tuple[ByteKeys, Any]:
        """The keys in some of the slots, and their numbers."""
        return self._in_slots(slots[self._numbers[slots] >= 0])

    def _in_slots(self, slots: Any) -> tuple[ByteKeys, Any]:
        lengths, starts = self._lengths[slots].astype(np.int64), self._starts[slots]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        indexes = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return ByteKeys(offsets, self._arena[indexes]), self._numbers[slots].astype(np.int64)

    def _reserve(self, more: int, more_bytes: int) -> None:
        """Makes the table anew unless it has room for so many more keys of so many bytes."""
        if self._slots_used + more <= self.most_taken(len(self._numbers)) and self._used + more_bytes <= len(
            self._arena
        ):
            return
        slots, arena = _FIRST_SLOTS, _FIRST_ARENA
        while self.most_taken(slots) < (self._live + more) * 1.2:
            slots *= 2
        kept = int(self._lengths[self._numbers >= 0].sum())
        while arena < (kept + more_bytes) * 1.2:
            arena += arena // 2
        old = self._hashes, self._starts, self._lengths, self._numbers, self._arena
        former = (*self._table[:4], len(self._numbers), self._table[5])
        self._clear(slots, arena)
        self._used = _native(move_bytes)(*former, *self._table)
        self._slots_used = self._live
        del old


def _addresses(keys: ByteKeys) -> tuple[int, int]:
    return address(keys.offsets, np.int64), address(keys.data, np.uint8)


def _native(which: Any) -> Any:
    native = which.compiled(0)
    if native is None:
        raise RuntimeError(f"kernel '{which.name}' is not compiled; ask is_ready() before")
    return native


_KERNELS = (find_bytes, intern_bytes, add_bytes, remove_bytes, move_bytes)
