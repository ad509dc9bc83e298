"""Aggregates of numbers in a compiled loop: rows are neither sorted nor taken apart, whatever the aggregates are.

What the loop reads and writes stands in a table of addresses, and what it sends is copied by another loop from the rows
and from its results: a batch costs a few calls, however many aggregates there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.kernels import copy_rows
from funke.engine.kernels.aggregate_rows import (
    ARGUMENT,
    COUNT,
    COUNTING,
    FIRST_FIELD,
    NULLS,
    OPERATION,
    SECOND_FIELD,
    VALIDITY,
    VALUES,
    WORDS,
    aggregate_rows,
)
from funke.engine.kernels.kernel import address
from funke.engine.sql.state.rows.row_copies import BatchColumns, ColumnTable, TakenRows, width_of

if TYPE_CHECKING:
    from funke.engine.sql.functions.aggregates.kernel import AggregateKernel, Fields
    from funke.engine.sql.functions.aggregates.rows import AggregateRows
    from funke.engine.sql.plan.aggregates.group_aggregate import GroupAggregate
    from funke.engine.types.columns.arrays import Array

__all__ = ["CompiledAggregates"]

_INT64, _UINT8 = np.dtype(np.int64), np.dtype(np.uint8)
# A result and an argument have 64 bits.
_WIDTH = 8


class CompiledAggregates:
    """The aggregates of an operator, all of which the loop has."""

    def __init__(
        self, node: GroupAggregate, kernels: Sequence[AggregateKernel], schema: pa.Schema, output: pa.Schema
    ) -> None:
        self._flags = int(node.sends_before), int(node.ttl_ms > 0)
        self._held, self._keys = BatchColumns(schema), np.array(node.keys, np.int64)
        arguments = [max([0, *each.arguments[:1]]) for each in node.aggregates]
        self._arguments: Array = np.array(arguments, np.int64)
        # The columns whose NULLs do not count.
        self._counting = sorted({index for each in node.aggregates for index in each.arguments if index >= 0})
        self._has_conditions = any(each.condition is not None for each in node.aggregates)
        self._table: Array = np.zeros((len(kernels), WORDS), np.int64)
        self._table[:, OPERATION] = [each.operation for each in kernels]
        widths = [len(each.dtypes) for each in kernels]
        # The numbers of the first and of the last column of each call.
        self._fields = [(end - width, end - 1) for end, width in zip(np.cumsum(widths).tolist(), widths)]
        self._columns: Fields = ()
        self._results = ColumnTable(output.types[len(node.keys) :]).words
        self._copied_rows = TakenRows(output, len(kernels))
        self._room = 0

    @staticmethod
    def of(
        node: GroupAggregate, kernels: Sequence[AggregateKernel], schema: pa.Schema, output: pa.Schema
    ) -> CompiledAggregates | None:
        """None if the loop has not all of them, or keys are of a form that loops do not copy."""
        if not kernels or any(each.operation is None for each in kernels):
            return None
        for kernel, each in zip(kernels, node.aggregates):
            if kernel.operation != COUNT and width_of(schema.types[each.arguments[0]]) != _WIDTH:
                return None
        return None if ColumnTable(schema.types).words is None else CompiledAggregates(node, kernels, schema, output)

    def hold(self, data: pa.RecordBatch) -> Array | None:
        """Takes the rows of a batch; None if the loops are not compiled yet, else where the columns stand."""
        rows = data.num_rows
        # Both are asked each time: a loop is loaded when enough rows have asked for it.
        copies, aggregates = self._copied_rows.is_ready(rows), aggregate_rows.compiled(rows)
        if aggregates is None or not copies:
            return None
        self._held.hold(data)
        return self._held.words(rows)

    def needs_rows(self, words: Array) -> bool:
        """True if some rows do not count for some aggregate: a FILTER is false, or the argument is NULL."""
        return self._has_conditions or any(words.item(index, copy_rows.VALIDITY) for index in self._counting)

    def run(
        self, words: Array, groups: Array, is_known: Array, columns: Fields, rows: Sequence[AggregateRows] | None
    ) -> tuple[pa.RecordBatch, Array, Array] | None:
        """Takes in the rows that are held, in their order, and changes the columns of the groups.

        Returns what is sent, with the rows that it comes from (good until the next call) and its kinds.
        """
        count, table = len(groups), self._table
        self._reserve(count)
        table[:, ARGUMENT] = (words[:, copy_rows.VALUES] + words[:, copy_rows.OFFSET] * _WIDTH)[self._arguments]
        # What has an address in the table lives until the loop is done.
        flags = [None if each.counting is None else each.counting.view(np.uint8) for each in rows or ()]
        table[:, COUNTING] = list(map(_address, flags)) if flags else 0
        if columns is not self._columns:
            self._columns = columns
            table[:, FIRST_FIELD] = [_address(columns[first]) for first, _ in self._fields]
            table[:, SECOND_FIELD] = [_address(columns[last]) for _, last in self._fields]
        run = aggregate_rows.compiled(count)
        assert run is not None
        total = run(address(groups, _INT64), count, address(is_known, _UINT8), *self._addresses)
        if not total:
            return None
        return self._sent(words, total)

    def _sent(self, words: Array, total: int) -> tuple[pa.RecordBatch, Array, Array]:
        table, results = self._table, self._results
        assert results is not None
        results[:, copy_rows.VALUES] = table[:, VALUES]
        results[:, copy_rows.VALIDITY] = table[:, VALIDITY] * (table[:, NULLS] > 0)
        rows = self._rows[:total]
        data = self._copied_rows.take(words.take(self._keys, axis=0), rows, results, self._numbers[:total])
        assert data is not None
        return data, rows, self._kinds[:total].astype(np.int8)

    def _reserve(self, count: int) -> None:
        """Makes room for what may be sent: two changes of each row, and one change more."""
        room, calls = 2 * count + 1, len(self._table)
        if room <= self._room:
            return
        # Kept for the next batches: the addresses in the table change only when a longer batch than before comes.
        self._room = room
        self._values: Array = np.empty((calls, room), np.int64)
        self._validity: Array = np.empty((calls, room // 8 + 1), np.uint8)
        self._kinds: Array = np.empty(room, np.uint8)
        self._rows: Array = np.empty(room, np.int64)
        self._numbers: Array = np.arange(room)
        self._table[:, VALUES] = address(self._values, _INT64) + np.arange(calls) * self._values.strides[0]
        self._table[:, VALIDITY] = address(self._validity, _UINT8) + np.arange(calls) * self._validity.strides[0]
        sent = address(self._kinds, _UINT8), address(self._rows, _INT64)
        self._addresses = address(self._table, _INT64), calls, *self._flags, *sent


def _address(array: Array | None) -> int:
    return 0 if array is None else address(array, array.dtype)
