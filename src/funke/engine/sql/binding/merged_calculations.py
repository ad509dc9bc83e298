"""Makes one calculation of several that follow each other, and none of those that compute nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

from funke.engine.sql.binding.expressions import BoundColumn, BoundExpression, BoundFunction
from funke.engine.sql.binding.relations import Calculation, Relation

__all__ = ["merged"]


def merged(relation: Relation) -> Relation:
    """Return a relation with the same rows and columns."""
    changes: dict[str, Any] = {}
    for field in fields(relation):
        value = getattr(relation, field.name)
        if isinstance(value, Relation):
            changes[field.name] = merged(value)
        elif isinstance(value, tuple) and value and all(isinstance(each, Relation) for each in value):
            changes[field.name] = tuple(map(merged, value))
    changed = replace(relation, **changes) if changes else relation
    if not isinstance(changed, Calculation):
        return changed
    if isinstance(changed.input, Calculation) and _can_merge(changed, changed.input):
        changed = _merged_pair(changed, changed.input)
    return changed.input if _is_nothing(changed) else changed


def _merged_pair(outer: Calculation, inner: Calculation) -> Calculation:
    condition = outer.condition if outer.condition is None else _inlined(outer.condition, inner)
    expressions = tuple(_inlined(each, inner) for each in outer.expressions)
    return Calculation(outer.columns, inner.input, expressions, inner.condition if condition is None else condition)


def _can_merge(outer: Calculation, inner: Calculation) -> bool:
    """Whether nothing would be computed twice, nor for rows that a condition has left out."""
    if outer.condition is not None and inner.condition is not None:
        return False
    uses = Counter(_columns_in(outer.expressions))
    uses.update(_columns_in(() if outer.condition is None else (outer.condition,)))
    return all(not isinstance(each, BoundFunction) or uses[place] <= 1 for place, each in enumerate(inner.expressions))


def _is_nothing(calculation: Calculation) -> bool:
    if calculation.condition is not None or calculation.columns != calculation.input.columns:
        return False
    return all(
        isinstance(each, BoundColumn) and each.index == place for place, each in enumerate(calculation.expressions)
    )


def _columns_in(expressions: Iterable[BoundExpression]) -> Iterator[int]:
    for each in expressions:
        if isinstance(each, BoundColumn):
            yield each.index
        elif isinstance(each, BoundFunction):
            yield from _columns_in(each.arguments)


def _inlined(expression: BoundExpression, inner: Calculation) -> BoundExpression:
    if isinstance(expression, BoundColumn):
        return inner.expressions[expression.index]
    if isinstance(expression, BoundFunction):
        return replace(expression, arguments=tuple(_inlined(each, inner) for each in expression.arguments))
    return expression
