"""Aggregates the rows of each key, and says how every result changes.

Exact: one change for each input row, in order, as if rows came one by one. Folded: at most one change for each key and
batch. Flink's rules: a result that stays the same is not sent again unless state expires; a row that is taken back
from a key without rows is left out; a key whose last row is taken back is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.errors import StateError
from funke.engine.graph.state_meaning import MeaningPart, StateMoves
from funke.engine.operators.keyed.key_watch import KeyWatch
from funke.engine.operators.operator import OperatorContext
from funke.engine.sql.binding.relations import BoundAggregate
from funke.engine.sql.functions.aggregates.first_values import MOST_MEMBERS, FirstValues
from funke.engine.sql.functions.aggregates.kernel import Fields
from funke.engine.sql.functions.aggregates.rows import AggregateRows, ArgumentColumn
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.meaning.state_parts import ACCUMULATORS
from funke.engine.sql.operators.aggregates.compiled_aggregates import CompiledAggregates
from funke.engine.sql.operators.aggregates.row_bundle import BundledOperator
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.sql.operators.windows.slices.aggregate_block import AggregateBlock, Aggregates
from funke.engine.sql.operators.windows.slices.gathered_rows import group_kernel
from funke.engine.sql.state.keyed_columns import ColumnLayout
from funke.engine.sql.state.keyed_columns_operator import KeyedColumnsOperator, is_in_memory
from funke.engine.sql.state.moved_state import moved_part
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.plan.aggregates.group_aggregate import GroupAggregate
    from funke.engine.types.columns import Array

__all__ = ["AggregateOperator", "GlobalAggregateOperator", "accumulator_parts", "differ", "signs_of"]

_INSERT, _BEFORE, _AFTER, _DELETE = (
    kind.value for kind in (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
)


def accumulator_parts(
    aggregates: Sequence[BoundAggregate], has_retractions: bool, calls: Sequence[str]
) -> Iterator[MeaningPart]:
    """The columns of state, each named by the text of its call."""
    return _Groups(aggregates, has_retractions).parts(calls)


class _Groups:
    """The accumulators of all aggregates side by side.

    In front of them the value sets of DISTINCT calls; behind them the number of rows, if rows may be taken back.
    """

    def __init__(self, aggregates: Sequence[BoundAggregate], has_count: bool) -> None:
        self.has_count = has_count
        # If no row is taken back, DISTINCT needs only the set of values that were there, which calls of one column
        # share (COUNT(DISTINCT v) FILTER a, … FILTER b). With retractions each call counts its values: a 7 that goes
        # may be there a second time.
        self._first_values = [] if has_count else _first_values_of(aggregates)
        shared = {member for each in self._first_values for member in each.members}
        self.kernels = [
            group_kernel(replace(each.call, is_distinct=each.call.is_distinct and index not in shared), has_count)
            for index, each in enumerate(aggregates)
        ]

    def keep_in_memory(self) -> None:
        """State is in memory: it may have a form that a state backend could not keep."""
        for each in self._first_values:
            each.is_in_memory = True

    def compiled(self, node: GroupAggregate, schema: pa.Schema, output: pa.Schema) -> CompiledAggregates | None:
        """The compiled loop for rows that are only added; None if it cannot compute these aggregates."""
        if self.has_count or self._first_values or node.is_folded:
            return None
        return CompiledAggregates.of(node, self.kernels, schema, output)

    def create(self, count: int) -> Fields:
        value_sets = [each.create(count) for each in self._first_values]
        fields = [*value_sets, *(field for kernel in self.kernels for field in kernel.create(count))]
        # DISTINCT without aggregates still needs a column, which says that a key was there.
        return (*fields, np.zeros(count, np.int64)) if self.has_count else tuple(fields) or (np.zeros(count, np.int8),)

    def parts(self, calls: Sequence[str]) -> Iterator[MeaningPart]:
        """The columns, each named by the text of its call."""
        for each in self._first_values:
            yield MeaningPart("of values that were there", 1, tuple(calls[index] for index in each.members))
        for call, kernel in zip(calls, self.kernels):
            yield MeaningPart(call, len(kernel.dtypes))
        if self.has_count:
            yield MeaningPart("of all rows")
        elif not self.kernels:
            yield MeaningPart("of nothing", is_filler=True)

    def split(self, columns: Fields) -> list[Fields]:
        """The fields of each aggregate."""
        parts, start = [], len(self._first_values)
        for kernel in self.kernels:
            parts.append(columns[start : start + len(kernel.dtypes)])
            start += len(kernel.dtypes)
        return parts

    def once(self, columns: Fields, rows: list[AggregateRows]) -> list[AggregateRows]:
        """The rows that count for each aggregate: with DISTINCT the first one of each value."""
        counted = list(rows)
        for value_set, each in zip(columns, self._first_values):
            for member, own in zip(each.members, each.once(value_set, [rows[index] for index in each.members])):
                counted[member] = own
        return counted

    def joined(self, before: Fields, parts: Sequence[Fields], counts: Array | None, groups: int) -> Fields:
        """One row of columns for each group."""
        value_sets = before[: len(self._first_values)]
        fields = (*value_sets, *(field for part in parts for field in part))
        return (*fields, counts) if self.has_count else fields or (np.zeros(groups, np.int8),)


def _first_values_of(aggregates: Sequence[BoundAggregate]) -> list[FirstValues]:
    members: dict[tuple[int, ...], list[int]] = {}
    for index, each in enumerate(aggregates):
        if each.call.is_distinct:
            members.setdefault(each.arguments, []).append(index)
    return [
        FirstValues(aggregates[own[start]].call, own[start : start + MOST_MEMBERS])
        for own in members.values()
        for start in range(0, len(own), MOST_MEMBERS)
    ]


class AggregateOperator(FunctionsOperator, BundledOperator, KeyedColumnsOperator):
    """Works on batches: rows are sorted by key, and every aggregate runs through all segments at once."""

    def __init__(self, aggregate: GroupAggregate) -> None:
        self._aggregate = aggregate
        self.mini_batch = aggregate.mini_batch
        self._input = schema_of(aggregate.input.columns)
        self._output_schema = schema_of(aggregate.columns)
        self._keys = KeyColumns(aggregate.keys, [aggregate.input.columns[index].type for index in aggregate.keys])
        self._key_watch = KeyWatch(aggregate.keys)
        self._groups = _Groups(aggregate.aggregates, aggregate.input.has_retractions)
        self._compiled = self._groups.compiled(aggregate, self._input, self._output_schema)
        self.functions = OpenedFunctions((), [each.call.function for each in aggregate.aggregates])

    def setup(self, context: OperatorContext) -> None:
        if is_in_memory(context):
            self._groups.keep_in_memory()
        super().setup(context)

    def layout(self) -> ColumnLayout:
        return ColumnLayout("aggregates", self._groups.create, self._aggregate.ttl_ms)

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return moved_part(part, {self.layout().name: moves[ACCUMULATORS].moved})

    def hottest_key(self) -> dict[str, Any]:
        return self._key_watch.hottest()

    def process_bundle(self, batch: ColumnBatch) -> None:
        """Takes the rows in and sends what changes."""
        self._key_watch.look(batch.data)
        batch = as_schema(batch, self._input)
        signs = signs_of(batch)
        if self._compiled is not None and signs is None:
            words = self._compiled.hold(batch.data)
            if words is not None:
                self._run_compiled(self._compiled, batch, words)
                return
        codes, keys = self._keys.encode(batch.data)
        fetched = self.state.fetch(keys)
        if signs is not None:
            if not self._groups.has_count:
                raise StateError("a row is retracted in a stream that was planned as insert-only")
            counts = fetched.columns[-1]
            kept = _with_rows_to_take_back(codes, signs, counts, self._aggregate.is_folded)
            if kept is not None:
                # Keys of which nothing is left stay among those that were fetched, without a segment.
                batch, codes, signs = batch.take(kept), codes[kept], signs[kept]
                if not len(batch):
                    return
        order, segments, present = _segments_of(codes, len(keys))
        change = _Change(self._groups, batch, order, segments, None if signs is None else signs[order])
        columns, is_known = fetched.columns, fetched.is_known
        if len(present) < len(keys):
            columns, is_known = tuple(column[present] for column in columns), is_known[present]
        if self._aggregate.is_folded:
            after, kept_keys = self._fold(change, columns, is_known)
        else:
            after, kept_keys = self._run(change, columns, is_known)
        if len(present) < len(keys):
            whole = tuple(column.copy() for column in fetched.columns)
            for mine, column in zip(whole, after):
                mine[present] = column
            keeps = fetched.is_known.copy()
            keeps[present] = True if kept_keys is None else kept_keys
            self.state.store(fetched, whole, keeps)
        else:
            self.state.store(fetched, after, kept_keys)

    def _run_compiled(self, compiled: CompiledAggregates, batch: ColumnBatch, words: Array) -> None:
        """Every row's change, by the loop."""
        rows = None
        if compiled.needs_rows(words):
            rows = self._arguments(batch, Segments(np.zeros(1, np.int64), len(batch)))
        integers = self._keys.integers(batch.data)
        # With integer keys in memory the loop works on the arrays of the state itself; otherwise on copies of the
        # entries.
        entries = None if integers is None else self.state.direct(integers)
        if entries is not None:
            sent = compiled.run(words, entries.indexes, entries.is_known, entries.columns, rows)
        else:
            codes, keys = self._keys.encode(batch.data)
            fetched = self.state.fetch(keys)
            sent = compiled.run(words, codes, fetched.is_known.astype(np.uint8), fetched.columns, rows)
            self.state.store(fetched, fetched.columns)
        if sent is not None:
            self._emit_data(batch, *sent)

    def _arguments(
        self, batch: ColumnBatch, segments: Segments, order: pa.Array | None = None, signs: Array | None = None
    ) -> list[AggregateRows]:
        columns: dict[int, ArgumentColumn] = {}
        masks: dict[int, Array] = {}
        data = batch.data
        rows = []
        for each in self._aggregate.aggregates:
            for index in each.arguments:
                if index not in columns and index >= 0:
                    column = data.column(index)
                    columns[index] = ArgumentColumn(column if order is None else column.take(order))
            if each.condition is not None and each.condition not in masks:
                mask = data.column(each.condition).fill_null(False)
                masks[each.condition] = np.asarray(mask if order is None else mask.take(order))
            arguments = [columns.get(index, _WORD) for index in each.arguments]
            mask = None if each.condition is None else masks[each.condition]
            rows.append(AggregateRows(segments, arguments, signs, mask))
        return rows

    def _rows_of(self, change: _Change) -> list[AggregateRows]:
        return self._arguments(change.batch, change.segments, pa.array(change.order), change.signs)

    def _run(self, change: _Change, before: Fields, was_known: Array) -> tuple[Fields, Array | None]:
        """Every row's change. Rows that come after a key's last one was taken back begin anew."""
        segments, outer = change.segments, change.segments
        counts = None
        if change.groups.has_count:
            steps = np.ones(segments.length, np.int64) if change.signs is None else change.signs.astype(np.int64)
            counts = segments.running_sum(before[-1], steps)
            # A key whose rows have all gone is deleted. The next row of the same batch inserts it again, with new
            # accumulators.
            ended: Array = np.flatnonzero(counts[:-1] == 0) + 1
            starts = np.union1d(segments.starts, ended)
            if len(starts) > len(segments):
                segments = change.segments = Segments(starts, outer.length)
                first = np.searchsorted(starts, outer.starts)
                fresh = change.groups.create(len(starts))
                is_known: Array = np.zeros(len(starts), np.bool_)
                is_known[first] = was_known
                for mine, column in zip(fresh, before):
                    mine[first] = column
                before, was_known = fresh, is_known
        after, values = [], []
        every = change.groups.once(before, self._rows_of(change))
        for kernel, fields, rows in zip(self._groups.kernels, change.groups.split(before), every):
            earlier = kernel.values(fields)
            last, running = kernel.running(fields, rows)
            after.append(last)
            values.append(pa.concat_arrays([earlier, running]))
        self._send(change, values, was_known, counts)
        last_counts = None if counts is None else counts[segments.ends]
        result = change.groups.joined(before, after, last_counts, len(segments))
        if len(segments) > len(outer):
            final = np.searchsorted(segments.ends, outer.ends)
            result = tuple(column[final] for column in result)
        return result, None if counts is None else counts[outer.ends] > 0

    def _send(self, change: _Change, values: list[pa.Array], is_known: Array, counts: Array | None) -> None:
        """Sends the changes of all rows in the order in which the rows came."""
        segments, length = change.segments, change.segments.length
        groups = len(segments)
        # `values` holds the result of each segment before the batch, then the result behind each row. So the image
        # before a row is the result behind the row in front of it, and for the first row of a segment that of the
        # segment.
        new = np.arange(groups, groups + length)
        old: Array = new - 1
        old[segments.starts] = np.arange(groups)
        is_first: Array = np.zeros(length, np.bool_)
        is_first[segments.starts] = ~is_known
        is_last = np.zeros(length, np.bool_) if counts is None else counts == 0
        changed = self._changed(values, old, new) | is_first | is_last
        kinds = np.where(is_first, _INSERT, np.where(is_last, _DELETE, _AFTER)).astype(np.int8)
        has_before = changed & ~is_first & ~is_last & self._aggregate.sends_before
        position: Array = np.empty(length, np.int64)
        position[change.order] = np.arange(length)
        # The image before and the one after each row, side by side in the order of coming.
        sent = np.column_stack([has_before[position], changed[position]]).ravel()
        # As in Flink a DELETE carries the result that was sent last: consumers without a key find the row by its
        # values.
        images = np.column_stack([old[position], np.where(is_last, old, new)[position]]).ravel()[sent]
        both = np.column_stack([np.full(length, _BEFORE, np.int8), kinds[position]]).ravel()[sent]
        source = np.repeat(np.arange(length), 2)[sent]
        self._emit(change.batch, source, _take_rows(values, images), both)

    def _fold(self, change: _Change, before: Fields, is_known: Array) -> tuple[Fields, Array | None]:
        """One change for each key."""
        segments = change.segments
        counts = kept = None
        if change.groups.has_count:
            signs = np.ones(segments.length, np.int64) if change.signs is None else change.signs.astype(np.int64)
            counts = before[-1] + np.add.reduceat(signs, segments.starts)
            kept = counts > 0
        parts = change.groups.split(before)
        earlier = self._results(parts)
        every = change.groups.once(before, self._rows_of(change))
        after = [kernel.accumulate(own, rows) for kernel, own, rows in zip(self._groups.kernels, parts, every)]
        results = _side_by_side(earlier, self._results(after))
        self._send_folded(change.batch, change.order[segments.starts], results, is_known, kept)
        return change.groups.joined(before, after, counts, len(segments)), kept

    def _results(self, parts: list[Fields]) -> list[pa.Array]:
        return [kernel.values(fields) for kernel, fields in zip(self._groups.kernels, parts)]

    def _send_folded(
        self, batch: ColumnBatch, rows: Array, values: list[pa.Array], is_known: Array, kept: Array | None
    ) -> None:
        """Sends the change of each key, which one of the rows has; results are those before, then those after."""
        groups = len(rows)
        old, new = np.arange(groups), np.arange(groups, 2 * groups)
        gone = np.zeros(groups, np.bool_) if kept is None else ~kept
        changed = self._changed(values, old, new)
        # A key that comes and goes within one bundle has never been sent, so there is nothing to delete.
        is_sent = np.where(is_known, changed | gone, ~gone)
        kinds = np.where(is_known, np.where(gone, _DELETE, _AFTER), _INSERT).astype(np.int8)
        has_before = is_sent & is_known & ~gone & self._aggregate.sends_before
        sent = np.column_stack([has_before, is_sent]).ravel()
        images = np.column_stack([old, np.where(gone, old, new)]).ravel()[sent]
        both = np.column_stack([np.full(groups, _BEFORE, np.int8), kinds]).ravel()[sent]
        self._emit(batch, np.repeat(rows, 2)[sent], _take_rows(values, images), both)

    def _emit(self, batch: ColumnBatch, source: Array, values: list[pa.Array], kinds: Array) -> None:
        if not len(source):
            return
        rows = pa.array(source)
        columns = [batch.data.column(index).take(rows) for index in self._aggregate.keys] + values
        self._emit_data(batch, pa.RecordBatch.from_arrays(columns, schema=self._output_schema), source, kinds)

    def _emit_data(self, batch: ColumnBatch, data: pa.RecordBatch, source: Array, kinds: Array) -> None:
        """Sends rows that come from those of a batch."""
        timestamps = None if batch.timestamps is None else batch.timestamps[source]
        self.output.emit_columns(ColumnBatch(data, timestamps, kinds if kinds.any() else None))

    def _changed(self, values: list[pa.Array], old: Array, new: Array) -> Array:
        """True where a result differs from the one before."""
        changed: Array = np.zeros(len(new), np.bool_)
        # As in Flink: with a time to live unchanged results are sent too, which keeps the state of later operators
        # alive.
        if self._aggregate.ttl_ms > 0:
            return ~changed
        # Counts and sums first: they mostly differ already, and the other columns need not be compared.
        for column in sorted(values, key=lambda each: not pa.types.is_int64(each.type)):
            changed |= differ(column, old, new)
            if changed.all():
                break
        return changed


