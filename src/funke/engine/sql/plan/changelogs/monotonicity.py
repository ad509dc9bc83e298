"""Monotonicity: the direction in which updates change the columns of a table."""

from __future__ import annotations

from enum import Enum

from funke.engine.sql.binding import (
    Aggregation,
    BoundAggregate,
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    Calculation,
    Relation,
    conjuncts,
)
from funke.engine.sql.plan import INSERTS, as_node

__all__ = ["Direction", "directions_of"]


class Direction(Enum):
    """The direction in which updates change a column of the row of one key."""

    CONSTANT = "constant"
    RISING = "rising"
    FALLING = "falling"
    ANY = "any"


# As in Flink a count rises, so that no row moves back in ORDER BY COUNT(*) DESC: Top-N then keeps N rows instead of
# all (`rank_strategy`).
_OF_AGGREGATES = {"count": Direction.RISING, "max": Direction.RISING, "min": Direction.FALLING}


def directions_of(relation: Relation) -> tuple[Direction, ...]:
    """The direction of each column; that of what is not understood is any."""
    if as_node(relation).changelog() == INSERTS:
        return (Direction.CONSTANT,) * len(relation.columns)
    if isinstance(relation, Aggregation):
        return _of_aggregation(relation)
    if isinstance(relation, Calculation) and relation.condition is None:
        inputs = directions_of(relation.input)
        return tuple(_of_expression(each, inputs) for each in relation.expressions)
    return (Direction.ANY,) * len(relation.columns)


def _of_expression(expression: BoundExpression, inputs: tuple[Direction, ...]) -> Direction:
    if isinstance(expression, BoundColumn):
        return inputs[expression.index]
    return Direction.CONSTANT if isinstance(expression, BoundConstant) else Direction.ANY


def _of_aggregation(aggregation: Aggregation) -> tuple[Direction, ...]:
    inputs = directions_of(aggregation.input)
    # A row that changes its key leaves a group, whose aggregates then go the other way.
    if any(inputs[key] is not Direction.CONSTANT for key in aggregation.keys):
        return (Direction.ANY,) * len(aggregation.columns)
    own = (_of_aggregate(each, aggregation, inputs) for each in aggregation.aggregates)
    return (*(Direction.CONSTANT for _ in aggregation.keys), *own)


def _of_aggregate(aggregate: BoundAggregate, aggregation: Aggregation, inputs: tuple[Direction, ...]) -> Direction:
    name = aggregate.call.function.name
    own = _of_sum(aggregate, aggregation) if name == "sum" else _OF_AGGREGATES.get(name, Direction.ANY)
    arguments = [inputs[index] for index in aggregate.arguments if index >= 0]
    return own if all(each in (Direction.CONSTANT, own) for each in arguments) else Direction.ANY


def _of_sum(aggregate: BoundAggregate, aggregation: Aggregation) -> Direction:
    """Rising if nothing below zero is added."""
    (index,) = aggregate.arguments
    source = aggregation.input
    if not isinstance(source, Calculation):
        return Direction.ANY
    # As in Flink this is known of a constant, and from a WHERE of the same Calc such as v >= 0.
    values = _bounds(source.expressions[index], source)
    return Direction.RISING if values is not None and values >= 0 else Direction.ANY


def _bounds(expression: BoundExpression, source: Calculation) -> float | None:
    """The least value that an expression may have, as far as that is known."""
    if isinstance(expression, BoundConstant):
        return float(expression.value) if isinstance(expression.value, (int, float)) else None
    if not isinstance(expression, BoundColumn) or not isinstance(source.condition, BoundFunction):
        return None
    bounds = [_lower_bound(each, expression.index) for each in conjuncts(source.condition)]
    return max((each for each in bounds if each is not None), default=None)


def _lower_bound(condition: BoundExpression, column: int) -> float | None:
    if not isinstance(condition, BoundFunction) or len(condition.arguments) != 2:
        return None
    one, other = condition.arguments
    if condition.call.function.name in ("<", "<="):
        one, other = other, one
    elif condition.call.function.name not in (">", ">=", "="):
        return None
    is_bound = isinstance(one, BoundColumn) and one.index == column and isinstance(other, BoundConstant)
    if not is_bound or not isinstance(other, BoundConstant) or not isinstance(other.value, (int, float)):
        return None
    return float(other.value)
