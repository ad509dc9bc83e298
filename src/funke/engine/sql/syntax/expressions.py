"""Expressions as they were written. The Table API makes the same ones, without positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from funke.engine.sql.syntax.position import Position

if TYPE_CHECKING:
    from funke.engine.sql.syntax.queries import Query, Relation
    from funke.engine.types.logical.data_type import DataType

__all__ = [
    "Alias",
    "Call",
    "Case",
    "Cast",
    "Exists",
    "Expression",
    "InQuery",
    "Literal",
    "Name",
    "OrderItem",
    "OverWindow",
    "ScalarQuery",
    "Star",
    "Symbol",
    "TableArgument",
    "TypeArgument",
    "WindowBound",
]


@dataclass(frozen=True)
class Expression:
    """Base of all expressions; equality does not look at positions."""

    position: Position | None = field(default=None, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True)
class Name(Expression):
    """A column, maybe behind the name of its table, or a field of a row: `a`, `t.a`, `t.a.b`."""

    parts: tuple[str, ...]
    positions: tuple[Position, ...] = field(default=(), kw_only=True, compare=False, repr=False)

    def position_of(self, index: int) -> Position | None:
        """The position of a part, if it is known."""
        return self.positions[index] if self.positions else self.position


@dataclass(frozen=True)
class Star(Expression):
    """All columns, of one table if it is named."""

    table: tuple[str, ...] = ()


@dataclass(frozen=True)
class Literal(Expression):
    """A constant with the type that its form has: `1` is INT NOT NULL, `1.5` DECIMAL(2, 1), `'a'` CHAR(1).

    Intervals are whole months (YEAR TO MONTH) or milliseconds (DAY TO SECOND).
    """

    value: Any
    type: DataType


@dataclass(frozen=True)
class Symbol(Expression):
    """A word that is an argument, in capitals: `HOUR` in FLOOR(t TO HOUR), `LEADING` in TRIM(LEADING FROM t)."""

    name: str


@dataclass(frozen=True)
class TypeArgument(Expression):
    """A type that is an argument: JSON_VALUE(a, '$' RETURNING INT)."""

    type: DataType


@dataclass(frozen=True)
class TableArgument(Expression):
    """A table that is an argument: f(TABLE t PARTITION BY a ORDER BY b)."""

    table: Relation
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()


@dataclass(frozen=True)
class Call(Expression):
    """A function or operator by its name, in lower case: `+`, `and`, `is null`, `upper`, `between`, `row`, `at`.

    Operators have the names that Flink's documentation gives them, `not like` and its kin too; a minus before one
    operand is a `-` of one argument; `a[1].b` is `get` of a and 'b'. Functions with a syntax of their own:
    TRIM(s) is `trim` of s, any other form of (BOTH | LEADING | TRAILING, characters, s); EXTRACT (unit, t);
    FLOOR and CEIL (t, unit); TIMESTAMPADD and TIMESTAMPDIFF (unit, a, b); POSITION (part, whole);
    JSON_VALUE (a, path) or (a, path, type, NULL | ERROR | DEFAULT on empty, default, the same on error, default);
    JSON_QUERY (a, path) or (a, path, type, wrapper, on empty, on error); JSON_EXISTS (a, path[, on error]);
    JSON_OBJECT, JSON_ARRAY and their aggregates have NULL or ABSENT before everything else; `overlaps` has four
    arguments. Words among them are symbols.
    """

    name: str
    arguments: tuple[Expression, ...] = ()
    # DISTINCT, FILTER (WHERE …) and OVER are part of a call of an aggregate.
    is_distinct: bool = False
    condition: Expression | None = None
    over: OverWindow | str | None = None
    # `f(a => 1)`: the names of the last arguments.
    argument_names: tuple[str, ...] = ()
    # LISTAGG(a) WITHIN GROUP (ORDER BY b)
    within_group: tuple[OrderItem, ...] = ()
    # A function with its catalog and database as it was written; empty when that is its name.
    path: tuple[str, ...] = ()
    # A function that was given as an object (Table API), not by name.
    function: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class Cast(Expression):
    """CAST, or TRY_CAST, which gives NULL for what cannot be cast."""

    operand: Expression
    type: DataType
    is_safe: bool = False


@dataclass(frozen=True)
class Case(Expression):
    """CASE [operand] WHEN … THEN … ELSE … END."""

    operand: Expression | None
    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None = None


@dataclass(frozen=True)
class Alias(Expression):
    """`expression AS name`; several names for a table function."""

    operand: Expression
    names: tuple[str, ...]


@dataclass(frozen=True)
class InQuery(Expression):
    """`left [NOT] IN (SELECT …)`."""

    left: Expression
    query: Query
    is_negated: bool = False


@dataclass(frozen=True)
class Exists(Expression):
    """`EXISTS (SELECT …)`."""

    query: Query


@dataclass(frozen=True)
class ScalarQuery(Expression):
    """A query that gives one value."""

    query: Query


@dataclass(frozen=True)
class OrderItem(Expression):
    """A sort key; NULLs count as lowest unless it is said otherwise, as in Flink."""

    operand: Expression
    is_ascending: bool = True
    nulls_first: bool | None = None


@dataclass(frozen=True)
class WindowBound:
    """A bound of an OVER window: `preceding` rows or time before the current row (or following), None: unbounded."""

    is_preceding: bool = True
    # None is unbounded; a literal 0 is the current row.
    distance: Expression | None = None


@dataclass(frozen=True)
class OverWindow:
    """OVER ([base] PARTITION BY … ORDER BY … ROWS|RANGE BETWEEN … AND …); the base is a window of the WINDOW clause."""

    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    is_rows: bool = False
    lower: WindowBound | None = None
    upper: WindowBound | None = None
    base: str | None = None
