"""OVER by values in a stream: a row that comes or goes changes the results of those behind it.

Flink's rules: rows that are equal by the order stand as they came; a row that is taken in or back is sent with those
behind it, in their order (RANGE: from the first one that is equal on); results that stay the same are not sent again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.graph.state_meaning import StateMoves
from funke.engine.operators.keyed.key_watch import KeyWatch
from funke.engine.sql.meaning.state_parts import COLUMNS
from funke.engine.sql.operators.aggregates.aggregate import differ, signs_of
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.keyed_rows import KeyedRowsOperator
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.operators.plain_rows import moved_lists, require_rows
from funke.engine.sql.operators.row_lists import SortedListForm
from funke.engine.sql.operators.windows.over.sorted_images import SortedImages, image_function
from funke.engine.sql.state.order_words import OrderWords
from funke.engine.sql.state.rows.stepped_rows import SteppedRows, Steps
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.plan.over.sorted_over_aggregate import SortedOverAggregate
    from funke.engine.types.columns import Array

__all__ = ["SortedAggregateOperator"]

_INSERT, _BEFORE, _AFTER, _DELETE = (
    kind.value for kind in (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
)
# So many rows of partitions, each as it is after one of the changes, stand beside each other at a time.
_MOST_ROWS = 1 << 18
_NAME = "sorted-rows"


class SortedAggregateOperator(FunctionsOperator, KeyedRowsOperator[Steps]):
    """A compiled loop finds the position of one row after the other; results are computed for many of them at once."""

    def __init__(self, node: SortedOverAggregate) -> None:
        self._node = node
        self._input, self._output_schema = schema_of(node.input.columns), schema_of(node.columns)
        self._values = KeyColumns([node.order.index], [node.input.columns[node.order.index].type])
        self._words = OrderWords(self._input, (node.order,))
        self._key_watch = KeyWatch(node.partition_by)
        self._functions = [image_function(each, node.preceding) for each in node.aggregates]
        self.functions = OpenedFunctions((), [each.call.function for each in node.aggregates])
        keys = KeyColumns(node.partition_by, [node.input.columns[last].type for last in node.partition_by])
        create = partial(
            SteppedRows,
            self._input,
            (node.order,),
            is_rows=node.is_rows,
            has_prefixes=all(each.has_prefixes for each in self._functions),
            preceding=node.preceding,
            most_size=_MOST_ROWS,
        )
        self.form = SortedListForm(_NAME, self._input, keys, (node.order,), node.ttl_ms, create)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        super().restore_keyed(require_rows(parts, _NAME, len(self._input), is_sorted=True))

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return moved_lists(part, _NAME, moves.get(COLUMNS), is_sorted=True)

    def hottest_key(self) -> dict[str, Any]:
        return self._key_watch.hottest()

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes rows in, or back, and sends what changes."""
        self.records_in += len(batch)
        if not len(batch):
            return
        self._key_watch.look(batch.data)
        batch = as_schema(batch, self._input)
        signs = signs_of(batch)
        takes_in: Array = np.ones(len(batch), np.uint8) if signs is None else (signs > 0).astype(np.uint8)
        for steps in self.state.take_in(batch.data, takes_in):
            values = None if self._node.is_rows else self._peer_numbers(steps.data)
            self._send(batch, SortedImages(steps.data, values, steps.images), steps)

    def _peer_numbers(self, data: pa.RecordBatch) -> Array:
        words = self._words.peer_numbers(data)
        return self._values.encode(data)[0] if words is None else words

    def _send(self, batch: ColumnBatch, images: SortedImages, steps: Steps) -> None:
        """Sends the row of each step, and those behind it whose results have changed."""
        moves = _Moves.of(steps)
        old, new, is_own = images.sources[moves.old], images.sources[moves.new], moves.is_own
        if self._node.preceding is not None:
            old, new = images.ask(old, new)
        results = [function.results(images) for function in self._functions]
        changed = is_own.copy()
        for each in (column for columns in results for column in columns):
            changed |= differ(each, old, new)
        # The row of a step is sent itself, those behind it if their results have changed. SUM over 1 and 3, and then a
        # 2 comes: +I(2, 3), -U(3, 4), +U(3, 6).
        has_before = changed & ~is_own & self._node.sends_before
        sent = np.column_stack([has_before, changed]).ravel()
        own_kinds = np.full(len(steps.sources), _INSERT, np.int8) if batch.kinds is None else batch.kinds[steps.sources]
        own_kinds = np.where(steps.is_in, own_kinds, _DELETE)[moves.step]
        kinds = np.where(is_own, own_kinds, _AFTER).astype(np.int8)
        both = np.column_stack([np.full(len(kinds), _BEFORE, np.int8), kinds]).ravel()[sent]
        result_rows = pa.array(np.column_stack([old, new]).ravel()[sent])
        data_rows = pa.array(np.repeat(images.rows[moves.new], 2)[sent])
        columns = [*images.data.take(data_rows).columns, *(each[0].take(result_rows) for each in results)]
        timestamps = None
        if batch.timestamps is not None:
            timestamps = batch.timestamps[steps.sources[np.repeat(moves.step, 2)[sent]]]
        data = pa.RecordBatch.from_arrays(columns, schema=self._output_schema)
        self.output.emit_columns(ColumnBatch(data, timestamps, both if both.any() else None))


@dataclass(frozen=True)
class _Moves:
    """The rows that steps send, in order: their indexes in the images before and after the step.

    The row of a step itself is in one of them alone, whose index serves for both.
    """

    step: Array
    old: Array
    new: Array
    is_own: Array

    @staticmethod
    def of(steps: Steps) -> _Moves:
        images, is_in, first, last = steps.images, steps.is_in, steps.firsts, steps.positions
        # Where the first rows of the partitions would stand.
        starts = images.starts - images.prefix_lengths[images.owners]
        before, after = starts[images.before], starts[len(images.starts) - len(is_in) :]
        # Of what is taken in the image after it has the row, of what is taken back the image before.
        lengths = steps.lengths + ~is_in
        step: Array = np.repeat(np.arange(len(is_in)), lengths)
        at = np.arange(len(step)) - np.repeat(np.cumsum(lengths) - lengths - first, lengths)
        behind = at - (at > last[step])
        old = before[step] + np.where(is_in[step], behind, at)
        new = after[step] + np.where(is_in[step], at, behind)
        is_own = at == last[step]
        return _Moves(step, np.where(is_own & is_in[step], new, old), np.where(is_own & ~is_in[step], old, new), is_own)
