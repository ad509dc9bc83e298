"""What a query means: a tree of relations, each of which has columns with names and types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from funke.engine.sql.binding.expressions import BoundExpression
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.types.logical.data_type import DataType

__all__ = ["Calculation", "Column", "Constants", "Limit", "Relation", "Scan", "Sort", "SortKey", "UnionAll"]


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
    """The rows of a table of the catalog, or of one that was given as an object."""

    table: Any
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Constants(Relation):
    """Rows that stand in the query itself."""

    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Calculation(Relation):
    """Columns computed of those of the input, for the rows for which a condition is true."""

    input: Relation
    expressions: tuple[BoundExpression, ...]
    condition: BoundExpression | None = None


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
    """The rows of the input in an order, which it has once all of them have come; some of them if it is limited."""

    input: Relation
    keys: tuple[SortKey, ...]
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True)
class Limit(Relation):
    """The first rows of the input, behind some that are left out."""

    input: Relation
    offset: int = 0
    limit: int | None = None
