"""OVER windows where all rows are there: functions of each row's partition, in any order, of any frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.sql.binding.relations import BoundAggregate
from funke.engine.sql.binding.windows.window_relations import OverCall
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel
from funke.engine.sql.functions.aggregates.rows import AggregateRows
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.gathering_operator import GatheringOperator
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.operators.ranks.sort_limit import order_of, require_inserts
from funke.engine.sql.operators.windows.over.framed_rows import framed_rows
from funke.engine.sql.operators.windows.over.partition_frames import SortedPartitions
from funke.engine.sql.operators.windows.slices.gathered_rows import GatheredRows, group_kernel
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.logical.families import APPROXIMATE

if TYPE_CHECKING:
    from funke.engine.sql.plan.over.batch_over_aggregate import BatchOverAggregate
    from funke.engine.sql.state.key_index import Keys
    from funke.engine.types.columns import Array

__all__ = ["PartitionOperator", "PartitionResults", "functions_of"]

# So many rows of frames stand beside each other at a time.
_MOST_ROWS = 1 << 18
# It makes no difference in which order these take rows in, unless they round.
_IN_ANY_ORDER = ("count", "sum", "avg", "min", "max")


def functions_of(node: BatchOverAggregate) -> OpenedFunctions:
    """The functions of users that are called."""
    return OpenedFunctions((), [each.call.function for each in node.aggregates])


class PartitionOperator(GatheringOperator, FunctionsOperator):
    """Computes functions of partitions when all rows have come."""

    def __init__(self, node: BatchOverAggregate) -> None:
        super().__init__()
        self._node = node
        self._input = schema_of(node.input.columns)
        self._results = PartitionResults(node)
        self.functions = functions_of(node)

    def kept_part(self, batch: ColumnBatch) -> ColumnBatch:
        require_inserts(batch, "OVER")
        return as_schema(batch, self._input)

    def results(self, rows: ColumnBatch | None) -> ColumnBatch | None:
        """Each row, at its final index, with its results."""
        if rows is None or not len(rows):
            return None
        in_order = rows.take(self._order(rows.data))
        return in_order.with_data(self._results.of(in_order.data))

    def _order(self, data: pa.RecordBatch) -> Array:
        order = order_of(data, self._node.order) if self._node.order else np.arange(data.num_rows)
        return order[np.argsort(self._results.partitions(data)[0][order], kind="stable")]


class PartitionResults:
    """Computes the functions of whole partitions, whose rows stand together and in their order."""

    def __init__(self, node: BatchOverAggregate) -> None:
        self._node = node
        self._schema = schema_of(node.columns)
        self._keys = _key_columns(node, node.partition_by)
        self._values = _key_columns(node, [key.index for key in node.order])

    def partitions(self, data: pa.RecordBatch) -> tuple[Array, Keys]:
        """The number of each row's partition, in the order of their first rows, and what tells them apart."""
        return self._keys.encode(data)

    def of(self, data: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with their results; there is at least one."""
        partitions = SortedPartitions(self.partitions(data)[0], self._values.encode(data)[0])
        results = [self._result(each, partitions, data) for each in self._node.calls]
        return pa.RecordBatch.from_arrays([*data.columns, *results], schema=self._schema)

    def _result(self, call: OverCall, partitions: SortedPartitions, data: pa.RecordBatch) -> pa.Array:
        index = _RANKINGS.get(call.aggregate.call.function.name)
        if index is not None:
            return index(partitions, [data.column(each) for each in call.aggregate.arguments])
        lower, upper = partitions.bounds(call.frame, data, self._node.order)
        return _Framed(call, partitions, data).of(lower, upper)


def _key_columns(node: BatchOverAggregate, indexes: Sequence[int]) -> KeyColumns:
    return KeyColumns(indexes, [node.input.columns[index].type for index in indexes])


class _Framed:
    """One aggregate of the rows of each row's frame."""

    def __init__(self, call: OverCall, partitions: SortedPartitions, data: pa.RecordBatch) -> None:
        self._aggregate = call.aggregate
        self._frame = call.frame
        self._partitions = partitions
        self._data = data
        self._kernel: AggregateKernel = group_kernel(call.aggregate.call)

    def of(self, lower: Array, upper: Array) -> pa.Array:
        """The results of frames, which move on with the rows."""
        is_at_once = isinstance(self._kernel, GatheredRows)
        # The cheapest way first: one result for the partition, one pass for frames that begin with it, one pass
        # backwards for frames that end with it. All other frames are computed one by one, which costs their total
        # length.
        if self._frame.lower is None and self._frame.upper is None:
            whole = self._whole()
            return whole.take(pa.array(self._partitions.segments.segment_of_row))
        if self._frame.lower is None and not is_at_once:
            return self._chosen(self._running(), upper - 1, lower == upper)
        if self._frame.upper is None and _takes_any_order(self._aggregate):
            return self._chosen(self._backwards(), self._partitions.length - 1 - lower, lower == upper)
        is_new = np.append(True, (lower[1:] != lower[:-1]) | (upper[1:] != upper[:-1])) & (lower < upper)
        parts = list(self._sliding(lower[is_new], upper[is_new]))
        results = pa.concat_arrays(parts) if parts else self._nothing().slice(0, 0)
        return self._chosen(results, np.cumsum(is_new) - 1, lower == upper)

    def _chosen(self, results: pa.Array, indexes: Array, is_empty: Array) -> pa.Array:
        """The result at each index; that of no rows for frames without any."""
        if is_empty.any():
            indexes = np.where(is_empty, len(results), indexes)
            results = pa.concat_arrays([results, self._nothing()])
        return results.take(pa.array(indexes))

    def _nothing(self) -> pa.Array:
        return self._kernel.values(self._kernel.create(1))

    def _whole(self) -> pa.Array:
        segments = self._partitions.segments
        return self._kernel.values(self._kernel.accumulate(self._kernel.create(len(segments)), self._rows(segments)))

    def _running(self) -> pa.Array:
        segments = self._partitions.segments
        return self._kernel.running(self._kernel.create(len(segments)), self._rows(segments))[1]

    def _backwards(self) -> pa.Array:
        """The results from the last row of each partition to each row, the last row first."""
        segments, length = self._partitions.segments, self._partitions.length
        behind = Segments((length - 1 - segments.ends)[::-1], length)
        rows = self._rows(behind, self._partitions.indexes[::-1])
        return self._kernel.running(self._kernel.create(len(behind)), rows)[1]

    def _sliding(self, lower: Array, upper: Array) -> Iterator[pa.Array]:
        """The results of frames, each from its first row on: what is never taken back is not rounded twice."""
        ends = np.cumsum(upper - lower)
        start = 0
        while start < len(ends):
            before = 0 if start == 0 else int(ends[start - 1])
            stop = max(start + 1, int(np.searchsorted(ends, before + _MOST_ROWS, side="right")))
            lengths = upper[start:stop] - lower[start:stop]
            starts = np.cumsum(lengths) - lengths
            total = int(lengths.sum())
            indexes = np.arange(total) + np.repeat(lower[start:stop] - starts, lengths)
            rows = self._rows(Segments(starts, total), indexes)
            yield self._kernel.values(self._kernel.accumulate(self._kernel.create(stop - start), rows))
            start = stop

    def _rows(self, segments: Segments, indexes: Array | None = None) -> AggregateRows:
        return framed_rows(self._aggregate, self._data, segments, indexes)


def _takes_any_order(aggregate: BoundAggregate) -> bool:
    call = aggregate.call
    is_exact = not any(isinstance(each, APPROXIMATE) for each in call.types)
    return call.function.name in _IN_ANY_ORDER and is_exact


# Ranking functions


def _row_number(partitions: SortedPartitions, arguments: list[pa.Array]) -> pa.Array:
    return pa.array(partitions.indexes - partitions.first + 1)


def _rank(partitions: SortedPartitions, arguments: list[pa.Array]) -> pa.Array:
    return pa.array(partitions.first_peer - partitions.first + 1)


def _dense_rank(partitions: SortedPartitions, arguments: list[pa.Array]) -> pa.Array:
    return pa.array(partitions.peer_number + 1)


def _percent_rank(partitions: SortedPartitions, arguments: list[pa.Array]) -> pa.Array:
    others = partitions.end - partitions.first - 1
    # One row has no others: it is the first one.
    return pa.array((partitions.first_peer - partitions.first) / np.maximum(others, 1))


def _cume_dist(partitions: SortedPartitions, arguments: list[pa.Array]) -> pa.Array:
    # As in Flink rows that are equal have different results, unlike in other databases.
    return pa.array((partitions.indexes - partitions.first + 1) / (partitions.end - partitions.first))


def _ntile(partitions: SortedPartitions, arguments: list[pa.Array]) -> pa.Array:
    """The first parts have one row more if they cannot all have the same number."""
    parts = np.asarray(arguments[0]).astype(np.int64)
    index, size = partitions.indexes - partitions.first, partitions.end - partitions.first
    each, longer = size // parts, size % parts
    in_longer = longer * (each + 1)
    behind = longer + (index - in_longer) // np.maximum(each, 1)
    return pa.array(np.where(index < in_longer, index // (each + 1), behind) + 1)


def _lag(partitions: SortedPartitions, arguments: list[pa.Array]) -> pa.Array:
    return _away(partitions, arguments, -1)


def _lead(partitions: SortedPartitions, arguments: list[pa.Array]) -> pa.Array:
    return _away(partitions, arguments, 1)


def _away(partitions: SortedPartitions, arguments: list[pa.Array], direction: int) -> pa.Array:
    """The value so many rows away; the default of the row itself if there is no such row."""
    values, steps, length = arguments[0], 1, partitions.length
    if len(arguments) > 1:
        steps = np.asarray(arguments[1].fill_null(1)).astype(np.int64)
    default = arguments[2] if len(arguments) > 2 else pa.nulls(length, values.type)
    indexes = partitions.indexes + direction * steps
    is_there = (indexes >= partitions.first) & (indexes < partitions.end)
    # Behind the values stand the defaults, one for each row: a row without a target takes its own.
    chosen = np.where(is_there, indexes, length + partitions.indexes)
    return pa.concat_arrays([values, default]).take(pa.array(chosen))


_RANKINGS: dict[str, Callable[[SortedPartitions, list[pa.Array]], pa.Array]] = {
    "row_number": _row_number,
    "rank": _rank,
    "dense_rank": _dense_rank,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
    "ntile": _ntile,
    "lag": _lag,
    "lead": _lead,
}
