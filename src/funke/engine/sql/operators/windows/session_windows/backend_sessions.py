"""Sessions in a state backend that is larger than memory: by key, and by when they end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.windows.session_windows.open_sessions import OpenSessions, SessionBlock
from funke.engine.sql.operators.windows.slices.aggregate_block import AggregateBlock, Aggregates
from funke.engine.sql.state.keyed_columns import ColumnLayout, Columns, Fetched, KeyedColumns
from funke.engine.sql.state.stored_entries import from_entries, to_entries
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.logical.data_type import DataType

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["DUE_KEYS", "BackendSessions", "SessionEntries"]

# Which keys had a session that ends in a piece of time, which is the namespace.
DUE_KEYS = ColumnLayout("due-sessions", lambda count: (np.zeros(count, np.int8),))


class SessionEntries:
    """The sessions of a key as an entry of state: the values of the key, and a list of starts, ends, counts, fields."""

    def __init__(self, aggregates: Aggregates, key_types: Sequence[DataType]) -> None:
        self._aggregates = aggregates
        self._key_types = list(key_types)
        self.layout = ColumnLayout("sessions", self._create)
        self._session = ColumnLayout("session", self._create_sessions)

    def _create(self, count: int) -> Columns:
        keys: list[Array] = [np.full(count, None, object) for _ in self._key_types]
        return (*keys, np.fromiter(([] for _ in range(count)), object, count))

    def _create_sessions(self, count: int) -> Columns:
        fields = [field for kernel in self._aggregates.kernels for field in kernel.create(count)]
        return (*(np.zeros(count, np.int64) for _ in range(3)), *fields)

    def piece_of(self, columns: Columns) -> SessionBlock | None:
        """All sessions of some entries; None if there are none."""
        *keys, lists = columns
        flat = [each for own in lists for each in own]
        if not flat:
            return None
        indexes: Array = np.repeat(np.arange(len(lists)), [len(own) for own in lists])
        starts, ends, counts, *rest = from_entries(flat, self._session)
        fields, start = [], 0
        for kernel in self._aggregates.kernels:
            fields.append(tuple(rest[start : start + len(kernel.dtypes)]))
            start += len(kernel.dtypes)
        values = tuple(from_values(each[indexes].tolist(), kind) for each, kind in zip(keys, self._key_types))
        return SessionBlock(AggregateBlock(values, counts, tuple(fields)), starts, ends)

    def columns_of(self, piece: SessionBlock, numbers: Array, count: int) -> Columns:
        """Entries for so many keys; each session has the number of its key."""
        block = piece.block
        flat = (piece.starts, piece.ends, block.counts, *(field for fields in block.fields for field in fields))
        columns = self._create(count)
        for number, session in zip(numbers.tolist(), to_entries(flat, None)):
            columns[-1][number].append(session)
        present, first = np.unique(numbers, return_index=True)
        for column, values, kind in zip(columns, block.keys, self._key_types):
            column[present] = np.fromiter(to_values(values.take(pa.array(first)), kind), object, len(present))
        return columns

    def pieces_of_parts(self, parts: Iterable[tuple[int, GroupPart]]) -> Iterator[SessionBlock]:
        """The sessions in a snapshot of a backend."""
        for _, part in parts:
            for table_id, table in part.tables.items():
                if table_id.name == self.layout.name and table:
                    piece = self.piece_of(from_entries(list(table.values()), self.layout))
                    if piece is not None:
                        yield piece


class BackendSessions(OpenSessions):
    """The keys of a batch are read and written at once; ends say where to look when time goes on."""

    def __init__(
        self,
        aggregates: Aggregates,
        gap_ms: int,
        entries: SessionEntries,
        key_types: Sequence[DataType],
        state: KeyedColumns,
        due: KeyedColumns,
    ) -> None:
        super().__init__(aggregates, gap_ms)
        self._entries = entries
        self._keys = KeyColumns(range(len(key_types)), key_types)
        self._state = state
        self._due = due
        # The first end in each piece of time, which is as long as the gap; a session may have grown out of it.
        self._first_ends: dict[int, int] = {}

    def first_end(self) -> int | None:
        return min(self._first_ends.values(), default=None)

    def ends(self) -> list[tuple[int, int]]:
        """The pieces of time in which sessions end, and the first end in each."""
        return list(self._first_ends.items())

    def add_ends(self, ends: Iterable[tuple[int, int]]) -> None:
        """There may be sessions that end there."""
        for part, end in ends:
            self._first_ends[part] = min(end, self._first_ends.get(part, end))

    def add_piece(self, piece: SessionBlock) -> None:
        _, keys = self._encoded(piece.block.keys, len(piece))
        fetched = self._state.fetch(keys)
        stored = self._entries.piece_of(fetched.columns)
        # All open sessions of the keys are read and written with each batch: a new row may make one of two. With a gap
        # of 5, sessions of 0 and 8 are two until a 4 comes.
        together = self.joined([piece] if stored is None else [stored, piece])
        numbers = self._put(fetched, together)
        for part in np.unique(together.ends // self._gap).tolist():
            ends_here = together.ends // self._gap == part
            self._mark(part, [fetched.keys[number] for number in np.unique(numbers[ends_here]).tolist()])
            self.add_ends([(part, int(together.ends[ends_here].min()))])

    def _put(self, fetched: Fetched, piece: SessionBlock) -> Array:
        """Stores all sessions of the keys that were fetched; the number of each one's key."""
        codes, keys = self._encoded(piece.block.keys, len(piece))
        index = {key: number for number, key in enumerate(fetched.keys)}
        numbers = np.array([index[key] for key in keys], np.int64)[codes]
        columns = self._entries.columns_of(piece, numbers, len(fetched.keys))
        kept: Array = np.zeros(len(fetched.keys), np.bool_)
        kept[numbers] = True
        self._state.store(fetched, columns, kept)
        return numbers

    def _mark(self, part: int, keys: list[Any]) -> None:
        fetched = self._due.fetch(keys, part)
        self._due.store(fetched, fetched.columns)

    def close(self, closed: int) -> SessionBlock | None:
        due_parts = []
        for part in sorted(part for part, end in self._first_ends.items() if end <= closed):
            due = self._close_part(part, closed)
            if due is not None:
                due_parts.append(due)
        if not due_parts:
            return None
        together = self.concatenated(due_parts)
        return together.take(np.argsort(together.ends, kind="stable"))

    def _close_part(self, part: int, closed: int) -> SessionBlock | None:
        # Marks are not moved: a key may stand here whose session has grown into a later piece, where it is marked, too.
        fetched = self._state.fetch(self._due.entries(part)[0])
        piece = self._entries.piece_of(fetched.columns)
        if piece is None:
            self._forget(part)
            return None
        is_due = piece.ends <= closed
        rest = piece.take(np.flatnonzero(~is_due))
        if is_due.any():
            self._put(fetched, rest)
        here = rest.ends[rest.ends // self._gap == part]
        if len(here):
            self._first_ends[part] = int(here.min())
        else:
            self._forget(part)
        return piece.take(np.flatnonzero(is_due)) if is_due.any() else None

    def _forget(self, part: int) -> None:
        self._due.drop(part)
        del self._first_ends[part]

    def _open_sessions_of(self, keys: Sequence[pa.Array]) -> SessionBlock | None:
        count = len(keys[0]) if keys else 1
        return self._entries.piece_of(self._state.fetch(self._encoded(keys, count)[1]).columns)

    def _encoded(self, keys: Sequence[pa.Array], count: int) -> tuple[Array, list[Any]]:
        """The number of each row's key, and the stored keys by these numbers."""
        if not keys:
            return np.zeros(count, np.int64), [()]
        if not len(keys[0]):
            return np.empty(0, np.int64), []
        names = [str(index) for index in range(len(keys))]
        codes, stored = self._keys.encode(pa.RecordBatch.from_arrays(list(keys), names=names))
        return codes, stored.tolist() if isinstance(stored, np.ndarray) else list(stored)

    def blocks(self) -> Iterator[tuple[Any, AggregateBlock]]:
        """The backend has them."""
        return iter(())
