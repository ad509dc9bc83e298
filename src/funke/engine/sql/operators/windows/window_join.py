"""Joins the rows of each window once it has ended: all of them are there then, so that results stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.joins.input_metrics import input_metrics
from funke.engine.sql.operators.joins.pair_condition import PairCondition, slices
from funke.engine.sql.operators.opened_functions import OpenedFunctions
from funke.engine.sql.operators.windows.key_codes import key_codes
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.operators.windows.over.row_logs import RowLogs, create_row_logs
from funke.engine.sql.operators.windows.window_operator import WindowOperator
from funke.engine.sql.state.key_numbers import KeyNumbers
from funke.engine.sql.state.keyed_columns_operator import KeyedTableOperator
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.joins.window_join import WindowJoin
    from funke.engine.types.columns import Array

__all__ = ["WindowJoinOperator"]

_NAMES = ("left-rows", "right-rows")


class WindowJoinOperator(WindowOperator, KeyedTableOperator[RowLogs]):
    """Keeps the rows of both inputs, by the local ends of their windows, until these close."""

    def __init__(self, join: WindowJoin, clock: Clock) -> None:
        super().__init__(join.time)
        self._join = join
        self._schemas = [schema_of(each.columns) for each in join.inputs]
        self._output_schema = schema_of(join.columns)
        self._keys = (join.left_keys, join.right_keys)
        self._windows = (join.left_window, join.right_window)
        self._condition = PairCondition(join.condition, len(join.left.columns), clock)
        self._functions = OpenedFunctions((join.condition,))
        self._late = [0, 0]

    def create_state(self, context: OperatorContext) -> RowLogs:
        logs = create_row_logs(context)
        self._rows = [self._buffer(logs, side) for side in range(2)]
        return logs

    def _buffer(self, logs: RowLogs, side: int) -> RowBuffer:
        source = self._join.inputs[side]
        key_types = [to_type_info(source.columns[key].type) for key in self._keys[side]]
        return logs.create(_NAMES[side], self._keys[side], key_types, self._schemas[side], by_time=True)

    def open(self) -> None:
        self._functions.open(self.context)

    def close(self) -> None:
        try:
            self._functions.close()
        finally:
            super().close()

    def columns_handler(self, input_index: int) -> Callable[[ColumnBatch], None]:
        return lambda batch: self._process(batch, input_index)

    def _process(self, batch: ColumnBatch, side: int) -> None:
        self.records_in += len(batch)
        batch = as_schema(batch, self._schemas[side])
        column = batch.data.column(self._windows[side][1])
        ends = np.asarray(column.cast(pa.timestamp("ms")).view(pa.int64()))
        # Late rows are dropped, not joined: their window was sent. Flink counts them for each side.
        is_open = ends > self.closed
        late = int(np.count_nonzero(~is_open))
        self.late += late
        self._late[side] += late
        rows = batch.with_timestamps(ends)
        self._rows[side].add(rows.take(np.flatnonzero(is_open)) if late else rows)

    def next_end(self) -> int | None:
        ends = [end for each in self._rows if (end := each.first_time()) is not None]
        return min(ends, default=None)

    def close_windows(self, before: int) -> None:
        end = self.next_end()
        if end is not None and end <= self.closed:
            self._send_joined([each.take_until(self.closed) for each in self._rows])

    def _send_joined(self, due: Sequence[ColumnBatch | None]) -> None:
        left, right = (self._in_order_of_windows(each, side) for side, each in enumerate(due))
        meeting = _Meeting(*self._numbers(left, right))
        has_match: Array = np.zeros(len(right), bool)
        for begin, end in slices(meeting.counts):
            left_rows, others = meeting.pairs(begin, end)
            is_match = self._fulfilled(left, right, left_rows, others)
            if is_match is not None:
                left_rows, others = left_rows[is_match], others[is_match]
            has_match[others] = True
            if self._join.has_left_only:
                self._send_left(left, left_rows, begin, end)
            else:
                self._send_pairs(left, right, left_rows, others, begin, end)
        if self._join.keeps_right:
            alone = np.flatnonzero(~has_match)
            nothing = [pa.nulls(len(alone), each) for each in self._schemas[0].types]
            # Behind all pairs: only now it is certain that a right row has no match.
            self._emit([*nothing, *right.data.take(pa.array(alone)).columns], right, alone)

    def _send_left(self, left: ColumnBatch, left_rows: Array, begin: int, end: int) -> None:
        """Sends the left rows of a range that have matches, or those that have none."""
        is_alone = _alone(left_rows, begin, end)
        rows: Array = begin + np.flatnonzero(is_alone if self._join.kind == "anti" else ~is_alone)
        self._emit(left.data.take(pa.array(rows)).columns, left, rows)

    def _send_pairs(
        self, left: ColumnBatch, right: ColumnBatch, left_rows: Array, others: Array, begin: int, end: int
    ) -> None:
        """Sends the pairs of the left rows of a range, and rows without one if they are kept, in their order."""
        if self._join.keeps_left:
            alone: Array = begin + np.flatnonzero(_alone(left_rows, begin, end))
            every = np.concatenate([left_rows, alone])
            order = np.argsort(every, kind="stable")
            left_rows, others = every[order], np.concatenate([others, np.full(len(alone), -1, np.int64)])[order]
        mask = others < 0
        right_rows = pa.array(others, mask=mask) if mask.any() else pa.array(others)
        self._emit(
            [*left.data.take(pa.array(left_rows)).columns, *right.data.take(right_rows).columns], left, left_rows
        )

    def _in_order_of_windows(self, rows: ColumnBatch | None, side: int) -> ColumnBatch:
        """Rows of windows that end first come first; those of one window as they came."""
        if rows is None:
            return ColumnBatch(_no_rows(self._schemas[side]), np.empty(0, np.int64))
        ends: Array = rows.timestamps
        return rows if len(np.unique(ends)) == 1 else rows.take(np.argsort(ends, kind="stable"))

    def _numbers(self, left: ColumnBatch, right: ColumnBatch) -> tuple[Array, Array]:
        """Numbers of keys with windows: what rows meet by; below 0 where a key has a NULL."""
        sides = [[rows.data.column(key) for key in keys] for rows, keys in zip((left, right), self._keys)]
        keys = KeyNumbers([each.type for each in sides[0]])
        mine, its = (keys.numbers(columns, len(rows)) for columns, rows in zip(sides, (left, right)))
        bounds = [
            pa.concat_arrays([left.data.column(one), right.data.column(other)]) for one, other in zip(*self._windows)
        ]
        windows, count = key_codes(bounds, len(left) + len(right))
        numbers = np.concatenate([mine, its])
        # NULL is equal to nothing, so such keys meet nothing; several windows may be due at one watermark.
        numbers = np.where(numbers < 0, -1, numbers * count + windows)
        return numbers[: len(left)], numbers[len(left) :]

    def _fulfilled(self, left: ColumnBatch, right: ColumnBatch, left_rows: Array, others: Array) -> Array | None:
        def mine(indexes: Sequence[int]) -> list[pa.Array]:
            return [left.data.column(index).take(pa.array(left_rows)) for index in indexes]

        def its(indexes: Sequence[int]) -> list[pa.Array]:
            return [right.data.column(index).take(pa.array(others)) for index in indexes]

        return self._condition.fulfilled(mine, its, len(left_rows))

    def _emit(self, columns: Sequence[pa.Array], source: ColumnBatch, rows: Array) -> None:
        """Sends rows; their time is the last of the window that the rows of a side have."""
        if not len(rows):
            return
        ends: Array = source.timestamps
        data = pa.RecordBatch.from_arrays(list(columns), schema=self._output_schema)
        self.output.emit_columns(ColumnBatch(data, self.local.to_instants(ends[rows] - 1)))

    def snapshot(self) -> OperatorStateSnapshot:
        snapshot = super().snapshot()
        return replace(snapshot, unions=snapshot.unions | self.state.marks())

    def restore(self, state: OperatorStateSnapshot) -> None:
        super().restore(state)
        self.state.restore_marks(state.unions)

    def metrics(self) -> dict[str, Any]:
        left, right = self._late
        late = {"leftNumLateRecordsDropped": left, "rightNumLateRecordsDropped": right}
        kept = [input_metrics(number, each.rows_in_memory, each.state_bytes) for number, each in enumerate(self._rows)]
        return super().metrics() | late | kept[0] | kept[1] | self._functions.metrics()


class _Meeting:
    """The pairs of left and right rows with the same number."""

    def __init__(self, left: Array, right: Array) -> None:
        # Right rows by their numbers, those of one number as they came.
        self._order: Array = np.argsort(right, kind="stable")
        ordered = right[self._order]
        self._first: Array = np.searchsorted(ordered, left, "left")
        self.counts = np.where(left < 0, 0, np.searchsorted(ordered, left, "right") - self._first)

    def pairs(self, begin: int, end: int) -> tuple[Array, Array]:
        """The pairs of a range of left rows."""
        counts = self.counts[begin:end]
        left_rows: Array = np.repeat(np.arange(begin, end), counts)
        within = np.arange(len(left_rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return left_rows, self._order[self._first[left_rows] + within]


def _alone(left_rows: Array, begin: int, end: int) -> Array:
    """True for the rows of a range that are not in `left_rows`."""
    is_alone: Array = np.ones(end - begin, bool)
    is_alone[left_rows - begin] = False
    return is_alone


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, each) for each in schema.types], schema=schema)
