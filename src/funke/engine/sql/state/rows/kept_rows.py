"""One row of each key: the last one, the first one, or the best one by an order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.kernels.keep_rows import ENTERED, GONE, SENT, STEP_WIDTH, keep_rows
from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.state.rows.ordered_rows import OrderedRows
from funke.engine.sql.state.rows.rows_by_key import RowsByKey

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.columns.arrays import Array

__all__ = ["KeptRows", "KeptSteps"]

_FIRST_KEYS = 1 << 10


@dataclass(frozen=True)
class KeptSteps:
    """Steps in their order: the number of the row before each and of that after it, -1 if there is none."""

    rows: OrderedRows
    before: Any
    after: Any
    # The rows of the input.
    sources: Any


class KeptRows(RowsByKey[KeptSteps]):
    """Every key has a slot: the number of its row, and the words of that."""

    def __init__(self, schema: pa.Schema, order: Sequence[SortKey], wins_ties: bool, keeps_first: bool) -> None:
        self._rows = OrderedRows(schema, order)
        self._width = 1 + self._rows.word_count
        self._rules = (self._rows.word_count, self._rows.has_strings, bool(order), wins_ties, keeps_first)
        self.clear()

    def clear(self) -> None:
        self._rows.clear()
        self._slots: Array = np.full(_FIRST_KEYS * self._width, -1, np.int64)
        self._counters: Array = np.zeros(3, np.int64)
        self._entered = 0

    @property
    def gone(self) -> int:
        # Rows that did not enter take room as well, where whole batches are added (`OrderedRows.adds_all`).
        return self._rows.count - self._entered + int(self._counters[GONE])

    @property
    def count(self) -> int:
        return self._rows.count

    def reserve_keys(self, count: int) -> None:
        if count * self._width > len(self._slots):
            # Half as much again, so that growing costs the same for each key however many there are.
            slots: Array = np.full((count + count // 2) * self._width, -1, np.int64)
            slots[: len(self._slots)] = self._slots
            self._slots = slots

    def take_in(self, data: pa.RecordBatch, keys: Array, takes_in: Array) -> Iterator[KeptSteps]:
        count = data.num_rows
        words, offsets, content = self._rows.words_of(data)
        entered: Array = np.empty(count, np.int64)
        steps: Array = np.empty(count * STEP_WIDTH, np.int64)
        self._counters[ENTERED] = self._counters[SENT] = 0
        keep_rows.run(
            count,
            takes_in,
            keys,
            words,
            count,
            self._rows.count,
            *self._rules,
            self._rows.adds_all(data),
            self._slots,
            offsets,
            content,
            self._counters,
            entered,
            steps,
        )
        done, sent = int(self._counters[ENTERED]), int(self._counters[SENT])
        self._rows.add(data, entered[:done])
        self._entered += done
        if sent:
            before, after, sources = steps[: sent * STEP_WIDTH].reshape(-1, STEP_WIDTH).T.copy()
            yield KeptSteps(self._rows, before, after, sources)

    def forget(self, keys: Array) -> None:
        self._counters[GONE] += np.count_nonzero(self._slots[keys * self._width] >= 0)
        self._slots[keys * self._width] = -1

    def live_keys(self) -> Array:
        return np.flatnonzero(self._slots[:: self._width] >= 0)

    def rows_of(self, keys: Array) -> tuple[Array, Array]:
        rows = self._slots[keys * self._width]
        return rows[rows >= 0], (rows >= 0).astype(np.int64)

    def take(self, rows: Array) -> pa.RecordBatch:
        return self._rows.take(rows)

    def pack(self) -> None:
        slots = self.live_keys() * self._width
        self._rows.keep(self._slots[slots])
        self._slots[slots] = np.arange(len(slots))
        self._entered, self._counters[GONE] = len(slots), 0

    def put(self, data: pa.RecordBatch, keys: Array, lengths: Array) -> None:
        self.reserve_keys(int(keys.max(initial=-1)) + 1)
        chosen = keys[lengths > 0]
        slots = self._slots[: len(self._slots) // self._width * self._width].reshape(-1, self._width)
        slots[chosen, 0] = np.arange(data.num_rows)
        slots[chosen, 1:] = self._rows.put(data)
        self._entered = data.num_rows
