"""The state backend in the memory of the slot: one plain dict per state, and per namespace of a state."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from funke.engine.state.descriptors import StateDescriptor
from funke.engine.state.heap.states import (
    HeapAggregatingState,
    HeapListState,
    HeapMapState,
    HeapReducingState,
    HeapValueState,
    Table,
)
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.keyed.state_kinds import kind_of, require_kind
from funke.engine.state.snapshot.file_format import GroupPart, TableId
from funke.engine.state.snapshot.part_chunks import chunks_of
from funke.engine.state.state_types import StateTypes
from funke.engine.state.ttl.states import TtlState, create_ttl_state
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["HashMapBackend"]

# Name and namespace of a table.
_TableKey = tuple[str, Hashable]


class HashMapBackend(KeyedBackend):
    """Holds state as Python objects; key groups are computed only for snapshots."""

    __slots__ = ("_handles", "_key_groups", "_kinds", "_now_ms", "_restored", "current_key", "types")

    def __init__(self, key_groups: KeyGroups, now_ms: Callable[[], int]) -> None:
        self.current_key: Any = None
        self.types = StateTypes()
        self._key_groups = key_groups
        self._now_ms = now_ms
        self._handles: dict[_TableKey, Any] = {}
        self._kinds: dict[str, str] = {}
        # Tables that came from a snapshot and that are not registered yet.
        self._restored: dict[_TableKey, tuple[TableId, Table]] = {}

    def get_state(self, descriptor: StateDescriptor, namespace: Hashable = None) -> Any:
        """The handle for a state; asking again gives the same handle."""
        handle = self._handles.get((descriptor.name, namespace))
        if handle is None or self._kinds[descriptor.name] != kind_of(descriptor):
            handle = self._open(descriptor, namespace)
        return handle

    def drop_key(self, key: Any) -> None:
        for handle in self._handles.values():
            handle.table.pop(key, None)

    def prune(self) -> None:
        handles = self._handles
        for table_id in [each for each, handle in handles.items() if each[1] is not None and not handle.table]:
            del handles[table_id]

    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        """All state by key group, in chunks; expired entries are left out."""
        return chunks_of(self._tables(), self._key_groups)

    def restore(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        """Takes back key groups; a state finds its part when it is opened."""
        for _, part in parts:
            for table_id, table in part.tables.items():
                _, mine = self._restored.setdefault((table_id.name, table_id.namespace), (table_id, {}))
                mine.update(table)
                self._kinds.setdefault(table_id.name, table_id.kind)

    def _tables(self) -> Iterator[tuple[TableId, Iterable[tuple[Any, Any]]]]:
        for (name, namespace), handle in self._handles.items():
            has_ttl = isinstance(handle, TtlState)
            entries = handle.unexpired_items() if has_ttl else handle.table.items()
            yield TableId(name, namespace, has_ttl, self._kinds[name]), entries
        for table_id, table in self._restored.values():
            yield table_id, table.items()

    def _open(self, descriptor: StateDescriptor, namespace: Hashable) -> Any:
        kind = require_kind(descriptor, self._kinds)
        self.types.declare(descriptor.name, descriptor.type_info)
        table_id, table = self._restored.pop((descriptor.name, namespace), (None, {}))
        had_ttl = table_id is not None and table_id.has_ttl
        if descriptor.ttl_config is not None:
            handle: Any = create_ttl_state(kind, descriptor, self, self._now_ms)
            handle.load(table, had_ttl)
        else:
            handle = _create_plain(kind, descriptor, self, TtlState.without_times(kind, table) if had_ttl else table)
        self._handles[descriptor.name, namespace] = handle
        return handle


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
