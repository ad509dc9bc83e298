"""Calls on whole columns: by the kernel if there is one, else by the body, value by value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.errors import TypeMismatchError
from funke.engine.sql.functions.distinct_values import ColumnFunction, OverDistinct
from funke.engine.sql.functions.function import BoundCall, SymbolType
from funke.engine.sql.functions.values import from_values, to_value, to_values
from funke.engine.types.logical import to_column_type, to_sql_text

if TYPE_CHECKING:
    from funke.engine.types.logical import DataType, SqlValue

__all__ = ["column_function", "mapped_body"]


def column_function(call: BoundCall) -> ColumnFunction:
    """Return the function that evaluates a call on columns. Words among the arguments are passed as they are."""
    kernel = call.kernel()
    if kernel is None:
        return OverDistinct(mapped_body(call)) if call.function.may_skip_repeats else mapped_body(call)
    result_type = to_column_type(call.result)

    def evaluate(columns: Sequence[Any], length: int) -> pa.Array:
        return as_column(kernel(*columns), result_type, length)

    return evaluate


def mapped_body(call: BoundCall) -> ColumnFunction:
    """Return the function that evaluates a call value by value: the reference for every kernel."""
    body, types = call.body(), call.types
    is_deterministic = call.is_deterministic

    def evaluate(columns: Sequence[Any], length: int) -> pa.Array:
        lists = [_values(column, data_type) for column, data_type in zip(columns, types)]
        if not lists:
            return _results([body() for _ in range(length)], call)
        if all(isinstance(each, repeat) for each in lists):
            # All arguments are constants: one call does for all rows.
            if is_deterministic:
                return _results([body(*map(next, lists))] * length, call)
            return _results([body(*map(next, lists)) for _ in range(length)], call)
        return _results(list(map(body, *lists)), call)

    return evaluate


def _results(values: list[SqlValue], call: BoundCall) -> pa.Array:
    try:
        return from_values(values, call.result)
    except (pa.ArrowException, ArithmeticError, AttributeError, TypeError, ValueError) as error:
        # Functions of users may return values of another type than they declare.
        raise TypeMismatchError(
            f"the function '{call.function.name}' must give {to_sql_text(call.result)}: {error}"
        ) from error


def as_column(result: pa.Array | pa.ChunkedArray | pa.Scalar, result_type: pa.DataType, length: int) -> pa.Array:
    """Return the result of a kernel as an array of the wanted type."""
    if isinstance(result, pa.Scalar):
        result = pa.repeat(result, length)
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    return result if result.type == result_type else result.cast(result_type, safe=False)


def _values(column: Any, data_type: DataType) -> Any:
    if isinstance(data_type, SymbolType):
        return repeat(column)
    if isinstance(column, pa.Scalar):
        return repeat(to_value(column, data_type))
    return to_values(column, data_type)
