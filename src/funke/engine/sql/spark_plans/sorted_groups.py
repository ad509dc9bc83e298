"""Aggregates rows that come sorted by their keys: of all groups, only the one under way is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.binding.relations import BoundAggregate, Column
from funke.engine.sql.functions.aggregates.kernel import Fields
from funke.engine.sql.functions.aggregates.rows import AggregateRows, ArgumentColumn
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.opened_functions import OpenedFunctions
from funke.engine.sql.operators.windows.slices.gathered_rows import group_kernel
from funke.engine.sql.table_rows import to_batches
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.types.columns import Array

__all__ = ["FoldGroups"]

# Stands for an argument that is a word, which kernels know from the call.
_WORD = ArgumentColumn(pa.nulls(0))


@dataclass(frozen=True)
class FoldGroups:
    """One row for each key: its columns, then one for each aggregate."""

    inputs: tuple[Column, ...]
    columns: tuple[Column, ...]
    keys: tuple[int, ...]
    aggregates: tuple[BoundAggregate, ...]
    # The result without any row; for aggregates of all rows.
    otherwise: tuple[Any, ...] | None = None

    def run(self, batches: Iterator[ColumnBatch], task: TaskInfo) -> Iterator[ColumnBatch]:
        with OpenedFunctions((), [each.call.function for each in self.aggregates]).within(task):
            yield from self._folded(batches)

    def _folded(self, batches: Iterator[ColumnBatch]) -> Iterator[ColumnBatch]:
        groups = _SortedGroups(self)
        is_empty = True
        for batch in batches:
            if len(batch):
                is_empty = False
                yield from groups.take(batch.data)
        yield from groups.finish()
        if is_empty and self.otherwise is not None:
            yield from to_batches(self.columns, [self.otherwise])


@dataclass
class _Group:
    """The group under way: its key, its first row's key columns, and its accumulators."""

    key: Any
    columns: list[Any]
    accumulators: list[Fields]


class _SortedGroups:
    def __init__(self, spec: FoldGroups) -> None:
        self._spec = spec
        self._schema = schema_of(spec.columns)
        self._keys = KeyColumns(spec.keys, [spec.inputs[index].type for index in spec.keys])
        self._kernels = [group_kernel(each.call) for each in spec.aggregates]
        self._open: _Group | None = None

    def take(self, data: Any) -> Iterator[ColumnBatch]:
        """Take in rows; gives the groups that have ended."""
        codes, keys = self._keys.encode(data)
        # Rows of a key stand together, and keys are numbered as they come: the order is that of the rows.
        starts: Array = np.append(0, np.flatnonzero(codes[1:] != codes[:-1]) + 1)
        segments = Segments(starts, len(codes))
        before = [kernel.create(len(starts)) for kernel in self._kernels]
        columns = [data.column(index).take(pa.array(starts)) for index in self._spec.keys]
        if self._open is not None and self._open.key == keys[0]:
            for fields, mine in zip(before, self._open.accumulators):
                for field, value in zip(fields, mine):
                    # As an array: a sum of small integers is wider than they are until it is stored, where it wraps.
                    field[:1] = value
        else:
            yield from self.finish()
        after = [
            kernel.accumulate(fields, rows)
            for kernel, fields, rows in zip(self._kernels, before, self._arguments(data, segments))
        ]
        last = len(starts) - 1
        if last:
            yield self._results(
                [each.slice(0, last) for each in columns], [_part(each, 0, last) for each in after], last
            )
        ended = [_part(each, last, last + 1) for each in after]
        self._open = _Group(keys[last], [each.slice(last) for each in columns], ended)

    def finish(self) -> Iterator[ColumnBatch]:
        """The group under way has ended."""
        if self._open is not None:
            yield self._results(self._open.columns, self._open.accumulators, 1)
            self._open = None

    def _results(self, keys: list[Any], accumulators: list[Fields], count: int) -> ColumnBatch:
        values = [kernel.values(fields) for kernel, fields in zip(self._kernels, accumulators)]
        return ColumnBatch(pa.RecordBatch.from_arrays([*keys, *values], schema=self._schema))

    def _arguments(self, data: Any, segments: Segments) -> Iterator[AggregateRows]:
        columns = {index: ArgumentColumn(data.column(index)) for index in self._used()}
        for each in self._spec.aggregates:
            mask = None
            if each.condition is not None:
                mask = np.asarray(data.column(each.condition).fill_null(False))
            yield AggregateRows(segments, [columns.get(index, _WORD) for index in each.arguments], None, mask)

    def _used(self) -> set[int]:
        return {index for each in self._spec.aggregates for index in each.arguments if index >= 0}


def _part(fields: Fields, start: int, end: int) -> Fields:
    return tuple(field[start:end] for field in fields)
