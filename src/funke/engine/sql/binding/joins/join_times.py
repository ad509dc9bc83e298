"""Interval joins and window joins keep time attributes; behind other joins times are plain timestamps.

The kind of a join may depend on WHERE, also on that of a query around it, so it is determined once that is bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from funke.engine.sql.binding import BoundExpression, Calculation, Column, Relation, columns_in, time_of, with_columns
from funke.engine.sql.binding.joins.regular_joins import Join, conditions_of
from funke.engine.sql.binding.joins.time_bounds import time_bounds
from funke.engine.sql.binding.windows.window_columns import conditions_below, window_equality

__all__ = ["has_join", "with_join_times"]


def has_join(relation: Relation) -> bool:
    """Whether rows come from a join, possibly through calculations."""
    while isinstance(relation, Calculation):
        relation = relation.input
    return isinstance(relation, Join)


def with_join_times(relation: Relation, conditions: Sequence[BoundExpression]) -> Relation:
    """The same relation with the time attributes that it keeps, given the conditions that its rows fulfil."""
    if isinstance(relation, Calculation):
        source = with_join_times(relation.input, conditions_below(relation, conditions))
        return relation if source == relation.input else _reading(relation, source)
    if not isinstance(relation, Join):
        return relation
    # WHERE filters the rows that an outer join has padded, so it does not bound which rows the join compares.
    own = conditions if relation.kind == "inner" else ()
    width = len(relation.left.columns)
    left = with_join_times(relation.left, [each for each in own if max(columns_in([each]), default=width) < width])
    changed = replace(relation, left=left)
    return replace(changed, columns=_columns(changed, own))


def _reading(calculation: Calculation, source: Relation) -> Calculation:
    """A calculation that reads the same columns with other time attributes."""
    expressions = tuple(
        with_columns(each, lambda column: replace(column, time=source.columns[column.index].time))
        for each in calculation.expressions
    )
    columns = tuple(replace(each, time=time_of(value)) for each, value in zip(calculation.columns, expressions))
    return replace(calculation, columns=columns, input=source, expressions=expressions)


def _columns(join: Join, conditions: Sequence[BoundExpression]) -> tuple[Column, ...]:
    sides = join.left.columns, join.right.columns
    every = (*conditions_of(join.condition), *conditions)
    has_bounds = join.kind not in ("semi", "anti") and time_bounds(*sides, every) is not None
    if not has_bounds and window_equality(join, conditions) is None:
        return tuple(replace(each, time=None) for each in join.columns)
    return tuple(replace(each, time=own.time) for each, own in zip(join.columns, (*sides[0], *sides[1])))
