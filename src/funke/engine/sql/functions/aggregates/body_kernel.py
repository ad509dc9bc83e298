"""Aggregates row by row: for functions without a kernel of their own, and those that users write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateCall
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel, Fields
from funke.engine.sql.functions.aggregates.rows import AggregateRows
from funke.engine.sql.functions.function import SymbolType
from funke.engine.sql.functions.values import from_values, to_values

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.logical.sql_value import SqlValue

__all__ = ["BodyKernel"]


class BodyKernel(AggregateKernel):
    """Keeps the accumulators of a body as objects. User code and multisets have no form on columns: 1 µs for a row."""

    dtypes = (object,)

    def __init__(self, call: AggregateCall, body: AggregateBody | None = None) -> None:
        self._call = call
        self._body = call.body if body is None else body
        self.initial = (self._body.create,)

    def accumulate(self, before: Fields, rows: AggregateRows) -> Fields:
        for _ in self._results(before, rows, lambda accumulator: None):
            pass
        return before

    def running(self, before: Fields, rows: AggregateRows) -> tuple[Fields, pa.Array]:
        values = list(self._results(before, rows, self._body.value))
        return before, from_values(values, self._call.result)

    def merge(self, left: Fields, right: Fields) -> Fields:
        for number, other in enumerate(right[0]):
            accumulator = left[0][number] = self._body.restored(left[0][number])
            self._body.merge(accumulator, other)
        return left

    def values(self, fields: Fields) -> pa.Array:
        value, restored = self._body.value, self._body.restored
        return from_values([value(restored(each)) for each in fields[0]], self._call.result)

    def _results(self, before: Fields, rows: AggregateRows, result_of: Callable[[Any], Any]) -> Iterator[Any]:
        accumulate, retract, accumulators = self._body.accumulate, self._body.retract, before[0]
        arguments = self._arguments(rows)
        signs = None if rows.signs is None else rows.signs.tolist()
        mask = None if rows.mask is None else rows.mask.tolist()
        lengths = rows.segments.lengths.tolist()
        index = 0
        for number, length in enumerate(lengths):
            accumulator = accumulators[number] = self._body.restored(accumulators[number])
            for row in range(index, index + length):
                if mask is None or mask[row]:
                    (accumulate if signs is None or signs[row] > 0 else retract)(accumulator, *arguments[row])
                yield result_of(accumulator)
            index += length

    def _arguments(self, rows: AggregateRows) -> list[tuple[SqlValue, ...]]:
        if not rows.arguments:
            return [()] * len(rows)
        columns = [
            [each.value] * len(rows) if isinstance(each.type, SymbolType) else to_values(column.array, each.type)
            for column, each in zip(rows.arguments, self._call.arguments)
        ]
        return list(zip(*columns))
