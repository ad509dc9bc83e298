"""Arrays of numpy as Arrow columns of the types that results have."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.types.logical import DecimalType, to_column_type

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["decimal_column", "number_column"]

_LIMB = (1 << 64) - 1


def number_column(numbers: Array, empty: Array | None, arrow_type: pa.DataType) -> pa.Array:
    """Numbers, dates and times as a column; NULL where `empty` is true (None: nowhere)."""
    if pa.types.is_boolean(arrow_type):
        return pa.array(numbers.astype(np.bool_), arrow_type, mask=empty)
    stored = _STORED_AS.get(arrow_type.id, arrow_type)
    column = pa.array(numbers.astype(stored.to_pandas_dtype(), copy=False), stored, mask=empty)
    return column if stored == arrow_type else column.view(arrow_type)


def decimal_column(unscaled: Array, empty: Array | None, data_type: DecimalType) -> pa.Array:
    """Unscaled integers as a column of decimals; NULL where `empty` is true, and where there are too many digits."""
    with suppress(OverflowError):
        unscaled = unscaled.astype(np.int64)
    limit = 10**data_type.precision
    is_missing = (unscaled >= limit) | (unscaled <= -limit)
    if empty is not None:
        is_missing = is_missing | empty
    is_missing = is_missing.astype(bool)
    kept = np.where(is_missing, 0, unscaled)
    # Arrow's decimals have 128 bits, the lower half first; the upper half of a small number is its sign.
    words: Array = np.empty(2 * len(kept), np.uint64)
    if kept.dtype == np.int64:
        words[0::2], words[1::2] = kept.view(np.uint64), (kept >> 63).view(np.uint64)
    else:
        words[0::2] = (kept & _LIMB).astype(np.uint64)
        words[1::2] = ((kept >> 64) & _LIMB).astype(np.uint64)
    has_missing = bool(is_missing.any())
    validity = pa.array(~is_missing).buffers()[1] if has_missing else None
    return pa.Array.from_buffers(to_column_type(data_type), len(kept), [validity, pa.py_buffer(words)])


_STORED_AS = {
    pa.date32().id: pa.int32(),
    pa.time32("ms").id: pa.int32(),
    pa.time64("us").id: pa.int64(),
    pa.timestamp("ms").id: pa.int64(),
}
