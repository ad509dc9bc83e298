"""Keeps one row for each key and says how it changes: the last, the first, the best by an order, or what updates leave.

Changes are those of one row at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from funke.engine.errors import StateError
from funke.engine.graph.state_meaning import MeaningPart, StateMoves
from funke.engine.sql.binding.relations import Relation, SortKey
from funke.engine.sql.meaning import COLUMNS, columns_of
from funke.engine.sql.operators.aggregates.aggregate import differ, signs_of
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.keyed_rows import KeyedRowsOperator, RowForm
from funke.engine.sql.state.keyed_columns import ColumnLayout, Columns
from funke.engine.sql.state.moved_state import moved_part
from funke.engine.sql.state.rows.kept_rows import KeptRows, KeptSteps
from funke.engine.sql.state.rows.stored_rows import StoredRows
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.sql.meaning import ColumnStrings
    from funke.engine.sql.plan.changelogs.changelog_normalize import ChangelogNormalize
    from funke.engine.sql.plan.ranks.deduplicate import Deduplicate
    from funke.engine.sql.plan.ranks.rank import Rank
    from funke.engine.types.columns import Array

__all__ = ["KeepOneRowOperator", "KeptRow", "stored_row_parts"]

_INSERT, _BEFORE, _AFTER, _DELETE = (
    kind.value for kind in (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
)
_NAME = "rows"


@dataclass(frozen=True)
class KeptRow:
    # A row replaces another one that stands behind it; without an order every row replaces the one before.
    order: tuple[SortKey, ...] = ()
    # Whether a row replaces one that it is equal to by the order.
    wins_ties: bool = False
    # The first row stays.
    keeps_first: bool = False
    # Whether rows of the input may be taken back.
    has_retractions: bool = False
    # Whether a row that is the same as the one before is not a change.
    skips_same: bool = False


def stored_row_parts(strings: ColumnStrings, relation: Relation) -> tuple[MeaningPart, ...]:
    """What the fields of an entry of state are: the columns of a row."""
    return columns_of(strings, relation, widths=StoredRows(schema_of(relation.columns)).widths)


class _KeptForm(RowForm[KeptSteps]):
    """An entry is one row of the arrays."""

    def __init__(self, node: Deduplicate | Rank | ChangelogNormalize, kept: KeptRow) -> None:
        self.schema = schema_of(node.columns)
        self.keys = KeyColumns(node.keys, [node.columns[index].type for index in node.keys])
        self._kept, self._ttl_ms, self._rows = kept, node.ttl_ms, StoredRows(self.schema)

    def create(self) -> KeptRows:
        return KeptRows(self.schema, self._kept.order, self._kept.wins_ties, self._kept.keeps_first)

    def layout(self) -> ColumnLayout:
        return ColumnLayout(_NAME, self._rows.create, self._ttl_ms)

    def to_columns(self, data: pa.RecordBatch, lengths: Array) -> Columns:
        return self._rows.encode(data)

    def from_columns(self, columns: Columns) -> tuple[pa.RecordBatch, Array]:
        data = self._rows.decode(columns)
        return data, np.ones(data.num_rows, np.int64)


class KeepOneRowOperator(KeyedRowsOperator[KeptSteps]):
    """Takes batches; a compiled loop finds which row replaces which."""

    def __init__(self, node: Deduplicate | Rank | ChangelogNormalize, kept: KeptRow) -> None:
        self._kept = kept
        self._sends_before = node.sends_before
        self.form = _KeptForm(node, kept)

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return moved_part(part, {_NAME: moves[COLUMNS].moved})

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes rows in, or back, and sends what changes."""
        self.records_in += len(batch)
        if not len(batch):
            return
        batch = as_schema(batch, self.form.schema)
        signs = signs_of(batch)
        if signs is not None and not self._kept.has_retractions:
            raise StateError("a row is retracted in a stream that was planned as insert-only")
        takes_in: Array = np.ones(len(batch), np.uint8) if signs is None else (signs > 0).astype(np.uint8)
        for steps in self.state.take_in(batch.data, takes_in):
            self._send(batch, steps)

    def _send(self, batch: ColumnBatch, steps: KeptSteps) -> None:
        before, after, sources = steps.before, steps.after, steps.sources
        if self._kept.skips_same:
            is_change = _differ(steps)
            before, after, sources = before[is_change], after[is_change], sources[is_change]
        is_known, is_gone = before >= 0, after < 0
        kinds = np.where(is_gone, _DELETE, np.where(is_known, _AFTER, _INSERT)).astype(np.int8)
        rows = np.where(is_gone, before, after)
        if self._sends_before and is_known.any():
            # Before- and after-images, side by side.
            sent = np.column_stack([is_known & ~is_gone, np.ones(len(rows), np.bool_)]).ravel()
            rows = np.column_stack([before, rows]).ravel()[sent]
            kinds = np.column_stack([np.full(len(kinds), _BEFORE, np.int8), kinds]).ravel()[sent]
            sources = np.repeat(sources, 2)[sent]
        if len(rows):
            timestamps = None if batch.timestamps is None else batch.timestamps[sources]
            self.output.emit_columns(ColumnBatch(steps.rows.take(rows), timestamps, kinds if kinds.any() else None))


def _differ(steps: KeptSteps) -> Array:
    """Which steps are from one row to another one that is not the same."""
    differs = (steps.before < 0) | (steps.after < 0)
    indexes: Array = np.flatnonzero(~differs)
    if len(indexes):
        old, new = np.arange(len(indexes)), np.arange(len(indexes), 2 * len(indexes))
        for column in steps.rows.take(np.concatenate([steps.before[indexes], steps.after[indexes]])).columns:
            differs[indexes] |= differ(column, old, new)
    return differs
