"""Rows that are only added, and come out together: in the memory of the slot, or in a backend that is larger.

They are stored in chunks, one for each key group and time, since the rows of a single key are never read alone: a row
costs what it takes as a column, and those that are due are read one behind the other.
"""

from __future__ import annotations

import pickle
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.operator import OperatorContext
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer, restored_rows
from funke.engine.sql.state.keyed_columns import KeyedTable
from funke.engine.sql.state.keyed_columns_operator import create_database, is_in_memory
from funke.engine.sql.state.rows.native_rows import chunked
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile, TableId
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.information.type_information import TypeInformation
from funke.engine.types.keys.key_groups import KeyGroups

if TYPE_CHECKING:
    from funke.engine.state.rocksdb.backend import RocksDBBackend
    from funke.engine.state.rocksdb.tables import RocksDBTable
    from funke.engine.types.columns.arrays import Array

__all__ = ["RowLogs", "create_row_logs"]

# So many rows wait in memory until they are written together.
_MOST_ROWS = 1 << 16
_ANY_TIME = 0


class StoredRowBuffer(RowBuffer):
    """Rows leave memory when there are many of them, and when a checkpoint begins."""

    def __init__(
        self,
        name: str,
        keys: Sequence[int],
        key_types: Sequence[TypeInformation],
        schema: pa.Schema,
        by_time: bool,
        backend: RocksDBBackend,
        key_groups: KeyGroups,
    ) -> None:
        super().__init__(name, keys, key_types, schema)
        self._by_time, self._backend, self._key_groups = by_time, backend, key_groups
        self.table = chunked(name)
        # The times of which there may be chunks, how many rows were written, and the number of the next chunk.
        self._times: set[int] = set()
        self._written: dict[int, int] = {}
        self._next = 0

    def __len__(self) -> int:
        return self.rows_in_memory + sum(self._written.values())

    @property
    def state_bytes(self) -> int:
        return super().state_bytes + self._backend.held_bytes(self.table)

    def add(self, batch: ColumnBatch) -> None:
        super().add(batch)
        if self.rows_in_memory >= _MOST_ROWS:
            self.write()

    def write(self) -> None:
        """Rows leave memory."""
        rows = super().take_all()
        if rows is None:
            return
        groups = self._groups(rows, self._key_groups)
        times: Array = rows.timestamps if self._by_time else np.full(len(rows), _ANY_TIME, np.int64)
        # A chunk for each time and key group: what is due is read without the rest, and a job with another parallelism
        # takes over whole groups.
        order = np.lexsort((groups, times))
        cuts: Array = np.flatnonzero((np.diff(times[order]) != 0) | (np.diff(groups[order]) != 0)) + 1
        chunks: dict[int, dict[int, bytes]] = {}
        for part in np.split(order, cuts):
            time = int(times[part[0]])
            chunks.setdefault(time, {})[int(groups[part[0]])] = pickle.dumps(rows.take(part), 5)
            self._written[time] = self._written.get(time, 0) + len(part)
        for time, by_group in chunks.items():
            self._chunks(time).write_groups(self._next, by_group)
        self._times.update(chunks)
        self._next += 1

    def _chunks(self, time: int) -> RocksDBTable:
        descriptor = ValueStateDescriptor(self.table, Types.PICKLED_BYTE_ARRAY())
        table: RocksDBTable = self._backend.get_state(descriptor, time).table
        return table

    def first_time(self) -> int | None:
        in_memory = super().first_time()
        return min(self._times if in_memory is None else [*self._times, in_memory], default=None)

    def take_all(self) -> ColumnBatch | None:
        return _joined([*self._take_written([*self._times]), super().take_all()])

    def take_parts(self) -> Iterator[ColumnBatch]:
        yield from self._take_written([*self._times])
        yield from super().take_parts()

    def take_until(self, last_ms: int) -> ColumnBatch | None:
        written = self._take_written([each for each in self._times if each <= last_ms])
        return _joined([*written, super().take_until(last_ms)])

    def _take_written(self, times: Iterable[int]) -> Iterator[ColumnBatch]:
        for time in sorted(times):
            yield from map(self._read, self._chunks(time).take_groups())
            self._times.remove(time)
            self._written.pop(time, None)

    def _read(self, chunk: bytes) -> ColumnBatch:
        return restored_rows(pickle.loads(chunk), self._schema)

    # Snapshots

    def in_columns(self, tables: Mapping[TableId, dict[Any, Any]]) -> Iterator[tuple[TableId, dict[Any, Any]]]:
        """The rows among what a snapshot of the backend has of a key group, in the form of rows in memory."""
        chunks = [chunk for table, entries in tables.items() if table.name == self.table for chunk in entries.values()]
        if chunks:
            yield self._table, dict(enumerate(map(self._read, chunks)))

    def marks(self) -> dict[str, list[int]]:
        """The times that have chunks, and the number of chunks; after a restart each subtask gets those of all."""
        return {f"{self.table}-times": sorted(self._times), f"{self.table}-count": [self._next]}

    def restore_marks(self, marks: Mapping[str, Sequence[int]]) -> None:
        """Takes back what `marks` gave."""
        self._times.update(marks.get(f"{self.table}-times", ()))
        # Above the numbers of all subtasks: any of them may have written chunks of the key groups that are here now.
        self._next = max([self._next, *marks.get(f"{self.table}-count", ())])


