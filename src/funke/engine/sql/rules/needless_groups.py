"""Leaves out groups that have one row each, as Flink does: what are updates below stay updates."""

from __future__ import annotations

from funke.engine.sql.binding import (
    Aggregation,
    BoundColumn,
    BoundExpression,
    BoundFunction,
    Calculation,
    Column,
    Relation,
    symbol_of,
    with_inputs,
)
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import bind
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.plan.node import as_node
from funke.engine.types.logical.data_type import DataType

__all__ = ["without_needless_groups"]

# The functions whose value for one row is its argument.
_SAME_FOR_ONE_ROW = ("sum", "min", "max")


def without_needless_groups(relation: Relation) -> Relation:
    """Replaces aggregations whose keys contain a unique key of their input by calculations."""
    changed = with_inputs(relation, without_needless_groups)
    return _calculation(changed) if isinstance(changed, Aggregation) and _is_needless(changed) else changed


def _is_needless(aggregation: Aggregation) -> bool:
    unique_keys = as_node(aggregation.input).unique_keys()
    if not aggregation.keys or not any(each <= {*aggregation.keys} for each in unique_keys):
        return False
    return all(
        each.call.function.name in _SAME_FOR_ONE_ROW and each.condition is None and len(each.arguments) == 1
        for each in aggregation.aggregates
    )


def _calculation(aggregation: Aggregation) -> Calculation:
    inputs = aggregation.input.columns
    indexes = (*aggregation.keys, *(each.arguments[0] for each in aggregation.aggregates))
    expressions = (_as_type(inputs[index], index, column.type) for index, column in zip(indexes, aggregation.columns))
    return Calc(aggregation.columns, lower(aggregation.input), tuple(expressions))


def _as_type(column: Column, index: int, target: DataType) -> BoundExpression:
    same = BoundColumn(column.type, index, column.name, column.time)
    if column.type == target:
        return same
    call = bind(FUNCTIONS["cast"], [same.as_argument(), symbol_of(target).as_argument()])
    return BoundFunction(target, call, (same, symbol_of(target)))
