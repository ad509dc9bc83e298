"""Makes one calculation of several that follow each other, and none of those that compute nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from funke.engine.sql.binding import (
    BoundColumn,
    BoundExpression,
    BoundFunction,
    Calculation,
    Relation,
    columns_in,
    with_columns,
    with_inputs,
)

__all__ = ["merged", "merged_pair"]


def merged(relation: Relation) -> Relation:
    """Return a relation with the same rows and columns."""
    changed = with_inputs(relation, merged)
    if not isinstance(changed, Calculation):
        return changed
    if isinstance(changed.input, Calculation):
        changed = merged_pair(changed, changed.input) or changed
    return changed.input if _is_nothing(changed) else changed


def merged_pair(outer: Calculation, inner: Calculation) -> Calculation | None:
    """One calculation for two, of which the first reads the second; None if more would be computed."""
    if not _can_merge(outer, inner):
        return None

    def inlined(expression: BoundExpression) -> BoundExpression:
        return with_columns(expression, lambda column: inner.expressions[column.index])

    condition = None if outer.condition is None else inlined(outer.condition)
    expressions = tuple(map(inlined, outer.expressions))
    kept = inner.condition if condition is None else condition
    return replace(outer, input=inner.input, expressions=expressions, condition=kept)


def _can_merge(outer: Calculation, inner: Calculation) -> bool:
    """Whether nothing would be computed twice, nor for rows that a condition has left out."""
    if outer.condition is not None and inner.condition is not None:
        return False
    uses = Counter(columns_in(outer.expressions))
    uses.update(columns_in(() if outer.condition is None else (outer.condition,)))
    return all(not isinstance(each, BoundFunction) or uses[index] <= 1 for index, each in enumerate(inner.expressions))


def _is_nothing(calculation: Calculation) -> bool:
    if calculation.condition is not None or calculation.columns != calculation.input.columns:
        return False
    return all(
        isinstance(each, BoundColumn) and each.index == index for index, each in enumerate(calculation.expressions)
    )
