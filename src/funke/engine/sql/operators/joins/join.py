"""Joins two inputs whose rows come and go: a row meets those of the other input that are there, and is kept.

Flink's rules: an update stays an update where both sides are inner; around rows with NULLs there are only inserts and
deletes. A row that is taken back takes back what it had made, whether or not it is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.kernels.join_rows import send_left, send_pairs
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.operators.joins.join_rows import JoinInput
from funke.engine.sql.operators.joins.kept_inputs import KeptInputsOperator, offsets
from funke.engine.sql.operators.joins.pair_condition import MOST_PAIRS, PairCondition, slices
from funke.engine.sql.plan.changelogs.upsert_keys import identifying_key
from funke.engine.sql.state.join_side import SideSpec
from funke.engine.sql.state.rows.row_copies import BatchColumns, TakenRows
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.joins.join import Join
    from funke.engine.types.columns.arrays import Array

__all__ = ["JoinOperator"]

_NAMES = ("left-rows", "right-rows")


class JoinOperator(KeptInputsOperator):
    """Two inputs, of which each may be an outer side."""

    def __init__(self, join: Join, clock: Clock) -> None:
        self._join = join
        self._is_half = join.has_left_only
        self._keeps = (join.keeps_left, join.keeps_right)
        self._condition = PairCondition(join.condition, len(join.left.columns), clock)
        super().__init__(join, [self._input(side) for side in range(2)], (join.condition,), clock)
        self._pairs = TakenRows(self._output_schema, 0 if self._is_half else len(join.right.columns))

    def _input(self, side: int) -> JoinInput:
        join, source = self._join, self._join.inputs[side]
        keys = (join.left_keys, join.right_keys)[side]
        unique_key, ttl_ms = identifying_key(source.upsert_keys(), keys), (join.left_ttl_ms, join.right_ttl_ms)[side]
        spec = SideSpec(schema_of(source.columns), keys, unique_key, source.has_retractions, ttl_ms, join.equal_nulls)
        # Only rows whose output depends on it count matches: those of outer sides, and the left ones of IN and EXISTS.
        counts_matches = (join.keeps_left or self._is_half, join.keeps_right)[side]
        return JoinInput(_NAMES[side], spec, tuple(source.columns[key].type for key in keys), counts_matches)

    def _meet_others(self, batch: ColumnBatch, numbers: Array, kinds: Array, side: int) -> Array:
        other = self._sides[1 - side]
        # All pairs at once if they are few; otherwise slices of the batch, so that a key with a million rows on the
        # other side does not fill memory with pairs.
        counts, rows, own_rows = other.pairs(numbers, MOST_PAIRS)
        if self._inputs[1 - side].counts_matches:
            # The numbers of matches are state of the other side's rows.
            self._rows.changed(1 - side, numbers[counts > 0])
        if rows is not None:
            return self._meet(self._columns[side], counts, rows, own_rows, kinds, side)
        matches: Array = np.zeros(len(batch), np.int64)
        for begin, end in slices(counts):
            some, own = slice(begin, end), counts[begin:end]
            rows, own_rows = other.matching(numbers[some], int(own.sum())), np.repeat(np.arange(end - begin), own)
            matches[some] = self._meet(self._columns[side].part(begin, end), own, rows, own_rows, kinds[some], side)
        return matches

    def _meet(self, batch: BatchColumns, counts: Array, rows: Array, own_rows: Array, kinds: Array, side: int) -> Array:
        """Sends what some rows make with those of the other side that have their keys; how many matches each has.

        `own_rows` are the indexes of the rows beside each of the other side.
        """
        is_match = self._matching(batch, own_rows, rows, side)
        if is_match is not None:
            rows, own_rows = rows[is_match], own_rows[is_match]
            counts = np.bincount(own_rows, minlength=len(kinds))
        if self._is_half:
            self._send_half(batch, counts, rows, kinds, side)
        elif any(self._keeps):
            self._send_outer(batch, counts, rows, kinds, side)
        elif len(rows):
            self._send(batch, own_rows, rows, kinds[own_rows], side)
        return counts

    def _matching(self, batch: BatchColumns, own_rows: Array, rows: Array, side: int) -> Array | None:
        """Which pairs are matches; None if all are."""
        other = self._sides[1 - side]
        is_live = other.is_live(rows, self._batch_ms)

        def own(indexes: Sequence[int]) -> list[pa.Array]:
            return [batch.data.column(index).take(pa.array(own_rows)) for index in indexes]

        def others(indexes: Sequence[int]) -> list[pa.Array]:
            return other.take(rows, indexes)

        fulfils = self._condition.fulfilled(*((own, others) if side == 0 else (others, own)), len(rows))
        return is_live if fulfils is None else fulfils if is_live is None else fulfils & is_live

    def _send_half(self, batch: BatchColumns, counts: Array, rows: Array, kinds: Array, side: int) -> None:
        is_anti = self._join.kind == "anti"
        if side == 0:
            sent = np.flatnonzero((counts == 0) == is_anti)
            if len(sent):
                data = self._pairs.take(batch.words(len(sent)), sent)
                self._emit(self._with_names(batch.take(sent)) if data is None else data, kinds[sent])
            return
        # The right side sends left rows only where their first match comes or their last one goes. NOT EXISTS: the
        # first +R takes back the left rows of its key, the last -R sends them again. The loop keeps the numbers of
        # matches up to date.
        left = self._sides[0]
        sent_kinds: Array = np.empty(len(rows), np.uint8)
        sent_rows: Array = np.empty(len(rows), np.int64)
        arguments = kinds, offsets(counts), rows, len(kinds), int(is_anti), left.matches, sent_kinds, sent_rows
        total = send_left.run(len(rows), *arguments)
        left.touch(rows, self._batch_ms)
        if total:
            self._emit(self._with_names(left.take(sent_rows[:total])), sent_kinds[:total])

    def _send_outer(self, batch: BatchColumns, counts: Array, rows: Array, kinds: Array, side: int) -> None:
        other = self._sides[1 - side]
        # At most one row with NULLs for each row that came, and two changes for each pair: the first match of a kept
        # row takes its row with NULLs back.
        most = len(kinds) + 2 * len(rows)
        sent_kinds: Array = np.empty(most, np.uint8)
        sent_given: Array = np.empty(most, np.int64)
        sent_rows: Array = np.empty(most, np.int64)
        keeps_own, keeps_other = self._keeps[side], self._keeps[1 - side]
        total = send_pairs.run(
            most,
            kinds,
            offsets(counts),
            rows,
            len(kinds),
            int(keeps_own),
            int(keeps_other),
            other.matches,
            sent_kinds,
            sent_given,
            sent_rows,
        )
        if keeps_other:
            other.touch(rows, self._batch_ms)
        if total:
            self._send(batch, sent_given[:total], sent_rows[:total], sent_kinds[:total], side)

    def _send(self, batch: BatchColumns, own_rows: Array, rows: Array, kinds: Array, side: int) -> None:
        """Sends pairs of rows of a batch and of the other side; below 0 there is none."""
        other = self._sides[1 - side]
        pair = (batch.words(len(rows)), own_rows), (other.words(), rows)
        left, right = pair if side == 0 else pair[::-1]
        data = self._pairs.take(*left, *right)
        if data is None:
            columns = batch.take(own_rows), other.take(rows)
            data = self._with_names([*columns[side], *columns[1 - side]])
        self._emit(data, kinds)
