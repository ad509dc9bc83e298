"""The state of a join in a backend that is larger than memory: an entry for each key and input, with all of its rows.

Rows that are in use stand in memory as columns. A batch asks the backend once for the keys that it does not find there.
When memory is short, the keys that were not used for the longest time leave it: half of all rows at once, so that a row
is moved twice on average. A checkpoint writes the entries of keys that have changed since the last one.

Measured with rows of 86 bytes, two for a key: writing an entry costs 4.5 µs, reading it 4.7 µs. An entry for every row
would have cost that for each of them, and a scan of 10 µs for each key.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.operators.joins.join_rows import JoinInput, JoinRows
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.state.join_side import JoinSide
from funke.engine.sql.state.key_index import TextKeys
from funke.engine.sql.state.rows.growing_columns import GrowingColumns
from funke.engine.sql.state.rows.native_rows import columns_mark
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.rocksdb.backend import RocksDBBackend
from funke.engine.state.rocksdb.entry_memory import entry_memory
from funke.engine.state.rocksdb.tables import ABSENT, RocksDBTable
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile, TableId
from funke.engine.state.ttl.config import StateTtlConfig
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.time import Time

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["StoredJoinRows"]

_FIRST_KEYS = 1 << 10
# So many keys are written at once.
_CHUNK_KEYS = 1 << 16
# So many keys may have changed when a checkpoint begins: what it writes then lets processing wait.
_MOST_CHANGED = 1 << 13
# Memory is looked at after so many rows.
_ROWS_PER_LOOK = 1 << 12
# Fewer rows stay in memory in any case.
_FEW_ROWS = 1 << 12


class StoredJoinRows(JoinRows):
    """A key is known as long as it has a number; of a known key the rows of a side are loaded, or not yet asked for."""

    def __init__(self, inputs: Sequence[JoinInput], task: TaskInfo, backend: RocksDBBackend) -> None:
        self._backend, self._now_ms = backend, task.clock.now_ms
        self._memory = entry_memory(task.backend.rocksdb.entry_bytes)
        self._packed = [each.packed for each in inputs]
        self._descriptors = [_descriptor(each) for each in inputs]
        keys = inputs[0].spec.keys
        self._key_columns = KeyColumns(range(len(keys)), inputs[0].key_types)
        self._key_schema = pa.schema([inputs[0].spec.schema.field(key) for key in keys])
        # Whether there may be entries at all.
        self._has_entries = [False] * len(inputs)
        self._tick = self._rows_since_look = self.kept_bytes = self._enough_bytes = 0
        self._is_asked = False
        super().__init__(inputs, task.key_groups)
        self._memory.caches.add(self)

    def _clear(self) -> None:
        super()._clear()
        # By the number of a key: its columns, the last batch that used it, and of each side whether its rows are
        # loaded, and whether they differ from those of the backend. There is always an entry behind the last number.
        self._keys = GrowingColumns(self._key_schema)
        self._used: Array = np.zeros(_FIRST_KEYS, np.int64)
        self._is_loaded: list[Array] = [np.zeros(_FIRST_KEYS, np.bool_) for _ in self.inputs]
        self._is_changed: list[Array] = [np.zeros(_FIRST_KEYS, np.bool_) for _ in self.inputs]

    @property
    def _tables(self) -> list[RocksDBTable]:
        return [self._backend.get_state(each).table for each in self._descriptors]

    def numbers(self, side: int, data: pa.RecordBatch, now_ms: int) -> Array:
        numbers = self._numbers_of(side, data)
        self._tick += 1
        self._used[numbers] = self._tick
        for other, own in enumerate(self.inputs):
            if other != side or own.loads_itself:
                self._load(other, numbers, now_ms)
        self._rows_since_look += data.num_rows
        return numbers

    def _numbers_of(self, side: int, data: pa.RecordBatch) -> Array:
        return self._numbers_of_keys([data.column(key) for key in self.inputs[side].spec.keys], data.num_rows)

    def _numbers_of_keys(self, columns: Sequence[pa.Array], count: int) -> Array:
        """The numbers of keys; those that are new are written down."""
        key_count = self._keys.count if columns else 1
        numbers = self._numbers.numbers(columns, count)
        if len(self._numbers) > key_count:
            is_new = np.flatnonzero(numbers >= key_count)
            _, first = np.unique(numbers[is_new], return_index=True)
            rows = pa.array(is_new[first])
            new_keys = [column.take(rows) for column in columns]
            self._keys.add(pa.RecordBatch.from_arrays(new_keys, schema=self._key_schema))
            self._reserve_keys(len(self._numbers) + 1)
        return numbers

    def _reserve_keys(self, count: int) -> None:
        if count > len(self._used):
            size = count + count // 2
            self._used = _longer(self._used, size)
            self._is_loaded = [_longer(each, size) for each in self._is_loaded]
            self._is_changed = [_longer(each, size) for each in self._is_changed]

    def changed(self, side: int, numbers: Array) -> None:
        self._is_changed[side][numbers] = True

    def _load(self, side: int, numbers: Array, now_ms: int) -> None:
        """Makes sure that the rows which a side has of some keys are in memory."""
        is_loaded = self._is_loaded[side]
        missing = numbers[~is_loaded[numbers] & (numbers >= 0)]
        if not len(missing):
            return
        missing = np.unique(missing)
        is_loaded[missing] = True
        if not self._has_entries[side]:
            return
        entries = self._tables[side].read_all(self._stored_keys(missing))
        is_there = np.fromiter((each is not ABSENT for each in entries), np.bool_, len(entries))
        if not is_there.any():
            return
        own = self.inputs[side]
        values = [each[0] if own.spec.ttl_ms else each for each in entries if each is not ABSENT]
        kept, times, counts = own.unpacked(self._packed[side], values, now_ms)
        data, matches = own.split(kept)
        self.sides[side].put_first(data, np.repeat(missing[is_there], counts), matches, times)
        self._rows_since_look += data.num_rows

    def _stored_keys(self, numbers: Array) -> list[Any]:
        """Keys as the backend knows them."""
        if not self._key_schema.names:
            return [()]
        data = pa.RecordBatch.from_arrays(self._keys.take(numbers), schema=self._key_schema)
        codes, keys = self._key_columns.encode(data)
        stored = keys.tolist() if isinstance(keys, (np.ndarray, TextKeys)) else keys
        # In the order of their first rows: each key occurs once.
        return stored if len(stored) == len(numbers) else [stored[code] for code in codes.tolist()]

    def _write(self, side: int, numbers: Array) -> None:
        """Writes the entries of keys that have changed."""
        self._load(side, numbers, self._now_ms())
        for begin in range(0, len(numbers), _CHUNK_KEYS):
            self._write_some(side, numbers[begin : begin + _CHUNK_KEYS])
        self._is_changed[side][numbers] = False
        self._has_entries[side] |= bool(len(numbers))

    def _write_some(self, side: int, numbers: Array) -> None:
        own, rows = self.inputs[side], self.sides[side]
        counts = rows.counts(numbers)
        data, matches, times = rows.rows(rows.matching(numbers, int(counts.sum())))
        kept = own.kept(data, matches)
        written = np.zeros(data.num_rows, np.int64) if times is None else times
        columns = [*kept.columns, pa.array(written)]
        is_there = counts > 0
        starts = (np.cumsum(counts) - counts)[is_there]
        self._note_written(side, numbers[is_there], written, starts)
        rows = pa.RecordBatch.from_arrays(columns, schema=own.packed_schema)
        values: list[Any] = self._packed[side].pack(rows, starts)
        if own.spec.ttl_ms and values:
            values = list(zip(values, np.maximum.reduceat(written, starts).tolist()))
        if len(values) < len(numbers):
            packed = iter(values)
            values = [next(packed) if each else ABSENT for each in is_there.tolist()]
        self._tables[side].write_all(self._stored_keys(numbers), values)

    def _note_written(self, side: int, numbers: Array, times: Array, starts: Array) -> None:
        """Entries of these keys are written, whose rows have times from each start on."""

    # Memory

    def state_bytes(self, side: int) -> int:
        """The backend has what is in memory as of its last checkpoint; what is new since may be larger."""
        return max(super().state_bytes(side), self._backend.held_bytes(self.inputs[side].table))

    def let_go(self) -> None:
        """Rows leave memory when the batch is done that may be using them now."""
        self._is_asked = True

    def end_batch(self) -> None:
        if self._rows_since_look < _ROWS_PER_LOOK:
            return
        self._rows_since_look = 0
        self.kept_bytes = self._bytes()
        if self.kept_bytes > self._enough_bytes:
            self._memory.relieve()
        if self._is_asked:
            self._is_asked = False
            self._leave_memory()

    def _bytes(self) -> int:
        return sum(each.memory_bytes for each in self.sides) + self._keys.memory_bytes + 40 * len(self._used)

    def _leave_memory(self) -> None:
        """Keeps the keys that were used last, with half of all rows."""
        count = len(self._numbers)
        every = np.arange(count)
        rows = self._row_counts(every)
        if rows.sum() <= _FEW_ROWS:
            return
        order = np.argsort(-self._used[:count], kind="stable")
        is_kept: Array = np.zeros(count, np.bool_)
        is_kept[order[np.cumsum(rows[order]) <= rows.sum() // 2]] = True
        is_kept &= rows > 0
        for side in range(len(self.inputs)):
            self._write(side, np.flatnonzero(self._is_changed[side][:count] & ~is_kept))
        self._keep(np.flatnonzero(is_kept))
        self.kept_bytes = self._bytes()
        # A few keys that are all in use may be too large: they are not written again and again.
        self._enough_bytes = self.kept_bytes * 3 // 2

    def _row_counts(self, numbers: Array) -> Array:
        """How many rows all inputs together have in memory of each key."""
        counts: Array = np.sum([each.counts(numbers) for each in self.sides], axis=0)
        return counts

    def _pack(self) -> None:
        count = len(self._numbers)
        every = np.arange(count)
        is_kept = self._row_counts(every) > 0
        for each in self._is_changed:
            is_kept |= each[:count]
        self._keep(np.flatnonzero(is_kept))

    def _keep(self, numbers: Array) -> None:
        """Forgets all keys but these, and rows that are gone."""
        keys = pa.RecordBatch.from_arrays(self._keys.take(numbers), schema=self._key_schema)
        sides = [self._rows_of(each, numbers) for each in self.sides]
        marks = [each[numbers] for each in (self._used, *self._is_loaded, *self._is_changed)]
        self._clear()
        self._add_keys(keys)
        new_numbers = self._numbers.numbers(keys.columns, keys.num_rows or len(numbers))
        for own, kept in zip((self._used, *self._is_loaded, *self._is_changed), marks):
            own[new_numbers] = kept
        for side, (indexes, data, matches, times) in zip(self.sides, sides):
            side.put(data, new_numbers[indexes], matches, times)

    @staticmethod
    def _rows_of(side: JoinSide, numbers: Array) -> tuple[Any, ...]:
        """The rows of keys, key by key, and the indexes of their keys among `numbers`."""
        counts = side.counts(numbers)
        indexes: Array = np.repeat(np.arange(len(numbers)), counts)
        return indexes, *side.rows(side.matching(numbers, int(counts.sum())))

    def _add_keys(self, keys: pa.RecordBatch) -> None:
        if keys.num_columns:
            numbers = self._numbers.numbers(keys.columns, keys.num_rows)
            self._keys.add(keys.take(pa.array(np.argsort(numbers))))
            self._reserve_keys(len(numbers) + 1)

    def _put(self, side: int, data: pa.RecordBatch, matches: Array, times: Array | None) -> None:
        numbers = self._numbers_of(side, data)
        # Rows that are there, of keys that have left memory, come before them.
        self._load(side, numbers, self._now_ms())
        self.changed(side, numbers)
        self.sides[side].put(data, numbers, matches, times)
        self._rows_since_look += data.num_rows

    # Snapshots

    def end_epoch(self, now_ms: int) -> None:
        super().end_epoch(now_ms)
        for side in range(len(self.inputs)):
            changed = np.flatnonzero(self._is_changed[side][: len(self._numbers)])
            if len(changed) > 2 * _MOST_CHANGED:
                # Those that were not used for the longest time are not likely to change again.
                order = np.argsort(self._used[changed], kind="stable")
                self._write(side, changed[order[:-_MOST_CHANGED]])
        self._backend.prune()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        for side in range(len(self.inputs)):
            self._write(side, np.flatnonzero(self._is_changed[side][: len(self._numbers)]))
        self._backend.prepare_snapshot(checkpoint_id)

    def marks(self) -> dict[str, list[Any]]:
        columns = {columns_mark(own.name): [own.packed_schema.serialize().to_pybytes()] for own in self.inputs}
        return super().marks() | columns

    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        """As columns: a savepoint has the same form with every backend."""
        for group, part in self._backend.snapshot_parts():
            yield group, GroupPart(dict(self._in_columns(part.tables)), [], [])

    def _in_columns(self, tables: Mapping[TableId, dict[Any, Any]]) -> Iterator[tuple[TableId, dict[Any, Any]]]:
        sides = {each.table: side for side, each in enumerate(self.inputs)}
        for table, entries in tables.items():
            if table.name in sides:
                yield self._columns_of(sides[table.name], table, entries)

    def _columns_of(self, side: int, table: TableId, entries: dict[Any, Any]) -> tuple[TableId, dict[Any, Any]]:
        values = [each[0] for each in entries.values()] if table.has_ttl else list(entries.values())
        own = self.inputs[side]
        kept, times, _ = own.unpacked(self._packed[side], values, self._now_ms())
        batch = ColumnBatch(kept, times if own.spec.has_times else None)
        return TableId(own.name, None, False, "value"), {0: batch}

    def native_files(self) -> tuple[LocalFile, ...]:
        return self._backend.native_files()

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        self._backend.restore_native(folders, groups)
        self._has_entries = [True] * len(self.inputs)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._backend.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._backend.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        self._memory.caches.discard(self)
        self._backend.close()


def _descriptor(own: JoinInput) -> ValueStateDescriptor:
    descriptor = ValueStateDescriptor(own.table, Types.PICKLED_BYTE_ARRAY())
    if own.spec.ttl_ms:
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(own.spec.ttl_ms)).build())
    return descriptor


def _longer(array: Array, size: int) -> Array:
    longer: Array = np.zeros(size, array.dtype)
    longer[: len(array)] = array
    return longer
