"""Sorts all rows of a bounded input, and lets the first rows of any input pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.operators.operator import Operator, TaskInfo
from funke.engine.sql.binding.relations import Column, Limit, Sort, SortKey
from funke.engine.sql.meaning.column_texts import ColumnTexts
from funke.engine.sql.meaning.state_parts import rows_fact
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.operators.gathering_operator import GatheringOperator
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["LimitRows", "SortRows", "order_of"]


@dataclass(frozen=True)
class SortRows:
    """Makes the operator that sorts; it has one subtask."""

    columns: tuple[Column, ...]
    keys: tuple[SortKey, ...]
    offset: int = 0
    limit: int | None = None

    @staticmethod
    def meaning(sort: Sort) -> StateMeaning:
        """What its state means: all rows that have come; the order is made at the end."""
        return StateMeaning("Sort", (rows_fact(ColumnTexts(), sort.input),))

    def __call__(self, task: TaskInfo) -> Operator:
        return _SortOperator(self)


@dataclass(frozen=True)
class LimitRows:
    """Makes the operator that lets the first rows pass; it has one subtask."""

    columns: tuple[Column, ...]
    offset: int = 0
    limit: int | None = None

    @staticmethod
    def meaning(limit: Limit) -> StateMeaning:
        """What its state means: how many rows have come, of which some have passed."""
        return StateMeaning("Limit", (("OFFSET", str(limit.offset)), ("LIMIT", str(limit.limit))))

    def __call__(self, task: TaskInfo) -> Operator:
        return _LimitOperator(self)


class _SortOperator(GatheringOperator):
    def __init__(self, sort: SortRows) -> None:
        super().__init__()
        self._sort = sort
        self._schema = schema_of(sort.columns)

    def taken(self, batch: ColumnBatch) -> ColumnBatch:
        require_inserts(batch, "ORDER BY")
        return batch.with_data(_of_schema(batch.data, self._schema))

    def results(self, rows: ColumnBatch | None) -> ColumnBatch | None:
        """Everything has come: now it has an order."""
        if rows is None:
            return None
        order = order_of(rows.data, self._sort.keys)
        end = None if self._sort.limit is None else self._sort.offset + self._sort.limit
        return rows.take(order[self._sort.offset : end])


class _LimitOperator(Operator):
    takes_rows = False
    takes_columns = True

    def __init__(self, limit: LimitRows) -> None:
        self._schema = schema_of(limit.columns)
        self._offset = limit.offset
        self._limit = limit.limit
        self._seen = 0

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        require_inserts(batch, "LIMIT")
        start = max(self._offset - self._seen, 0)
        end = len(batch) if self._limit is None else max(self._offset + self._limit - self._seen, 0)
        self._seen += len(batch)
        kept = batch.slice(start, max(min(end, len(batch)) - start, 0)) if start < len(batch) else batch.slice(0, 0)
        if len(kept):
            self.output.emit_columns(kept.with_data(_of_schema(kept.data, self._schema)))

    def snapshot(self) -> Any:
        return self._seen

    def restore(self, state: Any) -> None:
        self._seen = state


def require_inserts(batch: ColumnBatch, clause: str) -> None:
    """Refuse rows that take others back."""
    if batch.kinds is not None and batch.kinds.any():
        raise UnsupportedFeatureError(f"{clause} on a table that changes", "only rows that stay can be counted here")


def _of_schema(data: Any, schema: Any) -> Any:
    return data if data.schema == schema else data.cast(schema, safe=False)


def order_of(data: Any, keys: tuple[SortKey, ...]) -> Any:
    """The positions of rows in their order; rows that are equal keep theirs."""
    columns: list[Any] = []
    directions = []
    for key in keys:
        column, direction = data.column(key.index), _DIRECTIONS[key.is_ascending]
        # Where NULLs go is a key of its own: 0 stands first.
        has_value = column.is_valid() if key.nulls_first else column.is_null()
        columns += [has_value.cast(pa.int8()), column]
        directions += ["ascending", direction]
        if pa.types.is_floating(column.type):
            # NaN is more than any number, which Arrow has last in both directions.
            columns.insert(-1, pc.is_nan(column).cast(pa.int8()))
            directions.append(direction)
    orders = [(str(place), direction) for place, direction in enumerate(directions)]
    table = pa.RecordBatch.from_arrays(columns, names=[name for name, _ in orders])
    return np.asarray(pc.sort_indices(table, sort_keys=orders))


_DIRECTIONS = {True: "ascending", False: "descending"}
