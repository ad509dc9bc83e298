"""Computes columns, and keeps the rows for which a condition is true."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.binding import (
    BoundColumn,
    BoundExpression,
    BoundFunction,
    Column,
    RepeatedExpressions,
    calls_in,
    column_of,
)
from funke.engine.sql.binding.current_time import BatchTime, with_clock
from funke.engine.sql.functions.surroundings import CURRENT_WATERMARK
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.logical.column_types import column_schema, to_column_type

if TYPE_CHECKING:
    from funke.engine.sql.plan.calc import Calc
    from funke.engine.types.columns import Datum

__all__ = ["CalculateOperator", "as_schema", "schema_of"]


class _Watermarks:
    """The values of CURRENT_WATERMARK as further columns of a batch, one for each type of time."""

    def __init__(self, expressions: Iterable[BoundExpression | None], first: int) -> None:
        calls = [
            call for each in expressions for call in calls_in(each) if call.call.function.name == CURRENT_WATERMARK
        ]
        self._indexes = {kind: first + index for index, kind in enumerate(dict.fromkeys(call.type for call in calls))}
        self.reached = MIN_WATERMARK

    def placed(self, expression: BoundExpression) -> BoundExpression:
        """The expression on a batch with these columns."""
        if not isinstance(expression, BoundFunction) or not self._indexes:
            return expression
        if expression.call.function.name == CURRENT_WATERMARK:
            return BoundColumn(expression.type, self._indexes[expression.type], CURRENT_WATERMARK)
        return replace(expression, arguments=tuple(map(self.placed, expression.arguments)))

    def with_columns(self, batch: ColumnBatch) -> ColumnBatch:
        """The rows with what they see."""
        # One value for all rows: with this function batches are cut at every watermark (`Calc.watermark_step`). As in
        # Flink it is NULL until the first watermark has come.
        data, value = batch.data, None if self.reached == MIN_WATERMARK else self.reached
        for kind in self._indexes:
            column = pa.array([value] * len(batch), pa.int64()).cast(to_column_type(kind))
            data = data.append_column(CURRENT_WATERMARK, column)
        return batch.with_data(data) if self._indexes else batch


class CalculateOperator(FunctionsOperator):
    """Works on batches of columns; event times and kinds stay with their rows."""

    takes_rows = False
    takes_columns = True

    def __init__(self, calculation: Calc, clock: Clock) -> None:
        self._input = schema_of(calculation.input.columns)
        self._output_schema = schema_of(calculation.columns)
        condition = calculation.condition
        self._watermarks = _Watermarks((*calculation.expressions, condition), len(calculation.input.columns))
        self._batch_time = BatchTime(clock)
        expressions = list(map(self._placed, calculation.expressions))
        condition = None if condition is None else self._placed(condition)
        # A projection that only picks and renames columns copies nothing: the new batch has the same buffers.
        self._chosen = None if condition is not None else _chosen_columns(expressions, self._input, self._output_schema)
        self._repeated = RepeatedExpressions((*expressions, condition))
        self._getters = [column_of(expression, self._repeated) for expression in expressions]
        self._condition = None if condition is None else column_of(condition, self._repeated)
        self.functions = OpenedFunctions((*calculation.expressions, calculation.condition))

    def _placed(self, expression: BoundExpression) -> BoundExpression:
        return with_clock(self._watermarks.placed(expression), self._batch_time)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends on what is computed of the rows that are kept."""
        self.records_in += len(batch)
        batch = as_schema(batch, self._input)
        if self._chosen is not None:
            self.output.emit_columns(batch.with_data(self._chosen(batch.data)))
            return
        batch = self._watermarks.with_columns(batch)
        self._repeated.begin()
        self._batch_time.begin()
        if self._condition is not None:
            # First the filter: the columns are computed of the rows that are left.
            batch = self._kept(batch, self._condition(batch.data))
        if len(batch):
            columns = [self._as_array(get(batch.data), len(batch)) for get in self._getters]
            data = pa.RecordBatch.from_arrays(columns, schema=self._output_schema)
            self.output.emit_columns(batch.with_data(data))

    def process_watermark(self, watermark: int) -> None:
        self._watermarks.reached = watermark
        super().process_watermark(watermark)

    def _kept(self, batch: ColumnBatch, mask: Datum) -> ColumnBatch:
        if isinstance(mask, pa.Scalar):
            return batch if mask.as_py() else batch.slice(0, 0)
        # Unknown is not true.
        mask = mask.fill_null(False)
        self._repeated.keep(mask)
        return batch.filter(mask)

    @staticmethod
    def _as_array(column: Datum, length: int) -> pa.Array:
        return pa.repeat(column, length) if isinstance(column, pa.Scalar) else column


def _chosen_columns(
    expressions: Sequence[BoundExpression], source: pa.Schema, result: pa.Schema
) -> Callable[[pa.RecordBatch], pa.RecordBatch] | None:
    """Gives columns as they are, perhaps with other names; None if an expression is something else."""
    indexes = [each.index for each in expressions if isinstance(each, BoundColumn)]
    # A call that gives a watermark is a column behind those of the input.
    if len(indexes) < len(expressions) or any(index >= len(source) for index in indexes):
        return None
    names = result.names
    if pa.schema([source.field(index).with_name(name) for index, name in zip(indexes, names)]) != result:
        return None
    if indexes == list(range(len(source))):
        return lambda data: data if source == result else data.rename_columns(names)
    return lambda data: data.select(indexes).rename_columns(names)


def as_schema(batch: ColumnBatch, schema: pa.Schema) -> ColumnBatch:
    """The same rows with the types of a table: streams know timestamps and decimals of one size each."""
    return batch if batch.data.schema == schema else batch.with_data(batch.data.cast(schema, safe=False))


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of columns."""
    return column_schema([column.name for column in columns], [column.type for column in columns])
