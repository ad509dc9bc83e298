"""Columns of relations as strings that describe their computation, down to the columns of tables.

Names that a query gives, columns that it leaves out and the indexes of columns make no difference; another column,
another function or another table does. Conditions are not part of a column: they decide which rows come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from types import BuiltinFunctionType, FunctionType
from typing import Any

from funke.engine.operators.functions.table_functions import (
    DelegatingAsyncScalarFunction,
    DelegatingPandasAggregateFunction,
    DelegatingScalarFunction,
    DelegationTableFunction,
    UserDefinedFunction,
)
from funke.engine.sql.binding import (
    BoundAggregate,
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    BoundSymbol,
    Relation,
    SortKey,
    inputs_of,
)
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.functions.users.user_aggregates import UserAggregate
from funke.engine.sql.functions.users.user_scalars import UserScalar
from funke.engine.sql.plan.node import as_node
from funke.engine.sql.syntax.user_function import UserFunction
from funke.engine.sql.window_kinds import Windows
from funke.engine.types.logical import DataType, LocalZonedTimestampType, to_sql_text, with_nullable

__all__ = ["ColumnStrings", "type_text", "user_function_text"]

# A text that grows beyond it is cut, and distinguished by its hash: nested expressions have no limit.
_LONGEST = 500
# Values that are the same whenever the program is run.
_PLAIN = (str, int, float, bytes, Decimal, type(None))
# Wrappers around functions of the program.
_DELEGATIONS = (
    DelegatingScalarFunction,
    DelegatingAsyncScalarFunction,
    DelegationTableFunction,
    DelegatingPandasAggregateFunction,
)
# Functions that use the session's zone although none of their types has one.
_IN_ZONE = ("from_unixtime", "unix_timestamp", "current_date", "localtime", "localtimestamp", "current_time")


def type_text(data_type: DataType) -> str:
    """A type; whether there may be NULLs makes no difference."""
    return to_sql_text(with_nullable(data_type, True))


def user_function_text(user: UserFunction) -> str:
    """A user function: its name, its class with the plain values it was made with, and its accumulators."""
    own = user.function.func if isinstance(user.function, _DELEGATIONS) else user.function
    # A callable without a name, such as a partial, is identified by its class.
    name = own.__qualname__ if isinstance(own, FunctionType | BuiltinFunctionType) else type(own).__qualname__
    settings = vars(own) if isinstance(own, UserDefinedFunction) else {}
    values = ", ".join(f"{key}={value!r}" for key, value in sorted(settings.items()) if isinstance(value, _PLAIN))
    kept = user.accumulator_type
    accumulators = "" if kept is None else f" OF {kept if isinstance(kept, str) else type_text(kept)}"
    return _bounded(f"{user.name}[{name}{f'({values})' if values else ''}{accumulators}]")


class ColumnStrings:
    """The texts of the columns of relations; each one is made once."""

    def __init__(self) -> None:
        self._strings_of_columns: dict[tuple[int, int], str] = {}

    def column(self, relation: Relation, index: int) -> str:
        # By identity: to hash a relation is to walk all that it reads. The plan outlives this object, so ids stay
        # unique.
        text = self._strings_of_columns.get((id(relation), index))
        if text is None:
            text = self._strings_of_columns[id(relation), index] = _bounded(as_node(relation).column_text(self, index))
        return text

    def typed(self, relation: Relation, index: int) -> str:
        """The same with its type."""
        return f"{self.column(relation, index)} {type_text(relation.columns[index].type)}"

    def typed_columns(self, relation: Relation, indexes: Sequence[int]) -> str:
        """Several columns, in their order."""
        return ", ".join(self.typed(relation, index) for index in indexes)

    def columns(self, relation: Relation, indexes: Sequence[int]) -> str:
        """The same without types."""
        return ", ".join(self.column(relation, index) for index in indexes)

    def order(self, relation: Relation, keys: Sequence[SortKey]) -> str:
        """The columns that rows are sorted by."""
        return ", ".join(self._sort_key(relation, each) for each in keys)

    def _sort_key(self, relation: Relation, key: SortKey) -> str:
        nulls = "FIRST" if key.nulls_first else "LAST"
        return f"{self.typed(relation, key.index)} {'ASC' if key.is_ascending else 'DESC'} NULLS {nulls}"

    def expression(self, expression: BoundExpression, column: Callable[[int], str]) -> str:
        """An expression on columns whose texts are known."""
        if isinstance(expression, BoundColumn):
            return column(expression.index)
        if isinstance(expression, BoundConstant):
            return repr(expression.value)
        if isinstance(expression, BoundSymbol):
            return _word_text(expression.word)
        assert isinstance(expression, BoundFunction)
        arguments = ", ".join(self.expression(each, column) for each in expression.arguments)
        return _bounded(f"{_function_text(expression)}({arguments})")

    def expression_on(self, relation: Relation, expression: BoundExpression) -> str:
        """An expression on the columns of a relation."""
        return self.expression(expression, lambda index: self.column(relation, index))

    def call(self, source: Relation, aggregate: BoundAggregate) -> str:
        """An aggregate call with its arguments, their types, and its FILTER."""
        call = aggregate.call
        function = call.function
        user = function.user if isinstance(function, UserAggregate) else None
        name = function.name.upper() if user is None else user_function_text(user)
        arguments = [
            repr(argument.value) if index < 0 else self.typed(source, index)
            for index, argument in zip(aggregate.arguments, call.arguments)
        ]
        distinct = "DISTINCT " if call.is_distinct else ""
        condition = "" if aggregate.condition is None else f" FILTER {self.column(source, aggregate.condition)}"
        return f"{name}({distinct}{', '.join(arguments) or '*'}){condition}"

    def windows(self, source: Relation, windows: Windows, time: WindowTime) -> str:
        """The kind and size of windows, and their time."""
        return f"{windows.name.upper()}({self.time(source, time)}, {windows.state_text})"

    def time(self, source: Relation, time: WindowTime) -> str:
        """The kind of a time, its column, and its zone."""
        kind = "event time" if time.is_event_time else "processing time"
        zone = "" if time.zone is None else f" in {time.zone}"
        # A clock has no column that could be another one.
        return f"{kind} {self.column(source, time.column)}{zone}" if time.is_event_time else f"{kind}{zone}"

    def rows(self, *relations: Relation) -> str:
        """The conditions that the rows of one or several inputs have passed."""
        # Sorted: the order of conditions in a query, or in a chain of subqueries, does not change which rows come.
        conditions = [condition for each in relations for condition in self._conditions(each)]
        return " AND ".join(sorted(conditions)) or "all"

    def _conditions(self, relation: Relation) -> Iterator[str]:
        yield from as_node(relation).row_conditions(self)
        for each in inputs_of(relation):
            yield from self._conditions(each)

    def row_number(self, source: Relation, keys: Sequence[int], order: Sequence[SortKey]) -> str:
        """The number of a row among those of its key."""
        return f"ROW_NUMBER() OVER (PARTITION BY {self.columns(source, keys)} ORDER BY {self.order(source, order)})"

    def group_by(self, source: Relation, keys: Sequence[int]) -> str:
        """The keys of an aggregation, with a space in front; nothing if there are none."""
        strings = self.columns(source, keys)
        return f" GROUP BY {strings}" if strings else ""


def _bounded(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 40]}…#{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _word_text(word: Any) -> str:
    return type_text(word) if isinstance(word, DataType) else str(word)


def _function_text(expression: BoundFunction) -> str:
    call = expression.call
    function = call.function
    if isinstance(function, UserScalar) and function.user is not None:
        return user_function_text(function.user)
    is_zoned = any(isinstance(each, LocalZonedTimestampType) for each in (*call.types, call.result))
    zone = f"@{call.session.zone}" if is_zoned or function.name in _IN_ZONE else ""
    return f"{function.name.upper()}{zone}"
