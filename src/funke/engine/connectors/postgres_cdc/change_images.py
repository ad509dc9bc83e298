"""Which rows a block of changes gives: rows that come, rows that go, and where their values stand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.connectors.change_capture.seam import TableSeam
from funke.engine.connectors.postgres_cdc.change_block import (
    DELETE,
    INSERT,
    UNCHANGED,
    UPDATE,
    WHOLE_OLD,
    Cells,
    ChangeBlock,
)
from funke.engine.connectors.postgres_cdc.pgoutput import LogRelation
from funke.engine.connectors.postgres_cdc.settings import PostgresCdcSettings, SourceTable
from funke.engine.errors import SourceError
from funke.engine.types.row import RowKind

__all__ = ["ChangeImages", "Layout", "TableQuestions"]

_INSERT, _BEFORE, _AFTER, _DELETE = (kind.value for kind in RowKind)
_NO_ROW = -1


class TableQuestions(Protocol):
    """What the log does not say and the database knows."""

    def values(self, table: SourceTable, columns: Sequence[str], key: Sequence[str | None]) -> Sequence[Any] | None:
        """Texts of a row's columns as they are now; None if there is no such row any more."""

    def chunks(self, table: SourceTable, lows: Sequence[Any], keys: Sequence[str | None]) -> Sequence[int | None]:
        """In which part of a table rows are, by the values of its chunk column."""


class Layout:
    """Where the columns that are wanted stand among those of the log."""

    def __init__(self, settings: PostgresCdcSettings, table: SourceTable, relation: LogRelation) -> None:
        self.table = table
        self.relation = relation
        indexes = {name: index for index, name in enumerate(relation.columns)}
        missing = [each.name for each in settings.fields if each.name not in indexes]
        if missing:
            raise SourceError(f"the table {table.path} has lost its column {', '.join(missing)}")
        self.chosen = [indexes[each.name] for each in settings.fields]
        self.key = [indexes[name] for name in table.key]
        self.chunk_index = None if table.chunk_column is None else indexes[table.chunk_column]


