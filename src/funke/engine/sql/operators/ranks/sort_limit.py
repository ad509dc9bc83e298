"""Sorts all rows of a bounded input, and lets the first rows of any input pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.operators.operator import Operator
from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.operators.gathering_operator import GatheringOperator
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.ranks.limit import ExecLimit
    from funke.engine.sql.plan.ranks.sort import BatchSort
    from funke.engine.types.columns import Array

__all__ = ["LimitOperator", "SortOperator", "order_of"]


class SortOperator(GatheringOperator):
    """Sorts at the end; it has one subtask."""

    def __init__(self, node: BatchSort) -> None:
        super().__init__()
        self._node = node
        self._schema = schema_of(node.columns)

    def kept_part(self, batch: ColumnBatch) -> ColumnBatch:
        require_inserts(batch, "ORDER BY")
        return batch.with_data(_of_schema(batch.data, self._schema))

    def results(self, rows: ColumnBatch | None) -> ColumnBatch | None:
        """Everything has come: now it has an order."""
        if rows is None:
            return None
        order = order_of(rows.data, self._node.keys)
        end = None if self._node.limit is None else self._node.offset + self._node.limit
        return rows.take(order[self._node.offset : end])


class LimitOperator(Operator):
    """Lets the first rows pass; it has one subtask."""

    takes_rows = False
    takes_columns = True

    def __init__(self, node: ExecLimit) -> None:
        self._schema = schema_of(node.columns)
        self._offset = node.offset
        self._limit = node.limit
        self._seen = 0

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        # A table that changes has a Rank in place of this: when one of its first rows goes, another one must move up.
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
    """Reject rows that take others back."""
    if batch.kinds is not None and batch.kinds.any():
        raise UnsupportedFeatureError(f"{clause} on a table that changes", "only rows that stay can be counted here")


def _of_schema(data: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return data if data.schema == schema else data.cast(schema, safe=False)


def order_of(data: pa.RecordBatch, keys: tuple[SortKey, ...]) -> Array:
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
    orders = [(str(index), direction) for index, direction in enumerate(directions)]
    table = pa.RecordBatch.from_arrays(columns, names=[name for name, _ in orders])
    return np.asarray(pc.sort_indices(table, sort_keys=orders))


_DIRECTIONS = {True: "ascending", False: "descending"}
