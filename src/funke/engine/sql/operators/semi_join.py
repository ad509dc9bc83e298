"""Sends the rows of one side that are on another side too, or are not, as rows of both sides come and go.

Flink's rules: a row of the left side is sent as it comes if the other side has it (of an anti join: if it has not); a
row of the right side sends all rows of the left side that are equal to it when it is the first one, or was the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.semi_joins import SemiJoin
from funke.engine.sql.meaning.column_texts import ColumnTexts
from funke.engine.sql.meaning.state_parts import input_facts
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.state.key_index import Keys
from funke.engine.sql.state.keyed_columns import ColumnLayout, Fetched
from funke.engine.sql.state.keyed_columns_operator import KeyedColumnsOperator
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

__all__ = ["KeepMatches", "SemiJoinOperator"]

_INSERT, _BEFORE, _AFTER, _DELETE = (
    kind.value for kind in (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
)
_TAKING_IN = (_INSERT, _AFTER)
_LEFT, _RIGHT = "left", "right"


@dataclass(frozen=True)
class KeepMatches:
    """Makes the operator of a semi join or an anti join for a subtask."""

    inputs: tuple[Column, ...]
    columns: tuple[Column, ...]
    is_anti: bool = False
    ttl_ms: int = 0

    @staticmethod
    def of(join: SemiJoin) -> KeepMatches:
        """What a subtask has to know of a join."""
        return KeepMatches(join.input.columns, join.columns, join.is_anti, join.ttl_ms)

    @staticmethod
    def meaning(join: SemiJoin) -> StateMeaning:
        """What its state means: how many equal rows each side has, of which the left ones were sent, or were not."""
        texts = ColumnTexts()
        left, right = (texts.typed_columns(each, join.keys) for each in join.sides)
        kind = ("rows sent", "that are not on the right side" if join.is_anti else "that are on the right side")
        facts = (("the left side", left), ("the right side", right), kind, *input_facts(texts, join.input))
        return StateMeaning("Join", facts)

    def __call__(self, task: TaskInfo) -> SemiJoinOperator:
        return SemiJoinOperator(self)


class SemiJoinOperator(KeyedColumnsOperator):
    """Rows that are equal are one key, of which each side has an entry of its own, so that each expires by itself.

    An entry says how many rows there are, and on the left side how many of the right side they have met.
    """

    def __init__(self, spec: KeepMatches) -> None:
        self._spec = spec
        self._input, self._output_schema = schema_of(spec.inputs), schema_of(spec.columns)
        self._keys = KeyColumns(range(len(spec.columns)), [each.type for each in spec.columns])

    def layout(self) -> ColumnLayout:
        return ColumnLayout("sides", _counts, self._spec.ttl_ms)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes rows of both sides in, or back, and sends what changes."""
        self.records_in += len(batch)
        if not len(batch):
            return
        batch = as_schema(batch, self._input)
        is_right = batch.data.column(len(self._spec.columns)).to_numpy(zero_copy_only=False)
        codes, keys = self._keys.encode(batch.data)
        left, right = (self.state.fetch(keys, side) for side in (_LEFT, _RIGHT))
        known = _Known(self._spec.is_anti, *map(np.ndarray.tolist, (*left.columns, right.columns[0])))
        kinds = [_INSERT] * len(batch) if batch.kinds is None else batch.kinds.tolist()
        for source, (code, kind, is_other) in enumerate(zip(codes.tolist(), kinds, is_right.tolist())):
            known.source = source
            (known.take_right if is_other else known.take_left)(code, kind)
        rows, others = np.array(known.rows, np.int64), np.array(known.others, np.int64)
        self.state.store(left, (rows, np.array(known.met, np.int64)), rows > 0)
        self._store_right(keys, right, others, codes[is_right])
        self._send(batch, known)

    def _store_right(self, keys: Keys, right: Fetched, others: Any, codes: Any) -> None:
        if self._spec.ttl_ms:
            # A row of the left side looks, which does not make what it sees live longer.
            changed = np.unique(codes)
            chosen = keys[changed] if isinstance(keys, np.ndarray) else [keys[each] for each in changed.tolist()]
            right, others = self.state.fetch(chosen, _RIGHT), others[changed]
        self.state.store(right, (others, np.zeros(len(others), np.int64)), others > 0)

    def _send(self, batch: ColumnBatch, known: _Known) -> None:
        if not known.sources:
            return
        sent = batch.take(np.array(known.sources))
        kinds = np.array(known.kinds, np.int8)
        # Rows of both sides that are equal have the same values.
        columns = sent.data.columns[: len(self._spec.columns)]
        data = pa.RecordBatch.from_arrays(columns, schema=self._output_schema)
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
        if self.met[code] == (0 if is_taken_in else 1):
            opposite = _DELETE if is_taken_in else _INSERT
            self._send(opposite if self.is_anti else kind, self.rows[code])
        self.met[code] += 1 if is_taken_in else -1

    def _send(self, kind: int, times: int = 1) -> None:
        self.sources += [self.source] * times
        self.kinds += [kind] * times


def _counts(count: int) -> tuple[Any, ...]:
    return np.zeros(count, np.int64), np.zeros(count, np.int64)
