"""The state backend in the memory of the slot: one plain dict per state, and per namespace of a state."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from funke.engine.errors import StateError
from funke.engine.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from funke.engine.state.heap_states import (
    HeapAggregatingState,
    HeapListState,
    HeapMapState,
    HeapReducingState,
    HeapValueState,
    Table,
)
from funke.engine.state.keyed_backend import KeyedBackend
from funke.engine.state.storage_keys import group_of, original_key, storage_key
from funke.engine.state.ttl_state import TtlState, create_ttl_state

__all__ = ["HashMapBackend"]

# Name and namespace of a table.
TableId = tuple[str, Hashable]
# The part of a snapshot for one key group: tables by name, namespace, and whether entries carry a time (see ttl_state).
GroupPart = dict[tuple[str, Hashable, bool], Table]

_KINDS: dict[type[StateDescriptor], str] = {
    ValueStateDescriptor: "value",
    ListStateDescriptor: "list",
    MapStateDescriptor: "map",
    ReducingStateDescriptor: "reducing",
    AggregatingStateDescriptor: "aggregating",
}


class HashMapBackend(KeyedBackend):
    """Holds state as Python objects; key groups are computed only for snapshots."""

    __slots__ = ("_handles", "_kinds", "_max_parallelism", "_now_ms", "_restored", "current_key")

    def __init__(self, max_parallelism: int, now_ms: Callable[[], int]) -> None:
        self.current_key: Any = None
        self._max_parallelism = max_parallelism
        self._now_ms = now_ms
        self._handles: dict[TableId, Any] = {}
        self._kinds: dict[str, str] = {}
        # Tables that came from a snapshot and that nobody has asked for yet, with whether they have times.
        self._restored: dict[TableId, tuple[Table, bool]] = {}

    def set_current_key(self, key: Any) -> None:
        """Points all handles at a key as the user knows it."""
        self.current_key = storage_key(key)

    def get_current_key(self) -> Any:
        """The current key as the user knows it."""
        return original_key(self.current_key)

    def get_state(self, descriptor: StateDescriptor, namespace: Hashable = None) -> Any:
        """The handle for a state; asking again gives the same handle."""
        handle = self._handles.get((descriptor.name, namespace))
        if handle is None or self._kinds[descriptor.name] != _kind_of(descriptor):
            handle = self._open(descriptor, namespace)
        return handle

    def merge_namespaces(self, descriptor: StateDescriptor, target: Hashable, sources: Iterable[Hashable]) -> None:
        """Moves the current key's state of all `sources` into `target`."""
        key = self.current_key
        tables = [self.get_state(descriptor, source).table for source in sources if source != target]
        parts = [table.pop(key) for table in tables if key in table]
        if not parts:
            return
        handle = self.get_state(descriptor, target)
        merged = parts[0]
        for part in parts[1:]:
            merged = handle.merge(merged, part)
        handle.table[key] = handle.merge(handle.table[key], merged) if key in handle.table else merged

    def drop_key(self, key: Any) -> None:
        """Forgets all state of a stored key."""
        for handle in self._handles.values():
            handle.table.pop(key, None)

    def prune(self) -> None:
        """Lets go of namespaces without state."""
        handles = self._handles
        for table_id in [found for found, handle in handles.items() if found[1] is not None and not handle.table]:
            del handles[table_id]

    def snapshot(self) -> dict[int, GroupPart]:
        """All state by key group; expired entries are left out."""
        groups: dict[int, GroupPart] = {}
        known: dict[Any, int] = {}
        for (name, namespace), (table, has_ttl) in self._tables():
            for key, stored in table.items():
                group = known.get(key)
                if group is None:
                    group = known[key] = group_of(key, self._max_parallelism)
                groups.setdefault(group, {}).setdefault((name, namespace, has_ttl), {})[key] = stored
        return groups

    def restore(self, parts: Mapping[int, GroupPart]) -> None:
        """Takes back key groups; a state finds its part when it is opened."""
        for part in parts.values():
            for (name, namespace, has_ttl), table in part.items():
                mine, _ = self._restored.setdefault((name, namespace), ({}, has_ttl))
                mine.update(table)

    def _tables(self) -> Iterable[tuple[TableId, tuple[Table, bool]]]:
        for table_id, handle in self._handles.items():
            has_ttl = isinstance(handle, TtlState)
            if has_ttl:
                handle.drop_all_expired()
            yield table_id, (handle.table, has_ttl)
        yield from self._restored.items()

    def _open(self, descriptor: StateDescriptor, namespace: Hashable) -> Any:
        kind = _kind_of(descriptor)
        if self._kinds.setdefault(descriptor.name, kind) != kind:
            raise StateError(
                f"state '{descriptor.name}' is already a {self._kinds[descriptor.name]} state and cannot be used as a "
                f"{kind} state; give each state its own name"
            )
        table, had_ttl = self._restored.pop((descriptor.name, namespace), ({}, False))
        if descriptor.ttl_config is not None:
            handle: Any = create_ttl_state(kind, descriptor, self, self._now_ms)
            handle.load(table, had_ttl)
        else:
            handle = _create_plain(kind, descriptor, self, TtlState.without_times(kind, table) if had_ttl else table)
        self._handles[descriptor.name, namespace] = handle
        return handle


def _kind_of(descriptor: StateDescriptor) -> str:
    kind = _KINDS.get(type(descriptor))
    if kind is not None:
        return kind
    for known, name in _KINDS.items():
        if isinstance(descriptor, known):
            return name
    raise StateError(f"'{descriptor!r}' is no state descriptor that Funke knows")


def _create_plain(kind: str, descriptor: Any, backend: KeyedBackend, table: Table) -> Any:
    if kind == "value":
        return HeapValueState(backend, table)
    if kind == "list":
        return HeapListState(backend, table)
    if kind == "map":
        return HeapMapState(backend, table)
    if kind == "reducing":
        return HeapReducingState(backend, table, descriptor.get_reduce_function().reduce)
    return HeapAggregatingState(backend, table, descriptor.get_agg_function())
