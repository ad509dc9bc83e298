"""Knows the first rows of each key by an order and says how they change, as rows come, are replaced, or go.

Flink's rules: rows that are equal by the order stand as they came. Where the number of a row is told, or the first ones
are left out, each number whose row is another one changes; else the row that leaves is deleted, the new one inserted.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.errors import StateError
from funke.engine.graph.state_meaning import StateMoves
from funke.engine.sql.meaning.state_parts import COLUMNS
from funke.engine.sql.operators.aggregates.aggregate import signs_of
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.keyed_rows import KeyedRowsOperator
from funke.engine.sql.operators.plain_rows import moved_lists, require_rows
from funke.engine.sql.operators.row_lists import SortedListForm
from funke.engine.sql.plan.ranks.rank_strategy import RankStrategy
from funke.engine.sql.state.rows.ranked_rows import APPEND, RETRACT, UPDATE, RankChanges, RankedRows, RankRules
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.ranks.rank import Rank
    from funke.engine.types.columns import Array

__all__ = ["RankRowsOperator"]

_NAME = "ranked-rows"
_STRATEGIES = {RankStrategy.APPEND: APPEND, RankStrategy.UPDATE: UPDATE, RankStrategy.RETRACT: RETRACT}


class RankRowsOperator(KeyedRowsOperator[RankChanges]):
    """Takes batches; a compiled loop finds where each row stands among those before it."""

    def __init__(self, node: Rank) -> None:
        self._input, self._output_schema = schema_of(node.input.columns), schema_of(node.columns)
        self._has_number = node.has_number
        self._takes_back = node.strategy is not RankStrategy.APPEND
        # Top 2 of 7 and 5, and a 9 comes. With the number: -U(7, 1), +U(9, 1), -U(5, 2), +U(7, 2). Without it: -D(5),
        # +I(9), however many rows have moved.
        rules = RankRules(
            self._input,
            node.order,
            _STRATEGIES[node.strategy],
            node.first,
            node.last,
            node.sends_numbers,
            node.sends_before,
            node.row_key,
        )
        keys = KeyColumns(node.keys, [node.input.columns[index].type for index in node.keys])
        create = partial(RankedRows, rules)
        self.form = SortedListForm(_NAME, self._input, keys, node.order, node.ttl_ms, create)

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
        # The state of AppendFast has no rows behind the last number, so no row could move up for one that goes.
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
