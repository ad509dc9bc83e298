"""A buffer of rows that wait, or that later rows look back at: kept as columns, with snapshots by key group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.errors import StateError
from funke.engine.graph.state_meaning import PartMoves
from funke.engine.sql.state.moved_state import moved_part, moved_rows
from funke.engine.state.snapshot.file_format import GroupPart, TableId
from funke.engine.types import KeyGroups, TypeInformation
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.columns.column_hash import groups_of_columns

if TYPE_CHECKING:
    from funke.engine.types.columns import Array

__all__ = ["RowBuffer", "restored_rows"]


class RowBuffer:
    """Batches of rows in the order in which they came, with a time each."""

    def __init__(self, name: str, keys: Sequence[int], key_types: Sequence[TypeInformation], schema: pa.Schema) -> None:
        self._table = TableId(name, None, False, "value")
        self._schema = schema
        self._keys = list(keys)
        self._key_types = list(key_types)
        self._batches: list[ColumnBatch] = []

    def __len__(self) -> int:
        return self.rows_in_memory

    @property
    def rows_in_memory(self) -> int:
        """The number of rows in memory."""
        return sum(map(len, self._batches))

    @property
    def state_bytes(self) -> int:
        """The approximate size of the rows."""
        return sum(each.data.nbytes for each in self._batches)

    def add(self, batch: ColumnBatch) -> None:
        """Keeps rows; their times are the timestamps of the batch."""
        if len(batch):
            self._batches.append(batch)

    def first_time(self) -> int | None:
        """The earliest time of a row."""
        return min(
            (int(batch.timestamps.min()) for batch in self._batches if batch.timestamps is not None), default=None
        )

    def all(self) -> ColumnBatch | None:
        """All rows as one batch; None if there are none."""
        if len(self._batches) > 1:
            self._batches = [ColumnBatch.concat(self._batches)]
        return self._batches[0] if self._batches else None

    def take_out(self, chosen: Array) -> ColumnBatch:
        """Removes some of the rows (an array of booleans over all of them) and gives them."""
        # Copies the rows that stay, so a buffer costs its size with every watermark that finds rows due.
        rows = self.all()
        assert rows is not None
        self._batches = []
        self.add(rows.take(np.flatnonzero(~chosen)))
        return rows.take(np.flatnonzero(chosen))

    def take_all(self) -> ColumnBatch | None:
        """Removes all rows and gives them; None if there are none."""
        rows = self.all()
        self._batches = []
        return rows

    def take_parts(self) -> Iterator[ColumnBatch]:
        """Removes all rows and gives them, some at a time; those of a key as they came."""
        rows = self.take_all()
        if rows is not None:
            yield rows

    def take_until(self, last_ms: int) -> ColumnBatch | None:
        """Removes the rows whose time is not behind this one and gives them; None if there are none."""
        rows = self.all()
        if rows is None or rows.timestamps is None:
            return None
        is_due = rows.timestamps <= last_ms
        return self.take_out(is_due) if is_due.any() else None

    def snapshot_parts(self, key_groups: KeyGroups) -> Iterator[tuple[int, GroupPart]]:
        """The rows by key group."""
        rows = self.all()
        if rows is None:
            return
        groups = self._groups(rows, key_groups)
        order: Array = groups.argsort(kind="stable")
        cuts: Array = np.flatnonzero(np.diff(groups[order])) + 1
        for indexes in np.split(order, cuts):
            # One entry for the whole group, under the constant key 0: these rows are never looked up by key.
            yield int(groups[indexes[0]]), GroupPart({self._table: {0: rows.take(indexes)}}, [], [])

    def _groups(self, rows: ColumnBatch, key_groups: KeyGroups) -> Array:
        """The key group of each row."""
        if not self._keys:
            return np.zeros(len(rows), np.int64)
        return groups_of_columns([rows.data.column(key) for key in self._keys], self._key_types, key_groups)

    def restore(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        """Takes back what `snapshot_parts` gave."""
        for _, part in parts:
            for rows in part.tables.get(self._table, {}).values():
                self.add(restored_rows(rows, self._schema))

    def moved(self, part: GroupPart, moves: PartMoves | None, first: int = 0) -> GroupPart:
        """A part whose rows have the columns of the query as it is now; the first columns stay."""
        if moves is None:
            return part
        return moved_part(part, {self._table.name: lambda rows: moved_rows(rows, moves, first)})


def restored_rows(rows: ColumnBatch, schema: pa.Schema) -> ColumnBatch:
    """Rows of a snapshot under the names that columns have now; StateError if they are not such rows."""
    if rows.data.schema.types != schema.types:
        raise StateError(
            f"rows of {_types_text(rows.data.schema)} were kept, and this query keeps rows of {_types_text(schema)}: "
            "they are those of another query"
        )
    # Columns are matched by type and index; their names may have changed with an alias in the query.
    return rows.with_data(pa.RecordBatch.from_arrays(rows.data.columns, schema=schema))


def _types_text(schema: pa.Schema) -> str:
    return ", ".join(map(str, schema.types)) or "no columns"
