"""Rows of keys as state: in memory as columns, in a state backend an entry for each key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from funke.engine.errors import StateError
from funke.engine.operators.operator import OperatorContext
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.state.key_numbers import KeyNumbers
from funke.engine.sql.state.keyed_columns import ColumnLayout, Columns, KeyedColumns, KeyedTable
from funke.engine.sql.state.keyed_columns_operator import KeyedTableOperator, create_columns, is_in_memory
from funke.engine.sql.state.rows.rows_by_key import RowsByKey
from funke.engine.sql.state.stored_entries import from_entries, to_entries
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile, TableId
from funke.engine.state.snapshot.part_chunks import chunks_of
from funke.engine.types.keys.key_groups import KeyGroups

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["KeyedRows", "KeyedRowsOperator", "RowForm"]

# Fewer rows that are gone are not worth packing.
_FEW_ROWS = 1 << 14

Changes = TypeVar("Changes")


class RowForm(ABC, Generic[Changes]):
    """The rows that are kept for each key, and their form in an entry."""

    schema: pa.Schema
    keys: KeyColumns

    @abstractmethod
    def create(self) -> RowsByKey[Changes]:
        """Rows of keys, without any yet."""

    @abstractmethod
    def layout(self) -> ColumnLayout:
        """The columns of entries."""

    @abstractmethod
    def to_columns(self, data: pa.RecordBatch, lengths: Array) -> Columns:
        """The entries of keys, each of which has so many rows (at least one)."""

    @abstractmethod
    def from_columns(self, columns: Columns) -> tuple[pa.RecordBatch, Array]:
        """The rows of entries, and how many each has."""


class KeyedRows(KeyedTable, Generic[Changes]):
    """Rows of keys that come in and change what is there."""

    @abstractmethod
    def take_in(self, data: pa.RecordBatch, takes_in: Array) -> Iterator[Changes]:
        """Takes rows in, or back; yields the changes in parts, each of which is used before the next one comes."""


class KeyedRowsOperator(KeyedTableOperator[KeyedRows[Changes]]):
    """Subclasses say what is kept."""

    form: RowForm[Changes]

    def create_state(self, context: OperatorContext) -> KeyedRows[Changes]:
        if is_in_memory(context):
            return _HeapRows(self.form, context.task.key_groups, context.task.clock.now_ms)
        return _BackendRows(self.form, create_columns(self.form.layout(), context))


class _HeapRows(KeyedRows[Changes]):
    """In memory. Snapshots have the entries that state backends keep, so that each of them reads the other's."""

    def __init__(self, form: RowForm[Changes], key_groups: KeyGroups, now_ms: Callable[[], int]) -> None:
        self._form, self._key_groups, self._now_ms = form, key_groups, now_ms
        self._layout = form.layout()
        self._rows = form.create()
        self._clear()
        self._next_sweep_ms = now_ms() + self._layout.ttl_ms

    def _clear(self) -> None:
        self._numbers = KeyNumbers([self._form.schema.types[index] for index in self._form.keys.indexes])
        # When each key was last looked at, if keys are forgotten.
        self._last_use: Array = np.zeros(0, np.int64)
        self._rows.clear()

    def take_in(self, data: pa.RecordBatch, takes_in: Array) -> Iterator[Changes]:
        keys = self._keys_of(data)
        if self._layout.ttl_ms:
            self._touch(keys)
        yield from self._rows.take_in(data, keys, takes_in)
        # Packing copies the rows that are left. When more are gone than left, that is at most one copy for each that
        # went.
        if self._rows.gone > _FEW_ROWS and 2 * self._rows.gone > self._rows.count:
            self._rows.pack()
            if len(self._numbers) > _FEW_ROWS + 2 * len(self._rows.live_keys()):
                self._number_anew()

    def _keys_of(self, data: pa.RecordBatch) -> Array:
        keys = self._numbers.group_numbers([data.column(index) for index in self._form.keys.indexes], data.num_rows)
        self._rows.reserve_keys(int(keys.max(initial=-1)) + 1)
        return keys

    def _touch(self, keys: Array) -> None:
        """Keys that were not looked at for too long begin anew."""
        now, size = self._now_ms(), int(keys.max(initial=-1)) + 1
        if size > len(self._last_use):
            more = size + size // 2 - len(self._last_use)
            self._last_use = np.concatenate([self._last_use, np.full(more, now, np.int64)])
        self._forget_unused(np.unique(keys), now)
        self._last_use[keys] = now

    def _forget_unused(self, keys: Array, now: int) -> None:
        self._rows.forget(keys[self._last_use[keys] <= now - self._layout.ttl_ms])

    def prune(self) -> None:
        now = self._now_ms()
        if self._layout.ttl_ms and now >= self._next_sweep_ms:
            self._next_sweep_ms = now + self._layout.ttl_ms
            self._forget_unused(self._rows.live_keys(), now)

    def _number_anew(self) -> None:
        """Forgets the numbers of keys without rows."""
        data, keys, lengths = self._live()
        times = self._last_use[keys] if self._layout.ttl_ms else None
        self._clear()
        self._put(data, lengths, times)

    def _live(self) -> tuple[pa.RecordBatch, Array, Array]:
        keys = self._rows.live_keys()
        rows, lengths = self._rows.rows_of(keys)
        return self._rows.take(rows), keys, lengths

    def _put(self, data: pa.RecordBatch, lengths: Array, times: Array | None) -> None:
        keys = self._keys_of(_first_rows(data, lengths))
        self._rows.put(data, keys, lengths)
        if times is not None:
            self._last_use = np.zeros(int(keys.max(initial=-1)) + 1, np.int64)
            self._last_use[keys] = times

    # Snapshots

    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        layout = self._layout
        if layout.ttl_ms:
            self._forget_unused(self._rows.live_keys(), self._now_ms())
        data, keys, lengths = self._live()
        if not len(keys):
            return iter(())
        times = self._last_use[keys].tolist() if layout.ttl_ms else None
        entries = to_entries(self._form.to_columns(data, lengths), times)
        stored = self._form.keys.stored(_first_rows(data, lengths))
        table = TableId(layout.name, None, bool(layout.ttl_ms), "value")
        return chunks_of([(table, zip(stored, entries))], self._key_groups)

    def restore(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        entries: list[Any] = []
        times: list[int] = []
        for _, part in parts:
            for table_id, table in part.tables.items():
                if table_id.name == self._layout.name:
                    entries += (entry[0] for entry in table.values()) if table_id.has_ttl else table.values()
                    now = self._now_ms()
                    # Rows of a savepoint without a time to live begin to live now.
                    times += (entry[1] if table_id.has_ttl else now for entry in table.values())
        data, lengths = self._form.from_columns(from_entries(entries, self._layout))
        is_there = lengths > 0
        self._put(data, lengths[is_there], np.array(times, np.int64)[is_there] if self._layout.ttl_ms else None)

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        raise StateError("state in memory cannot read files of another state backend; start from a savepoint")


def _first_rows(data: pa.RecordBatch, lengths: Array) -> pa.RecordBatch:
    """The first row of each key."""
    return data.take(pa.array(np.cumsum(lengths) - lengths))


class _BackendRows(KeyedRows[Changes]):
    """In a state backend: a batch gets the entries of its keys, and works on their rows as in memory."""

    def __init__(self, form: RowForm[Changes], columns: KeyedColumns) -> None:
        self._form, self._columns = form, columns

    def take_in(self, data: pa.RecordBatch, takes_in: Array) -> Iterator[Changes]:
        codes, keys = self._form.keys.encode(data)
        fetched = self._columns.fetch(keys)
        known_keys, numbers = np.flatnonzero(fetched.is_known), np.arange(len(keys))
        # All rows of a key are read and written again, even if one of them changes. A Top-N over rows that stay has at
        # most N for each key; over rows that may go it has all of them, and a large key is slow.
        rows = self._form.create()
        rows.reserve_keys(len(keys))
        rows.put(
            *_with_keys(known_keys, self._form.from_columns(tuple(column[known_keys] for column in fetched.columns)))
        )
        yield from rows.take_in(data, codes, takes_in)
        chosen, lengths = rows.rows_of(numbers)
        kept = lengths > 0
        columns = self._form.layout().create(len(keys))
        for mine, column in zip(columns, self._form.to_columns(rows.take(chosen), lengths[kept])):
            mine[kept] = column
        self._columns.store(fetched, columns, kept)

    def prune(self) -> None:
        self._columns.prune()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        self._columns.prepare_snapshot(checkpoint_id)

    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        return self._columns.snapshot_parts()

    def restore(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        self._columns.restore(parts)

    def native_files(self) -> tuple[LocalFile, ...]:
        return self._columns.native_files()

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        self._columns.restore_native(folders, groups)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._columns.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._columns.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        self._columns.close()


def _with_keys(keys: Array, rows: tuple[pa.RecordBatch, Array]) -> tuple[pa.RecordBatch, Array, Array]:
    data, lengths = rows
    return data, keys, lengths
