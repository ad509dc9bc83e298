"""The results of lookups, kept by row: a row that is taken back takes back what it was joined with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.sql.state.rows.growing_columns import GrowingColumns
from funke.engine.sql.state.rows.row_bytes import row_bytes

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["KeptLookups"]

# Fewer rows that are gone are not worth packing.
_FEW_ROWS = 1 << 12


class KeptLookups:
    """By key: the rows that came with it, each with those that were found for it.

    A key that tells rows apart has one row; where only whole rows do, equal ones are kept one by one.
    """

    def __init__(self, left: pa.Schema, right: pa.Schema, keys: Sequence[int], is_unique: bool, ttl_ms: int) -> None:
        self._schemas = left, right
        self._keys = list(keys)
        self._is_unique = is_unique
        self._ttl_ms = ttl_ms
        self.schema = pa.schema([*left, *right, pa.field("$row", pa.int64()), pa.field("$found", pa.bool_())])
        self._clear()

    def _clear(self) -> None:
        left, right = self._schemas
        self._left, self._right = GrowingColumns(left), GrowingColumns(right)
        # By key: its rows, each with the indexes of the rows found, and when it came.
        self._rows: dict[bytes, list[tuple[int, Any, int]]] = {}
        self._live = 0

    def add(self, data: pa.RecordBatch, counts: Array, matches: Sequence[pa.Array], now_ms: int) -> None:
        """Keeps rows with what was found: for each so many, as columns of all of them."""
        first_left, first = self._left.count, self._right.count
        self._left.add(data)
        self._right.add(pa.RecordBatch.from_arrays(list(matches), schema=self._schemas[1]))
        ends = (np.cumsum(counts) + first).tolist()
        for index, (key, end, count) in enumerate(zip(self._keys_of(data), ends, counts.tolist())):
            entry = (first_left + index, np.arange(end - count, end), now_ms)
            if self._is_unique:
                self._live -= len(self._rows.get(key, ()))
                self._rows[key] = [entry]
            else:
                self._rows.setdefault(key, []).append(entry)
            self._live += 1

    def take_back(self, data: pa.RecordBatch, now_ms: int) -> tuple[Array, list[pa.Array]]:
        """Forgets rows: for each how many were found, -1 if it is not known, and the columns of all of them."""
        counts: Array = np.full(data.num_rows, -1, np.int64)
        indexes: list[Array] = [np.empty(0, np.int64)]
        for index, key in enumerate(self._keys_of(data)):
            entries = self._rows.get(key)
            if not entries:
                continue
            # Equal rows may have been joined with different versions of the table. Which of them goes cannot be told:
            # the last.
            _, own, came_ms = entries.pop()
            self._live -= 1
            if not self._ttl_ms or came_ms > now_ms - self._ttl_ms:
                counts[index] = len(own)
                indexes.append(own)
            if not entries:
                del self._rows[key]
        return counts, self._right.take(np.concatenate(indexes))

    def _keys_of(self, data: pa.RecordBatch) -> list[bytes]:
        keys: list[bytes] = row_bytes([data.column(each) for each in self._keys]).to_pylist()
        return keys

    def shrink(self, now_ms: int) -> None:
        """Forgets what has expired, and makes room where much is gone."""
        if self._left.count > max(_FEW_ROWS, 2 * self._live) or (self._ttl_ms and self._left.count > _FEW_ROWS):
            kept, times = self.all_rows(now_ms)
            self._clear()
            self.put(kept, times)

    def all_rows(self, now_ms: int) -> tuple[pa.RecordBatch, Array]:
        """All that is kept, with the times at which it came."""
        entries = [each for rows in self._rows.values() for each in rows]
        if self._ttl_ms:
            entries = [each for each in entries if each[2] > now_ms - self._ttl_ms]
        entries.sort(key=lambda each: each[0])
        left, right, is_found = [], [], []
        for row, indexes, _ in entries:
            left.append(np.full(max(len(indexes), 1), row))
            # A row without a match stands here, too, with `$found` false: when it is taken back, it must not be
            # unknown.
            right.append(indexes if len(indexes) else _NONE)
            is_found.append(np.full(max(len(indexes), 1), bool(len(indexes))))
        rows = np.concatenate([_NOTHING, *left])
        columns = [
            *self._left.take(rows),
            *self._right.take(np.concatenate([_NOTHING, *right])),
            pa.array(rows, pa.int64()),
            pa.array(np.concatenate([_NOTHING.astype(bool), *is_found]), pa.bool_()),
        ]
        times = np.array([came_ms for _, indexes, came_ms in entries for _ in range(max(len(indexes), 1))], np.int64)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema), times

    def put(self, data: pa.RecordBatch, times: Array) -> None:
        """Takes in what `all_rows` gave, of one or several subtasks."""
        if not data.num_rows:
            return
        width = len(self._schemas[0])
        rows = data.column(data.num_columns - 2).to_numpy()
        is_found = data.column(data.num_columns - 1).to_numpy(zero_copy_only=False)
        starts: Array = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
        counts: Array = np.add.reduceat(is_found.astype(np.int64), starts)
        matches = data.filter(pa.array(is_found)).columns[width:-2]
        own = pa.RecordBatch.from_arrays(data.columns[:width], schema=self._schemas[0]).take(pa.array(starts))
        first = 0
        for index in range(len(starts)):
            end = first + int(counts[index])
            part = [each.slice(first, end - first) for each in matches]
            self.add(own.slice(index, 1), counts[index : index + 1], part, int(times[starts[index]]))
            first = end


_NOTHING: Array = np.empty(0, np.int64)
_NONE: Array = np.full(1, -1, np.int64)
