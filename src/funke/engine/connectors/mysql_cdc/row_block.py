"""Rows of many events of one table at once: where in the bytes of the events each value stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.connectors.mysql_cdc.stored_columns import StoredColumn
from funke.engine.errors import SourceError

__all__ = ["Cells", "RowBlock", "binaries"]

# Numbers may be looked for behind the last value.
_PADDING = bytes(16)
NULL = -1


@dataclass(frozen=True)
class Cells:
    """Where the values of a column stand, and how long they are, or NULL."""

    offsets: Any
    lengths: Any

    @property
    def is_null(self) -> Any:
        return self.lengths == NULL

    def of(self, rows: Any) -> Cells:
        return Cells(self.offsets[rows], self.lengths[rows])


class RowBlock:
    """The rows of events, event by event; `events` has the number of each row's event, `numbers` its place there."""

    def __init__(self, bodies: Sequence[bytes], starts: Sequence[int], columns: Sequence[StoredColumn]) -> None:
        self.bytes = b"".join([*bodies, _PADDING])
        self.data: Any = np.frombuffer(self.bytes, np.uint8)
        size = len(self.bytes)
        # At every byte begins a number.
        self._little: Any = np.ndarray((size - 7,), "<u8", self.bytes, strides=(1,))
        self._big: Any = np.ndarray((size - 7,), ">u8", self.bytes, strides=(1,))
        lengths = np.fromiter(map(len, bodies), np.int64, len(bodies))
        ends = lengths.cumsum()
        self._walk(ends - lengths + np.asarray(starts, np.int64), ends, columns)

    def _walk(self, at: Any, ends: Any, columns: Sequence[StoredColumn]) -> None:
        """Takes a row of every event, then the next: as many steps as the fullest event has rows."""
        events: list[Any] = []
        cells: list[tuple[Any, Any]] = []
        active = np.arange(len(at))
        while len(active := active[at[active] < ends[active]]):
            offsets, lengths, at[active] = self._step(at[active], columns)
            events.append(active)
            cells.append((offsets, lengths))
        if (at != ends).any():
            raise SourceError("the rows of an event of the binary log do not end where the event does")
        if not events:  # and no rows
            events, cells = [active], [self._step(active, columns)[:2]]
        steps: Any = np.repeat(np.arange(len(events)), [len(each) for each in events])
        owners: Any = np.concatenate(events)
        order = np.lexsort((steps, owners))
        self.events, self.numbers = owners[order], steps[order]
        self._cells = [
            Cells(
                np.concatenate([offsets[column] for offsets, _ in cells])[order],
                np.concatenate([lengths[column] for _, lengths in cells])[order],
            )
            for column in range(len(columns))
        ]

    def _step(self, at: Any, columns: Sequence[StoredColumn]) -> tuple[Any, Any, Any]:
        nulls = [self.data[at + byte] for byte in range((len(columns) + 7) // 8)]
        shape = (len(columns), len(at))
        offsets: Any = np.empty(shape, np.int64)
        lengths: Any = np.empty(shape, np.int64)
        at = at + len(nulls)
        for number, column in enumerate(columns):
            is_null = (nulls[number >> 3] >> (number & 7) & 1).astype(bool)
            has_nulls = is_null.any()
            if column.is_counted:
                sizes = (self._little[at] & np.uint64((1 << 8 * column.width) - 1)).astype(np.int64)
                begin = at + column.width
                if has_nulls:
                    sizes, begin = np.where(is_null, 0, sizes), np.where(is_null, at, begin)
            else:
                sizes, begin = np.where(is_null, 0, column.width) if has_nulls else column.width, at
            offsets[number], lengths[number] = begin, sizes
            at = begin + sizes
            if has_nulls:
                lengths[number][is_null] = NULL
        return offsets, lengths, at

    def __len__(self) -> int:
        return len(self.events)

    def cells(self, column: int) -> Cells:
        return self._cells[column]

    def unsigned(self, cells: Cells, width: int, is_big: bool = False) -> Any:
        """Whole numbers of so many bytes; of nulls, any."""
        if is_big:
            return self._big[cells.offsets].astype(np.uint64) >> np.uint64(64 - 8 * width)
        return self._little[cells.offsets].astype(np.uint64) & np.uint64((1 << 8 * width) - 1)

    def matrix(self, cells: Cells, width: int) -> Any:
        """The bytes of values that all have the same length, a row for each."""
        return self.data[cells.offsets[:, None] + np.arange(width)]

    def binaries(self, cells: Cells) -> Any:
        """A column of bytes, as Arrow has it."""
        return binaries(self.bytes, cells)


def binaries(content: bytes, cells: Cells) -> Any:
    """A column of bytes, as Arrow has it; places rise from row to row."""
    count = len(cells.offsets)
    # What is between two values is a value, too, so that the bytes can stay where they are; every second is taken.
    edges: Any = np.empty(2 * count, np.int32)
    edges[0::2] = cells.offsets
    edges[1::2] = cells.offsets + np.maximum(cells.lengths, 0)
    whole = pa.Array.from_buffers(
        pa.binary(), max(0, 2 * count - 1), [None, pa.py_buffer(edges), pa.py_buffer(content)]
    )
    is_null = cells.is_null
    return whole.take(pa.array(np.arange(0, 2 * count, 2), mask=is_null if is_null.any() else None))
