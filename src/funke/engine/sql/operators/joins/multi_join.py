"""Joins a chain of inputs whose rows come and go, without keeping what the joins between them make.

A batch of one input meets the rows that the inputs before it make together; what changes there is carried through the
inputs behind it. Rows are numbers of rows until they are sent, so that a level costs a few arrays of integers.

A left level sends rows without a match with NULLs. How many matches a row has is counted when a batch comes: there is
no row of the inputs together that could keep it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.kernels.join_rows import send_pairs
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.operators.joins.join_rows import JoinInput
from funke.engine.sql.operators.joins.kept_inputs import KeptInputsOperator, offsets
from funke.engine.sql.operators.joins.pair_condition import PairCondition, TakeColumns, slices
from funke.engine.sql.plan.changelogs.upsert_keys import identifying_key
from funke.engine.sql.state.join_side import SideSpec
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.joins.multi_join import MultiJoin
    from funke.engine.types.columns.arrays import Array

__all__ = ["MultiJoinOperator"]


@dataclass(frozen=True)
class _Combined:
    """Rows of the first inputs that are joined: of each input the number of its row, -1 where it has none."""

    # Of their common keys.
    numbers: Array
    rows: tuple[Array, ...]
    kinds: Array

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, indexes: Array | slice) -> _Combined:
        return _Combined(self.numbers[indexes], tuple(each[indexes] for each in self.rows), self.kinds[indexes])

    def with_row(self, rows: Array, kinds: Array | None = None) -> _Combined:
        """The same, with rows of the next input."""
        return _Combined(self.numbers, (*self.rows, rows), self.kinds if kinds is None else kinds)


class MultiJoinOperator(KeptInputsOperator):
    """Level n joins input n with the rows of all inputs before it."""

    def __init__(self, join: MultiJoin, clock: Clock) -> None:
        self._join = join
        levels = range(1, len(join.sources))
        rests = [join.rest(each) for each in levels]
        # By level, of which there is none for the first input.
        self._required: list[Sequence[int]] = [(), *(required for required, _ in rests)]
        self._conditions: list[PairCondition] = [PairCondition(None, 0, clock)]
        self._conditions += [PairCondition(rest, join.starts[each], clock) for each, (_, rest) in zip(levels, rests)]
        self._indexes = [join.located(each) for each in range(len(join.columns))]
        inputs = [self._input(each) for each in range(len(join.sources))]
        super().__init__(join, inputs, [rest for _, rest in rests], clock)

    def _input(self, number: int) -> JoinInput:
        join, source, keys = self._join, self._join.sources[number], self._join.keys[number]
        unique_key = identifying_key(source.upsert_keys(), keys)
        spec = SideSpec(schema_of(source.columns), keys, unique_key, source.has_retractions, join.ttls_ms[number])
        key_types = tuple(source.columns[key].type for key in keys)
        return JoinInput(f"rows-of-input-{number}", spec, key_types, False, join.is_left(number))

    def _meet_others(self, batch: ColumnBatch, numbers: Array, kinds: Array, side: int) -> Array:
        for each in self._changes(batch, numbers, kinds, side):
            self._send(batch, each, side)
        return np.zeros(len(batch), np.int64)

    def _changes(self, batch: ColumnBatch, numbers: Array, kinds: Array, side: int) -> Iterator[_Combined]:
        """What a batch changes in the rows that the inputs up to its own make together."""
        if side == 0:
            yield _Combined(numbers, (np.arange(len(batch)),), kinds)
            return
        keys, codes = np.unique(numbers[numbers >= 0], return_inverse=True)
        before = self._before(keys, side)
        if not len(before):
            return
        lengths = np.bincount(np.searchsorted(keys, before.numbers), minlength=len(keys))
        starts = np.cumsum(lengths) - lengths
        first: Array = np.zeros(len(batch), np.int64)
        counts: Array = np.zeros(len(batch), np.int64)
        first[numbers >= 0], counts[numbers >= 0] = starts[codes], lengths[codes]
        # The matches before this batch. From there on the loop counts row by row: of two new matches only the first
        # takes the row of NULLs back.
        matches = self._match_counts(before, side) if self._join.is_left(side) else None
        for begin, end in slices(counts):
            own_rows, indexes = _ranges(first[begin:end], counts[begin:end])
            yield self._met(batch, before, begin + own_rows, indexes, kinds, matches)

    def _before(self, keys: Array, side: int) -> _Combined:
        """The rows that the inputs before this one make together, key by key."""
        # The rows of the inputs before this one are joined again for the keys of every batch. This is the price of
        # keeping none of them: much for an input far down the chain with many rows per key.
        counts = self._sides[0].counts(keys)
        rows = self._sides[0].matching(keys, int(counts.sum()))
        combined = _Combined(np.repeat(keys, counts), (rows,), np.zeros(len(rows), np.uint8))
        is_live = self._sides[0].is_live(rows, self._batch_ms)
        combined = combined if is_live is None else combined.take(is_live)
        for level in range(1, side):
            combined = _joined(list(self._extended(None, combined, level, side)))
        return combined

    def _match_counts(self, before: _Combined, level: int) -> Array:
        """How many rows of an input match each of the rows that those before it make together."""
        parts = [counts for *_, counts in self._matches(None, before, level, level)]
        return np.concatenate(parts).astype(np.int32)

    def _met(
        self,
        batch: ColumnBatch,
        before: _Combined,
        own_rows: Array,
        indexes: Array,
        kinds: Array,
        matches: Array | None,
    ) -> _Combined:
        """What rows of a batch make with those of the inputs before it, which have so many matches if these count."""
        side = len(before.rows)
        pairs = before.take(indexes)
        is_match = self._is_complete(pairs, side)
        columns = self._columns_before(None, pairs, side), _columns_of(batch, own_rows)
        is_match = _both(is_match, self._conditions[side].fulfilled(*columns, len(own_rows)))
        if is_match is not None:
            own_rows, indexes = own_rows[is_match], indexes[is_match]
        if matches is None:
            return before.take(indexes).with_row(own_rows, kinds[own_rows])
        return self._with_nulls(before, own_rows, indexes, kinds, matches)

    @staticmethod
    def _with_nulls(before: _Combined, own_rows: Array, indexes: Array, kinds: Array, matches: Array) -> _Combined:
        """The same with rows of NULLs: the first match takes one back, the loss of the last one sends it again."""
        most = 2 * len(own_rows)
        sent_kinds: Array = np.empty(most, np.uint8)
        sent_given: Array = np.empty(most, np.int64)
        sent_indexes: Array = np.empty(most, np.int64)
        counts = np.bincount(own_rows, minlength=len(kinds))
        arguments = kinds, offsets(counts), indexes, len(kinds), 0, 1, matches, sent_kinds, sent_given, sent_indexes
        total = send_pairs.run(most, *arguments)
        own_rows, indexes, kinds_sent = sent_given[:total], sent_indexes[:total], sent_kinds[:total]
        # As in Flink 2.3 a match has the kind of the row that came.
        kinds_sent = np.where(own_rows < 0, kinds_sent, kinds[own_rows])
        return before.take(indexes).with_row(own_rows, kinds_sent)

    def _send(self, batch: ColumnBatch, combined: _Combined, side: int) -> None:
        """Carries changes through the inputs behind those that they are of, and sends them."""
        if not len(combined):
            return
        level = len(combined.rows)
        if level < len(self._inputs):
            for each in self._extended(batch, combined, level, side):
                self._send(batch, each, side)
            return
        columns: list[pa.Array] = []
        for number, rows in enumerate(combined.rows):
            if number == side:
                columns += _columns_of(batch, rows)(range(batch.data.num_columns))
            else:
                columns += self._sides[number].take(rows)
        self._emit(self._with_names(columns), combined.kinds)

    def _extended(self, batch: ColumnBatch | None, combined: _Combined, level: int, side: int) -> Iterator[_Combined]:
        """Rows with those of the next input that they match."""
        for part, own_rows, rows, counts in self._matches(batch, combined, level, side):
            if self._join.is_left(level):
                # Without a match there is one row, of NULLs.
                lengths = np.maximum(counts, 1)
                own_rows = np.repeat(np.arange(len(part)), lengths)
                padded: Array = np.full(len(own_rows), -1, np.int64)
                padded[np.repeat(counts > 0, lengths)] = rows
                rows = padded
            yield part.take(own_rows).with_row(rows)

    def _matches(
        self, batch: ColumnBatch | None, combined: _Combined, level: int, side: int
    ) -> Iterator[tuple[_Combined, Array, Array, Array]]:
        """Some rows at a time: which of them match which rows of the next input, and how many each of them matches."""
        own = self._sides[level]
        counts = own.counts(combined.numbers)
        is_complete = self._is_complete(combined, level)
        counts = counts if is_complete is None else np.where(is_complete, counts, 0)
        for begin, end in slices(counts):
            part, lengths = combined.take(slice(begin, end)), counts[begin:end]
            own_rows: Array = np.repeat(np.arange(len(part)), lengths)
            rows = own.matching(np.where(lengths > 0, part.numbers, -1), len(own_rows))
            pairs = part.take(own_rows)
            before, behind = self._columns_before(batch, pairs, side), partial(own.take, rows)
            fulfils = self._conditions[level].fulfilled(before, behind, len(rows))
            is_match = _both(own.is_live(rows, self._batch_ms), fulfils)
            if is_match is not None:
                own_rows, rows = own_rows[is_match], rows[is_match]
                lengths = np.bincount(own_rows, minlength=len(part))
            yield part, own_rows, rows, lengths

    def _is_complete(self, combined: _Combined, level: int) -> Array | None:
        """Which rows have one of every input that a level's keys are equal to; None if all do."""
        is_complete = None
        for each in self._required[level]:
            is_complete = _both(is_complete, combined.rows[each] >= 0)
        return is_complete

    def _columns_before(self, batch: ColumnBatch | None, combined: _Combined, side: int) -> TakeColumns:
        """Columns of the rows of several inputs, by their indexes in all of them; those of one input are in a batch."""

        def take(indexes: Sequence[int]) -> list[pa.Array]:
            columns: list[pa.Array] = []
            for number, index in map(self._indexes.__getitem__, indexes):
                rows = combined.rows[number]
                if number == side and batch is not None:
                    columns += _columns_of(batch, rows)([index])
                else:
                    columns += self._sides[number].take(rows, [index])
            return columns

        return take


def _joined(parts: Sequence[_Combined]) -> _Combined:
    if len(parts) == 1:
        return parts[0]
    rows = tuple(map(np.concatenate, zip(*(each.rows for each in parts))))
    numbers, kinds = (np.concatenate(each) for each in zip(*((each.numbers, each.kinds) for each in parts)))
    return _Combined(numbers, rows, kinds)


def _ranges(first: Array, counts: Array) -> tuple[Array, Array]:
    """Numbers that count up from each of the first ones so often, and whose they are."""
    owners: Array = np.repeat(np.arange(len(counts)), counts)
    return owners, np.arange(len(owners)) + (first - (np.cumsum(counts) - counts))[owners]


def _both(one: Array | None, other: Array | None) -> Array | None:
    """Two masks as one; None is true everywhere."""
    return other if one is None else one if other is None else one & other


def _columns_of(batch: ColumnBatch, rows: Array) -> TakeColumns:
    """Columns of rows of a batch; a number below 0 is a row of NULLs."""
    is_missing = rows < 0
    chosen = pa.array(rows, mask=is_missing) if is_missing.any() else pa.array(rows)
    return lambda indexes: [batch.data.column(index).take(chosen) for index in indexes]
