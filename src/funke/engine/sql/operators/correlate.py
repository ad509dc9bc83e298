"""Puts each row together with the rows that a table function, or a collection, gives for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import GeneratorType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.time.clock import Clock
from funke.engine.sql.binding.current_time import BatchTime, with_clock
from funke.engine.sql.binding.expressions import column_of
from funke.engine.sql.functions.values import from_values, to_value, to_values
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.user_values import from_user_value, to_user_value
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.logical import MapType, MultisetType, RowType
from funke.engine.types.row import Row

if TYPE_CHECKING:
    from funke.engine.sql.plan.correlate import Correlate
    from funke.engine.types.columns import Datum
    from funke.engine.types.logical import SqlValue

__all__ = ["CorrelateOperator"]

Rows = Iterator[tuple[Any, ...]]


class CorrelateOperator(FunctionsOperator):
    takes_rows = False
    takes_columns = True

    def __init__(self, node: Correlate, clock: Clock) -> None:
        self._input = schema_of(node.input.columns)
        self._output_schema = schema_of(node.columns)
        self._function_columns = node.columns[len(node.input.columns) :]
        self._keeps_all = node.keeps_all
        self._batch_time = BatchTime(clock)
        self._getters = [column_of(with_clock(each, self._batch_time)) for each in node.arguments]
        self._types = [each.type for each in node.arguments]
        own = () if node.function is None else (node.function.function,)
        self.functions = OpenedFunctions(node.arguments, others=own)
        self._rows_of = _of_collection(node) if node.function is None else _of_function(node)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends on the rows that are made of each row, behind its columns."""
        self.records_in += len(batch)
        self._batch_time.begin()
        batch = as_schema(batch, self._input)
        arguments = [self._values(get(batch.data), index, len(batch)) for index, get in enumerate(self._getters)]
        indexes: list[int] = []
        rows: list[tuple[Any, ...]] = []
        nothing = (None,) * len(self._function_columns)
        for index in range(len(batch)):
            before = len(rows)
            rows += self._rows_of(*(each[index] for each in arguments))
            if len(rows) == before and self._keeps_all:
                rows.append(nothing)
            indexes += [index] * (len(rows) - before)
        if rows:
            # Kinds are repeated with the rows: a retraction calls the function again and takes back what it gives now.
            # As in Flink the function has to be deterministic for that; nothing is kept of the first call.
            self._emit(batch.take(pa.array(np.array(indexes))), rows)

    def _values(self, column: Datum, index: int, length: int) -> list[SqlValue]:
        data_type = self._types[index]
        return [to_value(column, data_type)] * length if isinstance(column, pa.Scalar) else to_values(column, data_type)

    def _emit(self, repeated: ColumnBatch, rows: list[tuple[SqlValue, ...]]) -> None:
        arrays = [
            from_values(values, column.type) for values, column in zip(zip(*rows), self._function_columns, strict=True)
        ]
        data = pa.RecordBatch.from_arrays([*repeated.data.columns, *arrays], schema=self._output_schema)
        self.output.emit_columns(repeated.with_data(data))


def _of_function(node: Correlate) -> Callable[..., Rows]:
    """As in PyFlink: lists, ranges and generators give several rows, None none, and anything else is one row."""
    function = node.function
    assert function is not None
    evaluate = function.function.eval
    from_user = [from_user_value(each.type) for each in node.columns[len(node.input.columns) :]]
    to_user = [to_user_value(each.type) for each in node.arguments]
    count = len(from_user)

    def rows_of(*arguments: Any) -> Rows:
        result = evaluate(*(each if convert is None else convert(each) for convert, each in zip(to_user, arguments)))
        if result is None:
            return
        for value in result if isinstance(result, (list, range, GeneratorType)) else (result,):
            fields = tuple(value) if isinstance(value, (tuple, Row)) else (value,)
            if len(fields) != count:
                raise ValueError(f"the function '{function.name}' gives {count} columns, got {value!r}")
            yield tuple(each if convert is None else convert(each) for convert, each in zip(from_user, fields))

    return rows_of


def _of_collection(node: Correlate) -> Callable[..., Rows]:
    data_type: Any = node.arguments[0].type
    has_fields = not isinstance(data_type, MapType) and isinstance(data_type.element_type, RowType)

    def elements(collection: SqlValue) -> Iterator[tuple[SqlValue, ...]]:
        if isinstance(data_type, MapType):
            yield from collection.items()
            return
        if isinstance(data_type, MultisetType):
            # A multiset has each element once, with its count.
            collection = (each for each, count in collection.items() for _ in range(count))
        width = len(data_type.element_type) if has_fields else 1
        for each in collection:
            # A NULL among rows is a row of NULLs: UNNEST of an array with one row and one NULL has two rows.
            yield (each or (None,) * width) if has_fields else (each,)

    def rows_of(collection: SqlValue) -> Rows:
        for number, each in enumerate(elements(collection) if collection is not None else (), 1):
            yield (*each, number) if node.has_ordinality else tuple(each)

    return rows_of
