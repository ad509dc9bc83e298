"""Joins two inputs that end: rows wait until all of them are there, and are sent once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.time.clock import Clock
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.joins.pair_condition import MOST_PAIRS, PairCondition, slices
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.state.key_numbers import KeyNumbers
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.joins.batch_join import BatchJoin
    from funke.engine.types.columns.arrays import Array

__all__ = ["BatchJoinOperator"]


class BatchJoinOperator(FunctionsOperator):
    """The rows of the right input are sorted by key; those of the left one look for theirs in slices."""

    takes_rows = False
    takes_columns = True

    def __init__(self, join: BatchJoin, clock: Clock) -> None:
        self._join = join
        self._schemas = [schema_of(each.columns) for each in join.inputs]
        self._output_schema = schema_of(join.columns)
        self._keys = join.left_keys, join.right_keys
        self._batches: tuple[list[Any], list[Any]] = ([], [])
        self._watermark: int | None = None
        self._condition = PairCondition(join.condition, len(join.left.columns), clock)
        self.functions = OpenedFunctions((join.condition,))

    def columns_handler(self, input_index: int) -> Callable[[ColumnBatch], None]:
        return lambda batch: self._wait(batch, input_index)

    def _wait(self, batch: ColumnBatch, side: int) -> None:
        self.records_in += len(batch)
        if len(batch):
            self._batches[side].append(as_schema(batch, self._schemas[side]).data)

    def process_watermark(self, watermark: int) -> None:
        """Lets it wait: what is sent at the end would come too late behind it."""
        self._watermark = watermark

    def end_input(self) -> None:
        """Sends what comes of all rows."""
        tables = [pa.Table.from_batches(own, schema) for own, schema in zip(self._batches, self._schemas)]
        self._batches = ([], [])
        left, right = (each.combine_chunks() for each in tables)
        kinds = [self._schemas[0].types[key] for key in self._keys[0]]
        # Equal keys of both inputs get equal integers: what follows sorts and searches nothing else.
        numbers = KeyNumbers(kinds, self._join.equal_nulls)
        left_numbers, right_numbers = (
            numbers.numbers([_array(data.column(key)) for key in keys], data.num_rows)
            for data, keys in zip((left, right), self._keys)
        )
        # In the order of their keys; rows of a key that is NULL come first, and are equal to nothing.
        by_key = np.argsort(right_numbers, kind="stable")
        first = np.searchsorted(right_numbers, np.arange(len(numbers) + 1), sorter=by_key)
        self._send_all(left, right, left_numbers, by_key, first)
        if self._watermark is not None:
            self.output.emit_watermark(self._watermark)

    def _send_all(self, left: pa.Table, right: pa.Table, numbers: Array, by_key: Array, first: Array) -> None:
        counts: Array = np.where(numbers >= 0, first[numbers + 1] - first[numbers], 0)
        is_matched: tuple[Array, Array] = np.zeros(left.num_rows, bool), np.zeros(right.num_rows, bool)
        for begin, end in slices(counts):
            left_rows: Array = np.repeat(np.arange(begin, end), counts[begin:end])
            # How far into the rows of its key each pair is.
            skipped = np.cumsum(counts[begin:end]) - counts[begin:end]
            index = np.arange(len(left_rows)) - np.repeat(skipped, counts[begin:end])
            rows = by_key[first[numbers[left_rows]] + index]
            left_rows, rows = self._matches(left, right, left_rows, rows)
            is_matched[0][left_rows] = is_matched[1][rows] = True
            if not self._join.has_left_only:
                self._send(left, right, left_rows, rows)
        # IN and EXISTS send a left row once, however many matches it has: only now all of them are known.
        if self._join.has_left_only:
            self._send_side(left, right, 0, np.flatnonzero(is_matched[0] == (self._join.kind == "semi")))
            return
        for side, is_kept in enumerate((self._join.keeps_left, self._join.keeps_right)):
            if is_kept:
                self._send_side(left, right, side, np.flatnonzero(~is_matched[side]))

    def _matches(self, left: pa.Table, right: pa.Table, left_rows: Array, rows: Array) -> tuple[Array, Array]:
        """The pairs that fulfil the condition."""

        def mine(indexes: Sequence[int]) -> list[pa.Array]:
            return [_take_rows(left, index, left_rows) for index in indexes]

        def its(indexes: Sequence[int]) -> list[pa.Array]:
            return [_take_rows(right, index, rows) for index in indexes]

        fulfils = self._condition.fulfilled(mine, its, len(left_rows))
        return (left_rows, rows) if fulfils is None else (left_rows[fulfils], rows[fulfils])

    def _send_side(self, left: pa.Table, right: pa.Table, side: int, rows: Array) -> None:
        """Sends rows of one side alone."""
        for begin in range(0, len(rows), MOST_PAIRS):
            own = rows[begin : begin + MOST_PAIRS]
            nothing: Array = np.full(len(own), -1, np.int64)
            self._send(left, right, *((own, nothing) if side == 0 else (nothing, own)))

    def _send(self, left: pa.Table, right: pa.Table, left_rows: Array, rows: Array) -> None:
        """Sends pairs; below 0 there is no row."""
        if not len(left_rows):
            return
        columns = [_take_rows(left, index, left_rows) for index in range(left.num_columns)]
        if not self._join.has_left_only:
            columns += [_take_rows(right, index, rows) for index in range(right.num_columns)]
        self.output.emit_columns(ColumnBatch(pa.RecordBatch.from_arrays(columns, schema=self._output_schema)))

    def snapshot(self) -> Any:
        """The rows that wait."""
        return self._batches if any(self._batches) else None

    def restore(self, state: Any) -> None:
        """Lets rows of before wait."""
        self._batches = state


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.nulls(0, column.type)])


def _take_rows(data: pa.Table, index: int, rows: Array) -> pa.Array:
    missing = rows < 0
    column = data.column(index).take(pa.array(rows, mask=missing) if missing.any() else pa.array(rows))
    return _array(column)
