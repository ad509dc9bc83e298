"""Columns that only grow: rows are added at the end and read by their numbers, without copying what is there.

Numbers, times and texts stand in buffers with room behind them, which Arrow reads as one array. Everything else is kept
as a few arrays, of which small ones are put together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.kernels.copy_rows import (
    FORM,
    STRINGS,
    TARGET_FORM,
    TARGET_STRINGS,
    TARGET_VALIDITY,
    TARGET_VALUES,
    TEXT_BYTES,
    VALIDITY,
    VALUES,
    copy_rows,
)
from funke.engine.kernels.kernel import address
from funke.engine.sql.state.rows.row_copies import (
    BatchColumns,
    ColumnTable,
    TakenRows,
    copy_into,
    is_large_text,
    is_text,
    width_of,
)

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["GrowingColumns"]

_FIRST_BYTES = 1 << 12
# From so many values on there is little room behind them: moving large pages costs next to nothing.
_MANY = 1 << 16
# So many have offsets of 32 bits.
_MOST_BYTES = (1 << 31) - 1


class GrowingColumns:
    """Rows of a schema, numbered from 0 on."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._columns = [_column(each.type) for each in schema]
        self.count = 0
        self._table = ColumnTable(schema.types)
        # Whether the table says where the columns stand now.
        self._is_noted = False
        self._batch = BatchColumns(schema)
        self._copied_rows = TakenRows(schema)

    def add(self, data: pa.RecordBatch) -> None:
        self._batch.hold(data)
        self.add_rows(self._batch, np.arange(data.num_rows))

    def add_rows(self, batch: BatchColumns, rows: Array) -> None:
        """Adds some rows of a batch."""
        source = batch.words(len(rows))
        if source is None or self._table.words is None or copy_rows.compiled(len(rows)) is None:
            data = batch.data
            if len(rows) < data.num_rows:
                data = data.take(pa.array(rows))
            for own, column in zip(self._columns, data.columns):
                own.add(column, self.count)
            self._is_noted = False
        else:
            for own, words in zip(self._columns, source.tolist()):
                if own.reserve(self.count, len(rows), words[VALIDITY] != 0, words[TEXT_BYTES]):
                    self._is_noted = False
            targets = self.words()
            assert targets is not None
            copy_into(targets, source, rows, self.count)
        self.count += len(rows)

    def words(self) -> Array | None:
        """The addresses of the columns for loops; None if loops cannot read them."""
        words = self._table.words
        if words is not None and not self._is_noted:
            for own, each in zip(self._columns, words):
                own.note(each)
            self._is_noted = True
        return words

    def clear(self) -> None:
        """Forgets all rows, and keeps their room for others."""
        for each in self._columns:
            each.clear()
        self.count = 0
        self._is_noted = False

    def take(self, rows: Array, indexes: Sequence[int] | None = None) -> list[pa.Array]:
        """Some columns (all of them by default) of some rows; a number below 0 is a row of NULLs."""
        if not self.count:
            kinds = self.schema.types if indexes is None else [self.schema.types[index] for index in indexes]
            return [pa.nulls(len(rows), each) for each in kinds]
        if indexes is None:
            data = self._copied_rows.take(self.words(), rows)
            if data is not None:
                return data.columns  # type: ignore[no-any-return]
        chosen = self._columns if indexes is None else [self._columns[index] for index in indexes]
        mask = rows < 0
        row_numbers = pa.array(rows, mask=mask) if mask.any() else pa.array(rows)
        return [each.take(row_numbers, self.count) for each in chosen]

    def take_batch(self, rows: Array) -> pa.RecordBatch:
        """All columns of some rows."""
        data = self._copied_rows.take(self.words(), rows) if self.count else None
        return pa.RecordBatch.from_arrays(self.take(rows), schema=self.schema) if data is None else data

    @property
    def memory_bytes(self) -> int:
        """About how much memory the rows take."""
        return sum(each.used_bytes(self.count) for each in self._columns)

    def text_buffers(self, index: int) -> tuple[Array, Array]:
        """The offsets and the bytes of a column of texts, for loops."""
        column = self._columns[index]
        return column.offsets.data, column.bytes.data


