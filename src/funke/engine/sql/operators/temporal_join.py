"""Puts each row together with the version that a table had at its time, once the watermark has passed that time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.state_meaning import StateMeaning, StateMoves
from funke.engine.operators.clock import Clock
from funke.engine.operators.operator import MIN_WATERMARK, TaskInfo
from funke.engine.sql.binding.expressions import BoundExpression, column_of
from funke.engine.sql.binding.moments import with_clock
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.temporal_joins import TemporalJoin
from funke.engine.sql.meaning.column_texts import ColumnTexts
from funke.engine.sql.meaning.state_parts import columns_of, key_fact
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.operators.windows.row_buffer import RowBuffer
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

__all__ = ["JoinVersions"]

_BEFORE, _DELETE = RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value
_GONE = -1
# The columns of both sides.
_LEFT, _RIGHT = "column of the left side", "column of versions"


@dataclass(frozen=True)
class JoinVersions:
    """Makes the operator of a temporal join for a subtask."""

    inputs: tuple[Column, ...]
    columns: tuple[Column, ...]
    keys: tuple[int, ...]
    left_time: int
    right_time: int
    left_width: int
    condition: BoundExpression | None
    keeps_all: bool

    @staticmethod
    def of(join: TemporalJoin) -> JoinVersions:
        """What a subtask has to know of a join."""
        assert join.right_time is not None
        return JoinVersions(
            join.input.columns,
            join.columns,
            join.keys,
            join.left_time,
            join.right_time,
            join.left_width,
            join.condition,
            join.keeps_all,
        )

    @staticmethod
    def meaning(join: TemporalJoin) -> StateMeaning:
        """What its state means: rows of the left side that wait, and versions. A condition is looked at later."""
        assert join.right_time is not None
        texts, (left, right) = ColumnTexts(), join.input.inputs
        first, behind = 1 + len(join.keys), 1 + len(join.keys) + join.left_width
        facts = (
            key_fact(texts, left, join.keys, "the key"),
            key_fact(texts, right, join.keys, "the key of versions"),
            ("the time", texts.column(left, join.left_time)),
            ("the time of versions", texts.column(right, join.right_time)),
        )
        lists = (
            (_LEFT, columns_of(texts, left, range(first, behind))),
            (_RIGHT, columns_of(texts, right, range(behind, len(right.columns)))),
        )
        return StateMeaning("TemporalJoin", facts, lists)

    def __call__(self, task: TaskInfo) -> TemporalJoinOperator:
        return TemporalJoinOperator(self, task.clock)


class TemporalJoinOperator(FunctionsOperator):
    """Rows of the left side wait for the watermark; of versions that it has passed, each key keeps the last."""

    takes_rows = False
    takes_columns = True

    def __init__(self, spec: JoinVersions, clock: Clock) -> None:
        self._spec = spec
        self._input, self._output_schema = schema_of(spec.inputs), schema_of(spec.columns)
        types = [spec.inputs[each].type for each in spec.keys]
        # What is kept of a row: its keys, then its own columns.
        self._keys = KeyColumns(range(len(types)), types)
        first = 1 + len(types)
        self._left_columns = [*spec.keys, *range(first, first + spec.left_width)]
        self._right_columns = [*spec.keys, *range(first + spec.left_width, len(spec.inputs))]
        key_types = list(map(to_type_info, types))
        kept = [_selected(self._input, each) for each in (self._left_columns, self._right_columns)]
        self._waiting = RowBuffer("waiting-rows", range(len(types)), key_types, kept[0])
        self._rows = RowBuffer("versions", range(len(types)), key_types, kept[1])
        # By key: the times of versions, in order, and the number of each one's row.
        self._versions: dict[Any, list[tuple[int, int]]] = {}
        # Keys of which a watermark may make versions superfluous.
        self._several: set[Any] = set()
        self._live = 0
        self._watermark = MIN_WATERMARK
        self._without_time = 0
        condition = spec.condition
        self._condition = None if condition is None else column_of(with_clock(condition, clock))
        self.functions = OpenedFunctions((spec.condition,))

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes in rows of both sides."""
        self.records_in += len(batch)
        batch = as_schema(batch, self._input)
        is_right = batch.data.column(0).to_numpy(zero_copy_only=False)
        left = self._timed(batch.take(np.flatnonzero(~is_right)), self._spec.left_time)
        self._waiting.add(left.with_data(left.data.select(self._left_columns)))
        chosen = is_right if batch.kinds is None else is_right & (batch.kinds != _BEFORE)
        right = self._timed(batch.take(np.flatnonzero(chosen)), self._spec.right_time)
        self._take_in(right.with_data(right.data.select(self._right_columns)))

    def _timed(self, batch: ColumnBatch, place: int) -> ColumnBatch:
        """The rows that have a time, with it."""
        column = batch.data.column(place)
        if column.null_count:
            self._without_time += column.null_count
            batch = batch.filter(column.is_valid())
            column = batch.data.column(place)
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
            place = bisect_right(versions, time, key=_time)
            if place and versions[place - 1][0] == time:
                versions[place - 1] = version
            else:
                versions.insert(place, version)
                self._live += 1
                if len(versions) > 1:
                    self._several.add(key)
            number += 1

    def _encoded(self, rows: ColumnBatch) -> tuple[Any, list[Any]]:
        codes, keys = self._keys.encode(rows.data)
        return codes, keys if isinstance(keys, list) else list(np.asarray(keys).tolist())

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
        found = self._found(rows)
        joined = self._joined(rows, found)
        if self._condition is not None:
            found = np.where(self._fulfils(joined) & (found >= 0), found, -1)
            joined = self._joined(rows, found)
        if not self._spec.keeps_all:
            joined = joined.take(np.flatnonzero(found >= 0))
        if len(joined):
            self.output.emit_columns(joined)

    def _found(self, rows: ColumnBatch) -> Any:
        """For each row the number of the version's row; below 0 if there is none."""
        assert rows.timestamps is not None
        codes, keys = self._encoded(rows)
        versions = [self._versions.get(key, ()) for key in keys]
        has_null: Any = np.zeros(len(rows), bool)
        for place in range(len(self._spec.keys)):
            has_null |= rows.data.column(place).is_null().to_numpy(zero_copy_only=False)
        found: Any = np.full(len(rows), -1, np.int64)
        for place, (code, time) in enumerate(zip(codes.tolist(), rows.timestamps.tolist())):
            known = versions[code]
            at = bisect_right(known, time, key=_time)
            if at:
                found[place] = known[at - 1][1]
        # NULL is equal to nothing.
        found[has_null] = -1
        return found

    def _joined(self, rows: ColumnBatch, found: Any) -> ColumnBatch:
        width = len(self._spec.keys)
        kept = self._rows.all()
        places = pa.array(found, mask=found < 0)
        others = self._output_schema.types[self._spec.left_width :]
        right = (
            [pa.nulls(len(rows), each) for each in others]
            if kept is None
            else [kept.data.column(width + place).take(places) for place in range(len(others))]
        )
        columns = [*rows.data.columns[width:], *right]
        return rows.with_data(pa.RecordBatch.from_arrays(columns, schema=self._output_schema))

    def _fulfils(self, joined: ColumnBatch) -> Any:
        assert self._condition is not None
        mask = self._condition(joined.data)
        if isinstance(mask, pa.Scalar):
            return np.full(len(joined), bool(mask.as_py()))
        return mask.fill_null(False).to_numpy(zero_copy_only=False)

    def _forget(self, watermark: int) -> None:
        for key in list(self._several):
            versions = self._versions[key]
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
        is_live: Any = np.zeros(len(rows), bool)
        numbers = [_row(version) for versions in self._versions.values() for version in versions]
        is_live[numbers] = True
        self._rows.take_out(~is_live)
        places = np.cumsum(is_live) - 1
        for versions in self._versions.values():
            versions[:] = [
                (time, int(places[number]) if number >= 0 else _GONE - int(places[_GONE - number]))
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
        keys = len(self._spec.keys)
        return self._rows.moved(self._waiting.moved(part, moves.get(_LEFT), keys), moves.get(_RIGHT), keys)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        every = list(parts)
        self._waiting.restore(every)
        kept = RowBuffer("versions", range(len(self._spec.keys)), [], _selected(self._input, self._right_columns))
        kept.restore(every)
        rows = kept.all()
        if rows is not None:
            self._take_in(rows)

    def metrics(self) -> dict[str, Any]:
        return {**self.functions.metrics(), "numNullRowTimeRecordsDropped": self._without_time}


def _selected(schema: Any, places: list[int]) -> Any:
    return pa.schema([schema.field(place) for place in places])


def _time(version: tuple[int, int]) -> int:
    return version[0]


def _row(version: tuple[int, int]) -> int:
    """The number of a version's row, also if it is gone."""
    return version[1] if version[1] >= 0 else _GONE - version[1]
