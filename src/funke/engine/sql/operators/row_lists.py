"""Sorted rows of keys as entries of state: a list for each key, of rows with what they are sorted by in front."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.keyed_rows import RowForm
from funke.engine.sql.operators.plain_rows import column_of, plain_values, row_lists
from funke.engine.sql.operators.ranks.sort_tuples import sort_tuples
from funke.engine.sql.state.keyed_columns import ColumnLayout, Columns
from funke.engine.sql.state.rows.rows_by_key import RowsByKey

if TYPE_CHECKING:
    from funke.engine.types.columns import Array

__all__ = ["SortedListForm"]

Changes = TypeVar("Changes")


class SortedListForm(RowForm[Changes]):
    """`create` makes what keeps the rows."""

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        keys: KeyColumns,
        order: tuple[SortKey, ...],
        ttl_ms: int,
        create: Callable[[], RowsByKey[Changes]],
    ) -> None:
        self.schema, self.keys = schema, keys
        self._name, self._order, self._ttl_ms, self._create = name, order, ttl_ms, create

    def create(self) -> RowsByKey[Changes]:
        return self._create()

    def layout(self) -> ColumnLayout:
        return ColumnLayout(self._name, row_lists, self._ttl_ms)

    def to_columns(self, data: pa.RecordBatch, lengths: Array) -> Columns:
        values = zip(*(plain_values(column) for column in data.columns))
        rows, ends = list(zip(sort_tuples(data, self._order), values)), np.cumsum(lengths).tolist()
        return (np.fromiter((rows[begin:end] for begin, end in zip([0, *ends], ends)), object, len(ends)),)

    def from_columns(self, columns: Columns) -> tuple[pa.RecordBatch, Array]:
        (lists,) = columns
        values = zip(*(row for rows in lists for _, row in rows))
        arrays = [column_of(next(values, ()), each.type) for each in self.schema]
        data = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        return data, np.fromiter(map(len, lists), np.int64, len(lists))
