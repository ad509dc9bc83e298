"""Sends the rows of one side that are on another side too, or are not, as rows of both sides come and go.

Flink's rules: a row of the left side is sent as it comes if the other side has it (of an anti join: if it has not); a
row of the right side sends all rows of the left side that are equal to it when it is the first one, or was the last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.state.key_index import Keys
from funke.engine.sql.state.keyed_columns import ColumnLayout, Fetched
from funke.engine.sql.state.keyed_columns_operator import KeyedColumnsOperator
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.plan.joins.semi_join import SemiJoin
    from funke.engine.types.columns import Array

__all__ = ["SemiJoinOperator"]

_INSERT, _BEFORE, _AFTER, _DELETE = (
    kind.value for kind in (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
)
_TAKING_IN = (_INSERT, _AFTER)
_LEFT, _RIGHT = "left", "right"


class SemiJoinOperator(KeyedColumnsOperator):
    """Rows that are equal are one key, of which each side has an entry of its own, so that each expires by itself.

    An entry says how many rows there are, and on the left side how many of the right side they have met.
    """

    def __init__(self, join: SemiJoin) -> None:
        self._is_anti, self._ttl_ms = join.is_anti, join.ttl_ms
        self._inputs = [schema_of(each.columns) for each in join.inputs]
        self._output_schema = schema_of(join.columns)
        self._keys = KeyColumns(join.keys, [each.type for each in join.columns])

    def layout(self) -> ColumnLayout:
        return ColumnLayout("sides", _counts, self._ttl_ms)

    def columns_handler(self, input_index: int) -> Callable[[ColumnBatch], None]:
        return self.process_right if input_index else self.process_left

    def process_left(self, batch: ColumnBatch) -> None:
        """Takes rows of the left side in, or back, and sends what has a match, or has none."""
        encoded = self._encoded_rows(batch, _LEFT)
        if encoded is None:
            return
        left, _, matches = self._each(*encoded, _Known.take_left)
        rows = np.array(matches.rows, np.int64)
        # The right side is only looked at, which does not make its rows live longer.
        self.state.store(left, (rows, np.array(matches.met, np.int64)), rows > 0)
        self._send(encoded[0], matches)

    def process_right(self, batch: ColumnBatch) -> None:
        """Takes rows of the right side in, or back, and sends the rows of the left side that get or lose a match."""
        encoded = self._encoded_rows(batch, _RIGHT)
        if encoded is None:
            return
        left, right, matches = self._each(*encoded, _Known.take_right)
        rows, others = np.array(matches.rows, np.int64), np.array(matches.others, np.int64)
        self.state.store(left, (rows, np.array(matches.met, np.int64)), rows > 0)
        self.state.store(right, (others, np.zeros(len(others), np.int64)), others > 0)
        self._send(encoded[0], matches)

    def _encoded_rows(self, batch: ColumnBatch, side: str) -> tuple[ColumnBatch, Array, Keys] | None:
        """The rows of a side, the number of each one's key, and the keys."""
        self.records_in += len(batch)
        if not len(batch):
            return None
        batch = as_schema(batch, self._inputs[side == _RIGHT])
        return batch, *self._keys.encode(batch.data)

    def _each(
        self, batch: ColumnBatch, codes: Array, keys: Keys, take: Callable[[_Known, int, int], None]
    ) -> tuple[Fetched, Fetched, _Known]:
        # Side is the namespace: each entry has a time to live of its own.
        left, right = (self.state.fetch(keys, side) for side in (_LEFT, _RIGHT))
        matches = _Known(self._is_anti, *map(np.ndarray.tolist, (*left.columns, right.columns[0])))
        kinds = [_INSERT] * len(batch) if batch.kinds is None else batch.kinds.tolist()
        for source, (code, kind) in enumerate(zip(codes.tolist(), kinds)):
            matches.source = source
            take(matches, code, kind)
        return left, right, matches

    def _send(self, batch: ColumnBatch, matches: _Known) -> None:
        if not matches.sources:
            return
        sent = batch.take(np.array(matches.sources))
        kinds = np.array(matches.kinds, np.int8)
        # Rows of both sides that are equal have the same values.
        data = pa.RecordBatch.from_arrays(sent.data.columns, schema=self._output_schema)
        self.output.emit_columns(ColumnBatch(data, sent.timestamps, kinds if kinds.any() else None))


@dataclass
class _Known:
    """What is known of each key of a batch, and what is sent: kinds, and the rows of the batch with the values."""

    is_anti: bool
    rows: list[int]
    met: list[int]
    others: list[int]
    source: int = 0

    def __post_init__(self) -> None:
        self.sources: list[int] = []
        self.kinds: list[int] = []

    def take_left(self, code: int, kind: int) -> None:
        """A row of the left side, which is sent if it has, or has not, others on the right side."""
        others = self.others[code]
        if (others == 0) == self.is_anti:
            self._send(kind)
        if kind in _TAKING_IN:
            self.rows[code] += 1
            self.met[code] = others
        elif self.rows[code]:
            self.rows[code] -= 1

    def take_right(self, code: int, kind: int) -> None:
        """A row of the right side: the first one changes what those of the left side are, and so does the last."""
        is_taken_in = kind in _TAKING_IN
        if is_taken_in:
            self.others[code] += 1
        elif self.others[code]:
            self.others[code] -= 1
        if not self.rows[code]:
            return
        # INTERSECT with a row three times on the left: the first equal row on the right sends it three times, a second
        # one nothing, and the loss of the last one takes all three back.
        if self.met[code] == (0 if is_taken_in else 1):
            opposite = _DELETE if is_taken_in else _INSERT
            self._send(opposite if self.is_anti else kind, self.rows[code])
        self.met[code] += 1 if is_taken_in else -1

    def _send(self, kind: int, times: int = 1) -> None:
        self.sources += [self.source] * times
        self.kinds += [kind] * times


def _counts(count: int) -> tuple[Array, ...]:
    return np.zeros(count, np.int64), np.zeros(count, np.int64)
