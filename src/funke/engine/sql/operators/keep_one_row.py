"""Keeps one row for each key and says how it changes: the last, the first, the best by an order, or what updates leave.

Changes are those of one row at a time, computed for whole batches: rows are put in the order of their keys, and each
one looks at the one before it, which may be that of the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.errors import StateError
from funke.engine.graph.state_meaning import MeaningPart, StateMoves
from funke.engine.sql.binding.relations import Relation, SortKey
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.meaning.state_parts import COLUMNS, columns_of
from funke.engine.sql.operators.aggregate import differ, signs_of
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.sort_limit import order_of
from funke.engine.sql.state.keyed_columns import ColumnLayout, Fetched
from funke.engine.sql.state.keyed_columns_operator import KeyedColumnsOperator
from funke.engine.sql.state.moved_state import moved_part
from funke.engine.sql.state.stored_rows import StoredRows, to_plain
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.meaning.column_texts import ColumnTexts
    from funke.engine.sql.plan.changelog_normalize import ChangelogNormalize
    from funke.engine.sql.plan.deduplicate import Deduplicate
    from funke.engine.sql.plan.rank import Rank

__all__ = ["KeepOneRowOperator", "KeptRow", "stored_row_parts"]

_INSERT, _BEFORE, _AFTER, _DELETE = (
    kind.value for kind in (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
)
_LAST_NUMBER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class KeptRow:
    """Which row of a key is kept."""

    # A row replaces another one that stands behind it; without an order every row replaces the one before.
    order: tuple[SortKey, ...] = ()
    # Whether a row replaces one that it is equal to by the order.
    wins_ties: bool = False
    # The first row stays.
    keeps_first: bool = False
    # Whether rows of the input may be taken back.
    has_retractions: bool = False
    # Whether a row that is the same as the one before is no change.
    skips_same: bool = False


def stored_row_parts(texts: ColumnTexts, relation: Relation) -> tuple[MeaningPart, ...]:
    """What the fields of an entry of state are: the columns of a row."""
    return columns_of(texts, relation, widths=StoredRows(schema_of(relation.columns)).widths)


class KeepOneRowOperator(KeyedColumnsOperator):
    """An image is a row that is known: first those of the state, one for each key of the batch, then the batch's."""

    def __init__(self, node: Deduplicate | Rank | ChangelogNormalize, kept: KeptRow) -> None:
        self._kept = kept
        self._ttl_ms = node.ttl_ms
        self._sends_before = node.sends_before
        self._schema = schema_of(node.columns)
        self._keys = KeyColumns(node.keys, [node.columns[index].type for index in node.keys])
        self._rows = StoredRows(self._schema)
        self._looks_back = node.sends_before or kept.skips_same or bool(kept.order)

    def layout(self) -> ColumnLayout:
        return ColumnLayout("rows", self._rows.create, self._ttl_ms)

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return moved_part(part, {self.layout().name: moves[COLUMNS].moved})

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes rows in, or back, and sends what changes."""
        self.records_in += len(batch)
        if not len(batch):
            return
        batch = as_schema(batch, self._schema)
        signs = signs_of(batch)
        if signs is not None and not self._kept.has_retractions:
            raise StateError("a row is taken back in a stream that was planned to have inserts only")
        is_gone = np.zeros(len(batch), np.bool_) if signs is None else signs < 0
        codes, keys = self._keys.encode(batch.data)
        fetched = self.state.fetch(keys)
        images = self._images(fetched, batch, bool(is_gone.any()))
        rows = self._chosen(codes, fetched.is_known, images)
        order = codes[rows].argsort(kind="stable")
        in_order = rows[order]
        before: Any = np.empty(len(batch), np.int64)
        before[in_order] = _before(codes[in_order], in_order, fetched.is_known, is_gone)
        self._store(fetched, batch, codes[in_order], in_order, is_gone)
        self._send(batch, images, rows, before[rows], is_gone[rows])

    def _images(self, fetched: Fetched, batch: ColumnBatch, has_deletes: bool) -> Any:
        count = len(fetched.is_known)
        if (self._looks_back or has_deletes) and fetched.is_known.any():
            known = self._rows.decode(fetched.columns)
        else:
            nulls = [pa.nulls(count, each.type) for each in self._schema]
            known = pa.RecordBatch.from_arrays(nulls, schema=self._schema)
        return pa.concat_batches([known, batch.data])

    def _chosen(self, codes: Any, is_known: Any, images: Any) -> Any:
        """The rows that take the place of those before them."""
        kept = self._kept
        if not kept.order and not kept.keeps_first:
            return np.arange(len(codes))
        in_order, segments = Segments.of_codes(codes, len(is_known))
        if kept.keeps_first:
            is_chosen = (segments.place_in_segment == 0) & ~is_known[segments.segment_of_row]
        else:
            numbers = self._numbers(images)
            own = numbers[len(is_known) :][in_order]
            first = np.where(is_known, numbers[: len(is_known)], _LAST_NUMBER)
            best = segments.running(np.minimum, first, own)
            earlier = np.roll(best, 1)
            earlier[segments.starts] = first
            is_chosen = own <= earlier if kept.wins_ties else own < earlier
        return np.sort(in_order[is_chosen])

    def _numbers(self, images: Any) -> Any:
        """Numbers by which images can be compared: the lower one stands first, equal ones have the same."""
        order = self._kept.order
        column = to_plain(images.column(order[0].index))
        is_time = pa.types.is_temporal(images.schema.types[order[0].index])
        if len(order) == 1 and pa.types.is_integer(column.type) and (is_time or column.type.bit_width < 64):
            numbers = np.asarray(column.cast(pa.int64()).fill_null(0))
            numbers = numbers if order[0].is_ascending else -numbers
            nulls = -_LAST_NUMBER if order[0].nulls_first else _LAST_NUMBER - 1
            return np.where(np.asarray(column.is_null()), nulls, numbers)
        places = order_of(images, order)
        steps: Any = np.zeros(len(places), np.int64)
        for key in order:
            steps[1:] |= differ(images.column(key.index), places[:-1], places[1:])
        numbers = np.empty(len(places), np.int64)
        numbers[places] = np.cumsum(steps)
        return numbers

    def _store(self, fetched: Fetched, batch: ColumnBatch, codes: Any, rows: Any, is_gone: Any) -> None:
        """Keeps the last row of each key that has any."""
        if not len(rows):
            return
        is_last: Any = np.append(codes[1:] != codes[:-1], True)
        touched, last = codes[is_last], rows[is_last]
        columns = tuple(column.copy() for column in fetched.columns)
        for mine, column in zip(columns, self._rows.encode(batch.data.take(last))):
            mine[touched] = column
        kept = fetched.is_known.copy()
        kept[touched] = ~is_gone[last]
        self.state.store(fetched, columns, kept)

    def _send(self, batch: ColumnBatch, images: Any, rows: Any, before: Any, is_gone: Any) -> None:
        own = len(images) - len(batch) + rows
        has_one = before >= 0
        is_sent = np.where(is_gone, has_one, True)
        if self._kept.skips_same:
            is_sent &= ~(has_one & ~is_gone & self._is_same(images, before, own))
        kinds = np.where(is_gone, _DELETE, np.where(has_one, _AFTER, _INSERT)).astype(np.int8)
        has_before = is_sent & has_one & ~is_gone & self._sends_before
        sent = np.column_stack([has_before, is_sent]).ravel()
        chosen = np.column_stack([before, np.where(is_gone, before, own)]).ravel()[sent]
        if not len(chosen):
            return
        both = np.column_stack([np.full(len(rows), _BEFORE, np.int8), kinds]).ravel()[sent]
        source = np.repeat(rows, 2)[sent]
        timestamps = None if batch.timestamps is None else batch.timestamps[source]
        self.output.emit_columns(ColumnBatch(images.take(pa.array(chosen)), timestamps, both if both.any() else None))

    def _is_same(self, images: Any, before: Any, own: Any) -> Any:
        differs: Any = np.zeros(len(own), np.bool_)
        for column in images.columns:
            differs |= differ(column, np.maximum(before, 0), own)
        return ~differs


def _before(codes: Any, rows: Any, is_known: Any, is_gone: Any) -> Any:
    """For rows in the order of their keys the number of the image before each; -1 if there is none."""
    if not len(rows):
        return rows
    follows: Any = np.zeros(len(rows), np.bool_)
    follows[1:] = codes[1:] == codes[:-1]
    earlier = np.roll(rows, 1)
    within = np.where(is_gone[earlier], -1, len(is_known) + earlier)
    return np.where(follows, within, np.where(is_known[codes], codes, -1))
