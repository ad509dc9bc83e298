"""Turns what a program passes to an expression into syntax: expressions, words, constants and collections of them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from typing import Any

from funke.engine.errors import TypeMismatchError, at_user_line
from funke.engine.sql.syntax import expressions as syntax
from funke.table.types import DataType, DataTypes, Row

__all__ = ["SyntaxWrapper", "interval_of_millis", "interval_of_months", "literal", "symbol", "to_syntax"]


class SyntaxWrapper:
    """Base of expressions: it holds what was asked for."""

    def __init__(self, syntax: syntax.Expression) -> None:
        self._syntax = syntax


def to_syntax(value: Any) -> syntax.Expression:
    """Return the syntax of an argument."""
    if isinstance(value, SyntaxWrapper):
        return value._syntax
    if isinstance(value, syntax.Expression):
        return value
    if isinstance(value, Enum):
        return symbol(value.name)
    if isinstance(value, Row):
        return syntax.Call("row", tuple(map(to_syntax, value)))
    if isinstance(value, list | tuple):
        return syntax.Call("array", tuple(map(to_syntax, value)))
    if isinstance(value, dict):
        return syntax.Call("map", tuple(to_syntax(each) for entry in value.items() for each in entry))
    return literal(value)


def literal(value: Any) -> syntax.Literal:
    """Return a constant with the type that Flink gives to a value of its class."""
    if isinstance(value, datetime.timedelta):
        return interval_of_millis(value // datetime.timedelta(milliseconds=1))
    return syntax.Literal(value, _type_of(value))


def symbol(word: str) -> syntax.Symbol:
    """Return a word of a function's own language, as SQL writes it: EMPTY_ARRAY is EMPTY ARRAY."""
    return syntax.Symbol(word.replace("_", " "))


def interval_of_months(months: int) -> syntax.Literal:
    return syntax.Literal(months, DataTypes.INTERVAL(DataTypes.MONTH()).not_null())


def interval_of_millis(millis: int) -> syntax.Literal:
    return syntax.Literal(millis, DataTypes.INTERVAL(DataTypes.SECOND(3)).not_null())


def _type_of(value: Any) -> DataType:
    if value is None:
        return DataTypes.NULL()
    # bool is an int, and datetime a date: the more special class stands first.
    for cls, type_of in _TYPES:
        if isinstance(value, cls):
            return type_of(value).not_null()
    raise TypeMismatchError(
        at_user_line(
            f"a constant in an expression cannot be {value!r}, of {type(value).__name__}; "
            "use None, bool, int, float, str, bytes, Decimal, date, time, datetime, timedelta, Row, list or dict"
        )
    )


def _integer_type(value: int) -> DataType:
    if -(2**31) <= value < 2**31:
        return DataTypes.INT()
    if -(2**63) <= value < 2**63:
        return DataTypes.BIGINT()
    raise TypeMismatchError(at_user_line(f"the number {value} needs more than 64 bits; use a Decimal"))


def _decimal_type(value: Decimal) -> DataType:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise TypeMismatchError(at_user_line(f"a decimal constant must be a number, got {value}"))
    scale = max(-exponent, 0)
    return DataTypes.DECIMAL(max(len(digits) + max(exponent, 0), scale, 1), scale)


def _timestamp_type(value: datetime.datetime) -> DataType:
    precision = _fraction_digits(value.microsecond)
    return DataTypes.TIMESTAMP(precision) if value.tzinfo is None else DataTypes.TIMESTAMP_LTZ(precision)


def _fraction_digits(microsecond: int) -> int:
    return len(f"{microsecond:06d}".rstrip("0"))


_TYPES: tuple[tuple[type, Callable[[Any], DataType]], ...] = (
    (bool, lambda value: DataTypes.BOOLEAN()),
    (int, _integer_type),
    (float, lambda value: DataTypes.DOUBLE()),
    (str, lambda value: DataTypes.CHAR(len(value))),
    (bytes, lambda value: DataTypes.BINARY(len(value))),
    (bytearray, lambda value: DataTypes.BINARY(len(value))),
    (Decimal, _decimal_type),
    (datetime.datetime, _timestamp_type),
    (datetime.date, lambda value: DataTypes.DATE()),
    (datetime.time, lambda value: DataTypes.TIME(_fraction_digits(value.microsecond))),
)
