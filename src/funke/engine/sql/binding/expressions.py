"""Expressions with their types, and how they are computed on the columns of a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal

import pyarrow as pa

from funke.engine.sql.binding.partial_columns import PARTIAL, arguments_in_turn
from funke.engine.sql.functions.evaluation import column_function
from funke.engine.sql.functions.function import NOT_CONSTANT, Argument, BoundCall, SymbolType
from funke.engine.sql.functions.values import from_values
from funke.engine.types.logical import CHARACTER, DataType, to_column_type

__all__ = [
    "BoundColumn",
    "BoundConstant",
    "BoundExpression",
    "BoundFunction",
    "BoundOuterColumn",
    "BoundSubQuery",
    "BoundSymbol",
    "RepeatedExpressions",
    "TimeAttribute",
    "calls_in",
    "column_of",
    "columns_in",
    "conjuncts",
    "has_query",
    "is_deterministic",
    "moved",
    "parts_in",
    "symbol_of",
    "time_of",
    "with_columns",
    "with_parts",
]


class TimeAttribute(Enum):
    """The role of a column whose values are time; a computed column has none."""

    # The values are the event times of the rows.
    ROWTIME = "ROWTIME"
    # The values are those of the clock when they are read.
    PROCTIME = "PROCTIME"

    def __str__(self) -> str:
        return f"*{self.value}*"


SubQueryKind = Literal["in", "exists", "scalar", "some"]

# These raise an error for a divisor of zero.
_RISKY = ("/", "%")
# An Arrow array for a batch, or a scalar for a value that is the same in every row.
ColumnGetter = Callable[[pa.RecordBatch], Any]


@dataclass(frozen=True)
class BoundExpression:
    """Something that has a value in every row."""

    type: DataType

    def as_argument(self) -> Argument:
        """The type of an expression, and its value if it is constant, for the function that it is an argument of."""
        return Argument(self.type)


@dataclass(frozen=True)
class BoundColumn(BoundExpression):
    """A column of the input, by its index."""

    index: int
    name: str
    time: TimeAttribute | None = None

    def as_argument(self) -> Argument:
        return Argument(self.type, note="" if self.time is None else str(self.time))


@dataclass(frozen=True)
class BoundConstant(BoundExpression):
    """The same value in every row."""

    value: Any

    def as_argument(self) -> Argument:
        return Argument(self.type, self.value)


@dataclass(frozen=True)
class BoundSymbol(BoundExpression):
    """A word, or a type, among the arguments of a function."""

    word: Any

    def as_argument(self) -> Argument:
        return Argument(self.type, self.word)


@dataclass(frozen=True)
class BoundFunction(BoundExpression):
    """A function with its arguments."""

    call: BoundCall
    arguments: tuple[BoundExpression, ...]

    def as_argument(self) -> Argument:
        # JSON_OBJECT('a' VALUE JSON_ARRAY(1)) is {"a":[1]}, while a plain string '[1]' is quoted.
        is_json = self.call.function.name in ("json", "json_object", "json_array")
        return Argument(self.type, self._negative(), is_json)

    def _negative(self) -> Any:
        """The value of a negated integer literal, which is a constant for functions."""
        # The parser has no negative literals: the -1 of `ROUND(v, -1)` is a call of minus.
        operand = self.arguments[0] if self.call.function.name == "-" and len(self.arguments) == 1 else None
        if isinstance(operand, BoundConstant) and isinstance(operand.value, int):
            return -operand.value
        return NOT_CONSTANT


@dataclass(frozen=True)
class BoundOuterColumn(BoundExpression):
    """A column of the outer query, by its index among those that this query uses."""

    number: int
    name: str


@dataclass(frozen=True)
class BoundSubQuery(BoundExpression):
    """A query within an expression, until it becomes a join.

    It is a function of the operands before IN or a comparison, and of the columns of the query around it.
    """

    kind: SubQueryKind
    # A relation of `binding/relations.py`, which has expressions itself.
    relation: Any
    operands: tuple[BoundExpression, ...] = ()
    outer: tuple[BoundExpression, ...] = ()
    # The operator of `v > SOME (SELECT …)`.
    comparison: str = ""


def column_of(expression: BoundExpression, repeated: RepeatedExpressions | None = None) -> ColumnGetter:
    """The function that computes an expression for a batch. It is made once, in the subtask that runs it."""
    if isinstance(expression, BoundColumn):
        index = expression.index
        return lambda batch: batch.column(index)
    if isinstance(expression, BoundConstant):
        scalar = from_values([expression.value], expression.type)[0]
        return lambda batch: scalar
    if isinstance(expression, BoundSymbol):
        word = expression.word
        return lambda batch: word
    assert isinstance(expression, BoundFunction)
    evaluate = column_function(expression.call)
    # Columns are computed for all rows: `CASE WHEN b <> 0 THEN a / b END` would divide by zero. Selecting rows for each
    # argument costs a filter and a scatter, so it is done only where an argument may fail.
    kind = PARTIAL.get(expression.call.function.name)
    if kind is not None and any(map(_may_fail, expression.arguments[1:])):
        # Each argument is computed for other rows, so repeated expressions cannot share a column.
        getters = [column_of(each) for each in expression.arguments]
        arguments = arguments_in_turn(kind, getters, [to_column_type(each.type) for each in expression.arguments])
        return lambda batch: evaluate(arguments(batch), batch.num_rows)
    getters = [column_of(each, repeated) for each in expression.arguments]

    def compute(batch: pa.RecordBatch) -> Any:
        return evaluate([get(batch) for get in getters], batch.num_rows)

    return compute if repeated is None else repeated.remembering(expression, compute)


class RepeatedExpressions:
    """Computes an expression that occurs several times among others once for each batch."""

    def __init__(self, expressions: Iterable[BoundExpression | None]) -> None:
        counts = Counter(part for each in expressions if each is not None for part in _repeatable_in(each))
        # By number: to hash an expression takes as long as to compute a small one.
        self._numbers = {part: number for number, (part, count) in enumerate(counts.items()) if count > 1}
        self._columns: dict[int, Any] = {}

    def begin(self) -> None:
        """Start the next batch."""
        self._columns.clear()

    def keep(self, mask: Any) -> None:
        """Keep the rows of a mask in the remembered columns."""
        # `SELECT f(a) … WHERE f(a) > 1`: what the condition computed is still good for the rows that are left.
        for number, column in self._columns.items():
            if isinstance(column, pa.Array):
                self._columns[number] = column.filter(mask)

    def remembering(self, expression: BoundFunction, compute: ColumnGetter) -> ColumnGetter:
        """A function that computes an expression unless this batch already has it."""
        number = self._numbers.get(expression) if _is_hashable(expression) else None
        if number is None:
            return compute

        def get(batch: pa.RecordBatch) -> Any:
            column = self._columns.get(number)
            if column is None:
                column = self._columns[number] = compute(batch)
            return column

        return get


def _may_fail(expression: BoundExpression) -> bool:
    """Whether computing an expression for a row that does not need it may raise, take long or have side effects."""
    if not isinstance(expression, BoundFunction):
        return False
    name, types = expression.call.function.name, expression.call.types
    # Without a kernel Python is called for the values: that is slow, and a user's function may do anything.
    is_risky = (
        name in _RISKY or (name == "cast" and isinstance(types[0], CHARACTER)) or expression.call.kernel() is None
    )
    return is_risky or any(map(_may_fail, expression.arguments))


def _repeatable_in(expression: BoundExpression) -> Iterator[BoundFunction]:
    """All deterministic calls that can be hashed."""
    return (each for each in calls_in(expression) if is_deterministic(each) and _is_hashable(each))


def is_deterministic(expression: BoundExpression) -> bool:
    """Whether an expression has the same value for the same values of its columns."""
    if isinstance(expression, BoundFunction) and not expression.call.is_deterministic:
        return False
    return all(map(is_deterministic, parts_in(expression)))


def _is_hashable(expression: BoundExpression) -> bool:
    try:
        hash(expression)
    except TypeError:  # a constant like a list
        return False
    return True


def calls_in(expression: BoundExpression | None) -> Iterator[BoundFunction]:
    """All calls of functions in an expression."""
    if isinstance(expression, BoundFunction):
        yield expression
    if expression is not None:
        for each in parts_in(expression):
            yield from calls_in(each)


def columns_in(expressions: Iterable[BoundExpression]) -> Iterator[int]:
    """The indexes of the columns that expressions use, each as often as it is used."""
    for each in expressions:
        if isinstance(each, BoundColumn):
            yield each.index
        else:
            yield from columns_in(parts_in(each))


def parts_in(expression: BoundExpression) -> tuple[BoundExpression, ...]:
    """The direct operands of an expression."""
    if isinstance(expression, BoundFunction):
        return expression.arguments
    return (*expression.operands, *expression.outer) if isinstance(expression, BoundSubQuery) else ()


def has_query(expression: BoundExpression) -> bool:
    """Whether there is a query in an expression."""
    return isinstance(expression, BoundSubQuery) or any(map(has_query, parts_in(expression)))


def with_columns(expression: BoundExpression, change: Callable[[BoundColumn], BoundExpression]) -> BoundExpression:
    """The same expression with something else in place of each column."""
    return change(expression) if isinstance(expression, BoundColumn) else with_parts(expression, with_columns, change)


def with_parts(expression: BoundExpression, change: Callable[..., BoundExpression], *more: Any) -> BoundExpression:
    """The same expression with each of its direct operands changed by a function."""
    if isinstance(expression, BoundFunction):
        return replace(expression, arguments=tuple(change(each, *more) for each in expression.arguments))
    if isinstance(expression, BoundSubQuery):
        operands = tuple(change(each, *more) for each in expression.operands)
        return replace(expression, operands=operands, outer=tuple(change(each, *more) for each in expression.outer))
    return expression


def moved(expression: BoundExpression, indexes: Mapping[int, int]) -> BoundExpression:
    """The same expression, with the columns at other indexes."""
    return with_columns(expression, lambda column: replace(column, index=indexes[column.index]))


def conjuncts(condition: BoundExpression) -> list[BoundExpression]:
    """The conditions that must all be true for one to be."""
    if isinstance(condition, BoundFunction) and condition.call.function.name == "and":
        return [part for each in condition.arguments for part in conjuncts(each)]
    return [condition]


def time_of(expression: BoundExpression) -> TimeAttribute | None:
    """The time attribute of an expression: that of a plain column or of PROCTIME(). Other computed values have none."""
    if isinstance(expression, BoundColumn):
        return expression.time
    # As in Flink `ts + INTERVAL '1' HOUR` is a plain timestamp: a watermark of ts is none of it.
    is_clock = isinstance(expression, BoundFunction) and expression.call.function.name == "proctime"
    return TimeAttribute.PROCTIME if is_clock else None


def symbol_of(word: Any) -> BoundSymbol:
    """A word as an argument."""
    return BoundSymbol(SymbolType(), word)
