"""The first phase of window aggregates: sends the accumulators of a batch by key and slice instead of its rows.

An entry has the columns of the key, the end of the slice, the number of rows, and the fields of all accumulators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.operator import Operator
from funke.engine.sql.binding.relations import BoundAggregate, Column
from funke.engine.sql.binding.windows.window_relations import WindowAggregation
from funke.engine.sql.functions.aggregates.kernel import Fields
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.windows.key_codes import slice_codes
from funke.engine.sql.operators.windows.local_time import LocalTime
from funke.engine.sql.operators.windows.slices.aggregate_block import AggregateBlock, Aggregates
from funke.engine.sql.operators.windows.slices.gathered_rows import window_kernel
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.logical import (
    BigIntType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TinyIntType,
)

if TYPE_CHECKING:
    from funke.engine.sql.plan.aggregates.window_aggregate import LocalWindowAggregate
    from funke.engine.types.columns import Array

__all__ = ["PartialAggregateOperator", "are_numbers", "entries_of", "field_columns", "partial_columns"]

# What the fields of accumulators are in columns; objects stay where they are.
_FIELD_TYPES: dict[Any, DataType] = {
    np.dtype(np.int64): BigIntType(False),
    np.dtype(np.int32): IntType(False),
    np.dtype(np.int16): SmallIntType(False),
    np.dtype(np.int8): TinyIntType(False),
    np.dtype(np.float64): DoubleType(False),
    np.dtype(np.float32): FloatType(False),
    np.dtype(np.bool_): BooleanType(False),
}


def are_numbers(aggregates: Sequence[BoundAggregate]) -> bool:
    """True if accumulators are numbers, which can travel as columns."""
    return all(np.dtype(each) in _FIELD_TYPES for each in _field_dtypes(aggregates))


def field_columns(aggregates: Sequence[BoundAggregate]) -> list[Column]:
    """A column for each field of the accumulators."""
    types = [_FIELD_TYPES[np.dtype(each)] for each in _field_dtypes(aggregates)]
    return [Column(f"$field{index}", each) for index, each in enumerate(types)]


def _field_dtypes(aggregates: Sequence[BoundAggregate]) -> list[Any]:
    return [dtype for each in aggregates for dtype in window_kernel(each.call).dtypes]


def partial_columns(aggregation: WindowAggregation) -> tuple[Column, ...]:
    keys = [aggregation.input.columns[key] for key in aggregation.keys]
    counted = (Column("$slice", BigIntType(False)), Column("$rows", BigIntType(False)))
    return (*keys, *counted, *field_columns(aggregation.aggregates))


def entries_of(data: pa.RecordBatch, keys: int, aggregates: Aggregates) -> tuple[AggregateBlock, Array]:
    """A batch of entries as a block, and the ends of their slices."""
    columns = data.columns
    numbers = [np.array(each) for each in columns[keys:]]
    ends, counts, *rest = numbers
    fields: list[Fields] = []
    for kernel in aggregates.kernels:
        own, rest = rest[: len(kernel.dtypes)], rest[len(kernel.dtypes) :]
        fields.append(tuple(own))
    return AggregateBlock(tuple(columns[:keys]), counts, tuple(fields)), ends


class PartialAggregateOperator(Operator):
    """Keeps nothing: the entries of a batch leave at once, so that no watermark passes them."""

    takes_rows = False
    takes_columns = True

    def __init__(self, node: LocalWindowAggregate) -> None:
        self._time = node.time
        self._local = LocalTime(node.time.zone)
        self._windows = node.windows
        self._input = schema_of(node.input.columns)
        self._entries = schema_of(node.columns)
        self._aggregates = Aggregates(node.keys, node.aggregates)
        self._without_time = 0

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends the entries of a batch."""
        self.records_in += len(batch)
        timed, stamps = with_times(as_schema(batch, self._input), self._time, self._local, 0)
        self._without_time += len(batch) - len(timed)
        if not len(timed):
            return
        ends = self._windows.slice_end(stamps)
        # By slice, not by window: a row of HOP with a size of 60 slides is in one entry, not in 60.
        codes, count = slice_codes(self._aggregates.key_columns(timed.data), ends, self._windows.width_ms)
        block, firsts = self._aggregates.of_rows(timed, codes, count)
        numbers = [ends[firsts], block.counts, *(each for fields in block.fields for each in fields)]
        arrays = [*block.keys, *(pa.array(each, field.type) for each, field in self._fields(numbers, len(block.keys)))]
        self.output.emit_columns(ColumnBatch(pa.RecordBatch.from_arrays(arrays, schema=self._entries)))

    def _fields(self, numbers: list[Any], keys: int) -> list[tuple[Any, Any]]:
        return [(each, self._entries.field(keys + index)) for index, each in enumerate(numbers)]

    def metrics(self) -> dict[str, Any]:
        return {"numNullRowTimeRecordsDropped": self._without_time}
