"""Rows of a schema as bytes one behind the other, packed and read again many at once.

    row    size of the row (4 bytes), which columns are NULL (bits), values of a fixed size, sizes of the others
           (4 bytes each), the bytes of the others

A state backend keeps the rows of a key as one value: a slice of what `pack` makes of rows that are in the order of
their keys. Packing a row of five columns costs 0.23 µs, reading it 0.18 µs.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.errors import StateError
from funke.engine.kernels.join_rows import find_rows

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["PackedRows"]

_SIZE = np.dtype("<u4")
_STRINGS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


class PackedRows:
    """Packs the rows of an Arrow schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._widths = [_width(each.type) for each in schema]
        self._null_bytes = (len(schema) + 7) // 8
        self._loose = [index for index, width in enumerate(self._widths) if not width]
        self._head = 4 + self._null_bytes + sum(self._widths) + 4 * len(self._loose)

    def pack(self, data: pa.RecordBatch, starts: Array) -> list[bytes]:
        """The rows as values: each holds those from its start to the next one's."""
        offsets, content = self._packed(data)
        ends = offsets[np.append(starts[1:], data.num_rows)].tolist()
        return [content[begin:end] for begin, end in zip(offsets[starts].tolist(), ends)]

    def _packed(self, data: pa.RecordBatch) -> tuple[Array, bytes]:
        """The offset of each row, and the bytes of all."""
        count = data.num_rows
        head: Array = np.zeros((count, self._head), np.uint8)
        loose = [_bytes_of(data.column(index)) for index in self._loose]
        sizes: Array = np.full(count, self._head, np.int64)
        offset = 4
        nulls = [column.is_null().to_numpy(zero_copy_only=False) for column in data.columns]
        if nulls:
            bits = np.packbits(np.stack(nulls, axis=1), axis=1, bitorder="little")
            head[:, offset : offset + self._null_bytes] = bits
        offset += self._null_bytes
        for column, width in zip(data.columns, self._widths):
            if width:
                head[:, offset : offset + width] = _fixed_bytes(column, width)
                offset += width
        for column in loose:
            lengths = np.asarray(pc.binary_length(column)).astype(np.int64)
            sizes += lengths
            head[:, offset : offset + 4] = lengths.astype(_SIZE).view(np.uint8).reshape(count, 4)
            offset += 4
        head[:, :4] = sizes.astype(_SIZE).view(np.uint8).reshape(count, 4)
        offsets: Array = np.zeros(count + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        if not loose:
            return offsets, head.tobytes()
        spread = pa.py_buffer(np.arange(count + 1, dtype=np.int64) * self._head)
        heads = pa.Array.from_buffers(pa.large_binary(), count, [None, spread, pa.py_buffer(head)])
        joined = pc.binary_join_element_wise(heads, *loose, pa.scalar(b"", pa.large_binary()))
        return offsets, joined.buffers()[2].to_pybytes()

    def unpack(self, values: Sequence[bytes]) -> tuple[pa.RecordBatch, Array]:
        """All rows of values, in order, and how many each value has."""
        content: Array = np.frombuffer(b"".join(values), np.uint8)
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        starts, counts = self._starts(content, lengths)
        columns, offset = [], 4 + self._null_bytes
        is_null = self._nulls(content, starts)
        ends = starts + self._head
        variable_offset = offset + sum(self._widths)
        for index, (width, field) in enumerate(zip(self._widths, self._schema)):
            mask = is_null[:, index]
            if width:
                columns.append(_fixed_column(_gathered(content, starts + offset, width), field.type, mask))
                offset += width
                continue
            sizes = _gathered(content, starts + variable_offset, 4).view(_SIZE).reshape(-1).astype(np.int64)
            variable_offset += 4
            columns.append(_loose_column(content, ends, sizes, field.type, mask))
            ends = ends + sizes
        return pa.RecordBatch.from_arrays(columns, schema=self._schema), counts

    def _starts(self, content: Array, lengths: Array) -> tuple[Array, Array]:
        counts: Array = np.zeros(len(lengths), np.int64)
        # Rows of one size are found by counting, others only one behind the other, by the sizes in front of them.
        if not self._loose:
            np.floor_divide(lengths, self._head, out=counts)
            starts: Array = np.arange(len(content) // self._head, dtype=np.int64) * self._head
        else:
            starts = np.empty(len(content) // self._head, np.int64)
            total = find_rows.run(len(starts), content, lengths, len(lengths), self._head, counts, starts)
            starts = starts[: max(total, 0)]
        if len(content) and not 0 < len(starts) == counts.sum():
            raise StateError("rows of a join were stored in another layout: it is the state of another query")
        return starts, counts

    def _nulls(self, content: Array, starts: Array) -> Array:
        bits = _gathered(content, starts + 4, self._null_bytes)
        return np.unpackbits(bits, axis=1, bitorder="little").astype(bool)


def _width(kind: pa.DataType) -> int:
    """The bytes of a value, 0 if values have different sizes."""
    if pa.types.is_boolean(kind):
        return 1
    if pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind):
        return int(kind.bit_width // 8)
    is_fixed = pa.types.is_primitive(kind) and kind.bit_width % 8 == 0
    return int(kind.bit_width // 8) if is_fixed else 0


def _fixed_bytes(column: pa.Array, width: int) -> Array | int:
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    data = column.buffers()[1]
    if data is None:
        return 0
    begin = column.offset * width
    return np.frombuffer(data, np.uint8)[begin : begin + len(column) * width].reshape(-1, width)


def _bytes_of(column: pa.Array) -> pa.Array:
    """Texts, bytes, and values with parts as bytes; NULL has none."""
    if any(test(column.type) for test in _STRINGS):
        content = column.cast(pa.large_binary())
        return content.fill_null(b"") if content.null_count else content
    return pa.array([pickle.dumps(each, 5) for each in column.to_pylist()], pa.large_binary())


def _gathered(content: Array, starts: Array, width: int) -> Array:
    """So many bytes from each start on."""
    if not len(starts):
        return np.empty((0, width), np.uint8)
    # A view of all offsets at which so many bytes begin: nothing is copied before the rows are taken.
    windows = np.lib.stride_tricks.as_strided(content, (len(content) - width + 1, width), (1, 1), writeable=False)
    return np.ascontiguousarray(windows[starts])


def _fixed_column(values: Array, kind: pa.DataType, is_null: Array) -> pa.Array:
    stored = pa.int8() if pa.types.is_boolean(kind) else kind
    column = pa.Array.from_buffers(stored, len(values), [_validity(is_null), pa.py_buffer(values)])
    return column.cast(kind) if stored is not kind else column


def _loose_column(content: Array, begins: Array, sizes: Array, kind: pa.DataType, is_null: Array) -> pa.Array:
    # Arrow takes ranges out of bytes if what lies between them are values too: every second one is wanted.
    count = len(begins)
    offsets: Array = np.empty(2 * count + 1, np.int64)
    offsets[0], offsets[1::2], offsets[2::2] = 0, begins, begins + sizes
    both = pa.Array.from_buffers(pa.large_binary(), 2 * count, [None, pa.py_buffer(offsets), pa.py_buffer(content)])
    odd_numbers = pa.array(np.arange(count, dtype=np.int64) * 2 + 1, mask=is_null if is_null.any() else None)
    values = both.take(odd_numbers)
    if any(test(kind) for test in _STRINGS):
        return values.cast(kind)
    return pa.array([None if each is None else pickle.loads(each) for each in values.to_pylist()], kind)


def _validity(is_null: Array) -> pa.Buffer | None:
    return pa.py_buffer(np.packbits(~is_null, bitorder="little")) if is_null.any() else None
