"""A table of state in RocksDB that is used like a dict, with a bounded write-back cache of Python objects before it.

What is written stays in the cache until there is too much of it, a checkpoint begins or the table is released; keys
that are used again and again cost no RocksDB access. Contents that the caller changes in place must be put again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from funke.engine.state.rocksdb.rows import (
    BUCKET,
    decode_key,
    encode_key,
    encode_keys,
    is_bucket,
    row_prefix,
    split_row,
)
from funke.engine.state.rocksdb.store import RocksDBStore
from funke.engine.state.storage_keys import group_of, groups_of
from funke.engine.state.value_codec import pack, unpack
from funke.engine.types.key_groups import KeyGroups

__all__ = ["ABSENT", "MISS", "Packed", "RocksDBTable", "entries_of"]

# Stands in the cache for a key without an entry.
ABSENT: Any = type("_Absent", (), {})()
# What a cache answers about a key it does not know.
MISS: Any = type("_Miss", (), {})()

_CHUNK = 2000
# Entries as RocksDB has them per entry that it does not have: these cost nothing at a checkpoint.
_CLEAN_PER_FRESH = 3
# How many entries RocksDB need not have follows from their size, once some are known.
_FRESH_BYTES = 8 << 20
_FEW = 100


class Packed:
    """An entry that its user could change, kept as bytes."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class RocksDBTable:
    """The entries of one state in one namespace, by stored key."""

    __slots__ = (
        "__weakref__",
        "_groups",
        "_key_groups",
        "_most",
        "_namespace",
        "_number",
        "_prefixes",
        "_seen",
        "_seen_bytes",
        "_store",
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
        most: int,
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
        missing = [place for place, each in enumerate(found) if each is MISS]
        for place, each in zip(missing, self._load_all([keys[place] for place in missing])):
            found[place] = each
        return [unpack(each.data) if type(each) is Packed else each for each in found]

    def put_all(self, keys: list[Any], entries: list[Any]) -> None:
        """Sets many entries; those that are ABSENT go."""
        self.fresh.update(zip(keys, entries))
        if len(self.fresh) > self.limit:
            self.flush()

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
            self._seen_bytes += self._store.write(self._rows(fresh))
            self._seen += len(fresh)
            self._set_limit()
            self.fresh = {}
            self.clean.update(fresh)
            if len(self.clean) > self.limit * _CLEAN_PER_FRESH:
                self.clean = fresh

    def flush_some(self, most: int) -> int:
        """Writes up to so many entries that RocksDB does not have yet, and all that share a row; returns how many."""
        fresh = self.fresh
        if len(fresh) <= most:
            self.flush()
            return len(fresh)
        chosen = set(islice(fresh, most))
        flushed = {key: fresh[key] for key in fresh if key in chosen or is_bucket(encode_key(key))}
        self._store.write(self._rows(flushed))
        self.clean.update(flushed)
        for key in flushed:
            del fresh[key]
        return len(flushed)

    def fresh_rows(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The rows that RocksDB does not have yet; none of them is shared after `flush_some`."""
        return self._rows(self.fresh)

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
            found = unpack(value)
            if is_bucket(encoded):
                found = found.get(key, ABSENT)
        self._seen += 1
        self._seen_bytes += len(encoded) + len(value or b"")
        clean = self.clean
        if len(clean) >= self.limit * _CLEAN_PER_FRESH:
            self._set_limit()
            if len(clean) >= self.limit * _CLEAN_PER_FRESH:
                clean.clear()
        clean[key] = found
        return found

    def _load_all(self, keys: list[Any]) -> list[Any]:
        """What RocksDB has of keys that the cache does not have."""
        if not keys:
            return []
        encoded = encode_keys(keys)
        groups = groups_of(keys, self._key_groups)
        values = self._store.get([self._prefix(group) + each for group, each in zip(groups, encoded)])
        self._seen += len(keys)
        self._seen_bytes += sum(map(len, encoded)) + sum(len(value) for value in values if value is not None)
        found = [
            ABSENT if value is None else unpack(value).get(key, ABSENT) if is_bucket(each) else unpack(value)
            for key, each, value in zip(keys, encoded, values)
        ]
        room = self.limit * _CLEAN_PER_FRESH
        if len(self.clean) + len(keys) > room:
            self.clean.clear()
        if len(keys) <= room:
            self.clean.update((key, each if each is ABSENT else self._cached(each)) for key, each in zip(keys, found))
        return found

    def _cached(self, found: Any) -> Any:
        """The form in which the cache keeps an entry that was read."""
        return found

    def _set_limit(self) -> None:
        fitting = _FRESH_BYTES * self._seen // (self._seen_bytes or 1)
        self.limit = min(self._most, max(_FEW, fitting))
        self._seen = self._seen_bytes = 0

    def _rows(self, entries: dict[Any, Any]) -> Iterator[tuple[bytes, bytes | None]]:
        buckets: dict[bytes, dict[Any, Any]] = {}
        prefix_of = self._prefixes.get
        groups = groups_of(list(entries), self._key_groups)
        self._groups.update(groups)
        for (key, stored), group, encoded in zip(entries.items(), groups, encode_keys(entries)):
            row = (prefix_of(group) or self._prefix(group)) + encoded
            if encoded[:1] == BUCKET:
                self._change_bucket(buckets, row, key, stored)
            elif stored is ABSENT:
                yield row, None
            else:
                yield row, stored.data if type(stored) is Packed else pack(stored)
        for row, bucket in buckets.items():
            yield row, pack(bucket) if bucket else None

    def _change_bucket(self, buckets: dict[bytes, dict[Any, Any]], row: bytes, key: Any, stored: Any) -> None:
        bucket = buckets.get(row)
        if bucket is None:
            value = self._store.get(row)
            bucket = buckets[row] = {} if value is None else unpack(value)
        if stored is ABSENT:
            bucket.pop(key, None)
        else:
            bucket[key] = unpack(stored.data) if type(stored) is Packed else stored

    def _prefix(self, group: int) -> bytes:
        prefix = self._prefixes.get(group)
        if prefix is None:
            prefix = self._prefixes[group] = row_prefix(group, self._number, self._namespace)
        return prefix


def entries_of(encoded: bytes, value: bytes, unpack: Callable[[bytes], Any] = unpack) -> Iterator[tuple[Any, Any]]:
    """Stored keys and entries of a row."""
    if is_bucket(encoded):
        yield from unpack(value).items()
    else:
        yield decode_key(encoded), unpack(value)