class _Buffer:
    """Bytes with room behind them."""

    def __init__(self, dtype: Any) -> None:
        self.data: Array = np.zeros(_FIRST_BYTES, dtype)

    def reserve(self, size: int) -> bool:
        """Makes room for so many values; True if they have moved."""
        if size <= len(self.data):
            return False
        # In place, without copying pages: the old ones have no readers, since `take` copies.
        self.data.resize(size + (size // 2 if size < _MANY else size // 16), refcheck=False)
        return True

    @property
    def address(self) -> int:
        return address(self.data, self.data.dtype)


class _Validity:
    """The validity bits of values; nothing is kept until there is a NULL."""

    def __init__(self) -> None:
        self._bits: _Buffer | None = None

    def add(self, column: pa.Array, count: int) -> None:
        self.reserve(count, len(column), bool(column.null_count))
        if self._bits is None:
            return
        start = count // 8
        kept = np.unpackbits(self._bits.data[start : start + 1], bitorder="little")[: count % 8]
        is_valid = column.is_valid().to_numpy(zero_copy_only=False)
        packed = np.packbits(np.concatenate([kept.astype(bool), is_valid]), bitorder="little")
        self._bits.data[start : start + len(packed)] = packed

    def reserve(self, count: int, more: int, has_nulls: bool) -> bool:
        """Makes room for so many values; True if the bits have moved."""
        if self._bits is not None:
            return self._bits.reserve((count + more) // 8 + 1)
        if has_nulls:
            self._bits = _Buffer(np.uint8)
            self._bits.reserve((count + more) // 8 + 1)
            self._bits.data[: count // 8 + 1] = 255
        return has_nulls

    def note(self, words: Array) -> None:
        words[VALIDITY] = 0 if self._bits is None else self._bits.address
        words[TARGET_VALIDITY] = -1 if self._bits is None else self._bits.address

    def clear(self) -> None:
        self._bits = None

    def buffer(self) -> pa.Buffer | None:
        return None if self._bits is None else pa.py_buffer(self._bits.data)

    @property
    def size(self) -> int:
        return 0 if self._bits is None else len(self._bits.data)


class _FixedColumn:
    """Values of so many bytes each."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        # Bits would have to be shifted: a byte for each is kept instead.
        self._stored = pa.int8() if pa.types.is_boolean(kind) else kind
        self._width = self._stored.bit_width // 8
        self._values, self._validity = _Buffer(np.uint8), _Validity()

    def add(self, column: pa.Array, count: int) -> None:
        self._validity.add(column, count)
        stored = column if self._stored is self._kind else column.cast(self._stored)
        begin, size = count * self._width, len(column) * self._width
        self._values.reserve(begin + size)
        bytes_of_column = np.frombuffer(stored.buffers()[1], np.uint8) if size else np.empty(0, np.uint8)
        offset = stored.offset * self._width
        self._values.data[begin : begin + size] = bytes_of_column[offset : offset + size]

    def reserve(self, count: int, more: int, has_nulls: bool, text_bytes: int) -> bool:
        has_moved = self._values.reserve((count + more) * self._width)
        return self._validity.reserve(count, more, has_nulls) or has_moved

    def note(self, words: Array) -> None:
        self._validity.note(words)
        words[VALUES] = words[TARGET_VALUES] = self._values.address
        words[FORM] = words[TARGET_FORM] = 0

    def clear(self) -> None:
        self._validity.clear()

    def take(self, rows: pa.Array, count: int) -> pa.Array:
        buffers = [self._validity.buffer(), pa.py_buffer(self._values.data)]
        # Arrow wraps the buffers where they are; only the rows that are taken are copied.
        column = pa.Array.from_buffers(self._stored, count, buffers).take(rows)
        return column if self._stored is self._kind else column.cast(self._kind)

    def used_bytes(self, count: int) -> int:
        return count * int(self._width) + self._validity.size


class _TextColumn:
    """Texts or bytes; their offsets get 64 bits when they need them: a side of a join may have more than 2 GB."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = self._stored = kind
        self._is_large = is_large_text(kind)
        self._dtype: Any = np.int64 if self._is_large else np.int32
        self.offsets, self.bytes, self._validity = _Buffer(self._dtype), _Buffer(np.uint8), _Validity()

    def add(self, column: pa.Array, count: int) -> None:
        length = len(column)
        if not length:
            return
        self._validity.add(column, count)
        _, offset_buffer, data = column.buffers()
        offsets = np.frombuffer(offset_buffer, self._dtype)[column.offset : column.offset + length + 1]
        first, end = int(offsets[0]), int(offsets[-1])
        self.offsets.reserve(count + length + 1)
        used = int(self.offsets.data[count])
        if used + end - first > _MOST_BYTES and not self._is_large:
            self._enlarge()
        np.add(offsets, used - first, out=self.offsets.data[count : count + length + 1])
        self.bytes.reserve(used + end - first)
        if end > first:
            self.bytes.data[used : used + end - first] = np.frombuffer(data, np.uint8)[first:end]

    def reserve(self, count: int, more: int, has_nulls: bool, text_bytes: int) -> bool:
        has_moved = self.offsets.reserve(count + more + 1)
        size = int(self.offsets.data[count]) + text_bytes
        if size > _MOST_BYTES and not self._is_large:
            self._enlarge()
            has_moved = True
        has_moved = self.bytes.reserve(size) or has_moved
        return self._validity.reserve(count, more, has_nulls) or has_moved

    def note(self, words: Array) -> None:
        self._validity.note(words)
        words[VALUES] = words[TARGET_VALUES] = self.offsets.address
        words[STRINGS] = words[TARGET_STRINGS] = self.bytes.address
        words[FORM] = words[TARGET_FORM] = int(self._is_large)

    def _enlarge(self) -> None:
        self._is_large = True
        self._stored = pa.large_string() if pa.types.is_string(self._kind) else pa.large_binary()
        self.offsets.data = self.offsets.data.astype(np.int64)

    def clear(self) -> None:
        # The first offset is always 0.
        self._validity.clear()

    def take(self, rows: pa.Array, count: int) -> pa.Array:
        buffers = [self._validity.buffer(), pa.py_buffer(self.offsets.data), pa.py_buffer(self.bytes.data)]
        column = pa.Array.from_buffers(self._stored, count, buffers).take(rows)
        return column if self._stored is self._kind else column.cast(self._kind)

    def used_bytes(self, count: int) -> int:
        return int(self.offsets.data.itemsize * count + self.offsets.data[count]) + self._validity.size


class _NestedColumn:
    """Values with parts, as arrays each of which is at least twice as long as the next one."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._parts: list[Any] = []

    def add(self, column: pa.Array, count: int) -> None:
        self._parts.append(column)
        while len(self._parts) > 1 and len(self._parts[-2]) < 2 * len(self._parts[-1]):
            # So there are few parts, log₂ of the rows, and each value is copied about as often.
            self._parts[-2:] = [pa.concat_arrays(self._parts[-2:])]

    def clear(self) -> None:
        self._parts = []

    def take(self, rows: pa.Array, count: int) -> pa.Array:
        column = pa.chunked_array(self._parts, self._kind).take(rows)
        return pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)

    def used_bytes(self, count: int) -> int:
        return sum(int(each.nbytes) for each in self._parts)


def _column(kind: pa.DataType) -> Any:
    if is_text(kind):
        return _TextColumn(kind)
    return _NestedColumn(kind) if width_of(kind) is None else _FixedColumn(kind)
