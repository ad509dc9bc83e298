"""A table of state in RocksDB that is used like a dict, with a bounded write-back cache of Python objects before it.

What is written stays in the cache until there is too much of it, a checkpoint begins or the table is released; keys
that are used again and again cost no RocksDB access. What RocksDB has is kept as far as the slot's memory for entries
goes, and read for a batch at once where batches ask for it. Contents that a caller changes in place must be put again.

A large table keeps its entries packed in arrays, and has only those of the last batches as Python objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from funke.engine.state.rocksdb.entry_memory import ABSENT, EntryMemory, object_bytes
from funke.engine.state.rocksdb.packed_entries import PackedEntries, packed_entries
from funke.engine.state.rocksdb.rows import (
    decode_key,
    decode_value,
    encode_key,
    encode_rows,
    encode_value,
    encode_values,
    is_bucket,
    row_prefix,
    split_row,
)
from funke.engine.state.rocksdb.store import RocksDBStore
from funke.engine.state.storage_keys import group_of
from funke.engine.state.value_codec import pack, unpack
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["ABSENT", "MISS", "Packed", "RocksDBTable", "entries_of"]


# What a cache answers about a key it does not know.
MISS: Any = type("_Miss", (), {})()

_CHUNK = 2000
# How many entries RocksDB need not have follows from their size, once some are known.
_FRESH_BYTES = 8 << 20
_FEW = 100
# What a dict takes for an entry beside key and value, on average.
_SLOT_BYTES = 50
_SAMPLE = 8
# Of one batch in so many some keys are not read before, to see whether it asks for its keys at all.
_BATCHES_PER_TRIAL = 64
_TRIED = 64
# When nothing is to be read for batches, one in so many is looked at; one key in so many is next to nothing.
_BATCHES_PER_LOOK = 8
_FEW_MISSING = 50
# A table of so many entries is packed.
_PACKED_FROM = 20_000
# A packed table has so many changed entries, or others, as objects.
_MOST_OBJECTS = 16_384
# A packed table may have so many entries that RocksDB does not have, or those that take this part of the memory: a
# checkpoint writes them beside the database (1.6 µs for each, in the forked child), and a restart reads them.
_MOST_CHANGED = 8_000_000
_CHANGED_PART = 4
# Slots of a packed table that a batch looks at after a checkpoint: at least so many, and so many for each of its keys.
_OWED_SLOTS, _OWED_SLOTS_PER_KEY = 1024, 2


class Packed:
    """An entry that its user could change, kept as bytes."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class RocksDBTable:
    """The entries of one state in one namespace, by stored key."""

    # Whether entries never change once they were put, so that they can be packed.
    has_frozen_entries = False

    __slots__ = (
        "__weakref__",
        "_batches",
        "_entry_bytes",
        "_groups",
        "_is_asked",
        "_is_at_hand",
        "_is_whole",
        "_key_groups",
        "_loads",
        "_look_at",
        "_memory",
        "_most",
        "_namespace",
        "_number",
        "_pack_at",
        "_packed",
        "_prefixes",
        "_seen",
        "_seen_bytes",
        "_single",
        "_store",
        "_tried",
        "clean",
        "fresh",
        "limit",
    )

    def __init__(
        self,
        store: RocksDBStore,
        number: int,
        namespace: bytes,
        key_groups: KeyGroups,
        groups: set[int],
        most: int = 0,
        memory: EntryMemory | None = None,
    ) -> None:
        self._store = store
        self._number = number
        self._namespace = namespace
        self._key_groups = key_groups
        # The key groups of which the database has rows, shared by all tables.
        self._groups = groups
        self._most = most
        self.limit = min(most, _FEW)
        # Entries whose size is known, since the limit was last set.
        self._seen = self._seen_bytes = 0
        self._prefixes: dict[int, bytes] = {}
        # Entries that RocksDB does not have yet, and entries as it has them.
        self.fresh: dict[Any, Any] = {}
        self.clean: dict[Any, Any] = {}
        # Without memory only what was read or written last is kept.
        self._memory = memory if most else None
        if self._memory is not None:
            self._memory.caches.add(self)
        self._entry_bytes = 0
        self._look_at = _FEW
        # Whether batches ask for the entries of their keys, and whether the cache has nearly all of them.
        self._is_asked = self._is_at_hand = False
        # A large table without a namespace: most of its entries, changed or not. `fresh` is newer.
        self._packed: PackedEntries | None = None
        self._pack_at = _PACKED_FROM if self.has_frozen_entries and not namespace else None
        # Entries that were read one by one since it was packed.
        self._single: dict[Any, Any] = {}
        # Whether RocksDB has nothing that is not here: it need not be asked.
        self._is_whole = self._memory is not None and not groups
        # Batches so far, entries that the last one has read one by one, and how many it could have if it was a trial.
        self._batches = self._loads = self._tried = 0

    def find(self, key: Any) -> Any:
        """The entry as the cache keeps it: it may be ABSENT, or Packed if it was so written."""
        entry = self.fresh.get(key, MISS)
        if entry is MISS:
            entry = self.clean.get(key, MISS)
            if entry is MISS:
                entry = self._load(key)
        return entry

    def get(self, key: Any, default: Any = None) -> Any:
        """The entry of a key."""
        entry = self.fresh.get(key, MISS)
        if entry is MISS:
            entry = self.clean.get(key, MISS)
            if entry is MISS:
                entry = self._load(key)
        if entry is ABSENT:
            return default
        return unpack(entry.data) if type(entry) is Packed else entry

    def get_all(self, keys: list[Any]) -> list[Any]:
        """The entries of many keys, ABSENT for those without; one request for all that the cache does not have."""
        fresh, clean = self.fresh, self.clean
        entries = [clean.get(key, MISS) if key not in fresh else fresh[key] for key in keys]
        missing = [key for key, each in zip(keys, entries) if each is MISS]
        if missing:
            read = self._load_all(missing)
            entries = [read[key] if each is MISS else each for key, each in zip(keys, entries)]
        return [unpack(each.data) if type(each) is Packed else each for each in entries]

    def prefetch(self, keys: list[Any]) -> None:
        """A batch with these keys is about to be processed: reads what it will ask for, if batches did so before."""
        if self._memory is None:
            return
        loads, self._loads = self._loads, 0
        if self._packed is not None:
            self._tidy_up(self._packed, len(keys))
        if self._tried:
            # An entry that is asked for costs 4 µs in place of 9, and one that is not costs 4 in vain.
            self._is_asked, self._tried = loads * 2 >= self._tried, 0
        self._batches += 1
        is_needless = not self._is_asked or (self._is_at_hand and loads * _FEW_MISSING < len(keys))
        if is_needless and self._batches % _BATCHES_PER_LOOK != 1:
            return
        # One after the other: with two arguments it would go through all entries of the second.
        missing = list(set(keys).difference(self.fresh).difference(self.clean))
        self._is_at_hand = len(missing) * _FEW_MISSING < len(keys)
        if not self._is_asked:
            self._tried = len(missing)
            return
        if self._batches % _BATCHES_PER_TRIAL == 0:
            self._tried = min(len(missing), _TRIED)
        if len(missing) > self._tried:
            self._load_all(missing[self._tried :])

    def put_all(self, keys: list[Any], entries: list[Any]) -> None:
        """Sets many entries; those that are ABSENT go."""
        self.fresh.update(zip(keys, entries))
        if len(self.fresh) > self.limit:
            self.settle()

    def read_all(self, keys: list[Any]) -> list[Any]:
        """As `get_all`, for a caller that keeps what it reads: nothing of it stays in this cache."""
        rows, indexes, _, has_buckets = encode_rows(keys, self._key_groups, self._number, self._namespace)
        if has_buckets or self.fresh or self.clean or self._packed is not None:
            return self.get_all(keys)
        entries = [ABSENT] * len(keys)
        for index, value in zip(indexes, self._store.get(rows)):
            if value is not None:
                entries[index] = decode_value(value)
        return entries

    def write_all(self, keys: list[Any], entries: list[Any]) -> None:
        """As `put_all`, for a caller that keeps what it writes: it goes to RocksDB at once."""
        if self.clean or self._packed is not None:
            self.release()
        self._is_whole = False
        self._write(keys, entries)

    def write_groups(self, number: int, entries: Mapping[int, Any]) -> None:
        """Writes an entry for each of some key groups, under one number: parts of a group that are of no single key."""
        self._groups.update(entries)
        key = encode_key(number)
        self._store.write((self._prefix(group) + key, encode_value(each)) for group, each in entries.items())

    def take_groups(self) -> Iterator[Any]:
        """Removes what `write_groups` wrote and gives it, key group by key group and by number."""
        for group in sorted(self._groups):
            rows = list(self._store.scan(self._prefix(group)))
            self._store.write((row, None) for row, _ in rows)
            yield from (decode_value(value) for _, value in rows)

    def __getitem__(self, key: Any) -> Any:
        entry = self.get(key, ABSENT)
        if entry is ABSENT:
            raise KeyError(key)
        return entry

    def __contains__(self, key: Any) -> bool:
        return self.find(key) is not ABSENT

    def __setitem__(self, key: Any, stored: Any) -> None:
        fresh = self.fresh
        fresh[key] = stored
        if len(fresh) > self.limit:
            self.settle()

    def __delitem__(self, key: Any) -> None:
        self[key] = ABSENT

    def pop(self, key: Any, default: Any = None) -> Any:
        """Removes an entry and returns it."""
        entry = self.get(key, ABSENT)
        if entry is ABSENT:
            return default
        self[key] = ABSENT
        return entry

    def move_to_end(self, key: Any) -> None:
        """There is no order of use."""

    def items(self) -> Iterator[tuple[Any, Any]]:
        """All entries, key group by key group."""
        self.flush()
        for group in sorted(self._groups):
            for row, value in self._store.scan(self._prefix(group)):
                yield from entries_of(split_row(row)[3], value)

    def keys(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Any]:
        """All entries without their keys."""
        return (stored for _, stored in self.items())

    def chunks(self) -> Iterator[dict[Any, Any]]:
        """All entries, some at a time."""
        entries = self.items()
        while chunk := dict(islice(entries, _CHUNK)):
            yield chunk

    def __iter__(self) -> Iterator[Any]:
        return self.keys()

    def __bool__(self) -> bool:
        return next(self.items(), None) is not None

    def clear(self) -> None:
        """Removes all entries."""
        self.fresh.clear()
        self.clean.clear()
        self._unpack()
        for group in self._groups:
            self._store.delete_prefix(self._prefix(group))

    def settle(self) -> None:
        """There is too much that has changed: it is packed, or goes to RocksDB."""
        if self._packed is None:
            self._flush_fresh()
        else:
            self._pack_fresh(self._packed)

    def _pack_fresh(self, packed: PackedEntries) -> None:
        self._pack_single(packed)
        fresh, self.fresh = self.fresh, {}
        self.clean.update(fresh)
        others = packed.put(fresh, self._available_bytes, is_changed=True)
        if others:
            self._write(others, [fresh[key] for key in others])
            self._is_whole = False
        assert self._memory is not None
        most = max(_MOST_CHANGED, int(self._memory.budget_bytes / _CHANGED_PART / packed.entry_bytes))
        if packed.changed > most:
            packed.write(packed.changed - most)

    def flush(self) -> None:
        """Writes what RocksDB does not have yet; it stays in the cache, what was there before goes."""
        self.settle()
        if self._packed is not None:
            self._packed.write()

    def flush_share(self, shares: int) -> None:
        """As `flush`, but of many entries only one of so many shares: processing waits for it."""
        self.settle()
        if self._packed is not None:
            self._packed.write(-(-self._packed.changed // shares))

    def _flush_fresh(self) -> None:
        fresh = self.fresh
        if fresh:
            self._seen_bytes += self._write(list(fresh), list(fresh.values()))
            self._seen += len(fresh)
            self._set_limit()
            self.fresh = {}
            self._keep(fresh)

    def flush_some(self, most: int) -> int:
        """Writes up to so many entries that RocksDB does not have yet, and all that share a row; returns how many."""
        fresh = self.fresh
        if self._packed is not None:
            self.settle()
            written = self._packed.write(most)
            self._packed.owe()
            return written
        if len(fresh) <= most:
            self._flush_fresh()
            return len(fresh)
        chosen = set(islice(fresh, most))
        flushed = {key: fresh[key] for key in fresh if key in chosen or is_bucket(encode_key(key))}
        self._write(list(flushed), list(flushed.values()))
        for key in flushed:
            del fresh[key]
        self._keep(flushed)
        # By now there may be enough entries to pack them: then all of them are.
        if self._packed is not None:
            self._pack_fresh(self._packed)
            self._packed.owe()
        return len(flushed)

    def fresh_rows(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The rows that RocksDB does not have yet, in order; none of them is shared after `flush_some`."""
        if self._packed is None:
            yield from zip(*self._rows(list(self.fresh), list(self.fresh.values())))
        else:
            for keys, stored in self._packed.changed_by_group(self._key_groups):
                yield from zip(*self._rows(keys, stored))

    def is_changed(self, key: Any) -> bool:
        """Whether RocksDB does not have the entry of a key as it is now."""
        return key in self.fresh or (self._packed is not None and self._packed.is_changed(key))

    def release(self) -> None:
        """Writes what RocksDB does not have yet, and empties the cache."""
        self.flush()
        self.clean = {}
        self._is_whole = False
        self._unpack()

    def close(self) -> None:
        """The database is closed: nothing can be written any more, so it must not be asked for memory."""
        if self._memory is not None:
            self._memory.caches.discard(self)

    def _unpack(self) -> None:
        if self._packed is not None:
            self._packed, self._single, self._pack_at = None, {}, _PACKED_FROM

    def __len__(self) -> int:
        return sum(1 for _ in self.items())

    @property
    def cached(self) -> int:
        """How many entries the cache holds."""
        return len(self.fresh) + len(self.clean)

    def _load(self, key: Any) -> Any:
        self._loads += 1
        if self._packed is not None:
            return self._load_beside(self._packed, key)
        entry = self._read(key)
        clean = self.clean
        if len(clean) >= self._look_at or self._memory is None:
            self._set_limit()
            self._keep({key: self._cached(entry)})
        else:
            clean[key] = self._cached(entry)
        return entry

    def _read(self, key: Any) -> Any:
        """What RocksDB has of a key."""
        if self._has_all():
            return ABSENT
        encoded = encode_key(key)
        value = self._store.get(self._prefix(group_of(key, self._key_groups)) + encoded)
        self._seen += 1
        self._seen_bytes += len(encoded) + len(value or b"")
        if value is None:
            return ABSENT
        entry = decode_value(value)
        return entry.get(key, ABSENT) if is_bucket(encoded) else entry

    def _has_all(self) -> bool:
        """Whether RocksDB has no entry that is not here."""
        if self._packed is not None and self._packed.has_removed:
            self._is_whole = False
        return self._is_whole

    def _load_beside(self, packed: PackedEntries, key: Any) -> Any:
        _, stored, _ = packed.find([key])
        if stored:
            entry = stored[0]
        else:
            entry = self._cached(self._read(key))
            self._single[key] = entry
            if len(self._single) > _FEW:
                self._pack_single(packed)
        if len(self.clean) > 2 * _MOST_OBJECTS:
            self.clean = {}
        self.clean[key] = entry
        return entry

    def _pack_single(self, packed: PackedEntries) -> None:
        single, self._single = self._single, {}
        packed.put(single, self._available_bytes, is_changed=False)

    def _tidy_up(self, packed: PackedEntries, count: int) -> None:
        """A batch of so many keys comes: makes room for it among the objects."""
        if len(self.fresh) > _MOST_OBJECTS:
            self.settle()
        if len(self.clean) > _MOST_OBJECTS:
            self.clean = {}
        packed.write_owed(max(_OWED_SLOTS, _OWED_SLOTS_PER_KEY * count))

    def _load_all(self, keys: list[Any]) -> dict[Any, Any]:
        """What RocksDB has of keys that the cache does not have, or what is packed of them."""
        if self._packed is None:
            return self._load_all_rows(keys)
        here, stored, others = self._packed.find(keys)
        if len(self.clean) > 2 * _MOST_OBJECTS:
            self.clean = {}
        entries = dict(zip(here, stored))
        self.clean.update(entries)
        if others:
            entries.update(self._load_all_rows(others))
        return entries

    def _load_all_rows(self, keys: list[Any]) -> dict[Any, Any]:
        if self._has_all():
            self._keep(dict.fromkeys(keys, ABSENT))
            return dict.fromkeys(keys, ABSENT)
        rows, indexes, _, has_buckets = encode_rows(keys, self._key_groups, self._number, self._namespace)
        values = self._store.get(rows)
        self._seen += len(keys)
        self._seen_bytes += sum(map(len, rows)) + sum(len(value) for value in values if value is not None)
        entries = {
            keys[index]: ABSENT if value is None else decode_value(value) for index, value in zip(indexes, values)
        }
        if has_buckets:
            for index, row in zip(indexes, rows):
                if self._is_bucket(row):
                    key = keys[index]
                    entries[key] = ABSENT if entries[key] is ABSENT else entries[key].get(key, ABSENT)
        self._keep({key: self._cached(each) for key, each in entries.items()})
        return entries

    def _cached(self, entry: Any) -> Any:
        """The form in which the cache keeps an entry that was read."""
        return entry

    def _keep(self, entries: dict[Any, Any]) -> None:
        """Keeps entries that RocksDB has, as far as there is memory."""
        clean = self.clean
        if self._memory is None:
            self.clean = entries
            return
        clean.update(entries)
        if self._packed is not None:
            self._packed.put(entries, self._available_bytes, is_changed=False)
        elif self._pack_at is not None and len(clean) >= self._pack_at:
            self._pack()
        elif len(clean) >= self._look_at:
            some = list(islice(entries.items(), _SAMPLE))
            sizes = [object_bytes(key) + (0 if kept is ABSENT else object_bytes(kept)) for key, kept in some]
            measured = _SLOT_BYTES + sum(sizes) // len(sizes)
            self._entry_bytes = (3 * (self._entry_bytes or measured) + measured) // 4
            self._memory.relieve()
            self._look_at = len(clean) + 1 + (self._memory.budget_bytes >> 8) // self._entry_bytes

    def _pack(self) -> None:
        """Moves all entries into arrays, if they have keys for which there are such."""
        packed = packed_entries(self.clean, self._write)
        if packed is not None and not packed.put(self.clean, self._available_bytes, is_changed=False):
            self._packed, self.clean = packed, {}
        else:
            # Texts can be packed as soon as there is machine code for it.
            self._pack_at = len(self.clean) * 5 // 4

    def _available_bytes(self) -> int:
        """What may be packed."""
        assert self._memory is not None
        return self._memory.available_to(self)

    @property
    def kept_bytes(self) -> int:
        packed = 0 if self._packed is None else self._packed.kept_bytes
        return packed + len(self.clean) * self._entry_bytes

    def let_go(self) -> None:
        self._is_whole = False
        clean = self.clean
        for key in list(islice(clean, len(clean) // 8 + 1)):
            del clean[key]
        if self._packed is not None:
            self._packed.halve()

    def _set_limit(self) -> None:
        fitting = _FRESH_BYTES * self._seen // (self._seen_bytes or 1)
        self.limit = min(self._most, max(_FEW, fitting))
        self._seen = self._seen_bytes = 0

    def _write(self, keys: list[Any], stored: list[Any]) -> int:
        """Writes entries into RocksDB; returns how many bytes they take there."""
        return self._store.put(*self._rows(keys, stored))

    def _rows(self, keys: list[Any], stored: list[Any]) -> tuple[list[bytes], list[bytes | None]]:
        """The rows of entries and what is to stand there, None where there is nothing."""
        rows, indexes, groups, has_buckets = encode_rows(keys, self._key_groups, self._number, self._namespace)
        self._groups.update(groups)
        if not has_buckets:
            return rows, self._values([stored[index] for index in indexes])
        buckets: dict[bytes, dict[Any, Any]] = {}
        alone: dict[bytes, Any] = {}
        for row, index in zip(rows, indexes):
            if self._is_bucket(row):
                self._change_bucket(buckets, row, keys[index], stored[index])
            else:
                alone[row] = stored[index]
        values = self._values(list(alone.values())) + [pack(bucket) if bucket else None for bucket in buckets.values()]
        return [*alone, *buckets], values

    def _values(self, stored: list[Any]) -> list[bytes | None]:
        if {type(ABSENT), Packed}.isdisjoint(map(type, stored)):
            return [*encode_values(stored)]
        return [
            None if each is ABSENT else each.data if type(each) is Packed else encode_value(each) for each in stored
        ]

    def _change_bucket(self, buckets: dict[bytes, dict[Any, Any]], row: bytes, key: Any, stored: Any) -> None:
        bucket = buckets.get(row)
        if bucket is None:
            value = self._store.get(row)
            bucket = buckets[row] = {} if value is None else unpack(value)
        if stored is ABSENT:
            bucket.pop(key, None)
        else:
            bucket[key] = unpack(stored.data) if type(stored) is Packed else stored

    def _is_bucket(self, row: bytes) -> bool:
        return is_bucket(row[len(self._prefix(0)) :])

    def _prefix(self, group: int) -> bytes:
        prefix = self._prefixes.get(group)
        if prefix is None:
            prefix = self._prefixes[group] = row_prefix(group, self._number, self._namespace)
        return prefix


def entries_of(encoded: bytes, value: bytes) -> Iterator[tuple[Any, Any]]:
    """Stored keys and entries of a row."""
    if is_bucket(encoded):
        yield from unpack(value).items()
    else:
        yield decode_key(encoded), decode_value(value)
