"""Arguments that are computed only for the rows that need them: `CASE WHEN b <> 0 THEN a / b END` never fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["PARTIAL", "arguments_in_turn"]

# Computes an argument for a batch: an array, or a scalar.
ColumnGetter = Callable[[pa.RecordBatch], Any]
# The same for some rows of it, which are marked.
Argument = Callable[[pa.RecordBatch, Any], Any]
# Functions that evaluate an argument only if those before it have not decided, and the way in which these decide.
PARTIAL: dict[str, str] = {"case": "case", "if": "case", "coalesce": "coalesce", "and": "and", "or": "or"}


def arguments_in_turn(
    kind: str, getters: Sequence[ColumnGetter], types: Sequence[pa.DataType]
) -> Callable[[pa.RecordBatch], list[Any]]:
    """A function that computes arguments one after the other; rows that do not need one have a NULL of its type."""
    arguments = [partial(_for_rows, get, each) for get, each in zip(getters, types)]
    if kind == "case":
        return lambda batch: _case(batch, arguments)
    return lambda batch: _until_decided(batch, arguments, kind)


def _case(batch: pa.RecordBatch, arguments: Sequence[Argument]) -> list[Any]:
    left: Array = np.ones(batch.num_rows, np.bool_)
    columns = []
    for condition_of, value_of in zip(arguments[::2], arguments[1::2]):
        condition = condition_of(batch, left)
        is_true = left & _truth(condition, batch.num_rows)
        columns += [condition, value_of(batch, is_true)]
        left &= ~is_true
    return [*columns, *(value_of(batch, left) for value_of in arguments[len(columns) :])]


def _until_decided(batch: pa.RecordBatch, arguments: Sequence[Argument], kind: str) -> list[Any]:
    left: Array = np.ones(batch.num_rows, np.bool_)
    columns = []
    for argument in arguments:
        column = argument(batch, left)
        columns.append(column)
        if kind == "coalesce":
            left &= np.asarray(column.is_null()) if isinstance(column, pa.Array) else not column.is_valid
        else:
            # NULL decides nothing.
            decided = pc.invert(pc.cast(column, pa.bool_())) if kind == "and" else column
            left &= ~_truth(decided, batch.num_rows)
    return columns


def _for_rows(get: ColumnGetter, data_type: Any, batch: pa.RecordBatch, rows: Any) -> Any:
    if rows.all():
        return get(batch)
    if not rows.any():
        return pa.scalar(None, data_type)
    column = get(batch.filter(pa.array(rows)))
    if isinstance(column, pa.Scalar):
        return column
    # The n-th row of the mask gets the n-th computed value, all others NULL.
    return column.take(pa.array(np.cumsum(rows) - 1, mask=~rows))


def _truth(condition: Any, length: int) -> Array:
    truth = pc.fill_null(pc.cast(condition, pa.bool_()), False)
    return np.full(length, truth.as_py()) if isinstance(truth, pa.Scalar) else np.asarray(truth)
