"""Binds UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding.grouped_queries import distinct_rows
from funke.engine.sql.binding.relations import Column, Relation, UnionAll
from funke.engine.sql.syntax.queries import SetOperation

__all__ = ["SetComparison", "of_relations", "words_of"]


@dataclass(frozen=True)
class SetComparison(Relation):
    """The rows that are in both relations (INTERSECT), or in the first and not in the second (EXCEPT)."""

    inputs: tuple[Relation, Relation]
    is_in_both: bool
    # With ALL (1), (1) and (1), (1), (1) have (1), (1) in common; without it (1).
    is_all: bool


def words_of(query: SetOperation) -> str:
    """The operation as it is written."""
    return f"{query.kind.upper()} ALL" if query.is_all else query.kind.upper()


def of_relations(query: SetOperation, columns: tuple[Column, ...], left: Relation, right: Relation) -> Relation:
    """The operation on two relations whose types are those of the columns."""
    if query.kind == "union":
        union = UnionAll(columns, (left, right))
        return union if query.is_all else distinct_rows(union)
    return SetComparison(columns, (left, right), query.kind == "intersect", query.is_all)
