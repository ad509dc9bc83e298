"""Makes one calculation of two: what a view computes and what a query computes of it is done in one step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from funke.engine.sql.binding.expressions import BoundColumn, BoundConstant, BoundExpression, BoundFunction
from funke.engine.sql.binding.relations import Calculation

__all__ = ["column_places", "merged", "with_columns"]


def merged(calculation: Calculation) -> Calculation:
    """Return a calculation that has the same rows, with the one below it taken in if nothing is computed twice.

    Two conditions stay apart: the second is asked for rows that the first has kept, and might fail for others.
    """
    inner = calculation.input
    if not isinstance(inner, Calculation) or (calculation.condition is not None and inner.condition is not None):
        return calculation
    conditions = [] if calculation.condition is None else [calculation.condition]
    uses = Counter(column_places([*calculation.expressions, *conditions]))
    if any(uses[place] > 1 and not _is_plain(each) for place, each in enumerate(inner.expressions)):
        return calculation
    places = dict(enumerate(inner.expressions))
    condition = inner.condition
    if calculation.condition is not None:
        condition = with_columns(calculation.condition, places)
    expressions = tuple(with_columns(each, places) for each in calculation.expressions)
    return replace(calculation, input=inner.input, expressions=expressions, condition=condition)


def column_places(expressions: Iterable[BoundExpression]) -> list[int]:
    """Return the places of the columns that expressions look at, each as often as it occurs."""
    found: list[int] = []
    waiting = list(expressions)
    while waiting:
        each = waiting.pop()
        if isinstance(each, BoundColumn):
            found.append(each.index)
        elif isinstance(each, BoundFunction):
            waiting += each.arguments
    return found


def with_columns(expression: BoundExpression, places: dict[int, BoundExpression]) -> BoundExpression:
    """Return an expression with others in the places of its columns."""
    if isinstance(expression, BoundColumn):
        return places[expression.index]
    if isinstance(expression, BoundFunction):
        return replace(expression, arguments=tuple(with_columns(each, places) for each in expression.arguments))
    return expression


def _is_plain(expression: BoundExpression) -> bool:
    return isinstance(expression, (BoundColumn, BoundConstant))
