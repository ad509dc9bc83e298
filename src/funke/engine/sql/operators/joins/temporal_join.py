"""Puts each row together with the version that a table had at its time, once the watermark has passed that time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.state_meaning import StateMoves
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.binding.current_time import with_clock
from funke.engine.sql.binding.expressions import column_of
from funke.engine.sql.meaning.state_parts import LEFT_COLUMNS, VERSION_COLUMNS
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.plan.joins.temporal_join import TemporalJoin
    from funke.engine.types.columns import Array

__all__ = ["TemporalJoinOperator"]

_BEFORE, _DELETE = RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value
_GONE = -1


class TemporalJoinOperator(FunctionsOperator):
    """Rows of the left side wait for the watermark; of versions that it has passed, each key keeps the last."""

    takes_rows = False
    takes_columns = True

    def __init__(self, join: TemporalJoin, clock: Clock) -> None:
        self._join = join
        self._left, self._right = (schema_of(each.columns) for each in join.inputs)
        self._output_schema = schema_of(join.columns)
        types = [join.left.columns[each].type for each in join.left_keys]
        # What is kept of a row: its keys, then its other columns.
        self._keys = KeyColumns(range(len(types)), types)
        self._left_kept = [*join.left_keys, *join.left_values]
        self._right_kept = [*join.right_keys, *join.right_values]
        key_types = list(map(to_type_info, types))
        self._waiting = RowBuffer("waiting-rows", range(len(types)), key_types, _selected(self._left, self._left_kept))
        self._rows = RowBuffer("versions", range(len(types)), key_types, _selected(self._right, self._right_kept))
        # By key: the times of versions, in order, and the number of each one's row.
        self._versions: dict[Any, list[tuple[int, int]]] = {}
        # Keys of which a watermark may make versions superfluous.
        self._several: set[Any] = set()
        self._live = 0
        self._watermark = MIN_WATERMARK
        self._without_time = 0
        condition = join.condition
        self._condition = None if condition is None else column_of(with_clock(condition, clock))
        self.functions = OpenedFunctions((join.condition,))

    def columns_handler(self, input_index: int) -> Callable[[ColumnBatch], None]:
        return self.process_right if input_index else self.process_left

    def process_left(self, batch: ColumnBatch) -> None:
        """Keeps rows until the watermark has passed their time."""
        self.records_in += len(batch)
        rows = self._timed(as_schema(batch, self._left), self._join.left_time)
        self._waiting.add(rows.with_data(rows.data.select(self._left_kept)))

    def process_right(self, batch: ColumnBatch) -> None:
        """Takes in versions."""
        assert self._join.right_time is not None
        self.records_in += len(batch)
        batch = as_schema(batch, self._right)
        # UPDATE_BEFORE says nothing new: a version ends where the next one begins, which UPDATE_AFTER says.
        if batch.kinds is not None:
            batch = batch.take(np.flatnonzero(batch.kinds != _BEFORE))
        rows = self._timed(batch, self._join.right_time)
        self._take_in(rows.with_data(rows.data.select(self._right_kept)))

    def _timed(self, batch: ColumnBatch, index: int) -> ColumnBatch:
        """The rows that have a time, with it."""
        column = batch.data.column(index)
        if column.null_count:
            self._without_time += column.null_count
            batch = batch.filter(column.is_valid())
            column = batch.data.column(index)
        if column.type.unit != "ms":
            column = column.cast(pa.timestamp("ms", column.type.tz), safe=False)
        return batch.with_timestamps(np.asarray(column.view(pa.int64())))

    def _take_in(self, rows: ColumnBatch) -> None:
        """Keeps versions; of two of a key with the same time the later one, as in Flink."""
        if not len(rows):
            return
        assert rows.timestamps is not None
        number = len(self._rows)
        self._rows.add(rows)
        codes, keys = self._encoded(rows)
        kinds = np.zeros(len(rows), np.int8) if rows.kinds is None else rows.kinds
        for code, time, kind in zip(codes.tolist(), rows.timestamps.tolist(), kinds.tolist()):
            key = keys[code]
            versions = self._versions.setdefault(key, [])
            # A row that is gone is a version without a row: its number is that of none.
            version = (time, _GONE - number if kind == _DELETE else number)
            index = bisect_right(versions, time, key=_time)
            if index and versions[index - 1][0] == time:
                versions[index - 1] = version
            else:
                versions.insert(index, version)
                self._live += 1
                if len(versions) > 1:
                    self._several.add(key)
            number += 1

    def _encoded(self, rows: ColumnBatch) -> tuple[Array, list[Any]]:
        codes, keys = self._keys.encode(rows.data)
        return codes, keys if isinstance(keys, list) else keys.tolist()

    def process_watermark(self, watermark: int) -> None:
        """Sends the rows that it has passed, forgets versions that no later row can ask for, and passes it on."""
        self._watermark = watermark
        first = self._waiting.first_time()
        if first is not None and first <= watermark:
            rows = self._waiting.all()
            assert rows is not None and rows.timestamps is not None
            self._send(self._waiting.take_out(rows.timestamps <= watermark))
        self._forget(watermark)
        self.output.emit_watermark(watermark)

    def _send(self, rows: ColumnBatch) -> None:
        versions = self._version_rows(rows)
        joined = self._joined(rows, versions)
        if self._condition is not None:
            versions = np.where(self._fulfils(joined) & (versions >= 0), versions, -1)
            joined = self._joined(rows, versions)
        if not self._join.keeps_left:
            joined = joined.take(np.flatnonzero(versions >= 0))
        if len(joined):
            self.output.emit_columns(joined)

    def _version_rows(self, rows: ColumnBatch) -> Array:
        """For each row the number of the version's row; below 0 if there is none."""
        assert rows.timestamps is not None
        codes, keys = self._encoded(rows)
        versions = [self._versions.get(key, ()) for key in keys]
        has_null: Array = np.zeros(len(rows), bool)
        for index in range(len(self._join.left_keys)):
            has_null |= rows.data.column(index).is_null().to_numpy(zero_copy_only=False)
        version_rows: Array = np.full(len(rows), -1, np.int64)
        for index, (code, time) in enumerate(zip(codes.tolist(), rows.timestamps.tolist())):
            own_versions = versions[code]
            at = bisect_right(own_versions, time, key=_time)
            if at:
                version_rows[index] = own_versions[at - 1][1]
        # NULL is equal to nothing.
        version_rows[has_null] = -1
        return version_rows

    def _joined(self, rows: ColumnBatch, version_rows: Array) -> ColumnBatch:
        kept = self._rows.all()
        matches = pa.array(version_rows, mask=version_rows < 0)
        width = len(self._left)
        left = [rows.data.column(self._left_kept.index(index)) for index in range(width)]
        types = self._output_schema.types[width:]
        right = (
            [pa.nulls(len(rows), each) for each in types]
            if kept is None
            else [kept.data.column(self._right_kept.index(index)).take(matches) for index in range(len(types))]
        )
        return rows.with_data(pa.RecordBatch.from_arrays([*left, *right], schema=self._output_schema))

    def _fulfils(self, joined: ColumnBatch) -> Array:
        assert self._condition is not None
        mask = self._condition(joined.data)
        if isinstance(mask, pa.Scalar):
            return np.full(len(joined), bool(mask.as_py()))
        return mask.fill_null(False).to_numpy(zero_copy_only=False)

    def _forget(self, watermark: int) -> None:
        for key in list(self._several):
            versions = self._versions[key]
            # The last version that the watermark has passed stays: rows to come are later, and see it or a newer one.
            superfluous = bisect_right(versions, watermark, key=_time) - 1
            if superfluous > 0:
                del versions[:superfluous]
                self._live -= superfluous
            if len(versions) < 2:
                self._several.discard(key)
        if len(self._rows) > 2 * self._live + 1024:
            self._pack()

    def _pack(self) -> None:
        """Throws away the rows of versions that are forgotten."""
        rows = self._rows.all()
        assert rows is not None
        is_live: Array = np.zeros(len(rows), bool)
        numbers = [_row(version) for versions in self._versions.values() for version in versions]
        is_live[numbers] = True
        self._rows.take_out(~is_live)
        indexes = np.cumsum(is_live) - 1
        for versions in self._versions.values():
            versions[:] = [
                (time, int(indexes[number]) if number >= 0 else _GONE - int(indexes[_GONE - number]))
                for time, number in versions
            ]

    # Snapshots

    def snapshot(self) -> OperatorStateSnapshot:
        return OperatorStateSnapshot(unions={"watermark": [self._watermark]})

    def restore(self, state: OperatorStateSnapshot) -> None:
        self._watermark = min(state.unions["watermark"])

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        """The rows, which are in memory with any backend."""
        if len(self._rows):
            self._pack()
        for buffer in (self._waiting, self._rows):
            yield from buffer.snapshot_parts(self.context.task.key_groups)

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        keys = len(self._join.left_keys)
        moved = self._waiting.moved(part, moves.get(LEFT_COLUMNS), keys)
        return self._rows.moved(moved, moves.get(VERSION_COLUMNS), keys)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        every = list(parts)
        self._waiting.restore(every)
        kept = RowBuffer("versions", range(len(self._join.left_keys)), [], _selected(self._right, self._right_kept))
        kept.restore(every)
        rows = kept.all()
        if rows is not None:
            self._take_in(rows)

    def metrics(self) -> dict[str, Any]:
        return {**self.functions.metrics(), "numNullRowTimeRecordsDropped": self._without_time}


def _selected(schema: pa.Schema, indexes: list[int]) -> pa.Schema:
    return pa.schema([schema.field(index) for index in indexes])


def _time(version: tuple[int, int]) -> int:
    return version[0]


def _row(version: tuple[int, int]) -> int:
    """The number of a version's row, also if it is gone."""
    return version[1] if version[1] >= 0 else _GONE - version[1]
