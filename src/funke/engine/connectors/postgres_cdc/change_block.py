"""Changes of rows, many at once: where in the bytes of their messages each value stands, and values as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.errors import SourceError

__all__ = ["DELETE", "INSERT", "KIND_AT", "NULL", "UNCHANGED", "UPDATE", "WHOLE_OLD", "ChangeBlock", "Cells"]

# A message as it is sent begins with its kind and three numbers of the stream; its own first byte says what it is.
KIND_AT = 25
INSERT, UPDATE, DELETE = b"IUD"
_OLD_KEY, WHOLE_OLD = b"KO"
_TEXT, _NULL, _UNCHANGED = b"tnu"
# Instead of lengths. UNCHANGED is a long value that an update did not touch: the log does not hold it.
NULL, UNCHANGED = -1, -2
_RELATION_AT, _MARK_AT, _TUPLE_AT = KIND_AT + 1, KIND_AT + 5, KIND_AT + 6
# Numbers may be looked for behind the last value.
_PADDING = bytes(8)


@dataclass(frozen=True)
class Cells:
    """Where values stand, by column and row, and how long they are: or NULL or UNCHANGED."""

    offsets: Any
    lengths: Any

    def of(self, columns: Any) -> Cells:
        return Cells(self.offsets[columns], self.lengths[columns])


class ChangeBlock:
    """Messages of changes one behind the other. Each has a row, or the row before and then the row behind."""

    def __init__(self, messages: Sequence[Any]) -> None:
        self.bytes = b"".join([*messages, _PADDING])
        self._data = np.frombuffer(self.bytes, np.uint8)
        # At every byte begins a number.
        size = len(self.bytes)
        self._ints = np.ndarray((size - 3,), ">u4", self.bytes, strides=(1,))
        self._shorts = np.ndarray((size - 1,), ">u2", self.bytes, strides=(1,))
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        self._starts = lengths.cumsum() - lengths
        self.kinds = self._data[self._starts + KIND_AT]
        self.relations = self._ints[self._starts + _RELATION_AT].astype(np.int64)
        self.marks = self._data[self._starts + _MARK_AT]
        self.have_old = (self.marks == WHOLE_OLD) | (self.marks == _OLD_KEY)
        # Rows before and behind.
        self.have_two = self.have_old & (self.kinds == UPDATE)

    def __len__(self) -> int:
        return len(self._starts)

    def rows(self, messages: Any, columns: int) -> tuple[Cells, Cells]:
        """The first rows of some messages of a table, and the second ones of those that have two."""
        first, ends = self._rows(self._starts[messages] + _TUPLE_AT, columns)
        second, _ = self._rows(ends[self.have_two[messages]] + 1, columns)
        return first, second

    def _rows(self, at: Any, columns: int) -> tuple[Cells, Any]:
        """Walks through the columns of all rows at once: about 20 ns for a value, a loop over values takes 400."""
        if (self._shorts[at] != columns).any():
            raise SourceError(f"PostgreSQL sent a row without the {columns} columns of its table")
        at = at + 2
        shape = (columns, len(at))
        offsets: Any = np.empty(shape, np.int64)
        lengths: Any = np.empty(shape, np.int64)
        for column in range(columns):
            kinds = self._data[at]
            is_text = kinds == _TEXT
            sizes = np.where(is_text, self._ints[at + 1], 0).astype(np.int64)
            offsets[column] = np.where(is_text, at + 5, at + 1)
            lengths[column] = sizes
            if not is_text.all():
                lengths[column][kinds == _NULL] = NULL
                lengths[column][kinds == _UNCHANGED] = UNCHANGED
                self._check(kinds[~is_text])
            at = offsets[column] + sizes
        return Cells(offsets, lengths), at

    @staticmethod
    def _check(kinds: Any) -> None:
        unknown = kinds[(kinds != _NULL) & (kinds != _UNCHANGED)]
        if len(unknown):
            raise SourceError(f"PostgreSQL sent a value of kind {chr(unknown[0])!r}, which was not requested")

    def text(self, offset: int, length: int) -> str | None:
        return None if length < 0 else self.bytes[offset : offset + length].decode()

    def strings(self, cells: Cells, others: Mapping[int, str | None] | None = None) -> Any:
        """A column of texts, whose places rise from row to row; `others` has some that stand elsewhere, by row."""
        offsets, lengths = cells.offsets, cells.lengths
        count = len(offsets)
        # What is between two values is a value, too, so that the bytes can stay where they are; every second is taken.
        edges: Any = np.empty(2 * count, np.int32)
        edges[0::2] = offsets
        edges[1::2] = offsets + np.maximum(lengths, 0)
        whole = pa.StringArray.from_buffers(max(0, 2 * count - 1), pa.py_buffer(edges), pa.py_buffer(self.bytes))
        chosen, is_null = np.arange(0, 2 * count, 2), lengths < 0
        if others:
            rows = np.fromiter(others, np.int64, len(others))
            chosen[rows] = len(whole) + np.arange(len(others))
            is_null[rows] = False
            whole = pa.concat_arrays([whole, pa.array(list(others.values()), pa.string())])
        return whole.take(pa.array(chosen, mask=is_null if is_null.any() else None))
