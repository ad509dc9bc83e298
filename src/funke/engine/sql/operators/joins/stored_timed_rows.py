"""The state of joins whose rows are forgotten by times of their own, in a backend that is larger than memory.

Rows stand there as those of other joins do, an entry for each key and input. Beside it a second state says by slices of
time which keys have an entry with a row of that slice, and none before: written with the entry, and read when the slice
begins to expire. So rows that have left memory come back when it is time to forget them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.operators.joins.stored_join_rows import StoredJoinRows
from funke.engine.sql.operators.joins.timed_rows import TimedInput, TimedRows
from funke.engine.sql.operators.windows.over.row_logs import RowLogs
from funke.engine.sql.state.rows.native_rows import slices_of_time
from funke.engine.sql.state.rows.packed_rows import PackedRows
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.rocksdb.backend import RocksDBBackend
from funke.engine.state.rocksdb.tables import ABSENT, RocksDBTable
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.information.type_catalog import Types

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["StoredTimedRows"]


class StoredTimedRows(StoredJoinRows, TimedRows):
    """Slices are known by the time at which they begin; without a length of slices nothing expires."""

    def __init__(
        self, inputs: Sequence[TimedInput], task: TaskInfo, backend: RocksDBBackend, slice_ms: int | None
    ) -> None:
        self._slice_ms = slice_ms
        # Of each side, the slices that may have keys in the backend.
        self._slices: list[set[int]] = [set() for _ in inputs]
        super().__init__(inputs, task, backend)
        self.logs = RowLogs(task.key_groups, backend)
        self._packed_keys = PackedRows(self._key_schema)

    def _slice_table(self, side: int, begin_ms: int) -> RocksDBTable:
        descriptor = ValueStateDescriptor(slices_of_time(self.inputs[side].name), Types.PICKLED_BYTE_ARRAY())
        table: RocksDBTable = self._backend.get_state(descriptor, begin_ms).table
        return table

    def _note_written(self, side: int, numbers: Array, times: Array, starts: Array) -> None:
        if self._slice_ms is None or not len(numbers):
            return
        # Noted by its earliest row alone: when that one expires the entry is read, and written again into the slice of
        # the earliest row that is left.
        begins = np.minimum.reduceat(times, starts) // self._slice_ms * self._slice_ms
        for begin_ms in np.unique(begins).tolist():
            chosen = numbers[begins == begin_ms]
            values: list[Any] = [b""]
            if self._key_schema.names:
                keys = pa.RecordBatch.from_arrays(self._keys.take(chosen), schema=self._key_schema)
                values = list(self._packed_keys.pack(keys, np.arange(len(chosen))))
            self._slice_table(side, begin_ms).write_all(self._stored_keys(chosen), values)
            self._slices[side].add(begin_ms)

    def earliest(self, side: int) -> int | None:
        times = [*self._slices[side]]
        in_memory = super().earliest(side)
        return min(times if in_memory is None else [*times, in_memory], default=None)

    def load_expired(self, last_ms: Sequence[int]) -> Iterator[Sequence[int]]:
        """Slice by slice: all rows that expire at once may be more than memory holds."""
        if self._slice_ms is not None:
            ends = [
                last - begin - self._slice_ms + 1
                for last, begins in zip(last_ms, self._slices)
                for begin in begins
                if begin <= last
            ]
            for left_ms in sorted({each for each in ends if each > 0}, reverse=True):
                yield self._loaded([each - left_ms for each in last_ms])
        yield self._loaded(last_ms)

    def _loaded(self, last_ms: Sequence[int]) -> Sequence[int]:
        for side, last in enumerate(last_ms):
            for begin_ms in sorted(each for each in self._slices[side] if each <= last):
                self._load_slice(side, begin_ms)
        return last_ms

    def _load_slice(self, side: int, begin_ms: int) -> None:
        """Its keys are in memory now, and written anew with what is left of their rows."""
        table = self._slice_table(side, begin_ms)
        entries = list(table.items())
        self._slices[side].remove(begin_ms)
        if not entries:
            return
        numbers: Array = np.zeros(1, np.int64)
        if self._key_schema.names:
            keys, _ = self._packed_keys.unpack([value for _, value in entries])
            numbers = self._numbers_of_keys(keys.columns, keys.num_rows)
        self._load(side, numbers, self._now_ms())
        self._tick += 1
        self._used[numbers] = self._tick
        self.changed(side, numbers)
        table.write_all([key for key, _ in entries], [ABSENT] * len(entries))

    # Snapshots

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        self.logs.write()
        super().prepare_snapshot(checkpoint_id)

    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        for group, part in self._backend.snapshot_parts():
            tables = dict(self._in_columns(part.tables)) | dict(self.logs.in_columns(part.tables))
            yield group, GroupPart(tables, [], [])

    def marks(self) -> dict[str, list[Any]]:
        slices = {slices_of_time(own.name): sorted(begins) for own, begins in zip(self.inputs, self._slices)}
        return super().marks() | slices

    def restore_marks(self, marks: Mapping[str, Sequence[Any]]) -> None:
        super().restore_marks(marks)
        for own, begins in zip(self.inputs, self._slices):
            begins.update(marks.get(slices_of_time(own.name), ()))
