"""Entries of a table in arrays: a key finds its number in an index, the number stands for a value and flags.

An entry of a number by a number takes 24 to 33 bytes, as objects in a dict 80 to 170.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import compress, islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.kernels.bytes_index import ByteKeys, BytesIndex
from funke.engine.kernels.integer_index import IntegerIndex
from funke.engine.state.rocksdb.entry_memory import ABSENT, object_bytes
from funke.engine.types.keys.number_hash import hash_integers

if TYPE_CHECKING:
    from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["PackedEntries", "packed_entries"]

Array = Any
# What an index takes: an array of integers, or ByteKeys.
IndexKeys = Any
# Gets keys and entries that RocksDB must have before they leave the memory.
Write = Callable[["list[Any]", "list[Any]"], object]

_PRESENT, _CHANGED, _USED = 1, 2, 4
_FIRST_SIZE = 1 << 12
# Slots of the index that are looked at at a time: so many entries come into RocksDB in one batch.
_STEP = 1 << 16
# Slots side by side that are looked at together: what a line of the processor's cache has.
_RUN = 16
# Changed entries that are sorted at a time.
_MOST_SORTED = 1 << 20
_SAMPLE = 8
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1


class _IntegerKeys:
    """Keys that are integers of 64 bits."""

    slot_bytes = 12
    key_bytes = 0.0

    def __init__(self) -> None:
        self.index = IntegerIndex()

    most_taken = staticmethod(IntegerIndex.most_taken)

    @staticmethod
    def is_suited(key: Any) -> bool:
        return type(key) is int and _LONG_MIN <= key <= _LONG_MAX

    def encode(self, keys: list[Any]) -> IndexKeys | None:
        """The keys as the index takes them; None if some of them are of another kind."""
        if set(map(type, keys)) - {int}:
            return None
        try:
            return np.array(keys, np.int64)
        except OverflowError:
            return None

    @staticmethod
    def decode(keys: IndexKeys) -> list[Any]:
        return list(keys.tolist())

    @staticmethod
    def take(keys: IndexKeys, rows: Array) -> IndexKeys:
        return keys[rows]

    @staticmethod
    def groups(keys: IndexKeys, key_groups: KeyGroups) -> Array:
        return key_groups.of_hashes(hash_integers(keys))


class _TextKeys:
    """Keys that are texts."""

    slot_bytes = 20

    def __init__(self) -> None:
        self.index = BytesIndex()
        # The bytes of a key in the index, on average.
        self.key_bytes = 0.0

    most_taken = staticmethod(BytesIndex.most_taken)

    @staticmethod
    def is_suited(key: Any) -> bool:
        try:
            return type(key) is str and key.encode() is not None
        except UnicodeEncodeError:
            return False

    def encode(self, keys: list[Any]) -> IndexKeys | None:
        """The keys as the index takes them; None if some of them are of another kind."""
        if set(map(type, keys)) - {str}:
            return None
        if not keys:
            return ByteKeys(np.zeros(1, np.int64), np.zeros(0, np.uint8))
        try:
            encoded = ByteKeys.of_column(pa.array(keys, pa.large_string()))
        except UnicodeEncodeError:
            return None
        # The arena of the index is made larger by half, and has the bytes of removed keys for a while.
        self.key_bytes = max(self.key_bytes, 1.5 * int(encoded.offsets[-1] - encoded.offsets[0]) / len(keys))
        return encoded

    @staticmethod
    def decode(keys: IndexKeys) -> list[Any]:
        return list(keys.to_column(pa.large_string()).to_pylist())

    @staticmethod
    def take(keys: IndexKeys, rows: Array) -> IndexKeys:
        return keys.take(rows)

    def groups(self, keys: IndexKeys, key_groups: KeyGroups) -> Array:
        return np.array(key_groups.of_each(self.decode(keys)), np.int64)


class _Values:
    """What is stored, by number: an array of integers, of floats, or of objects where there is anything else."""

    def __init__(self, stored: Sequence[Any]) -> None:
        self._array: Array = np.zeros(0, _word_of(stored) or object)
        # The memory of an object, on average.
        self._object_bytes = 0.0

    @property
    def entry_bytes(self) -> float:
        """The memory of a value."""
        return 8 + self._object_bytes

    @property
    def filler(self) -> Any:
        """Stands where there is no value."""
        return None if self._array.dtype == object else self._array.dtype.type(0).item()

    def reserve(self, size: int) -> None:
        """Makes room for numbers below `size`."""
        self._array = _extended(self._array, size)

    def get(self, numbers: Array) -> list[Any]:
        """The values of numbers."""
        return list(self._array[numbers].tolist())

    def put(self, numbers: Array, stored: list[Any]) -> None:
        """Sets the values of numbers, of which there are some."""
        if self._array.dtype != object:
            if _word_of(stored) is self._array.dtype.type:
                self._array[numbers] = stored
                return
            self._array = self._array.astype(object)
        sizes = [object_bytes(each) for each in islice(stored, _SAMPLE)]
        measured = sum(sizes) / len(sizes)
        self._object_bytes = (3 * (self._object_bytes or measured) + measured) / 4
        # Not as a list: NumPy would take tuples for more dimensions.
        self._array[numbers] = np.fromiter(stored, object, len(stored))

    def choose(self, numbers: Array) -> None:
        """From now on, numbers count these."""
        self._array = self._array[numbers]

    def forget(self, numbers: Array) -> None:
        """The values of numbers are not needed any more."""
        self._array[numbers] = self.filler


def _word_of(stored: Sequence[Any]) -> Any:
    """The type of an array that holds the values exactly; None if there is none but that of objects."""
    kinds = set(map(type, stored))
    if kinds == {int} and min(stored) >= _LONG_MIN and max(stored) <= _LONG_MAX:
        return np.int64
    return np.float64 if kinds == {float} else None


def _extended(array: Array, size: int) -> Array:
    if array.dtype == object:
        return np.concatenate([array, np.full(size - len(array), None, object)])
    # In place if the allocator can do so: there is no second copy.
    array.resize(size, refcheck=False)
    return array


class PackedEntries:
    """Entries of keys of one kind; `write` gets changed ones before they leave the memory."""

    def __init__(self, keys: _IntegerKeys | _TextKeys, stored: Sequence[Any], write: Write) -> None:
        self._form = keys
        self._index: Any = keys.index
        self._values = _Values(stored)
        self._flags: Array = np.zeros(0, np.uint8)
        self._write = write
        self._next = 0
        # Numbers that are free again.
        self._free: Array = np.zeros(0, np.int64)
        self._most = 0
        # The run of slots at which writing and removing go on, and how many slots are to be looked at for writing.
        self._hand = self._owed = 0
        # Entries that RocksDB does not have as they are here, and whether there were entries that are not here.
        self.changed = 0
        self.has_removed = False

    def __len__(self) -> int:
        return self._next - len(self._free)

    @property
    def kept_bytes(self) -> int:
        """How much memory all of it takes."""
        return int(self._index.kept_bytes + len(self._flags) * (1 + self._values.entry_bytes))

    @property
    def entry_bytes(self) -> float:
        """About how much memory an entry takes."""
        return self.kept_bytes / max(1, len(self))

    def find(self, keys: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Of some keys those that are here, their entries (ABSENT for those known to have none), and the others."""
        keys, encoded, others = self._suited(keys)
        numbers = self._index.find(encoded)
        is_here = numbers >= 0
        if not is_here.all():
            others = [*others, *compress(keys, (~is_here).tolist())]
            keys, numbers = list(compress(keys, is_here.tolist())), numbers[is_here]
        flags = self._flags[numbers]
        self._flags[numbers] = flags | _USED
        return keys, self._stored(numbers, flags), others

    def is_changed(self, key: Any) -> bool:
        """Whether RocksDB does not have the entry of a key as it is here."""
        if not self.changed:
            return False
        numbers = self._index.find(self._suited([key])[1])
        return bool(len(numbers) and numbers[0] >= 0 and self._flags[numbers[0]] & _CHANGED)

    def put(self, entries: dict[Any, Any], available_bytes: Callable[[], int], *, is_changed: bool) -> list[Any]:
        """Keeps entries, at most as many as there is memory for; returns the keys that can not be here."""
        others: list[Any] = []
        waiting = iter(entries)
        while some := list(islice(waiting, _STEP)):
            keys, encoded, unsuited = self._suited(some)
            others += unsuited
            if keys:
                stored = [entries[key] for key in keys] if len(keys) < len(entries) else list(entries.values())
                self._put(encoded, stored, available_bytes, _CHANGED if is_changed else 0)
        return others

    def _put(self, keys: IndexKeys, stored: list[Any], available_bytes: Callable[[], int], changed: int) -> None:
        if len(self) + len(keys) > self._most:
            self._most = self._most_entries(available_bytes())
            if len(self) + len(keys) > self._most:
                self.shrink_to(self._most - self._most // 16 - len(keys))
        numbers = self._index.find(keys)
        missing = np.flatnonzero(numbers < 0)
        if len(missing):
            numbers[missing] = self._take_numbers(len(missing))
            self._index.add(self._form.take(keys, missing), numbers[missing])
        present = _PRESENT
        if ABSENT in stored:
            present = np.array([0 if each is ABSENT else _PRESENT for each in stored], np.uint8)
            filler = self._values.filler
            stored = [filler if each is ABSENT else each for each in stored]
        self._values.put(numbers, stored)
        before = self._flags[numbers] & _CHANGED
        if changed:
            self.changed += len(numbers) - int(np.count_nonzero(before))
        self._flags[numbers] = before | np.uint8(changed | _USED) | present

    def _suited(self, keys: list[Any]) -> tuple[list[Any], IndexKeys, list[Any]]:
        """The keys that can be here, also as the index takes them, and the others."""
        encoded = self._form.encode(keys)
        if encoded is not None:
            return keys, encoded, []
        suited = [key for key in keys if self._form.is_suited(key)]
        return suited, self._form.encode(suited), [key for key in keys if not self._form.is_suited(key)]

    def _stored(self, numbers: Array, flags: Array) -> list[Any]:
        stored = self._values.get(numbers)
        for row in np.flatnonzero(flags & _PRESENT == 0).tolist():
            stored[row] = ABSENT
        return stored

    def _take_numbers(self, count: int) -> Array:
        reused = min(count, len(self._free))
        numbers = np.concatenate([self._free[:reused], np.arange(self._next, self._next + count - reused)])
        self._free, self._next = self._free[reused:], self._next + count - reused
        if self._next > len(self._flags):
            size = max(_FIRST_SIZE, self._next + self._next // 8)
            self._values.reserve(size)
            self._flags = _extended(self._flags, size)
        return numbers

    def _most_entries(self, available_bytes: int) -> int:
        """How many entries the memory is for; the index has a power of two of slots."""
        each = (1 + self._values.entry_bytes) * 9 / 8 + self._form.key_bytes
        most, slots = _FIRST_SIZE, _FIRST_SIZE
        while (left := available_bytes - slots * self._form.slot_bytes) > 0:
            most = max(most, min(self._form.most_taken(slots), int(left / each)))
            slots *= 2
        return most

    def shrink_to(self, most: int) -> None:
        """Removes entries until there are no more than that; those that were used since the last round come later."""
        for _ in range(2 * self._steps()):
            if len(self) <= most:
                return
            keys, numbers = self._at_hand(_STEP)
            flags = self._flags[numbers]
            self._flags[numbers] = flags & ~np.uint8(_USED)
            victims = np.flatnonzero(flags & _USED == 0)[: len(self) - max(0, most)]
            if len(victims):
                self.has_removed = True
                keys, numbers = self._form.take(keys, victims), numbers[victims]
                self._write_changed(keys, numbers)
                self._index.remove(keys)
                self._values.forget(numbers)
                self._flags[numbers] = 0
                self._free = np.concatenate([numbers, self._free])

    def halve(self) -> None:
        """Removes half of the entries, and makes the arrays anew for what is left."""
        self.shrink_to(len(self) // 2)
        keys, numbers = self._index.entries()
        self._index = type(self._index)()
        self._next, self._most, self._free = len(numbers), len(numbers), self._free[:0]
        self._index.add(keys, np.arange(self._next))
        self._values.choose(numbers)
        self._flags = self._flags[numbers]

    def _steps(self) -> int:
        return -(-int(self._index.slots) // _STEP)

    def _at_hand(self, slots: int) -> tuple[IndexKeys, Array]:
        """The keys and numbers of the next slots, which are spread over the whole index.

        If they stood side by side, removing them would leave a gap. Everywhere else keys would crowd, and looking for
        one would go through hundreds of slots: 30 µs in place of 0.1.
        """
        runs = self._index.slots // _RUN
        chosen = (self._hand + np.arange(min(runs, -(-slots // _RUN)))) % runs
        self._hand = (self._hand + len(chosen)) % runs
        first = _reversed_bits(chosen, runs.bit_length() - 1) * _RUN
        entries: tuple[IndexKeys, Array] = self._index.occupied((first[:, None] + np.arange(_RUN)).ravel())
        return entries

    def _write_changed(self, keys: IndexKeys, numbers: Array) -> int:
        rows = np.flatnonzero(self._flags[numbers] & _CHANGED)
        if len(rows):
            changed = numbers[rows]
            stored = self._stored(changed, self._flags[changed])
            self._write(self._form.decode(self._form.take(keys, rows)), stored)
            self._flags[changed] &= np.uint8(_PRESENT | _USED)
            self.changed -= len(rows)
        return len(rows)

    def write(self, most: int | None = None) -> int:
        """Writes changed entries until there are that many more, or none; returns how many."""
        written, target = 0, self.changed if most is None else min(most, self.changed)
        while written < target:
            written += self._write_changed(*self._at_hand(_STEP))
        return written

    def owe(self) -> None:
        """What is changed now must be written in the course of the next batches."""
        self._owed = self._index.slots if self.changed else 0

    def write_owed(self, slots: int) -> None:
        """Goes on with it."""
        if self._owed > 0:
            self._owed -= slots
            self._write_changed(*self._at_hand(slots))

    def changed_by_group(self, key_groups: KeyGroups) -> Iterator[tuple[list[Any], list[Any]]]:
        """Keys and entries that RocksDB does not have, key group by key group."""
        # Not all at once: a checkpoint must not need the memory of the table once more.
        rounds = 1 + self.changed // _MOST_SORTED
        bounds = [key_groups.max_parallelism * number // rounds for number in range(rounds + 1)]
        for first, end in pairwise(bounds):
            keys, numbers, groups = self._changed_within(first, end, key_groups)
            order = np.argsort(groups, kind="stable")
            ends: Array = np.flatnonzero(np.diff(groups[order], append=-1)) + 1
            for start, stop in pairwise([0, *ends.tolist()]):
                chosen = order[start:stop]
                some = numbers[chosen]
                yield [keys[index] for index in chosen.tolist()], self._stored(some, self._flags[some])

    def _changed_within(self, first: int, end: int, key_groups: KeyGroups) -> tuple[list[Any], Array, Array]:
        """The keys of changed entries in some key groups, their numbers and their key groups."""
        all_keys: list[Any] = []
        all_numbers: list[Array] = [np.zeros(0, np.int64)]
        all_groups: list[Array] = [np.zeros(0, np.int64)]
        for slot in range(0, self._index.slots, _STEP):
            keys, numbers = self._index.occupied(np.arange(slot, min(slot + _STEP, self._index.slots)))
            rows = np.flatnonzero(self._flags[numbers] & _CHANGED)
            keys, numbers = self._form.take(keys, rows), numbers[rows]
            groups = self._form.groups(keys, key_groups)
            rows = np.flatnonzero((groups >= first) & (groups < end))
            all_keys += self._form.decode(self._form.take(keys, rows))
            all_numbers.append(numbers[rows])
            all_groups.append(groups[rows])
        return all_keys, np.concatenate(all_numbers), np.concatenate(all_groups)


def _reversed_bits(numbers: Array, bits: int) -> Array:
    """Numbers of so many bits, read backwards: those of neighbours are far apart."""
    reversed_numbers = np.zeros_like(numbers)
    for bit in range(bits):
        reversed_numbers |= (numbers >> bit & 1) << (bits - 1 - bit)
    return reversed_numbers


def packed_entries(entries: dict[Any, Any], write: Write) -> PackedEntries | None:
    """An empty form for entries like these; None if their keys are of a kind that no index takes."""
    kinds = set(map(type, entries))
    keys: _IntegerKeys | _TextKeys
    if kinds == {int}:
        keys = _IntegerKeys()
    elif kinds == {str} and BytesIndex.is_ready(len(entries)):
        keys = _TextKeys()
    else:
        return None
    return PackedEntries(keys, [each for each in entries.values() if each is not ABSENT], write)
