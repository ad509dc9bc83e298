"""The first rows of keys, which have numbers from 0 on: rows in columns, and where they stand in slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.kernels.rank_rows import (
    ADDS_ALL,
    APPEND,
    CHANGE_WIDTH,
    ENTERED,
    NEEDED_CHANGES,
    NEEDED_SLOTS,
    RETRACT,
    SENT,
    UPDATE,
    rank_rows,
)
from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.state.rows.sorted_runs import SortedRuns

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.columns.arrays import Array

__all__ = ["APPEND", "RETRACT", "UPDATE", "RankChanges", "RankRules", "RankedRows"]

_FIRST_CHANGES = 1 << 12


@dataclass(frozen=True)
class RankRules:
    """Which rows count, and how their changes are emitted."""

    schema: pa.Schema
    order: tuple[SortKey, ...]
    # APPEND, UPDATE or RETRACT.
    strategy: int
    first: int
    last: int
    sends_numbers: bool
    sends_before: bool
    # The columns by which rows replace each other (UPDATE).
    row_key: tuple[int, ...] = ()

    @property
    def identity(self) -> Sequence[int]:
        """The columns by which a row is found again; none if rows stay."""
        if self.strategy == APPEND:
            return ()
        return self.row_key or range(len(self.schema))


@dataclass(frozen=True)
class RankChanges:
    """Changes in their order: kinds, rows, the numbers of these, and the rows of the input that they come from."""

    kinds: Array
    data: pa.RecordBatch
    numbers: Any
    sources: Any


class RankedRows(SortedRuns[RankChanges]):
    """What stands behind the last place is known only if rows may go."""

    counter_count = 6

    def __init__(self, rules: RankRules) -> None:
        super().__init__(rules.schema, rules.order, rules.identity)
        self._numbers: Array = np.array(
            [
                rules.strategy,
                rules.first,
                rules.last,
                rules.sends_numbers,
                rules.sends_before,
                self._rows.word_count,
                bool(self._identity),
                self._rows.has_strings,
                False,
            ],
            np.int64,
        )
        self._changes: Array = np.empty(_FIRST_CHANGES * CHANGE_WIDTH, np.int64)

    def take_in(self, data: pa.RecordBatch, keys: Array, takes_in: Array) -> Iterator[RankChanges]:
        """Takes rows in, or back; what changes, in parts."""
        count, begin = data.num_rows, 0
        words, offsets, content = self._rows.words_of(data)
        identities = self._identities(data)
        first_row, entered = self._rows.count, np.empty(count, np.int64)
        self._numbers[ADDS_ALL] = self._rows.adds_all(data)
        self._counters[ENTERED] = added = 0
        is_first = True
        while begin < count:
            self._counters[SENT] = self._counters[NEEDED_SLOTS] = self._counters[NEEDED_CHANGES] = 0
            # Kernels cannot allocate. The loop stops where an array is full, says what it needs, and goes on at the
            # same row.
            begin = rank_rows.run(
                count - begin,
                takes_in,
                keys,
                words,
                identities,
                begin,
                count,
                first_row,
                self._numbers,
                self._heads,
                self._slots,
                len(self._slots) // self._width,
                self._free,
                self._counters,
                offsets,
                content,
                entered,
                self._changes,
                len(self._changes) // CHANGE_WIDTH,
            )
            done = int(self._counters[ENTERED])
            self._add(data, entered[added:done], is_first)
            added, is_first = done, False
            if self._counters[SENT]:
                yield self._sent()
            self._reserve()

    def _sent(self) -> RankChanges:
        changes: Array = self._changes[: int(self._counters[SENT]) * CHANGE_WIDTH].reshape(-1, CHANGE_WIDTH)
        rows, numbers, sources = changes.T[1:].copy()
        return RankChanges(changes[:, 0].astype(np.int8), self._rows.take(rows), numbers, sources)

    def _reserve(self) -> None:
        """Makes the room that was missing."""
        self._reserve_slots()
        if int(self._counters[NEEDED_CHANGES]) * CHANGE_WIDTH > len(self._changes):
            self._changes = np.empty(2 * int(self._counters[NEEDED_CHANGES]) * CHANGE_WIDTH, np.int64)
