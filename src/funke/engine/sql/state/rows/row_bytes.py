"""Several columns as one column of bytes: two rows have the same bytes if and only if they have the same values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["row_bytes", "row_hashes"]

_STRINGS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


def row_bytes(columns: Sequence[pa.Array]) -> pa.Array:
    """An Arrow column of `large_binary` without NULLs; NULL has bytes of its own."""
    if len(columns) > 1 and all(_is_word(each.type) for each in columns):
        return _words(columns)
    parts: list[Any] = []
    for number, column in enumerate(columns):
        if column.null_count:
            parts.append(_fixed(column.is_null().cast(pa.int8())))
        else:
            parts.append(pa.scalar(b"\0", pa.large_binary()))
        parts += _parts(column, is_last=number == len(columns) - 1)
    if all(isinstance(each, pa.Scalar) for each in parts):
        raise ValueError("a row without columns has no bytes")
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.large_binary()))


def row_hashes(data: pa.RecordBatch, columns: Sequence[int]) -> Array:
    """Hashes of 64 bits that an attacker cannot choose: those of Python's bytes."""
    keys = row_bytes([data.column(index) for index in columns])
    return np.fromiter(map(hash, keys.to_pylist()), np.int64, data.num_rows)


def _is_word(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind))


def _words(columns: Sequence[pa.Array]) -> pa.Array:
    """Numbers and times as a word each, behind one that says which are NULL: a quarter of the cost of joined bytes."""
    count, width = len(columns[0]), len(columns) + 1
    words: Array = np.zeros((count, width), np.int64)
    for index, column in enumerate(columns):
        data = column.buffers()[1]
        if data is None:
            words[:, 0] |= 1 << index
            continue
        values = np.frombuffer(data, f"i{column.type.bit_width // 8}")[column.offset : column.offset + count]
        words[:, index + 1] = values
        if column.null_count:
            is_null = column.is_null().to_numpy(zero_copy_only=False)
            words[is_null, 0] |= 1 << index
            words[is_null, index + 1] = 0
    offsets: Array = np.arange(count + 1, dtype=np.int64) * (8 * width)
    return pa.Array.from_buffers(pa.large_binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(words)])


def _parts(column: pa.Array, is_last: bool) -> list[pa.Array]:
    """The bytes of values; where these are of different lengths and others follow, their length comes first."""
    kind = column.type
    if any(test(kind) for test in _STRINGS):
        content = column.cast(pa.large_binary()) if not pa.types.is_large_binary(kind) else column
        content = content.fill_null(b"") if content.null_count else content
        # Without the length ('ab', 'c') and ('a', 'bc') would have the same bytes.
        return [content] if is_last else [_fixed(pc.binary_length(content).cast(pa.int64())), content]
    if pa.types.is_boolean(kind):
        return [_fixed(column.cast(pa.int8()).fill_null(0))]
    if pa.types.is_floating(kind):
        numbers: Array = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        # One form of zero, and one of NaN.
        numbers = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
        return [_fixed(pa.array(numbers))]
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        content = pa.array([repr(each).encode() for each in column.to_pylist()], pa.large_binary())
        return [content] if is_last else [_fixed(pc.binary_length(content).cast(pa.int64())), content]
    return [_fixed(column)]


def _fixed(column: pa.Array) -> pa.Array:
    """The bytes of values of one size; those of NULL are 0."""
    width = column.type.bit_width // 8
    data = column.buffers()[1]
    content: Array = np.zeros(len(column) * width, np.uint8)
    if data is not None:
        content = np.frombuffer(data, np.uint8)[column.offset * width : (column.offset + len(column)) * width]
    if column.null_count:
        content = content.copy()
        content.reshape(len(column), width)[column.is_null().to_numpy(zero_copy_only=False)] = 0
    offsets = np.arange(len(column) + 1, dtype=np.int64) * width
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.large_binary(), len(column), buffers)