class GlobalAggregateOperator(AggregateOperator):
    """Takes entries instead of rows."""

    def __init__(self, aggregate: GroupAggregate) -> None:
        super().__init__(aggregate)
        self._entries = Aggregates((), aggregate.aggregates)

    def flush(self) -> None:
        """Entries do not wait for more of them: their rows have waited before."""
        self.finish_bundle()

    def process_bundle(self, batch: ColumnBatch) -> None:
        """Puts entries together with what is there, and sends what changes."""
        batch = as_schema(batch, self._input)
        codes, keys = self._keys.encode(batch.data)
        fetched = self.state.fetch(keys)
        order, segments = Segments.of_codes(codes, len(keys))
        numbers = [np.asarray(each)[order] for each in batch.data.columns[len(self._aggregate.keys) :]]
        block = AggregateBlock((), np.zeros(len(batch), np.int64), tuple(self._groups.split(tuple(numbers))))
        block = self._entries.folded(block, segments.starts)
        before = self._groups.split(fetched.columns)
        earlier = self._results(before)
        after = [kernel.merge(own, more) for kernel, own, more in zip(self._groups.kernels, before, block.fields)]
        results = _side_by_side(earlier, self._results(after))
        # Two phases are planned only for rows that are not taken back (`GroupAggregate.phases`): no key can end here.
        self._send_folded(batch, order[segments.starts], results, fetched.is_known, None)
        self.state.store(fetched, self._groups.joined(fetched.columns, after, None, len(keys)))


