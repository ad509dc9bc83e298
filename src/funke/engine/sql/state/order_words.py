"""The order of rows as words of 64 bits, and as bytes where words do not decide: loops compare nothing else."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.state.rows.stored_rows import to_plain

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["OrderWords"]

_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_SIGN: Any = np.uint64(1 << 63)
_WHOLE_DIGITS = 18
_BYTES = pa.large_binary()


class OrderWords:
    """The order of rows of some columns.

    A number is a word, in front of which a BIGINT has another one for NULL. If a column is a text, all of them are put
    together to bytes that sort as rows do, and the first eight are the word.
    """

    def __init__(self, schema: pa.Schema, order: Sequence[SortKey]) -> None:
        self._order = tuple(order)
        self._kinds = [schema.types[key.index] for key in order]
        self.has_strings = not all(map(_is_number, self._kinds))
        self.count = 1 if self.has_strings else sum(2 if _needs_two(kind) else 1 for kind in self._kinds)

    def of(self, data: pa.RecordBatch) -> tuple[Array, pa.Array | None]:
        """The words of rows, one row after the other, and a column of texts if words do not decide."""
        if self.has_strings:
            strings = self._strings(data)
            return _first_words(strings), strings
        if not self._order:
            return np.empty(0, np.int64), None
        columns = [each for key, kind in zip(self._order, self._kinds) for each in _words(data.column(key.index), key)]
        if len(columns) == 1:
            return columns[0], None
        words: Array = np.empty((data.num_rows, len(columns)), np.int64)
        for index, column in enumerate(columns):
            words[:, index] = column
        return words.ravel(), None

    def peer_numbers(self, data: pa.RecordBatch) -> Array | None:
        """A number for each row, the same for rows that are equal by the order; None if a word is not enough."""
        if self.has_strings:
            return None
        words = self.of(data)[0].reshape(-1, self.count)
        # Beside values without NULL stands a word that is always the same.
        telling = [words[:, index] for index in range(self.count) if (words[:, index] != words[:1, index]).any()]
        return (telling or [words[:, 0]])[0] if len(telling) < 2 else None

    def _strings(self, data: pa.RecordBatch) -> pa.Array:
        parts: list[Any] = []
        for key, kind in zip(self._order, self._kinds):
            column = data.column(key.index)
            if _is_number(kind):
                # From the highest byte on, bytes sort as numbers without signs.
                parts += [_fixed_bytes((each.view(np.uint64) ^ _SIGN).astype(">u8")) for each in _words(column, key)]
                continue
            null = 0 if key.nulls_first else 2
            parts.append(_fixed_bytes(np.where(np.asarray(column.is_valid()), 1, null).astype(np.uint8)))
            content = _content(column)
            parts.append(content if key.is_ascending else _inverted(content))
        return pc.binary_join_element_wise(*parts, pa.scalar(b"", _BYTES))


def _is_number(kind: pa.DataType) -> bool:
    is_whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind)
    return bool(is_whole or pa.types.is_floating(kind) or pa.types.is_decimal128(kind))


def _needs_two(kind: pa.DataType) -> bool:
    """True if NULL needs a word of its own because all words are values, or if one word is too small for the values."""
    if pa.types.is_decimal128(kind):
        return bool(kind.precision > _WHOLE_DIGITS)
    return bool(pa.types.is_integer(kind) and kind.bit_width == 64)


def _words(column: pa.Array, key: SortKey) -> list[Array]:
    kind = column.type
    null = _LEAST if key.nulls_first else _MOST
    is_null = np.asarray(column.is_null()) if column.null_count else None
    words = _decimal_words(column) if pa.types.is_decimal128(kind) else [_number_words(column)]
    if not key.is_ascending:
        # Not with a minus, which the least number does not have.
        words = [~each for each in words]
    if is_null is not None:
        words = [np.where(is_null, null, each) for each in words]
    if len(words) == 1 and _needs_two(kind):
        flags: Array = np.zeros(len(column), np.int64)
        if is_null is not None:
            flags[is_null] = null
        return [flags, *words]
    return words


def _number_words(column: pa.Array) -> Array:
    if pa.types.is_floating(column.type):
        numbers = np.asarray(column.cast(pa.float64()).fill_null(0.0))
        # One form of zero, and one of NaN, which stands behind everything.
        bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.int64)
        # As integers, the bits of positive floats are in order, and those of negative ones in the opposite order.
        return np.where(bits < 0, bits ^ _MOST, bits)
    plain = to_plain(column)
    if plain.null_count:
        plain = plain.fill_null(False if pa.types.is_boolean(plain.type) else 0)
    return plain.to_numpy(zero_copy_only=False).astype(np.int64)


def _decimal_words(column: pa.Array) -> list[Array]:
    data = column.buffers()[1]
    both: Array = np.zeros(2 * len(column), np.int64)
    if data is not None:
        both = np.frombuffer(data, np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    low, high = both[::2], both[1::2]
    # A decimal has 128 bits, the low half first. That half has no sign, so its highest bit is turned round.
    return [low] if column.type.precision <= _WHOLE_DIGITS else [high, (low.view(np.uint64) ^ _SIGN).view(np.int64)]


def _fixed_bytes(numbers: Array) -> pa.Array:
    offsets = np.arange(len(numbers) + 1, dtype=np.int64) * numbers.itemsize
    return pa.Array.from_buffers(_BYTES, len(numbers), [None, pa.py_buffer(offsets), pa.py_buffer(numbers)])


def _content(column: pa.Array) -> pa.Array:
    """Texts with an end that stands in front of everything that goes on."""
    if pa.types.is_nested(column.type):
        content = pa.array([_nested_bytes(each) for each in column.to_pylist()], _BYTES)
    else:
        content = column.cast(pa.binary()).cast(_BYTES) if not pa.types.is_large_binary(column.type) else column
    content = content.fill_null(b"")
    # Two zeros end a text; a zero within it is followed by 255. So 'a' stands in front of 'a\0' and of 'ab'.
    content = pc.replace_substring(content, b"\0", b"\0\xff")
    return pc.binary_join_element_wise(content, pa.scalar(b"\0\0", _BYTES), pa.scalar(b"", _BYTES))


def _inverted(content: pa.Array) -> pa.Array:
    _, offsets, data = content.buffers()
    inverted = ~np.frombuffer(data, np.uint8)
    return pa.Array.from_buffers(_BYTES, len(content), [None, offsets, pa.py_buffer(inverted)], offset=content.offset)


def _nested_bytes(value: Any) -> bytes:
    """Elements one after the other, each behind a sign that one follows."""
    if value is None:
        return b"\0"
    if isinstance(value, (list, tuple, dict)):
        parts = value.values() if isinstance(value, dict) else value
        return b"\2" + b"".join(b"\1" + _nested_bytes(each) for each in parts) + b"\0"
    if isinstance(value, (str, bytes)):
        content = value.encode() if isinstance(value, str) else value
        return b"\2" + content.replace(b"\0", b"\0\xff") + b"\0\0"
    (word,) = _number_words(pa.array([float(value)]))
    return b"\2" + struct.pack(">Q", (int(word) + (1 << 63)) % (1 << 64))


def _first_words(strings: pa.Array) -> Array:
    """The first eight bytes of each text; no text is the beginning of another one, so what is behind its end is 0."""
    _, offset_buffer, data = strings.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    indexes = offsets[:-1, None] + np.arange(8)
    is_there = indexes < offsets[1:, None]
    content = np.where(is_there, np.frombuffer(data, np.uint8)[np.where(is_there, indexes, 0)], 0).astype(np.uint8)
    return (content.view(">u8").ravel().astype(np.uint64) ^ _SIGN).view(np.int64)
