"""OVER by values in a stream: a row that comes or goes changes the results of those behind it.

Flink's rules: rows that are equal by the order stand as they came; a row that is taken in or back is told with those
behind it, in their order (RANGE: from the first one that is equal on); results that stay the same are not told again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.graph.state_meaning import StateMoves
from funke.engine.operators.keyed.key_watch import KeyWatch
from funke.engine.sql.meaning.state_parts import COLUMNS
from funke.engine.sql.operators.aggregates.aggregate import differ
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.operators.plain_rows import column_of, moved_lists, plain_values, require_rows, row_lists
from funke.engine.sql.operators.ranks.sort_tuples import sort_tuples
from funke.engine.sql.operators.windows.over.sorted_images import SortedImages, image_function
from funke.engine.sql.state.keyed_columns import ColumnLayout
from funke.engine.sql.state.keyed_columns_operator import KeyedColumnsOperator
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
_sorted_by = itemgetter(0)


@dataclass(frozen=True)
class _Step:
    """A row that has come or gone: where it stands or stood, and its partition behind that."""

    code: int
    kind: int
    # The first row whose result may change, and the rows from there on, after the step.
    first: int
    tail: list[int]
    last: int
    source: int


@dataclass
class _Partition:
    """The rows of a key in their order: as state keeps them, and their numbers among those at hand."""

    entries: list[Any]
    rows: list[int]


class _Steps:
    """Steps that are computed together, and the partitions as they were before them."""

    def __init__(self, has_prefixes: bool) -> None:
        self._has_prefixes = has_prefixes
        self.before: dict[int, list[int]] = {}
        # The rows in front of these are the same in all images of a partition.
        self.firsts: dict[int, int] = {}
        self.steps: list[_Step] = []
        self._counts: dict[int, int] = {}
        self._sizes: dict[int, int] = {}
        # How many rows the images have.
        self.size = 0

    def add(self, step: _Step) -> None:
        code, first = step.code, step.first if self._has_prefixes else 0
        self.steps.append(step)
        self.firsts[code] = first = min(first, self.firsts.get(code, first))
        self._counts[code] = self._counts.get(code, 0) + 1
        self.size -= self._sizes.get(code, 0)
        self._sizes[code] = self._counts[code] * (step.first + len(step.tail) - first)
        self.size += self._sizes[code]


class SortedAggregateOperator(FunctionsOperator, KeyedColumnsOperator):
    """Finds the place of one row after the other; results and changes are computed for many of them at once."""

    def __init__(self, node: SortedOverAggregate) -> None:
        self._node = node
        self._input, self._output_schema = schema_of(node.input.columns), schema_of(node.columns)
        self._keys = KeyColumns(node.partition_by, [node.input.columns[last].type for last in node.partition_by])
        self._values = KeyColumns([node.order.index], [node.input.columns[node.order.index].type])
        self._key_watch = KeyWatch(node.partition_by)
        self._functions = [image_function(each, node.preceding) for each in node.aggregates]
        self._has_prefixes = all(each.has_prefixes for each in self._functions)
        self.functions = OpenedFunctions((), [each.call.function for each in node.aggregates])

    def layout(self) -> ColumnLayout:
        return ColumnLayout("sorted-rows", row_lists, self._node.ttl_ms)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        super().restore_keyed(require_rows(parts, self.layout().name, len(self._input), is_sorted=True))

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return moved_lists(part, self.layout().name, moves.get(COLUMNS), is_sorted=True)

    def hottest_key(self) -> dict[str, Any]:
        return self._key_watch.hottest()

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes rows in, or back, and sends what changes."""
        self.records_in += len(batch)
        if not len(batch):
            return
        self._key_watch.look(batch.data)
        batch = as_schema(batch, self._input)
        codes, keys = self._keys.encode(batch.data)
        fetched = self.state.fetch(keys)
        (known,) = fetched.columns
        data = self._with_known(known, batch.data)
        partitions = _partitions(known)
        values = None if self._node.is_rows else self._values.encode(data)[0]
        for steps in self._chunks(batch, codes, partitions, data.num_rows - len(batch)):
            self._send(batch, *_images(data, values, steps), steps.steps)
        self.state.store(fetched, (known,), np.fromiter(map(bool, known), np.bool_, len(known)))

    def _with_known(self, known: Array, data: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of the partitions, one after the other, and the new ones behind them."""
        rows = [values for entries in known for _, values in entries]
        if not rows:
            return data
        columns = [column_of(values, each.type) for values, each in zip(zip(*rows), self._input)]
        return pa.concat_batches([pa.RecordBatch.from_arrays(columns, schema=self._input), data])

    def _chunks(
        self, batch: ColumnBatch, codes: Array, partitions: list[_Partition], first_row: int
    ) -> Iterator[_Steps]:
        steps = _Steps(self._has_prefixes)
        kinds = [_INSERT] * len(batch) if batch.kinds is None else batch.kinds.tolist()
        columns = [plain_values(column) for column in batch.data.columns]
        entries = zip(sort_tuples(batch.data, (self._node.order,)), zip(*columns))
        # One by one: where a row stands, and which one it takes back, depends on all before it.
        for source, (code, kind, entry) in enumerate(zip(codes.tolist(), kinds, entries)):
            partition = partitions[code]
            if code not in steps.before:
                steps.before[code] = partition.rows[:]
            step = self._step(partition, code, kind, entry, source, first_row + source)
            if step is not None:
                steps.add(step)
            if steps.size > _MOST_ROWS:
                yield steps
                steps = _Steps(self._has_prefixes)
        if steps.steps:
            yield steps

    def _step(self, partition: _Partition, code: int, kind: int, entry: Any, source: int, row: int) -> _Step | None:
        start = bisect_left(partition.entries, entry[0], key=_sorted_by)
        end = bisect_right(partition.entries, entry[0], key=_sorted_by)
        if kind in (_INSERT, _AFTER):
            last = end
            partition.entries.insert(last, entry)
            partition.rows.insert(last, row)
        else:
            kind = _DELETE
            found = (at for at in range(start, end) if partition.entries[at][1] == entry[1])
            last = next(found, -1)
            if last < 0:
                # It was forgotten.
                return None
            del partition.entries[last], partition.rows[last]
        first = last if self._node.is_rows else start
        return _Step(code, kind, first, partition.rows[first:], last, source)

    def _send(self, batch: ColumnBatch, images: SortedImages, moves: _Moves, steps: list[_Step]) -> None:
        """Sends the row of each step, and those behind it whose results have changed."""
        old, new, is_own = images.shown[moves.old], images.shown[moves.new], moves.is_own
        results = [function.results(images) for function in self._functions]
        changed = is_own.copy()
        for each in (column for columns in results for column in columns):
            changed |= differ(each, old, new)
        has_before = changed & ~is_own & self._node.sends_before
        sent = np.column_stack([has_before, changed]).ravel()
        own_kinds = np.array([step.kind for step in steps], np.int8)[moves.step]
        kinds = np.where(is_own, own_kinds, _AFTER).astype(np.int8)
        both = np.column_stack([np.full(len(kinds), _BEFORE, np.int8), kinds]).ravel()[sent]
        shown = pa.array(np.column_stack([old, new]).ravel()[sent])
        rows = pa.array(np.repeat(images.rows[moves.new], 2)[sent])
        columns = [*images.data.take(rows).columns, *(each[0].take(shown) for each in results)]
        sources = np.array([step.source for step in steps])[np.repeat(moves.step, 2)[sent]]
        timestamps = None if batch.timestamps is None else batch.timestamps[sources]
        data = pa.RecordBatch.from_arrays(columns, schema=self._output_schema)
        self.output.emit_columns(ColumnBatch(data, timestamps, both if both.any() else None))


def _images(data: pa.RecordBatch, values: Array | None, steps: _Steps) -> tuple[SortedImages, _Moves]:
    """The partitions before all steps and after each, and the rows that the steps move."""
    numbers = {code: number for number, code in enumerate(steps.firsts)}
    owners, latest = list(numbers.values()), dict(numbers)
    lists = [steps.before[code][first:] for code, first in steps.firsts.items()]
    old, new = [], []
    for step in steps.steps:
        before = latest[step.code]
        latest[step.code] = len(lists)
        old.append(before)
        new.append(len(lists))
        owners.append(numbers[step.code])
        lists.append(lists[before][: step.first - steps.firsts[step.code]] + step.tail)
    prefixes = [steps.before[code][:first] for code, first in steps.firsts.items()]
    images = SortedImages(data, values, prefixes, owners, lists)
    starts = images.starts - images.prefix_lengths[owners]
    return images, _Moves.of(steps.steps, starts[old], starts[new])


@dataclass(frozen=True)
class _Moves:
    """The rows that steps tell of, in order: their indexes in the images before and after the step.

    The row of a step itself is in one of them alone, whose index serves for both.
    """

    step: Array
    old: Array
    new: Array
    is_own: Array

    @staticmethod
    def of(steps: list[_Step], before: Array, after: Array) -> _Moves:
        """`before` and `after` are where the first rows of the partitions would stand."""
        is_in = np.array([each.kind != _DELETE for each in steps])
        first, last = (np.array(each) for each in zip(*((step.first, step.last) for step in steps)))
        # Of what is taken in the image after it has the row, of what is taken back the image before.
        lengths = np.array([len(each.tail) for each in steps]) + ~is_in
        step: Array = np.repeat(np.arange(len(steps)), lengths)
        at = np.arange(len(step)) - np.repeat(np.cumsum(lengths) - lengths - first, lengths)
        behind = at - (at > last[step])
        old = before[step] + np.where(is_in[step], behind, at)
        new = after[step] + np.where(is_in[step], at, behind)
        is_own = at == last[step]
        return _Moves(step, np.where(is_own & is_in[step], new, old), np.where(is_own & ~is_in[step], old, new), is_own)


def _partitions(known: Array) -> list[_Partition]:
    """The rows that are known, numbered one after the other."""
    made, start = [], 0
    for entries in known:
        made.append(_Partition(entries, list(range(start, start + len(entries)))))
        start += len(entries)
    return made