@dataclass
class _Change:
    """The rows of a batch in the order of their segments."""

    groups: _Groups
    batch: ColumnBatch
    order: Array
    segments: Segments
    signs: Any


# Stands for an argument that is a word, which kernels know from the call.
_WORD = ArgumentColumn(pa.nulls(0))


def _take_rows(columns: list[pa.Array], rows: Array) -> list[pa.Array]:
    """Some rows of columns, all at once: a call for each column costs more than the rows where there are hundreds."""
    if not columns:
        return columns
    names = list(map(str, range(len(columns))))
    arrays: list[pa.Array] = pa.RecordBatch.from_arrays(columns, names).take(pa.array(rows)).columns
    return arrays


def _side_by_side(before: list[pa.Array], after: list[pa.Array]) -> list[pa.Array]:
    return [pa.concat_arrays(each) for each in zip(before, after)]


def signs_of(batch: ColumnBatch) -> Array | None:
    """1 for rows that are taken in, -1 for those that are taken back; None if all are taken in."""
    if batch.kinds is None:
        return None
    is_taken_back = (batch.kinds == _BEFORE) | (batch.kinds == _DELETE)
    return np.where(is_taken_back, -1, 1).astype(np.int8) if is_taken_back.any() else None


def _segments_of(codes: Array, count: int) -> tuple[Array, Segments, Array]:
    """The order of rows, their segments, and the numbers of the keys that have any."""
    lengths = np.bincount(codes, minlength=count)
    present = np.flatnonzero(lengths)
    if len(present) < count:
        codes = np.searchsorted(present, codes)
    order, segments = Segments.of_codes(codes, len(present))
    return order, segments, present


