"""The state backend for state larger than memory: rows in RocksDB on the local disk, hot entries in a cache.

At a checkpoint the files of the database are linked into a folder of the checkpoint's own, which takes milliseconds.
Entries that the database does not have yet are written beside it, so that processing need not wait for them.
"""

from __future__ import annotations

import heapq
import os
import shutil
import uuid
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from funke.engine.state.descriptors import StateDescriptor
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.keyed.state_kinds import kind_of, require_kind
from funke.engine.state.keyed.timer_queue import EVENT_TIME, TimerQueue, Timers
from funke.engine.state.rocksdb.census import Census
from funke.engine.state.rocksdb.copies import DatabaseCopy, StateInfo, prepare_copy
from funke.engine.state.rocksdb.entry_memory import entry_memory
from funke.engine.state.rocksdb.rows import (
    decode_value,
    encode_namespace,
    encode_value,
    is_bucket,
    row_prefix,
    split_row,
    state_prefix,
)
from funke.engine.state.rocksdb.settings import RocksDBSettings
from funke.engine.state.rocksdb.states import FrozenTable, create_rocksdb_state
from funke.engine.state.rocksdb.store import RocksDBStore
from funke.engine.state.rocksdb.sweeper import Sweeper
from funke.engine.state.rocksdb.tables import RocksDBTable, entries_of
from funke.engine.state.rocksdb.timer_rows import TIMERS, decode_timer, group_of_row, group_of_timer, timers_prefix
from funke.engine.state.rocksdb.timers import RocksDBTimerQueue
from funke.engine.state.snapshot.file_format import GroupPart, HeldState, LocalFile, TableId, empty_part
from funke.engine.state.snapshot.part_chunks import CHUNK_ENTRIES
from funke.engine.state.state_types import StateTypes
from funke.engine.state.storage_keys import group_of
from funke.engine.state.ttl.states import TtlState, create_ttl_state
from funke.engine.state.value_codec import pack, unpack
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["RocksDBBackend"]

# Kinds whose handles copy what they hand out, so that the table need not.
_COPIED_BY_HANDLES = ("list", "map")
# Entries that a checkpoint writes into the database while processing waits; the rest is written beside it.
_FLUSHED_AT_ONCE = 25_000
_MOST_WINDOW_TABLES = 1000
_RESTORE_BATCH = 10_000


