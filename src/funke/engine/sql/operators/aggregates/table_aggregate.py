"""Turns the rows of each key into rows by a user function: retracts those before a change, emits those after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.keyed.key_watch import KeyWatch
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.functions.users.user_aggregates import result_fields
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.state.keyed_columns import ColumnLayout
from funke.engine.sql.state.keyed_columns_operator import KeyedColumnsOperator
from funke.engine.sql.user_values import from_user_value, to_user_value
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.row import Row, RowKind

if TYPE_CHECKING:
    from funke.engine.sql.plan.aggregates.group_table_aggregate import GroupTableAggregate
    from funke.engine.types.columns import Array
    from funke.engine.types.logical.sql_value import SqlValue

__all__ = ["TableAggregateOperator"]

_TAKEN_BACK = (RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value)


class TableAggregateOperator(FunctionsOperator, KeyedColumnsOperator):
    """Calls the function row by row: it is the user's, and sees one row at a time."""

    def __init__(self, node: GroupTableAggregate) -> None:
        self._node = node
        self._schema = schema_of(node.columns)
        self._keys = KeyColumns(node.keys, [node.input.columns[index].type for index in node.keys])
        self._key_watch = KeyWatch(node.keys)
        self._function = node.function.function
        self._converts = [to_user_value(node.input.columns[index].type) for index in node.arguments]
        self._types = [data_type for _, data_type in result_fields(node.function)]
        self._results = [from_user_value(each) for each in self._types]
        self.functions = OpenedFunctions((), others=[self._function])

    def layout(self) -> ColumnLayout:
        return ColumnLayout("table-aggregates", self._create, self._node.ttl_ms)

    def _create(self, count: int) -> tuple[Array, ...]:
        accumulators = (self._function.create_accumulator() for _ in range(count))
        return np.fromiter(accumulators, object, count), np.zeros(count, np.int64)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes rows in, or back, and sends what changes."""
        self.records_in += len(batch)
        if not len(batch):
            return
        self._key_watch.look(batch.data)
        codes, keys = self._keys.encode(batch.data)
        fetched = self.state.fetch(keys)
        accumulators, counts = fetched.columns
        sources: list[int] = []
        kinds: list[int] = []
        results: list[tuple[SqlValue, ...]] = []

        def send(kind: RowKind, row: int, rows: list[tuple[SqlValue, ...]]) -> None:
            sources.extend([row] * len(rows))
            kinds.extend([kind.value] * len(rows))
            results.extend(rows)

        steps = [1] * len(batch) if batch.kinds is None else np.where(np.isin(batch.kinds, _TAKEN_BACK), -1, 1).tolist()
        for row, (code, step, values) in enumerate(zip(codes.tolist(), steps, self._arguments(batch))):
            # As in Flink a change takes back all rows of the key and sends all of them anew: a top 2 of 7 and 5 that
            # gets a 9 sends -7, -5, +9, +7. Nothing tells which row of a key has become which.
            if counts[code]:
                send(RowKind.DELETE, row, self._rows_of(accumulators[code]))
            elif step < 0:
                continue
            (self._function.accumulate if step > 0 else self._function.retract)(accumulators[code], *values)
            counts[code] += step
            if counts[code]:
                send(RowKind.INSERT, row, self._rows_of(accumulators[code]))
            else:
                accumulators[code] = self._function.create_accumulator()
        self.state.store(fetched, (accumulators, counts), counts > 0)
        self._send(batch, sources, kinds, results)

    def hottest_key(self) -> dict[str, Any]:
        return self._key_watch.hottest()

    def _arguments(self, batch: ColumnBatch) -> list[tuple[SqlValue, ...]]:
        lists = [
            [each if convert is None else convert(each) for each in to_values(batch.data.column(index), column.type)]
            for index, convert, column in zip(self._node.arguments, self._converts, self._argument_columns)
        ]
        return list(zip(*lists)) if lists else [()] * len(batch)

    @property
    def _argument_columns(self) -> list[Column]:
        return [self._node.input.columns[index] for index in self._node.arguments]

    def _rows_of(self, accumulator: Any) -> list[tuple[SqlValue, ...]]:
        return [self._converted(each) for each in self._function.emit_value(accumulator)]

    def _converted(self, row: Any) -> tuple[SqlValue, ...]:
        values = tuple(row) if isinstance(row, (Row, tuple, list)) else (row,)
        return tuple(each if convert is None else convert(each) for convert, each in zip(self._results, values))

    def _send(
        self, batch: ColumnBatch, sources: list[int], kinds: list[int], results: list[tuple[SqlValue, ...]]
    ) -> None:
        if not sources:
            return
        rows = pa.array(sources)
        columns = [batch.data.column(index).take(rows) for index in self._node.keys]
        columns += [from_values(list(values), each) for values, each in zip(zip(*results), self._types)]
        timestamps = None if batch.timestamps is None else batch.timestamps[sources]
        signs = np.array(kinds, np.int8)
        data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self.output.emit_columns(ColumnBatch(data, timestamps, signs if signs.any() else None))
