"""Conditions of queries as SQL of a database, where both mean the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from funke.engine.connectors.jdbc.table_read import Condition
from funke.engine.sql.binding.expressions import BoundColumn, BoundConstant, BoundExpression, BoundFunction
from funke.engine.types.logical import CHARACTER, INTEGRAL, BooleanType, DateType, DecimalType, TimestampType

if TYPE_CHECKING:
    from funke.engine.types.logical import DataType

__all__ = ["ColumnText", "condition_text"]

# A column in the database's SQL; None if its values do not compare there as they do here.
ColumnText = Callable[[BoundColumn], "str | None"]

_ORDERS = ("<", "<=", ">", ">=")
_REVERSED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NUMBERS = (*INTEGRAL, DecimalType)


def condition_text(condition: BoundExpression, column_text: ColumnText) -> Condition | None:
    """The condition for the database. It may let through more rows, never fewer; None if it cannot be expressed."""
    if not isinstance(condition, BoundFunction):
        return None
    name, arguments = condition.call.function.name, condition.arguments
    if name in ("and", "or"):
        return _joined(name.upper(), [condition_text(each, column_text) for each in arguments])
    if name in ("is null", "is not null") and isinstance(arguments[0], BoundColumn):
        text = column_text(arguments[0])
        return None if text is None else Condition(f"{text} {name.upper()}")
    if name in _REVERSED:
        first, second = arguments
        if isinstance(first, BoundColumn):
            return _comparison(name, first, second, column_text)
        return _comparison(_REVERSED[name], second, first, column_text) if isinstance(second, BoundColumn) else None
    if name == "in" and isinstance(arguments[0], BoundColumn):
        column = arguments[0]
        return _joined("OR", [_comparison("=", column, each, column_text) for each in arguments[1:]])
    if name == "between" and isinstance(arguments[0], BoundColumn):
        column, low, high = arguments[0], *arguments[1:]
        parts = [_comparison(">=", column, low, column_text), _comparison("<=", column, high, column_text)]
        return _joined("AND", parts)
    return None


def _joined(word: str, parts: Sequence[Condition | None]) -> Condition | None:
    # Without a part of AND more rows come, which the plan's own filter drops; without a part of OR rows would be
    # missing. For the same reason NOT is never translated.
    translated = [each for each in parts if each is not None]
    if not translated or (word == "OR" and len(translated) < len(parts)):
        return None
    text = f" {word} ".join(f"({each.text})" for each in translated)
    return Condition(text, tuple(value for each in translated for value in each.values))


def _comparison(
    operator: str, column: BoundColumn, other: BoundExpression, column_text: ColumnText
) -> Condition | None:
    if not isinstance(other, BoundConstant) or other.value is None:
        return None
    text = column_text(column)
    if text is None or not _means_the_same(operator, column.type, other.type):
        return None
    # The value is a parameter of the statement, never a part of its text.
    return Condition(f"{text} {operator} ?", (other.value,))


def _means_the_same(operator: str, column: DataType, other: DataType) -> bool:
    # Databases sort texts in the orders of languages, and blanks at the end may not count: only equality is certain
    # to let through all rows.
    if isinstance(column, CHARACTER):
        return operator == "=" and isinstance(other, CHARACTER)
    if isinstance(column, _NUMBERS):
        return isinstance(other, _NUMBERS)
    if isinstance(column, BooleanType):
        return operator not in _ORDERS and isinstance(other, BooleanType)
    return isinstance(column, (DateType, TimestampType)) and type(column) is type(other)
