"""Plain values that sort as an order says, for operators that keep sorted lists of rows."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import isnan
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.state.rows.stored_rows import to_plain

if TYPE_CHECKING:
    from funke.engine.types.logical.sql_value import SqlValue

__all__ = ["sort_tuples"]


def sort_tuples(data: pa.RecordBatch, order: tuple[SortKey, ...]) -> list[tuple[SqlValue, ...]]:
    """Plain values for each row that sort as an order says."""
    if not order:
        return [()] * data.num_rows
    return list(zip(*(_sort_values(data.column(key.index), key) for key in order)))


def _sort_values(column: pa.Array, key: SortKey) -> list[tuple[SqlValue, ...]]:
    null = (0,) if key.nulls_first else (2,)
    as_value = _rising if key.is_ascending else _FALLING.get(_kind_of(column.type), _negative)
    if pa.types.is_floating(column.type):
        as_value = _rising_fraction if key.is_ascending else _falling_fraction
    return [null if each is None else (1, as_value(each)) for each in to_plain(column).to_pylist()]


def _rising(value: SqlValue) -> SqlValue:
    return value


def _negative(value: SqlValue) -> SqlValue:
    return -value


def _rising_fraction(value: float) -> tuple[int, float]:
    return (1, 0.0) if isnan(value) else (0, value)


def _falling_fraction(value: float) -> tuple[int, float]:
    return (-1, 0.0) if isnan(value) else (0, -value)


def _falling_text(value: str) -> tuple[int, ...]:
    # The end stands behind everything that goes on.
    return (*(-ord(each) for each in value), 1)


def _falling_bytes(value: bytes) -> tuple[int, ...]:
    return (*(-each for each in value), 1)


_FALLING: dict[str, Callable[[Any], Any]] = {
    "text": _falling_text,
    "bytes": _falling_bytes,
    # A minus would round to the 28 digits of Python's context.
    "decimal": Decimal.copy_negate,
}


def _kind_of(kind: pa.DataType) -> str:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    if pa.types.is_decimal(kind):
        return "decimal"
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return "bytes" if is_bytes else "other"
