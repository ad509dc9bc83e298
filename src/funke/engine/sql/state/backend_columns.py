"""Keyed columns in a state backend that is larger than memory: an entry for each key, read and written in bulk."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.sql.state.key_index import Keys, TextKeys
from funke.engine.sql.state.keyed_columns import ColumnLayout, Columns, Fetched, KeyedColumns
from funke.engine.sql.state.stored_entries import from_entries, to_entries
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.rocksdb.backend import RocksDBBackend
from funke.engine.state.rocksdb.tables import ABSENT, RocksDBTable
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile
from funke.engine.state.ttl.config import StateTtlConfig
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.time import Time

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["BackendColumns"]


class BackendColumns(KeyedColumns):
    """A batch costs one multi-get for the keys that the cache does not have, and one write batch when that is full."""

    def __init__(self, layout: ColumnLayout, backend: RocksDBBackend, now_ms: Callable[[], int]) -> None:
        self._layout = layout
        self._backend = backend
        self._now_ms = now_ms
        self._descriptor = ValueStateDescriptor(layout.name, Types.PICKLED_BYTE_ARRAY())
        if layout.ttl_ms:
            ttl = StateTtlConfig.new_builder(Time.milliseconds(layout.ttl_ms)).build()
            self._descriptor.enable_time_to_live(ttl)

    def beside(self, layout: ColumnLayout) -> BackendColumns:
        """Another state in the same backend, whose snapshots hold both."""
        return BackendColumns(layout, self._backend, self._now_ms)

    def _table(self, namespace: Hashable) -> RocksDBTable:
        table: RocksDBTable = self._backend.get_state(self._descriptor, namespace).table
        return table

    def fetch(self, keys: Keys, namespace: Hashable = None) -> Fetched:
        if isinstance(keys, (np.ndarray, TextKeys)):
            keys = keys.tolist()
        table = self._table(namespace)
        stored = table.get_all(keys)
        if self._layout.ttl_ms:
            # As in Flink's SQL operators an entry that has expired is absent, whether or not compaction has removed it.
            oldest = self._now_ms() - self._layout.ttl_ms
            stored = [ABSENT if each is ABSENT or each[1] <= oldest else each[0] for each in stored]
        is_known = np.fromiter((each is not ABSENT for each in stored), np.bool_, len(stored))
        columns = from_entries([each for each in stored if each is not ABSENT], self._layout)
        if not is_known.all():
            created = self._layout.create(len(keys))
            for mine, column in zip(created, columns):
                mine[is_known] = column
            columns = created
        return Fetched(keys, columns, is_known, namespace, table)

    def store(self, fetched: Fetched, columns: Columns, kept: Array | None = None) -> None:
        # Writing makes an entry live longer, reading does not (Flink's OnCreateAndWrite).
        times = [self._now_ms()] * len(fetched.keys) if self._layout.ttl_ms else None
        entries = to_entries(columns, times)
        if kept is not None:
            entries = [each if keeps else ABSENT for each, keeps in zip(entries, kept.tolist())]
        fetched.indexes.put_all(fetched.keys, entries)

    def entries(self, namespace: Hashable) -> tuple[list[Any], Columns]:
        stored = dict(self._table(namespace).items())
        values = [each[0] for each in stored.values()] if self._layout.ttl_ms else list(stored.values())
        return list(stored), from_entries(values, self._layout)

    def drop(self, namespace: Hashable) -> None:
        self._table(namespace).clear()

    def prune(self) -> None:
        self._backend.prune()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        self._backend.prepare_snapshot(checkpoint_id)

    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        return self._backend.snapshot_parts()

    def restore(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        self._backend.restore(parts)

    def native_files(self) -> tuple[LocalFile, ...]:
        return self._backend.native_files()

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        self._backend.restore_native(folders, groups)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._backend.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._backend.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        self._backend.close()