class RocksDBBackend(KeyedBackend):
    """Works in `folder`, which belongs to it alone."""

    is_in_memory = False

    def __init__(
        self, key_groups: KeyGroups, now_ms: Callable[[], int], folder: str, settings: RocksDBSettings
    ) -> None:
        self.current_key: Any = None
        self.types = StateTypes()
        self._key_groups = key_groups
        self._now_ms = now_ms
        self._folder = folder
        self._settings = settings
        self._handles: dict[tuple[str, Hashable], Any] = {}
        # Tables of windows that are still in use: there must never be two for the same.
        self._tables: WeakValueDictionary[tuple[str, Hashable], RocksDBTable] = WeakValueDictionary()
        # Those of states that are not divided by windows.
        self._plain_tables: dict[str, RocksDBTable] = {}
        self._memory = entry_memory(settings.entry_bytes)
        self._kinds: dict[str, str] = {}
        self._states: dict[str, StateInfo] = {}
        self._groups: set[int] = set()
        self._sweepers: dict[str, Sweeper] = {}
        self._timers: dict[int, Timers] = {}
        self._pid = os.getpid()
        self._instance = uuid.uuid4().hex
        # Files that came with a native snapshot, by their name here.
        self._origins: dict[str, str] = {}
        self._store: RocksDBStore | None = None
        self._copies: dict[int, DatabaseCopy] = {}
        self._census = Census()
        self._held: tuple[HeldState, ...] = ()

    @property
    def store(self) -> RocksDBStore:
        """The database, which is opened when it is first needed."""
        if self._store is None:
            self._store = RocksDBStore(os.path.join(self._folder, "db"), self._settings)
        return self._store

    def get_state(self, descriptor: StateDescriptor, namespace: Hashable = None) -> Any:
        """The handle for a state; asking again gives the same handle."""
        handle = self._handles.get((descriptor.name, namespace))
        if handle is None or self._kinds[descriptor.name] != kind_of(descriptor):
            handle = self._open(descriptor, namespace)
        return handle

    def create_timers(self, number: int, has_namespaces: bool) -> Timers:
        """An empty queue of timers, which are in RocksDB unless the settings say otherwise."""
        if self._settings.has_timers_in_memory:
            self._timers[number] = TimerQueue()
        else:
            self._timers[number] = RocksDBTimerQueue(
                lambda: self.store,
                number,
                has_namespaces,
                self._key_groups,
                self._groups,
                self._settings.cached_timers,
            )
        return self._timers[number]

    def _open(self, descriptor: StateDescriptor, namespace: Hashable) -> Any:
        kind = require_kind(descriptor, self._kinds)
        self.types.declare(descriptor.name, descriptor.type_info)
        name, has_ttl = descriptor.name, descriptor.ttl_config is not None
        state = self._states.get(name)
        if state is None:
            state = self._states[name] = StateInfo(len(self._states), name, kind, has_ttl)
        ttl_handle: Any = create_ttl_state(kind, descriptor, self, self._now_ms) if has_ttl else None
        if state.has_ttl != has_ttl:
            self._convert(state, ttl_handle)
            state = self._states[name] = state._replace(has_ttl=has_ttl)
        table = self._table(state, namespace)
        if ttl_handle is None:
            handle = create_rocksdb_state(kind, descriptor, self, table)
        else:
            handle = ttl_handle
            if handle.is_cleaned_up and name not in self._sweepers:
                self._sweepers[name] = Sweeper(state.number, handle, self._now_ms)
            handle.keep_in(table)
        self._handles[name, namespace] = handle
        return handle

    def _table(self, state: StateInfo, namespace: Hashable) -> RocksDBTable:
        table = self._tables.get((state.name, namespace))
        if table is None:
            is_live = state.kind in _COPIED_BY_HANDLES and not state.has_ttl
            table = (RocksDBTable if is_live else FrozenTable)(
                self.store,
                state.number,
                encode_namespace(namespace),
                self._key_groups,
                self._groups,
                self._settings.cached_entries,
                self._memory,
            )
            self._tables[state.name, namespace] = table
            if namespace is None:
                self._plain_tables[state.name] = table
        return table

    def prefetch(self, keys: list[Any]) -> None:
        """Reads what the batch will ask for in one request for each state, if it did so with batches before."""
        for table in self._plain_tables.values():
            table.prefetch(keys)

    def _convert(self, state: StateInfo, ttl_handle: Any) -> None:
        """Gives all entries of a state times, or takes them away."""

        def convert(stored: Any) -> Any:
            if ttl_handle is not None:
                return ttl_handle.with_times(stored)
            return TtlState.without_times(state.kind, {None: stored})[None]

        for group in self._groups:
            rows: list[tuple[bytes, bytes | None]] = []
            for row, value in self.store.scan(state_prefix(group, state.number)):
                content = decode_value(value)
                if is_bucket(split_row(row)[3]):
                    rows.append((row, pack({key: convert(stored) for key, stored in content.items()})))
                else:
                    rows.append((row, encode_value(convert(content))))
            self.store.write(rows)

    def drop_key(self, key: Any) -> None:
        # The scan sees only what RocksDB has.
        self._release_all()
        group = group_of(key, self._key_groups)
        for state in self._states.values():
            for row, value in self.store.scan(state_prefix(group, state.number)):
                _, _, namespace, encoded = split_row(row)
                if any(entry_key == key for entry_key, _ in entries_of(encoded, value)):
                    table = self._table(state, unpack(namespace) if namespace else None)
                    del table[key]
                    table.release()

    def prune(self) -> None:
        """Keeps the cache of windows small, and removes some of what has expired."""
        for name, sweeper in self._sweepers.items():
            table_of = partial(self._table, self._states[name])
            sweeper.sweep(self.store, self._groups, table_of, partial(self._flush_share, name))
        # Every table bounds its own cache; but there is a table for each window.
        windows = {table_id: table for table_id, table in self._tables.items() if table_id[1] is not None}
        cached = sum(table.cached for table in windows.values())
        if len(windows) > _MOST_WINDOW_TABLES or cached > self._settings.cached_entries:
            for table_id, table in windows.items():
                table.release()
                self._handles.pop(table_id, None)

    def _flush_share(self, name: str, shares: int) -> None:
        for (state_name, _), table in list(self._tables.items()):
            if state_name == name:
                table.flush_share(shares)

    def _release_all(self) -> None:
        for table in list(self._tables.values()):
            table.release()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Links the files of the database into a folder of the checkpoint's own."""
        left = _FLUSHED_AT_ONCE
        for table in list(self._tables.values()):
            left -= table.flush_some(max(0, left))
        self._discard(lambda other_id: other_id == checkpoint_id)
        folder = os.path.join(self._folder, f"chk-{checkpoint_id}")
        self._copies[checkpoint_id] = prepare_copy(
            self.store, folder, self._states.values(), self._groups, self._key_groups.max_parallelism
        )
        self._census.go_on(self.store)
        # Now: the process that writes the snapshot must not ask the database.
        self._held = self._census.held(self._states.values(), self.store)

    def held_bytes(self, name: str) -> int:
        """About how many bytes a state had at the last checkpoint."""
        return sum(each.bytes for each in self._held if each.name == name)

    @property
    def _latest(self) -> DatabaseCopy:
        return self._copies[next(reversed(self._copies))]

    def _fresh_rows(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The rows that the database does not have yet, in order."""
        queues = [queue for queue in self._timers.values() if isinstance(queue, RocksDBTimerQueue)]
        tables = [table.fresh_rows() for table in self._tables.values()]
        return heapq.merge(*tables, *(sorted(queue.fresh_rows()) for queue in queues))

    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        """All state by key group, in chunks; expired entries are left out."""
        # A forked process must not use RocksDB (see `dump`).
        is_elsewhere = os.getpid() != self._pid
        if not self._copies:
            self.prepare_snapshot(0)
        states = {state.number: state for state in self._states.values()}
        tables: dict[TableId, dict[Any, Any]] = {}
        last_group, size = -1, 0
        timers = _TimerParts()
        for row, value in self._latest.rows(self._fresh_rows(), is_elsewhere):
            group, number, namespace, encoded = split_row(row)
            if group == TIMERS:
                yield from timers.add(row, number)
                continue
            if (group != last_group or size >= CHUNK_ENTRIES) and tables:
                yield last_group, GroupPart(tables, [], [])
                tables, size = {}, 0
            last_group = group
            state = states[number]
            expiring = self._any_ttl_handle(state)
            table_id = TableId(state.name, unpack(namespace) if namespace else None, state.has_ttl, state.kind)
            for key, stored in entries_of(encoded, value):
                kept = stored if expiring is None else expiring.unexpired(stored)
                if expiring is None or kept:
                    tables.setdefault(table_id, {})[key] = kept
                    size += 1
        if tables:
            yield last_group, GroupPart(tables, [], [])
        yield from timers.parts.items()

    def _any_ttl_handle(self, state: StateInfo) -> Any:
        if not state.has_ttl:
            return None
        return next((handle for (name, _), handle in self._handles.items() if name == state.name), None)

    def restore(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        """Takes back key groups: writes their entries into the database."""
        for group, part in parts:
            for table_id, entries in part.tables.items():
                self._kinds.setdefault(table_id.name, table_id.kind)
                state = self._states.get(table_id.name)
                if state is None:
                    state = StateInfo(len(self._states), table_id.name, table_id.kind, table_id.has_ttl)
                    self._states[table_id.name] = state
                table = RocksDBTable(
                    self.store, state.number, encode_namespace(table_id.namespace), self._key_groups, self._groups
                )
                table.fresh = entries
                table.release()
            self._groups.add(group)

    def native_files(self) -> tuple[LocalFile, ...]:
        """The files of the database as of the last `prepare_snapshot`, and what it did not have yet."""
        return self._latest.files(self._fresh_rows(), self._instance, self._origins, self._held)

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        """Takes back key groups from native snapshots."""
        copies = [DatabaseCopy.open(folder) for folder in folders]
        if len(copies) == 1 and self._store is None and all(group in groups for group in copies[0].groups):
            self._adopt(copies[0])
        else:
            for copy in copies:
                self._take_rows(copy, groups)
        for number, queue in self._timers.items():
            if isinstance(queue, RocksDBTimerQueue):
                queue.take_over()
            else:
                self._take_timers(number, queue)

    def _take_timers(self, number: int, queue: Timers) -> None:
        """Moves timers from the database, where the job had them before, into memory."""
        queue.restore(decode_timer(row) for row, _ in self.store.scan(timers_prefix(number)))
        self.store.delete_prefix(timers_prefix(number))

    def _adopt(self, copy: DatabaseCopy) -> None:
        """Goes on with the files of a snapshot whose key groups are all wanted."""
        self._origins = copy.copy_into(os.path.join(self._folder, "db"))
        for state in copy.states:
            self._states[state.name] = state
            self._kinds[state.name] = state.kind
        self._groups.update(copy.groups)
        for rows in copy.overlay_parts():
            self.store.put(list(rows), list(rows.values()))

    def _take_rows(self, copy: DatabaseCopy, groups: Container[int]) -> None:
        names = {state.number: state for state in copy.states}
        batch: list[tuple[bytes, bytes | None]] = []
        for row, value in copy.rows(copy.overlay(), is_elsewhere=False):
            group = group_of_row(row)
            if group not in groups:
                continue
            kind, number, namespace, encoded = split_row(row)
            if kind != TIMERS:
                # Every old subtask has numbered its states in the order in which they were opened there.
                row = row_prefix(group, self._number_for(names[number]), namespace) + encoded
            batch.append((row, value))
            self._groups.add(group)
            if len(batch) >= _RESTORE_BATCH:
                self.store.write(batch)
                batch.clear()
        self.store.write(batch)

    def _number_for(self, state: StateInfo) -> int:
        own_state = self._states.get(state.name)
        if own_state is None:
            own_state = self._states[state.name] = state._replace(number=len(self._states))
            self._kinds[state.name] = state.kind
        return own_state.number

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """The links of this checkpoint and of older ones are not needed any more."""
        self._discard(lambda other_id: other_id <= checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """The links of this checkpoint are not needed any more."""
        self._discard(lambda other_id: other_id == checkpoint_id)

    def _discard(self, is_unneeded: Callable[[int], bool]) -> None:
        for checkpoint_id in [each_id for each_id in self._copies if is_unneeded(each_id)]:
            self._copies.pop(checkpoint_id).delete()

    def close(self) -> None:
        """Closes the database and removes its files."""
        for table in list(self._tables.values()):
            table.close()
        if self._store is not None:
            self._store.close()
            self._store = None
        shutil.rmtree(self._folder, ignore_errors=True)


class _TimerParts:
    """Collects timers by key group and gives away a group's part as soon as it is large enough."""

    def __init__(self) -> None:
        self.parts: dict[int, GroupPart] = {}

    def add(self, row: bytes, number: int) -> Iterator[tuple[int, GroupPart]]:
        """Adds a timer of a queue; yields the part that is full, if any."""
        group = group_of_timer(row)
        part = self.parts.setdefault(group, empty_part())
        timers = part.event_timers if number == EVENT_TIME else part.processing_timers
        timers.append(decode_timer(row))
        if len(timers) >= CHUNK_ENTRIES:
            yield group, self.parts.pop(group)
