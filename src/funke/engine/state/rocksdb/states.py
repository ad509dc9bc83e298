"""State handles over RocksDB tables: what they hand out is the caller's own, as if it came out of RocksDB every time.

Entries that cannot change are kept as they are. Others are kept as bytes (values, accumulators) or copied on their way
in and out (elements of lists, entries of maps). So a value that a function changes in place is not changed in the
state before it calls `update`, unlike with the backend in memory; in Flink it is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from funke.engine.operators.record_copy import ATOMS, detached
from funke.engine.state.heap.states import HeapAggregatingState, HeapReducingState
from funke.engine.state.interfaces import ListState, MapState, ValueState
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.rocksdb.tables import ABSENT, MISS, Packed, RocksDBTable
from funke.engine.state.value_codec import pack, unpack

__all__ = ["FrozenTable", "create_rocksdb_state", "frozen"]


def frozen(value: Any) -> Any:
    """The value itself if it is immutable, else its bytes."""
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is tuple:
        for item in value:
            if type(item) not in ATOMS:
                return Packed(pack(value))
        return value
    return Packed(pack(value))


def _own(value: Any) -> Any:
    return value if type(value) in ATOMS else detached(value)


class FrozenTable(RocksDBTable):
    """A table whose users may change what they put and get."""

    __slots__ = ()
    has_frozen_entries = True

    def __setitem__(self, key: Any, stored: Any) -> None:
        fresh = self.fresh
        fresh[key] = stored if type(stored) in ATOMS or stored is ABSENT else frozen(stored)
        if len(fresh) > self.limit:
            self.settle()

    def _cached(self, entry: Any) -> Any:
        return entry if entry is ABSENT else frozen(entry)

    def put_all(self, keys: list[Any], entries: list[Any]) -> None:
        """Sets many entries; those that are ABSENT go."""
        super().put_all(keys, [each if each is ABSENT else frozen(each) for each in entries])


class RocksDBValueState(ValueState[Any]):
    """One value per key."""

    __slots__ = ("_backend", "table")

    def __init__(self, backend: KeyedBackend, table: RocksDBTable) -> None:
        self._backend = backend
        self.table = table

    def value(self) -> Any:
        table, key = self.table, self._backend.current_key
        entry = table.fresh.get(key, MISS)
        if entry is MISS:
            entry = table.clean.get(key, MISS)
            if entry is MISS:
                entry = table.find(key)
        if type(entry) in ATOMS:
            return entry
        if entry is ABSENT:
            return None
        return unpack(entry.data) if type(entry) is Packed else entry

    def update(self, value: Any) -> None:
        # What the table does when it is assigned to, without the call.
        table = self.table
        fresh = table.fresh
        if value is None:
            value = ABSENT
        fresh[self._backend.current_key] = value if type(value) in ATOMS or value is ABSENT else frozen(value)
        if len(fresh) > table.limit:
            table.settle()

    def clear(self) -> None:
        self.table[self._backend.current_key] = ABSENT


class RocksDBReducingState(HeapReducingState):
    """One value per key, combined by a function."""

    __slots__ = ()

    def clear(self) -> None:
        """Forget the value, without reading it."""
        del self.table[self._backend.current_key]


class RocksDBAggregatingState(HeapAggregatingState):
    """One accumulator per key."""

    __slots__ = ()

    def clear(self) -> None:
        """Forget the accumulator, without reading it."""
        del self.table[self._backend.current_key]


class RocksDBListState(ListState[Any]):
    """One list per key."""

    __slots__ = ("_backend", "table")

    def __init__(self, backend: KeyedBackend, table: RocksDBTable) -> None:
        self._backend = backend
        self.table = table

    def get(self) -> list[Any]:
        return list(map(_own, self.table.get(self._backend.current_key, ())))

    def add(self, value: Any) -> None:
        key = self._backend.current_key
        stored = self.table.get(key)
        if stored is None:
            stored = []
        stored.append(_own(value))
        self.table[key] = stored

    def add_all(self, values: Iterable[Any]) -> None:
        added = list(map(_own, values))
        if added:
            key = self._backend.current_key
            stored = self.table.get(key, [])
            stored.extend(added)
            self.table[key] = stored

    def update(self, values: Iterable[Any]) -> None:
        stored = list(map(_own, values))
        self.table[self._backend.current_key] = stored or ABSENT

    def clear(self) -> None:
        self.table[self._backend.current_key] = ABSENT

    @staticmethod
    def merge(left: list[Any], right: list[Any]) -> list[Any]:
        """One list for the elements of both."""
        return left + right


class RocksDBMapState(MapState[Any, Any]):
    """One map per key; iterating works on a copy, so entries can be removed on the way."""

    __slots__ = ("_backend", "table")

    def __init__(self, backend: KeyedBackend, table: RocksDBTable) -> None:
        self._backend = backend
        self.table = table

    def get(self, key: Any) -> Any:
        stored = self.table.get(self._backend.current_key)
        return None if stored is None else _own(stored.get(key))

    def put(self, key: Any, value: Any) -> None:
        self.put_all({key: value})

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        if dict_value:
            current = self._backend.current_key
            stored = self.table.get(current)
            if stored is None:
                stored = {}
            for key, value in dict_value.items():
                stored[_own(key)] = _own(value)
            self.table[current] = stored

    def remove(self, key: Any) -> None:
        current = self._backend.current_key
        stored = self.table.get(current)
        if stored is not None and key in stored:
            del stored[key]
            self.table[current] = stored or ABSENT

    def contains(self, key: Any) -> bool:
        """Tell whether `key` has a value; as in PyFlink, None does not count as one."""
        stored = self.table.get(self._backend.current_key)
        return stored is not None and stored.get(key) is not None

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter([(_own(key), _own(value)) for key, value in self._stored().items()])

    def keys(self) -> Iterator[Any]:
        return iter(list(map(_own, self._stored())))

    def values(self) -> Iterator[Any]:
        return iter(list(map(_own, self._stored().values())))

    def is_empty(self) -> bool:
        return self._backend.current_key not in self.table

    def clear(self) -> None:
        self.table[self._backend.current_key] = ABSENT

    def _stored(self) -> dict[Any, Any]:
        stored: dict[Any, Any] = self.table.get(self._backend.current_key, {})
        return stored


def create_rocksdb_state(kind: str, descriptor: Any, backend: KeyedBackend, table: RocksDBTable) -> Any:
    """The handle for a kind of state."""
    if kind == "value":
        return RocksDBValueState(backend, table)
    if kind == "list":
        return RocksDBListState(backend, table)
    if kind == "map":
        return RocksDBMapState(backend, table)
    like_a_dict: Any = table
    if kind == "reducing":
        return RocksDBReducingState(backend, like_a_dict, descriptor.get_reduce_function().reduce)
    return RocksDBAggregatingState(backend, like_a_dict, descriptor.get_agg_function())
