"""Expressions with their types, and how they are computed on the columns of a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.sql.functions.evaluation import column_function
from funke.engine.sql.functions.function import Argument, BoundCall, SymbolType
from funke.engine.sql.functions.values import from_values
from funke.engine.types.logical.data_type import DataType

__all__ = [
    "BoundColumn",
    "BoundConstant",
    "BoundExpression",
    "BoundFunction",
    "BoundSymbol",
    "column_of",
    "symbol_of",
    "time_of",
]

# An Arrow array for a batch, or a scalar for what is the same in every row.
ColumnGetter = Callable[[pa.RecordBatch], Any]


@dataclass(frozen=True)
class BoundExpression:
    """Something that has a value in every row."""

    type: DataType

    def as_argument(self) -> Argument:
        """What a function needs to know about it."""
        return Argument(self.type)


@dataclass(frozen=True)
class BoundColumn(BoundExpression):
    """A column of the input, by its place."""

    index: int
    name: str
    time: TimeAttribute | None = None


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


def column_of(expression: BoundExpression) -> ColumnGetter:
    """What computes an expression; made once, where it is used."""
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
    getters = [column_of(each) for each in expression.arguments]
    return lambda batch: evaluate([get(batch) for get in getters], batch.num_rows)


def time_of(expression: BoundExpression) -> TimeAttribute | None:
    """The time that an expression is: a plain column keeps what it is, whatever is computed is none."""
    if isinstance(expression, BoundColumn):
        return expression.time
    is_clock = isinstance(expression, BoundFunction) and expression.call.function.name == "proctime"
    return TimeAttribute.PROCTIME if is_clock else None


def symbol_of(word: Any) -> BoundSymbol:
    """A word as an argument."""
    return BoundSymbol(SymbolType(), word)
