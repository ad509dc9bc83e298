"""Puts each row together with the rows that a table has for its keys, asked for once for all keys of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.binding.expressions import column_of
from funke.engine.sql.binding.moments import BatchMoment, with_clock
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.connectors.lookup.lookup import FoundRows
    from funke.engine.sql.plan.lookup_join import LookupJoin

__all__ = ["LookupJoinOperator"]


class LookupJoinOperator(FunctionsOperator):
    """Works on batches of columns; event times and kinds stay with the rows of the input."""

    takes_rows = False
    takes_columns = True

    def __init__(self, node: LookupJoin, task: TaskInfo) -> None:
        self._input = schema_of(node.input.columns)
        self._output_schema = schema_of(node.columns)
        self._keeps_all = node.keeps_all
        table = schema_of(node.table.columns)
        self._moment = BatchMoment(task.clock)
        self._keys = [
            (column_of(with_clock(each.expression, self._moment)), table.types[each.column]) for each in node.keys
        ]
        condition = node.condition
        self._condition = None if condition is None else column_of(with_clock(condition, self._moment))
        self._lookup = node.table.create_lookup([each.column for each in node.keys], task.clock)
        self.functions = OpenedFunctions((*(each.expression for each in node.keys), node.condition))

    def open(self) -> None:
        super().open()
        self._lookup.open()

    def close(self) -> None:
        try:
            self._lookup.close()
        finally:
            super().close()

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends on each row with the rows that were found for it, in order."""
        self.records_in += len(batch)
        self._moment.begin()
        batch = as_schema(batch, self._input)
        numbers, keys = self._distinct(batch)
        left, right, rows = _NOWHERE, _NOWHERE, None
        if keys:
            found = self._lookup.find(keys)
            rows = found.rows
            left, right = _pairs(numbers, found)
        left, right = self._fulfilling(batch, left, right, rows)
        if self._keeps_all:
            left, right = _with_unmatched(len(batch), left, right)
        if len(left):
            self.output.emit_columns(self._joined(batch, left, right, rows))

    def _distinct(self, batch: ColumnBatch) -> tuple[Any, list[Any]]:
        """For each row the number of its key, -1 if a part of it is NULL; and the keys by number."""
        columns = [self._key_column(get(batch.data), kind, len(batch)) for get, kind in self._keys]
        known: dict[Any, int] = {}
        numbers: Any = np.empty(len(batch), np.int64)
        for place, key in enumerate(zip(*columns)):
            numbers[place] = -1 if None in key else known.setdefault(key, len(known))
        return numbers, list(known)

    @staticmethod
    def _key_column(column: Any, kind: Any, length: int) -> list[Any]:
        if isinstance(column, pa.Scalar):
            column = pa.repeat(column, length)
        values: list[Any] = (column if column.type == kind else column.cast(kind, safe=False)).to_pylist()
        return values

    def _fulfilling(self, batch: ColumnBatch, left: Any, right: Any, rows: Any) -> tuple[Any, Any]:
        """The pairs for which the condition is true."""
        if self._condition is None or not len(left):
            return left, right
        mask = self._condition(self._joined(batch, left, right, rows).data)
        if isinstance(mask, pa.Scalar):
            return (left, right) if mask.as_py() else (_NOWHERE, _NOWHERE)
        kept = mask.fill_null(False).to_numpy(zero_copy_only=False)
        return left[kept], right[kept]

    def _joined(self, batch: ColumnBatch, left: Any, right: Any, rows: Any) -> ColumnBatch:
        mine = batch.take(left)
        places = pa.array(right, pa.int64(), mask=right < 0)
        own = self._output_schema.types[len(self._input) :]
        others = [pa.nulls(len(left), each) for each in own] if rows is None else rows.take(places).columns
        data = pa.RecordBatch.from_arrays([*mine.data.columns, *others], schema=self._output_schema)
        return mine.with_data(data)


_NOWHERE: Any = np.empty(0, np.int64)


def _pairs(numbers: Any, found: FoundRows) -> tuple[Any, Any]:
    """The places of rows that belong together: those of the input, and those that were found."""
    counts = np.array([len(each) for each in found.places], np.int64)
    starts = np.concatenate([_ZERO, np.cumsum(counts)])
    places = np.fromiter((place for each in found.places for place in each), np.int64, int(starts[-1]))
    have_key = np.flatnonzero(numbers >= 0)
    own = numbers[have_key]
    repeats = counts[own]
    left: Any = np.repeat(have_key, repeats)
    # The first place of each row's run, and how far into it each pair is.
    within = np.arange(len(left)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return left, places[np.repeat(starts[:-1][own], repeats) + within]


_ZERO: Any = np.zeros(1, np.int64)


def _with_unmatched(length: int, left: Any, right: Any) -> tuple[Any, Any]:
    """Pairs with -1 for rows that have none, in the order of the input."""
    alone = np.setdiff1d(np.arange(length), left)
    order = np.argsort(np.concatenate([left, alone]), kind="stable")
    return np.concatenate([left, alone])[order], np.concatenate([right, np.full(len(alone), -1)])[order]
