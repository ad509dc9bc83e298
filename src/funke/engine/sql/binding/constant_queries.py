"""Queries that read no table: their rows are known when a statement is bound."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.binding import (
    BoundExpression,
    Calculation,
    Constants,
    Relation,
    UnionAll,
    calls_in,
    column_of,
    is_deterministic,
)
from funke.engine.sql.functions.users.user_scalars import UserScalar
from funke.engine.sql.functions.values import from_values, to_value, to_values
from funke.engine.types.logical.column_types import column_schema

__all__ = ["constant_rows", "constant_value", "is_computed_when_run", "is_constant"]

# A column that nobody reads: a batch without columns has no rows, so nothing would be computed.
_ONE_BATCH = pa.record_batch([pa.nulls(1)], names=[""])


def is_constant(relation: Relation) -> bool:
    """Whether a query reads no table, so that its rows are known."""
    if isinstance(relation, Calculation):
        return is_constant(relation.input) and not relation.has_query
    if isinstance(relation, UnionAll):
        return all(map(is_constant, relation.inputs))
    return isinstance(relation, Constants)


def constant_rows(relation: Relation) -> list[tuple[Any, ...]]:
    """The rows of a query that reads no table."""
    if isinstance(relation, Constants):
        return list(relation.rows)
    if isinstance(relation, UnionAll):
        return [row for each in relation.inputs for row in constant_rows(each)]
    if isinstance(relation, Calculation):
        return _calculated(relation, constant_rows(relation.input))
    raise UnsupportedFeatureError("a query within an expression that reads tables")


def _calculated(calculation: Calculation, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    if not rows:
        return []
    inputs = calculation.input.columns
    arrays = [from_values(list(values), column.type) for values, column in zip(zip(*rows), inputs)]
    schema = column_schema([each.name for each in inputs], [each.type for each in inputs])
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    if calculation.condition is not None:
        mask = column_of(calculation.condition)(batch)
        batch = batch.filter(pa.repeat(mask, len(batch)) if isinstance(mask, pa.Scalar) else mask)
    lists = []
    for expression in calculation.expressions:
        result = column_of(expression)(batch)
        is_same = isinstance(result, pa.Scalar)
        lists.append(
            [to_value(result, expression.type)] * len(batch) if is_same else to_values(result, expression.type)
        )
    return list(zip(*lists))


def is_computed_when_run(expression: BoundExpression) -> bool:
    """Whether an expression has to be evaluated by the job: it has a user's function, random numbers or the time."""
    is_users = any(isinstance(call.call.function, UserScalar) for call in calls_in(expression))
    return is_users or not is_deterministic(expression)


def constant_value(expression: BoundExpression) -> object:
    """The value of an expression that reads no column."""
    value = column_of(expression)(_ONE_BATCH)
    return to_value(value, expression.type) if isinstance(value, pa.Scalar) else to_values(value, expression.type)[0]
