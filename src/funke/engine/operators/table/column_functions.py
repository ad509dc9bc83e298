"""Expressions compiled to Arrow's functions: from a record batch to an array, or to one value for all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.graph.column_expressions import (
    And,
    Arithmetic,
    Column,
    Comparison,
    Expression,
    IsNull,
    Literal,
    Not,
    Or,
)
from funke.engine.types.information.arrow_types import to_arrow

__all__ = ["ColumnFunction", "columns_in", "compile_expression"]

# From a record batch to an array or a scalar.
ColumnFunction = Callable[[Any], Any]

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "+": pc.add,
    "-": pc.subtract,
    "*": pc.multiply,
    "/": pc.divide,
}


def compile_expression(expression: Expression) -> ColumnFunction:
    """Return the function that evaluates an expression."""
    compile_one = _COMPILERS.get(type(expression))
    if compile_one is None:
        raise UnsupportedFeatureError(type(expression).__name__, "there is no function on columns for this expression")
    return compile_one(expression)


def columns_in(expression: Expression) -> frozenset[str]:
    """Return the names of the columns that an expression reads."""
    if isinstance(expression, Column):
        return frozenset({expression.name})
    parts = [part for part in vars(expression).values() if isinstance(part, Expression)]
    return frozenset().union(*map(columns_in, parts))


def _column(expression: Column) -> ColumnFunction:
    name = expression.name
    return lambda batch: batch.column(name)


def _literal(expression: Literal) -> ColumnFunction:
    arrow_type = None if expression.type_info is None else to_arrow(expression.type_info)
    scalar = pa.scalar(expression.value, arrow_type)
    return lambda batch: scalar


def _binary(expression: Comparison | Arithmetic) -> ColumnFunction:
    return _call(_BINARY[expression.operator], expression.left, expression.right)


def _call(function: Callable[..., Any], *operands: Expression) -> ColumnFunction:
    compiled = [compile_expression(operand) for operand in operands]
    return lambda batch: function(*[operand(batch) for operand in compiled])


_COMPILERS: dict[type[Expression], Callable[[Any], ColumnFunction]] = {
    Column: _column,
    Literal: _literal,
    Comparison: _binary,
    Arithmetic: _binary,
    And: lambda both: _call(pc.and_kleene, both.left, both.right),
    Or: lambda either: _call(pc.or_kleene, either.left, either.right),
    Not: lambda negated: _call(pc.invert, negated.operand),
    IsNull: lambda asked: _call(pc.is_null, asked.operand),
}
