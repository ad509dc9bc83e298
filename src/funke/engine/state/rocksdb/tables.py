"""A table of state in RocksDB that is used like a dict, with a bounded write-back cache of Python objects before it.

What is written stays in the cache until there is too much of it, a checkpoint begins or the table is released; keys
that are used again and again cost no RocksDB access. What RocksDB has is kept as far as the slot's memory for entries
goes, and read for a batch at once where batches ask for it. Contents that a caller changes in place must be put again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from funke.engine.state.rocksdb.entry_memory import EntryMemory, object_bytes
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
from funke.engine.types.key_groups import KeyGroups

__all__ = ["ABSENT", "MISS", "Packed", "RocksDBTable", "entries_of"]


class _Absent:
    """The type of ABSENT."""


# Stands in the cache for a key without an entry.
ABSENT: Any = _Absent()
# What a cache answers about a key it does not know.
MISS: Any = type("_Miss", (), {})()

_CHUNK = 2000
# How many entries RocksDB need not have follows from their size, once some are known.
_FRESH_BYTES = 8 << 20
_FEW = 100
# What a dict takes for an entry beside key and value, on average.
_SLOT_BYTES = 50
_SAMPLE = 8
# One batch in so many is read key by key, to see whether it asks for its keys at all.
_BATCHES_PER_TRIAL = 64
# When nothing is to be read for batches, one in so many is looked at; one key in so many is next to nothing.
_BATCHES_PER_LOOK = 8
_FEW_MISSING = 50


class Packed:
    """An entry that its user could change, kept as bytes."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class RocksDBTable:
    """The entries of one state in one namespace, by stored key."""

    __slots__ = (
        "__weakref__",
        "_batches",
        "_entry_bytes",
        "_groups",
        "_is_asked",
        "_is_at_hand",
        "_key_groups",
        "_loads",
        "_look_at",
        "_memory",
        "_most",
        "_namespace",
        "_number",
        "_prefixes",
        "_seen",
        "_seen_bytes",
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
            self._memory.keepers.add(self)
        self._entry_bytes = 0
        self._look_at = _FEW
        # Whether batches ask for the entries of their keys, and whether the cache has nearly all of them.
        self._is_asked = self._is_at_hand = False
        # Batches so far, entries that the last one has read one by one, and how many it could have if it was a trial.
        self._batches = self._loads = self._tried = 0

    def find(self, key: Any) -> Any:
        """The entry as the cache keeps it: it may be ABSENT, or Packed if it was so written."""
        found = self.fresh.get(key, MISS)
        if found is MISS:
            found = self.clean.get(key, MISS)
            if found is MISS:
                found = self._load(key)
        return found

    def get(self, key: Any, default: Any = None) -> Any:
        """The entry of a key."""
        found = self.fresh.get(key, MISS)
        if found is MISS:
            found = self.clean.get(key, MISS)
            if found is MISS:
                found = self._load(key)
        if found is ABSENT:
            return default
        return unpack(found.data) if type(found) is Packed else found

    def get_all(self, keys: list[Any]) -> list[Any]:
        """The entries of many keys, ABSENT for those without; one request for all that the cache does not have."""
        fresh, clean = self.fresh, self.clean
        found = [clean.get(key, MISS) if key not in fresh else fresh[key] for key in keys]
        missing = [key for key, each in zip(keys, found) if each is MISS]
        if missing:
            read = self._load_all(missing)
            found = [read[key] if each is MISS else each for key, each in zip(keys, found)]
        return [unpack(each.data) if type(each) is Packed else each for each in found]

    def prefetch(self, keys: list[Any]) -> None:
        """A batch with these keys is about to be processed: reads what it will ask for, if batches did so before."""
        if self._memory is None:
            return
        loads, self._loads = self._loads, 0
        if self._tried:
            # An entry that is asked for costs 4 µs in place of 9, and one that is not costs 4 in vain.
            self._is_asked, self._tried = loads * 2 >= self._tried, 0
        self._batches += 1
        is_needless = not self._is_asked or (self._is_at_hand and loads * _FEW_MISSING < len(keys))
        if is_needless and self._batches % _BATCHES_PER_LOOK != 1:
            return
        # One after the other: with two arguments it would go through all entries of the second.
        missing = set(keys).difference(self.fresh).difference(self.clean)
        self._is_at_hand = len(missing) * _FEW_MISSING < len(keys)
        if not self._is_asked or self._batches % _BATCHES_PER_TRIAL == 0:
            self._tried = len(missing)
        elif missing:
            self._load_all(list(missing))

    def put_all(self, keys: list[Any], entries: list[Any]) -> None:
        """Sets many entries; those that are ABSENT go."""
        self.fresh.update(zip(keys, entries))
        if len(self.fresh) > self.limit:
            self.flush()

    def read_all(self, keys: list[Any]) -> list[Any]:
        """As `get_all`, for a caller that keeps what it reads: nothing of it stays in this cache."""
        rows, places, _, has_buckets = encode_rows(keys, self._key_groups, self._number, self._namespace)
        if has_buckets or self.fresh or self.clean:
            return self.get_all(keys)
        found = [ABSENT] * len(keys)
        for place, value in zip(places, self._store.get(rows)):
            if value is not None:
                found[place] = decode_value(value)
        return found

    def write_all(self, keys: list[Any], entries: list[Any]) -> None:
        """As `put_all`, for a caller that keeps what it writes: it goes to RocksDB at once."""
        if self.clean:
            self.release()
        self._store.put(*self._rows(dict(zip(keys, entries))))

    def __getitem__(self, key: Any) -> Any:
        found = self.get(key, ABSENT)
        if found is ABSENT:
            raise KeyError(key)
        return found

    def __contains__(self, key: Any) -> bool:
        return self.find(key) is not ABSENT

    def __setitem__(self, key: Any, stored: Any) -> None:
        fresh = self.fresh
        fresh[key] = stored
        if len(fresh) > self.limit:
            self.flush()

    def __delitem__(self, key: Any) -> None:
        self[key] = ABSENT

    def pop(self, key: Any, default: Any = None) -> Any:
        """Removes an entry and returns it."""
        found = self.get(key, ABSENT)
        if found is ABSENT:
            return default
        self[key] = ABSENT
        return found

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
        for group in self._groups:
            self._store.delete_prefix(self._prefix(group))

    def flush(self) -> None:
        """Writes what RocksDB does not have yet; it stays in the cache, what was there before goes."""
        fresh = self.fresh
        if fresh:
            self._seen_bytes += self._store.put(*self._rows(fresh))
            self._seen += len(fresh)
            self._set_limit()
            self.fresh = {}
            self._keep(fresh)

    def flush_some(self, most: int) -> int:
        """Writes up to so many entries that RocksDB does not have yet, and all that share a row; returns how many."""
        fresh = self.fresh
        if len(fresh) <= most:
            self.flush()
            return len(fresh)
        chosen = set(islice(fresh, most))
        flushed = {key: fresh[key] for key in fresh if key in chosen or is_bucket(encode_key(key))}
        self._store.put(*self._rows(flushed))
        for key in flushed:
            del fresh[key]
        self._keep(flushed)
        return len(flushed)

    def fresh_rows(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The rows that RocksDB does not have yet; none of them is shared after `flush_some`."""
        return zip(*self._rows(self.fresh))

    def release(self) -> None:
        """Writes what RocksDB does not have yet, and empties the cache."""
        self.flush()
        self.clean = {}

    def __len__(self) -> int:
        return sum(1 for _ in self.items())

    @property
    def cached(self) -> int:
        """How many entries the cache holds."""
        return len(self.fresh) + len(self.clean)

    def _load(self, key: Any) -> Any:
        encoded = encode_key(key)
        value = self._store.get(self._prefix(group_of(key, self._key_groups)) + encoded)
        found = ABSENT
        if value is not None:
            found = decode_value(value)
            if is_bucket(encoded):
                found = found.get(key, ABSENT)
        self._loads += 1
        self._seen += 1
        self._seen_bytes += len(encoded) + len(value or b"")
        clean = self.clean
        if len(clean) >= self._look_at or self._memory is None:
            self._set_limit()
            self._keep({key: self._cached(found)})
        else:
            clean[key] = self._cached(found)
        return found

    def _load_all(self, keys: list[Any]) -> dict[Any, Any]:
        """What RocksDB has of keys that the cache does not have."""
        rows, places, _, has_buckets = encode_rows(keys, self._key_groups, self._number, self._namespace)
        values = self._store.get(rows)
        self._seen += len(keys)
        self._seen_bytes += sum(map(len, rows)) + sum(len(value) for value in values if value is not None)
        found = {keys[place]: ABSENT if value is None else decode_value(value) for place, value in zip(places, values)}
        if has_buckets:
            for place, row in zip(places, rows):
                if self._is_bucket(row):
                    key = keys[place]
                    found[key] = ABSENT if found[key] is ABSENT else found[key].get(key, ABSENT)
        self._keep({key: self._cached(each) for key, each in found.items()})
        return found

    def _cached(self, found: Any) -> Any:
        """The form in which the cache keeps an entry that was read."""
        return found

    def _keep(self, entries: dict[Any, Any]) -> None:
        """Keeps entries that RocksDB has, as far as there is memory."""
        clean = self.clean
        if self._memory is None:
            self.clean = entries
            return
        clean.update(entries)
        if len(clean) >= self._look_at:
            some = list(islice(entries.items(), _SAMPLE))
            sizes = [object_bytes(key) + (0 if kept is ABSENT else object_bytes(kept)) for key, kept in some]
            found = _SLOT_BYTES + sum(sizes) // len(sizes)
            self._entry_bytes = (3 * (self._entry_bytes or found) + found) // 4
            self._memory.relieve()
            self._look_at = len(clean) + 1 + (self._memory.budget_bytes >> 8) // self._entry_bytes

    @property
    def kept_bytes(self) -> int:
        return len(self.clean) * self._entry_bytes

    def let_go(self) -> None:
        clean = self.clean
        for key in list(islice(clean, len(clean) // 8 + 1)):
            del clean[key]

    def _set_limit(self) -> None:
        fitting = _FRESH_BYTES * self._seen // (self._seen_bytes or 1)
        self.limit = min(self._most, max(_FEW, fitting))
        self._seen = self._seen_bytes = 0

    def _rows(self, entries: dict[Any, Any]) -> tuple[list[bytes], list[bytes | None]]:
        """The rows of entries and what is to stand there, None where there is nothing."""
        keys, stored = list(entries), list(entries.values())
        rows, places, groups, has_buckets = encode_rows(keys, self._key_groups, self._number, self._namespace)
        self._groups.update(groups)
        if not has_buckets:
            return rows, self._values([stored[place] for place in places])
        buckets: dict[bytes, dict[Any, Any]] = {}
        alone: dict[bytes, Any] = {}
        for row, place in zip(rows, places):
            if self._is_bucket(row):
                self._change_bucket(buckets, row, keys[place], stored[place])
            else:
                alone[row] = stored[place]
        values = self._values(list(alone.values())) + [pack(bucket) if bucket else None for bucket in buckets.values()]
        return [*alone, *buckets], values

    def _values(self, stored: list[Any]) -> list[bytes | None]:
        if {_Absent, Packed}.isdisjoint(map(type, stored)):
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