def _joined(batches: Iterable[ColumnBatch | None]) -> ColumnBatch | None:
    rows = [each for each in batches if each is not None]
    return ColumnBatch.concat(rows) if rows else None


class RowLogs(KeyedTable):
    """Buffers of rows that snapshots hold together; in a backend, if there is one, beside other state."""

    def __init__(self, key_groups: KeyGroups, backend: RocksDBBackend | None) -> None:
        self._key_groups, self._backend = key_groups, backend
        self._buffers: list[RowBuffer] = []

    def create(
        self, name: str, keys: Sequence[int], key_types: Sequence[TypeInformation], schema: pa.Schema, by_time: bool
    ) -> RowBuffer:
        """A buffer, whose rows come out by their times or all at once."""
        if self._backend is None:
            buffer = RowBuffer(name, keys, key_types, schema)
        else:
            buffer = StoredRowBuffer(name, keys, key_types, schema, by_time, self._backend, self._key_groups)
        self._buffers.append(buffer)
        return buffer

    @property
    def _stored(self) -> list[StoredRowBuffer]:
        return [each for each in self._buffers if isinstance(each, StoredRowBuffer)]

    def write(self) -> None:
        """Rows leave memory, if there is a backend."""
        for each in self._stored:
            each.write()

    def in_columns(self, tables: Mapping[TableId, dict[Any, Any]]) -> Iterator[tuple[TableId, dict[Any, Any]]]:
        """The rows of all buffers among what a snapshot of the backend has of a key group."""
        for each in self._stored:
            yield from each.in_columns(tables)

    def marks(self) -> dict[str, list[int]]:
        """The marks of all buffers; after a restart each subtask gets those of all subtasks."""
        return {name: values for each in self._stored for name, values in each.marks().items()}

    def restore_marks(self, marks: Mapping[str, Sequence[int]]) -> None:
        """Takes back what `marks` gave."""
        for each in self._stored:
            each.restore_marks(marks)

    def prune(self) -> None:
        if self._backend is not None:
            self._backend.prune()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        if self._backend is not None:
            self.write()
            self._backend.prepare_snapshot(checkpoint_id)

    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        if self._backend is None:
            for each in self._buffers:
                yield from each.snapshot_parts(self._key_groups)
            return
        for group, part in self._backend.snapshot_parts():
            yield group, GroupPart(dict(self.in_columns(part.tables)), [], [])

    def restore(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        for part in parts:
            for each in self._buffers:
                each.restore([part])

    def native_files(self) -> tuple[LocalFile, ...]:
        return () if self._backend is None else self._backend.native_files()

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        assert self._backend is not None
        self._backend.restore_native(folders, groups)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._backend is not None:
            self._backend.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        if self._backend is not None:
            self._backend.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        if self._backend is not None:
            self._backend.close()


def create_row_logs(context: OperatorContext) -> RowLogs:
    """Buffers in the backend of the job."""
    return RowLogs(context.task.key_groups, None if is_in_memory(context) else create_database(context))