class ChangeImages:
    """A row of `kinds` for each message, and in it a kind for each of its (at most two) rows.

    Rows are counted through all messages, two for each; so their values stand in the order of these numbers.
    """

    def __init__(self, block: ChangeBlock, columns: int, is_upsert: bool, questions: TableQuestions) -> None:
        self._block = block
        self._is_upsert = is_upsert
        self._questions = questions
        count = len(block)
        self.kinds: Any = np.full((count, 2), _NO_ROW, np.int8)
        self.tables: Any = np.zeros(count, np.int64)
        self._cells = Cells(np.zeros((columns, 2 * count), np.int64), np.zeros((columns, 2 * count), np.int64))
        # Values that do not stand in their own messages, by column and row.
        self._others: list[dict[int, str | None]] = [{} for _ in range(columns)]

    def add(self, layout: Layout, messages: Any, table: int, parts: TableSeam | None, seen: Any | None) -> None:
        """Adds the messages of a table. `seen` says for each message of the block which snapshots have seen it."""
        first, second = self._block.rows(messages, len(layout.relation.columns))
        has_two = self._block.have_two[messages]
        kinds = self._kinds_of(layout, messages, first, second)
        if parts is not None and seen is not None and seen[messages].any():
            self._leave_out(kinds, has_two, seen[messages], _snapshots(self, layout, parts, first, second, has_two))
        self.kinds[messages] = kinds
        self.tables[messages] = table
        self._put(2 * messages, first.of(layout.chosen))
        self._put(2 * messages[has_two] + 1, second.of(layout.chosen))
        self._complete(layout, messages, first, second)

    def _kinds_of(self, layout: Layout, messages: Any, first: Cells, second: Cells) -> Any:
        sent, has_two = self._block.kinds[messages], self._block.have_two[messages]
        kinds: Any = np.full((len(messages), 2), _NO_ROW, np.int8)
        kinds[sent == INSERT, 0] = _INSERT
        kinds[sent == DELETE, 0] = _DELETE
        kinds[(sent == UPDATE) & ~has_two, 0] = _AFTER
        kinds[has_two, 1] = _AFTER
        if self._is_upsert:
            kinds[np.flatnonzero(has_two)[self._have_new_keys(layout, first, second, has_two)], 0] = _DELETE
            return kinds
        if ((sent != INSERT) & (self._block.marks[messages] != WHOLE_OLD)).any():
            raise SourceError(
                f'The "before" field of a message of {layout.table.path} is null, please check the Postgres table has '
                "been set REPLICA IDENTITY to FULL level."
            )
        kinds[has_two, 0] = _BEFORE
        return kinds

    def _have_new_keys(self, layout: Layout, first: Cells, second: Cells, has_two: Any) -> Any:
        changed: Any = np.zeros(int(has_two.sum()), bool)
        for index in layout.key:
            before, behind = first.of((index, has_two)), second.of(index)
            same = pc.equal(self._block.strings(before), self._block.strings(behind)).fill_null(False)
            changed |= ~same.to_numpy(zero_copy_only=False) & (behind.lengths != UNCHANGED)
        return changed

    def _leave_out(self, kinds: Any, has_two: Any, seen: Any, snapshots: Any) -> None:
        """Takes out rows whose snapshots have seen them."""
        is_out = np.take_along_axis(seen, snapshots, axis=1)
        if not self._is_upsert:
            # Half of an update is a deletion or an insertion.
            kinds[has_two & is_out[:, 0], 1] = _INSERT
            kinds[has_two & is_out[:, 1], 0] = _DELETE
        kinds[is_out] = _NO_ROW

    def chunk_numbers(self, table: SourceTable, lows: Sequence[Any], cells: Cells) -> Any:
        """In which parts of the table rows are, by the cells of its chunk column."""
        keys = self._block.strings(cells)
        if table.chunk_type is not None:
            numbers_of_keys = self._questions.chunks(table, lows, keys.to_pylist())
            return np.array([each or 0 for each in numbers_of_keys], np.int64)
        numbers = keys.cast(pa.int64())
        indexes = np.searchsorted(lows, numbers.fill_null(0).to_numpy(), "right")
        return np.where(numbers.is_null().to_numpy(zero_copy_only=False), 0, indexes)

    def _put(self, rows: Any, cells: Cells) -> None:
        self._cells.offsets[:, rows] = cells.offsets
        self._cells.lengths[:, rows] = cells.lengths

    def _complete(self, layout: Layout, messages: Any, first: Cells, second: Cells) -> None:
        """Long values that did not change: they are in the row before, or else in the table.

        What the table holds may be newer than the change; then a later change will say so.
        """
        has_two = np.flatnonzero(self._block.have_two[messages])
        for cells, number, owners in ((first, 0, np.arange(len(messages))), (second, 1, has_two)):
            missing = cells.lengths[layout.chosen].T == UNCHANGED
            if not missing.any():
                continue
            for row, cells_of_row in groupby(np.argwhere(missing).tolist(), lambda each: each[0]):
                owner = int(owners[row])
                message = int(messages[owner])
                if self.kinds[message, number] == _NO_ROW:
                    continue
                fields = [field for _, field in cells_of_row]
                strings = self._missing(
                    layout, message, fields, first.of((slice(None), owner)), cells.of((slice(None), row))
                )
                for field, text in zip(fields, strings):
                    self._others[field][2 * message + number] = text

    def _missing(
        self, layout: Layout, message: int, fields: Sequence[int], first: Cells, own: Cells
    ) -> Sequence[str | None]:
        indexes = [layout.chosen[each] for each in fields]
        if self._block.marks[message] == WHOLE_OLD:
            return [self._text(first, index) for index in indexes]
        key = [self._text(first if own.lengths[index] == UNCHANGED else own, index) for index in layout.key]
        columns = [layout.relation.columns[index] for index in indexes]
        return self._questions.values(layout.table, columns, key) or [None] * len(fields)

    def _text(self, row: Cells, index: int) -> str | None:
        return self._block.text(int(row.offsets[index]), int(row.lengths[index]))

    def rows(self) -> Any:
        """The numbers of the rows there are."""
        return np.flatnonzero(self.kinds.ravel() != _NO_ROW)

    def strings(self, column: int, rows: Any) -> Any:
        """A column of some rows."""
        others = self._others[column]
        indexes: Any = np.searchsorted(rows, list(others)).tolist()
        return self._block.strings(self._cells.of((column, rows)), dict(zip(indexes, others.values())))


def _snapshots(
    images: ChangeImages, layout: Layout, parts: TableSeam, first: Cells, second: Cells, has_two: Any
) -> Any:
    """By which snapshots the rows of messages were read, first and second ones."""
    count = len(has_two)
    if not parts.needs_keys or layout.chunk_index is None:
        return np.full((count, 2), parts.snapshots[0])
    numbers: Any = np.zeros((count, 2), np.int64)
    table, index = layout.table, layout.chunk_index
    numbers[:, 0] = images.chunk_numbers(table, parts.lows, first.of(index))
    behind = second.of(index)
    second_numbers = images.chunk_numbers(table, parts.lows, behind)
    numbers[has_two, 1] = np.where(behind.lengths == UNCHANGED, numbers[has_two, 0], second_numbers)
    return parts.snapshots[numbers]
