"""Parts of EXPLAIN's texts that several nodes share: expressions, columns, orders, windows of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from funke.engine.sql.binding import (
    BoundAggregate,
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    BoundSymbol,
    Column,
    SortKey,
)
from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction
from funke.engine.sql.functions.function import Function
from funke.engine.sql.functions.users.user_aggregates import UserAggregate
from funke.engine.sql.functions.users.user_scalars import UserScalar
from funke.engine.types.logical import (
    DataType,
    DayTimeIntervalType,
    YearMonthIntervalType,
    to_full_sql_text,
    with_nullable,
)

__all__ = [
    "PREFIX",
    "ExplainStyle",
    "call_text",
    "column_name",
    "expression_text",
    "field_names",
    "kind_text",
    "limit_parts",
    "named_text",
    "order_text",
    "right_names",
    "value_text",
]

_INFIX = frozenset({"+", "-", "*", "/", "%", "=", "<>", "<", ">", "<=", ">=", "and", "or", "||"})


@dataclass(frozen=True)
class ExplainStyle:
    """The form in which a section of EXPLAIN writes expressions."""

    is_logical: bool = False
    is_infix: bool = False


# Operators in front of their arguments, as in the physical plan and in errors.
PREFIX = ExplainStyle()


def expression_text(expression: BoundExpression, style: ExplainStyle) -> str:
    """An expression as a plan shows it."""
    if isinstance(expression, BoundColumn):
        return f"${expression.index}" if style.is_logical else expression.name
    if isinstance(expression, BoundConstant):
        return value_text(expression.value) + _interval_text(expression.type)
    if isinstance(expression, BoundSymbol):
        word = expression.word
        return f"FLAG({word})" if not isinstance(word, DataType) else to_full_sql_text(word)
    assert isinstance(expression, BoundFunction)
    return _function_text(expression, style)


def named_text(name: str, expression: BoundExpression, style: ExplainStyle) -> str:
    """An expression and the name that its column gets."""
    text = expression_text(expression, style)
    return text if text == name else f"{text} AS {name}"


def _function_text(expression: BoundFunction, style: ExplainStyle) -> str:
    name = expression.call.function.name
    arguments = [expression_text(each, style) for each in expression.arguments]
    if name in ("cast", "try_cast"):
        target = to_full_sql_text(with_nullable(expression.type, True))
        short = f"{name.upper()}({arguments[0]}"
        return f"{short}):{target}" if style.is_logical else f"{short} AS {target})"
    # =(a, 1) in the physical plan, (a = 1) in the execution plan.
    if name in _INFIX and style.is_infix and len(arguments) > 1:
        return f"({f' {name.upper()} '.join(arguments)})"
    return f"{name.upper()}({', '.join(arguments)})"


def _interval_text(data_type: DataType) -> str:
    if isinstance(data_type, DayTimeIntervalType):
        return ":INTERVAL SECOND"
    return ":INTERVAL MONTH" if isinstance(data_type, YearMonthIntervalType) else ""


def value_text(value: Any) -> str:
    """A constant as a plan shows it."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else str(value)


def field_names(columns: Sequence[Column], indexes: Sequence[int] | None = None, separator: str = ", ") -> str:
    """The names of columns; of all of them unless indexes are given."""
    chosen = columns if indexes is None else [columns[index] for index in indexes]
    return separator.join(each.name for each in chosen)


def order_text(columns: Sequence[Column], keys: Sequence[SortKey]) -> str:
    """The keys of an order: ts ASC, price DESC."""
    return ", ".join(f"{columns[each.index].name} {'ASC' if each.is_ascending else 'DESC'}" for each in keys)


def limit_parts(offset: int, limit: int | None) -> list[str]:
    """The attributes of OFFSET and FETCH."""
    parts = [f"offset=[{offset}]"] if offset else []
    return parts if limit is None else [*parts, f"fetch=[{limit}]"]


def column_name(column: Column) -> str:
    """The name of a column; those that are computed for an aggregation have a number behind their name."""
    name, _, number = column.name.rpartition("$")
    # EXPR$0 is a name that Calcite gives.
    return name if name and number.isdigit() and name != "EXPR" else column.name


def kind_text(name: str, functions: Iterable[Function | AggregateFunction]) -> str:
    """The kind of a node; one that calls functions of the program has Python in front, as in Flink."""
    return f"Python{name}" if any(isinstance(each, (UserScalar, UserAggregate)) for each in functions) else name


def call_text(aggregate: BoundAggregate, inputs: Sequence[Column]) -> str:
    """An aggregate call with its arguments: COUNT(DISTINCT a) FILTER b."""
    call = aggregate.call
    arguments = [column_name(inputs[index]) for index in aggregate.arguments if index >= 0]
    distinct = "DISTINCT " if call.is_distinct else ""
    condition = "" if aggregate.condition is None else f" FILTER {column_name(inputs[aggregate.condition])}"
    return f"{call.function.name.upper()}({distinct}{', '.join(arguments) or '*'}){condition}"


def right_names(left: Sequence[str], right: Sequence[str]) -> list[str]:
    """The names of a join's right columns: those that the left side has too get a 0 behind them."""
    return [f"{name}0" if name in left else name for name in right]
