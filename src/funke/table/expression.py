"""Expressions: what a program computes from the columns of a table, as data."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.text_form import summary
from funke.table.expression_members.aggregates import AggregateMembers
from funke.table.expression_members.collections import BitmapMembers, CollectionMembers
from funke.table.expression_members.json_strings import JsonMembers
from funke.table.expression_members.numbers import NumberMembers
from funke.table.expression_members.operators import OperatorMembers
from funke.table.expression_members.strings import TextMembers
from funke.table.expression_members.symbols import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from funke.table.expression_members.times import TimeMembers
from funke.table.types import DataType, DataTypes

__all__ = [
    "Expression",
    "TimeIntervalUnit",
    "TimePointUnit",
    "JsonType",
    "JsonExistsOnError",
    "JsonValueOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonQueryOnEmptyOrError",
    "JsonOnNull",
    "DataType",
    "DataTypes",
]

T = TypeVar("T")


class Expression(
    OperatorMembers,
    NumberMembers,
    AggregateMembers,
    TextMembers,
    TimeMembers,
    CollectionMembers,
    BitmapMembers,
    JsonMembers,
    Generic[T],
):
    """A column, a constant, or something computed from them; made by `col`, `lit` and the operators.

    >>> from funke.table import Expression
    >>> from funke.table.expressions import col
    >>> double: Expression = (col("price") * 2).alias("double")
    >>> str(double), str(col("item").like("t%") & (col("price") > 3))
    ("as(times(price, 2), 'double')", "and(LIKE(item, 't%'), greaterThan(price, 3))")
    """

    @staticmethod
    def _of(syntax: syntax.Expression) -> Expression[Any]:
        return Expression(syntax)

    def __getattr__(self, name: str) -> Expression[Any]:
        # Python itself asks for names such as __deepcopy__, which are not fields.
        if name.startswith("__") or name == "_syntax":
            raise AttributeError(name)
        return self.get(name)

    def __str__(self) -> str:
        return summary(self._syntax)

    def alias(self, name: str, *extra_names: str) -> Expression[T]:
        """Give this a name, or several if it gives several columns."""
        return self._of(syntax.Alias(self._syntax, (name, *extra_names)))

    def as_argument(self, name: str) -> Expression[T]:
        """Name the argument of a function that this is passed to."""
        return self._call("as_argument", name)

    def cast(self, data_type: DataType) -> Expression[Any]:
        """Convert to another type; what cannot be converted fails."""
        return self._of(syntax.Cast(self._syntax, data_type))

    def try_cast(self, data_type: DataType) -> Expression[Any]:
        """Convert to another type; what cannot be converted becomes NULL."""
        return self._of(syntax.Cast(self._syntax, data_type, is_safe=True))

    @property
    def asc(self) -> Expression[Any]:
        """Sort by this, the least first."""
        return self._of(syntax.OrderItem(self._syntax))

    @property
    def desc(self) -> Expression[Any]:
        """Sort by this, the greatest first."""
        return self._of(syntax.OrderItem(self._syntax, is_ascending=False))