def _with_rows_to_take_back(codes: Array, signs: Array, counts: Array, is_folded: bool) -> Array | None:
    """The rows that are not taken back from a key without rows; None if all are."""
    order, segments, present = _segments_of(codes, len(counts))
    running = segments.running_sum(counts[present], signs[order].astype(np.int64))
    if (running >= 0).all():
        return None
    # One by one: what is left out changes what follows. Folded, all rows behind the first one that is taken in count.
    kept, left = [], counts.tolist()
    is_there = (counts > 0).tolist()
    for row, (code, sign) in enumerate(zip(codes.tolist(), signs.tolist())):
        if sign < 0 and not is_there[code]:
            continue
        left[code] += sign
        is_there[code] = is_folded or left[code] > 0
        kept.append(row)
    return np.array(kept, np.int64)


def differ(column: pa.Array, old: Array, new: Array) -> Array:
    """Compares the values at pairs of indexes; True where the two differ."""
    if column.null_count == 0 and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        numbers = np.asarray(column)
        return numbers[old] != numbers[new]
    left, right = column.take(pa.array(old)), column.take(pa.array(new))
    if pa.types.is_nested(column.type):
        # Arrow does not compare lists, maps and rows.
        return np.array([one != other for one, other in zip(left.to_pylist(), right.to_pylist())], np.bool_)
    differs = pc.fill_null(pc.not_equal(left, right), False)
    return np.asarray(differs) | (np.asarray(left.is_valid()) != np.asarray(right.is_valid()))
