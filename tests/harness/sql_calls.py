"""Calls of SQL functions on values, for tests that are tables."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.evaluation import column_function, mapped_body
from funke.engine.sql.functions.function import Argument, BoundCall, Session, SymbolType, bind, constant, symbol
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.sql_text import from_sql_text, to_sql_text


class Of:
    """A value with its type: Of("TINYINT", 5)."""

    def __init__(self, type_text: str, value: Any = None) -> None:
        self.type = from_sql_text(type_text)
        self.value = value

    def __repr__(self) -> str:
        return f"{to_sql_text(self.type)}:{self.value!r}"


class Word(str):
    """A word among arguments, HOUR for example."""


def call(name: str, *arguments: Any, zone: str = "UTC") -> tuple[Any, str]:
    """Return the value of a call and the text of its type; all ways to evaluate it must agree."""
    # A clock that stands still, so that two ways to evaluate a call see the same time.
    session = Session(ZoneInfo(zone), clock=ManualClock(1_700_000_000_000))
    bound = bind(FUNCTIONS[name], [to_argument(each) for each in arguments], session)
    columns = [to_column(each) for each in bound.arguments]
    values = [to_values(make(bound)(columns, 2), bound.result) for make in (column_function, mapped_body)]
    if bound.function.is_deterministic:
        assert same(values[0], [values[0][0]] * 2)
        assert same(values[0], values[1]), f"kernel {values[0]}, body {values[1]}"
    return values[0][0], to_sql_text(bound.result)


def type_of(name: str, *type_strings: str) -> str | None:
    """Return the text of the type of a call; None if there is none for such arguments."""
    results = FUNCTIONS[name].result_type([Argument(from_sql_text(each)) for each in type_strings])
    return None if results is None else to_sql_text(results)


def bound_call(name: str, arguments: Sequence[Argument]) -> BoundCall | None:
    function = FUNCTIONS[name]
    result = function.result_type(arguments)
    return None if result is None else BoundCall(function, tuple(arguments), result, Session(ZoneInfo("Europe/Berlin")))


def to_argument(arguments: Any) -> Argument:
    if isinstance(arguments, Of):
        return constant(arguments.type, arguments.value)
    if isinstance(arguments, (Word, DataType)):
        return symbol(str(arguments) if isinstance(arguments, Word) else arguments)
    return constant(literal_type(arguments), arguments)


def to_column(argument: Argument) -> Any:
    if isinstance(argument.type, SymbolType):
        return argument.value
    return from_values([argument.value], argument.type)[0]


def literal_type(value: Any) -> DataType:
    """Return the type that a literal of this value has."""
    if value is None:
        return DataTypes.NULL()
    if isinstance(value, bool):
        return DataTypes.BOOLEAN(False)
    if isinstance(value, int):
        return DataTypes.INT(False) if -(2**31) <= value < 2**31 else DataTypes.BIGINT(False)
    if isinstance(value, Decimal):
        scale = -int(value.as_tuple().exponent)
        return DataTypes.DECIMAL(max(len(value.as_tuple().digits), scale), scale, False)
    if isinstance(value, datetime.datetime):
        return DataTypes.TIMESTAMP(6, False) if value.microsecond else DataTypes.TIMESTAMP(0, False)
    simple = {float: DataTypes.DOUBLE, datetime.date: DataTypes.DATE, bytes: DataTypes.BYTES, str: DataTypes.STRING}
    if type(value) in simple:
        return simple[type(value)](False)
    if isinstance(value, datetime.time):
        return DataTypes.TIME(3 if value.microsecond else 0, False)
    if isinstance(value, list):
        return DataTypes.ARRAY(literal_type(value[0]), False)
    assert isinstance(value, dict), value
    key, item = next(iter(value.items()))
    return DataTypes.MAP(literal_type(key), literal_type(item), False)


def same(left: Any, right: Any) -> bool:
    """Tell whether two lists of values are equal; NaN is equal to NaN, and 1 is not equal to 1.0."""
    return repr(left) == repr(right)
