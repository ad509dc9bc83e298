"""Knows the first rows of each key by an order and says how they change, as rows come, are replaced, or go.

Flink's rules: rows that are equal by the order stand as they came. Where the number of a row is told, or the first ones
are left out, each number whose row is another one changes; else the row that leaves is deleted, the new one inserted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.errors import StateError
from funke.engine.graph.state_meaning import StateMoves
from funke.engine.sql.meaning.state_parts import COLUMNS
from funke.engine.sql.operators.aggregates.aggregate import signs_of
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.keyed_rows import KeyedRowsOperator, RowForm
from funke.engine.sql.operators.plain_rows import column_of, moved_lists, plain_values, require_rows, row_lists
from funke.engine.sql.operators.ranks.sort_tuples import sort_tuples
from funke.engine.sql.plan.ranks.rank_strategy import RankStrategy
from funke.engine.sql.state.keyed_columns import ColumnLayout, Columns
from funke.engine.sql.state.rows.ranked_rows import APPEND, RETRACT, UPDATE, RankChanges, RankedRows, RankRules
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.ranks.rank import Rank
    from funke.engine.types.columns import Array

__all__ = ["RankRowsOperator"]

_NAME = "ranked-rows"
_STRATEGIES = {RankStrategy.APPEND: APPEND, RankStrategy.UPDATE: UPDATE, RankStrategy.RETRACT: RETRACT}


class _RankedForm(RowForm[RankChanges]):
    """An entry is a list of rows, each of them with what it is sorted by in front."""

    def __init__(self, node: Rank) -> None:
        inputs = node.input.columns
        self.schema = schema_of(inputs)
        self.keys = KeyColumns(node.keys, [inputs[index].type for index in node.keys])
        self._ttl_ms = node.ttl_ms
        self._rules = RankRules(
            self.schema,
            node.order,
            _STRATEGIES[node.strategy],
            node.first,
            node.last,
            node.sends_numbers,
            node.sends_before,
            node.row_key,
        )

    def create(self) -> RankedRows:
        return RankedRows(self._rules)

    def layout(self) -> ColumnLayout:
        return ColumnLayout(_NAME, row_lists, self._ttl_ms)

    def to_columns(self, data: pa.RecordBatch, lengths: Array) -> Columns:
        values = zip(*(plain_values(column) for column in data.columns))
        rows, ends = list(zip(sort_tuples(data, self._rules.order), values)), np.cumsum(lengths).tolist()
        return (np.fromiter((rows[begin:end] for begin, end in zip([0, *ends], ends)), object, len(ends)),)

    def from_columns(self, columns: Columns) -> tuple[pa.RecordBatch, Array]:
        (lists,) = columns
        values = zip(*(row for rows in lists for _, row in rows))
        arrays = [column_of(next(values, ()), each.type) for each in self.schema]
        data = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        return data, np.fromiter(map(len, lists), np.int64, len(lists))


class RankRowsOperator(KeyedRowsOperator[RankChanges]):
    """Takes batches; a compiled loop finds where each row stands among those before it."""

    def __init__(self, node: Rank) -> None:
        self._input, self._output_schema = schema_of(node.input.columns), schema_of(node.columns)
        self._has_number = node.has_number
        self._takes_back = node.strategy is not RankStrategy.APPEND
        self.form = _RankedForm(node)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        super().restore_keyed(require_rows(parts, _NAME, len(self._input), is_sorted=True))

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return moved_lists(part, _NAME, moves[COLUMNS], is_sorted=True)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes rows in, or back, and sends what changes."""
        self.records_in += len(batch)
        if not len(batch):
            return
        batch = as_schema(batch, self._input)
        signs = signs_of(batch)
        if signs is not None and not self._takes_back:
            raise StateError("a row is retracted in a stream that was planned as insert-only")
        takes_in: Array = np.ones(len(batch), np.uint8) if signs is None else (signs > 0).astype(np.uint8)
        for changes in self.state.take_in(batch.data, takes_in):
            self._send(batch, changes)

    def _send(self, batch: ColumnBatch, changes: RankChanges) -> None:
        data = changes.data
        if self._has_number or data.schema != self._output_schema:
            numbers = [pa.array(changes.numbers)] if self._has_number else []
            data = pa.RecordBatch.from_arrays([*data.columns, *numbers], schema=self._output_schema)
        timestamps = None if batch.timestamps is None else batch.timestamps[changes.sources]
        self.output.emit_columns(ColumnBatch(data, timestamps, changes.kinds if changes.kinds.any() else None))
