"""The meaning of a query as a tree of relations, each with named and typed columns."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, TypeVar

from funke.engine.sql.binding.expressions import BoundExpression, TimeAttribute, has_query
from funke.engine.sql.functions.aggregates.aggregate import AggregateCall
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.row import RowKind

__all__ = [
    "Aggregation",
    "BoundAggregate",
    "Calculation",
    "Column",
    "Constants",
    "Expansion",
    "Limit",
    "Relation",
    "Scan",
    "Sort",
    "SortKey",
    "UnionAll",
    "inputs_of",
    "with_expressions",
    "with_inputs",
]


@dataclass(frozen=True)
class Column:
    """A column of a result."""

    name: str
    type: DataType
    time: TimeAttribute | None = None


@dataclass(frozen=True)
class Relation:
    """Rows with these columns."""

    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Scan(Relation):
    """The rows of a table of the catalog, or of a table that the program passed as an object."""

    table: Any
    path: tuple[str, ...] = ()
    # The kinds of changes that its rows may be.
    kinds: frozenset[RowKind] = frozenset({RowKind.INSERT})
    # Unique as the table declares them; as NOT ENFORCED says, nobody checks it.
    primary_key: tuple[str, ...] = ()


@dataclass(frozen=True)
class Constants(Relation):
    """Rows that stand in the query itself."""

    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Calculation(Relation):
    """Expressions over the rows of the input for which a condition is true: SELECT and WHERE."""

    input: Relation
    expressions: tuple[BoundExpression, ...]
    condition: BoundExpression | None = None

    @property
    def has_query(self) -> bool:
        """Whether one of its expressions has a query that has not become a join yet."""
        conditions = () if self.condition is None else (self.condition,)
        return any(map(has_query, (*self.expressions, *conditions)))


@dataclass(frozen=True)
class UnionAll(Relation):
    """The rows of several relations with the same types."""

    inputs: tuple[Relation, ...]


@dataclass(frozen=True)
class SortKey:
    """A column that rows are sorted by."""

    index: int
    is_ascending: bool = True
    nulls_first: bool = True


@dataclass(frozen=True)
class Sort(Relation):
    """The sorted rows of the input, or some of them. In a stream without a limit they can only be sorted by time."""

    input: Relation
    keys: tuple[SortKey, ...]
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True)
class Limit(Relation):
    """The rows of the input from an offset on, up to a limit."""

    input: Relation
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True)
class Expansion(Relation):
    """Several rows for each row of the input, one after the other: one for each list of expressions."""

    input: Relation
    projections: tuple[tuple[BoundExpression, ...], ...]


@dataclass(frozen=True)
class BoundAggregate:
    """An aggregate call whose arguments are columns of the input; a word among them has no column (-1)."""

    call: AggregateCall
    arguments: tuple[int, ...]
    # The column that says which rows count (FILTER).
    condition: int | None = None


@dataclass(frozen=True)
class Aggregation(Relation):
    """One row for each key that the input has: the columns of the key, then one for each aggregate."""

    input: Relation
    keys: tuple[int, ...]
    aggregates: tuple[BoundAggregate, ...]
    # How long the state of a key is kept, as a hint says it.
    ttl_hint: str = field(default="", kw_only=True)


R = TypeVar("R", bound=Relation)


def inputs_of(relation: Relation) -> tuple[Relation, ...]:
    """The relations that one reads."""
    inputs: list[Relation] = []
    for value in vars(relation).values():
        # A tuple of relations has nothing else: its first element tells.
        if isinstance(value, tuple):
            if value and isinstance(value[0], Relation):
                inputs += value
        elif isinstance(value, Relation):
            inputs.append(value)
    return tuple(inputs)


def with_inputs(relation: R, change: Callable[[Any], Any]) -> R:
    """The same relation with each of its inputs changed by a function."""
    changes: dict[str, Any] = {}
    for name, value in vars(relation).items():
        if isinstance(value, tuple):
            if value and isinstance(value[0], Relation):
                changed = tuple(map(change, value))
                if not all(map(operator.is_, changed, value)):
                    changes[name] = changed
        elif isinstance(value, Relation):
            changed = change(value)
            if changed is not value:
                changes[name] = changed
    # Most rules leave most relations as they are: the walk takes 0.8 µs, a copy 1.5.
    return replace(relation, **changes) if changes else relation


def with_expressions(relation: R, change: Callable[[BoundExpression], BoundExpression]) -> R:
    """The same relation and inputs with each expression changed by a function."""

    def changed(value: Any) -> Any:
        if isinstance(value, BoundExpression):
            return change(value)
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        # A relation, or a part of one that has an expression, such as the key of a lookup.
        has_expression = is_dataclass(value) and any(isinstance(each, BoundExpression) for each in vars(value).values())
        if not isinstance(value, Relation) and not has_expression:
            return value
        part: Any = value
        return replace(part, **{name: changed(each) for name, each in vars(part).items()})

    result: R = changed(relation)
    return result
