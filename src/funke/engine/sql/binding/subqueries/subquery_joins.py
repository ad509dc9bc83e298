"""Turns queries within expressions into joins, as Flink does.

In WHERE and HAVING a query behind [NOT] IN or EXISTS that stands by itself, or between ANDs, becomes a semi or anti
join. Any other gives columns that are joined to the rows, of which the expression is computed (`subquery_values.py`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from funke.engine.sql.binding import (
    Aggregation,
    BoundAggregate,
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    BoundSubQuery,
    Calculation,
    Column,
    Relation,
    conjuncts,
    has_query,
    inputs_of,
    moved,
    parts_in,
    with_columns,
    with_inputs,
    with_parts,
)
from funke.engine.sql.binding.joins.regular_joins import Join, JoinKind, all_true, call_of, columns_of_join
from funke.engine.sql.binding.subqueries.decorrelation import pulled_up, same_columns_of, with_outer
from funke.engine.sql.binding.subqueries.subquery_values import (
    Logic,
    always_has_row,
    count_in,
    join_value,
    named_results,
)
from funke.engine.sql.functions.aggregates.aggregate import bind_aggregate
from funke.engine.sql.functions.aggregates.counting import COUNT
from funke.engine.sql.functions.aggregates.extremes import MIN
from funke.engine.sql.functions.function import Argument
from funke.engine.types.logical.atomic_types import BooleanType

__all__ = ["with_subquery_joins"]

_TRUTH = BooleanType(False)


def with_subquery_joins(relation: Relation, may_be_semi: bool = True) -> Relation:
    """The same relation with joins in place of the queries in its expressions."""
    if not _has_queries(relation):
        return relation
    if isinstance(relation, Aggregation) and isinstance(relation.input, Calculation):
        # FILTER does not distinguish unknown from false.
        filters = {each.condition for each in relation.aggregates if each.condition is not None}
        inner = with_inputs(relation.input, lambda each: with_subquery_joins(each, may_be_semi))
        return replace(relation, input=_joined(inner, may_be_semi, filters))
    changed = with_inputs(relation, lambda each: with_subquery_joins(each, may_be_semi))
    return _joined(changed, may_be_semi) if isinstance(changed, Calculation) else changed


def _has_queries(relation: Relation) -> bool:
    is_one = isinstance(relation, Calculation) and relation.has_query
    return is_one or any(map(_has_queries, inputs_of(relation)))


def _joined(calculation: Calculation, may_be_semi: bool, filters: set[int] | None = None) -> Calculation:
    source, condition = calculation.input, calculation.condition
    if not calculation.has_query:
        return calculation
    source = named_results(source, calculation)
    calculation = _without_times(calculation)
    if condition is not None and has_query(condition):
        source, condition = _filtered(source, condition, may_be_semi)
    if any(map(has_query, calculation.expressions)):
        if condition is not None:
            source = Calculation(source.columns, source, same_columns_of(source), condition)
            condition = None
        expressions = []
        for index, each in enumerate(calculation.expressions):
            logic = Logic.TRUE_ONLY if index in (filters or ()) else Logic.FULL
            source, value = _computed(source, each, logic)
            expressions.append(value)
        calculation = replace(calculation, expressions=tuple(expressions))
    return replace(calculation, input=source, condition=condition)


def _without_times(calculation: Calculation) -> Calculation:
    """Behind a join times are plain timestamps."""
    columns = tuple(Column(each.name, each.type) for each in calculation.columns)
    expressions = (with_columns(each, lambda column: replace(column, time=None)) for each in calculation.expressions)
    return replace(calculation, columns=columns, expressions=tuple(expressions))


def _queries_in(expression: BoundExpression) -> Iterator[BoundSubQuery]:
    if isinstance(expression, BoundSubQuery):
        yield expression
    for each in parts_in(expression):
        yield from _queries_in(each)


# Conditions


def _filtered(
    source: Relation, condition: BoundExpression, may_be_semi: bool
) -> tuple[Relation, BoundExpression | None]:
    """The rows with the results of queries as columns, and the condition on these."""
    conditions = [_without_count(part) for each in conjuncts(condition) for part in _parted(each)]
    # A correlated query behind HAVING is none for Flink's rule of semi joins.
    is_having = isinstance(source, Aggregation)
    if may_be_semi and all(_may_be_semi(each, is_having) for each in conditions):
        joined = _semi_joined(source, [each for each in conditions if _query_of(each) is not None])
        if joined is not None:
            source = joined
            conditions = [each for each in conditions if _query_of(each) is None]
    rest: list[BoundExpression] = []
    for each in conditions:
        source, value = _computed(source, each, Logic.TRUE)
        if not _is_true(value):
            rest.append(_without_zero(value))
    return source, all_true(rest)


def _is_true(expression: BoundExpression) -> bool:
    return isinstance(expression, BoundConstant) and expression.value is True


def _parted(condition: BoundExpression) -> list[BoundExpression]:
    """The parts of a condition with a query, all of which must be true."""
    if not has_query(condition) or not isinstance(condition, BoundFunction):
        return [condition]
    name, arguments = condition.call.function.name, condition.arguments
    if name == "and":
        return [part for each in arguments for part in _parted(each)]
    if name == "between":
        value, lower, upper = arguments
        return [call_of(">=", value, lower), call_of("<=", value, upper)]
    if name == "is true" or (name == "=" and _is_true(arguments[1])) or (name == "case" and _is_itself(arguments[1:])):
        return _parted(arguments[0])
    if name == "not" and isinstance(arguments[0], BoundFunction):
        inner = arguments[0]
        if inner.call.function.name == "not":
            return _parted(inner.arguments[0])
        if inner.call.function.name == "or":
            return [part for each in inner.arguments for part in _parted(call_of("not", each))]
    return [condition]


_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _without_zero(condition: BoundExpression) -> BoundExpression:
    """A comparison of a count, without the CASE that makes NULL 0 where that makes no difference."""
    if not isinstance(condition, BoundFunction) or condition.call.function.name not in _COMPARED:
        return condition
    name, arguments = condition.call.function.name, list(condition.arguments)
    for index, each in enumerate(arguments):
        other = arguments[1 - index]
        # For `CASE WHEN c IS NULL THEN 0 ELSE c END > 3` neither NULL nor 0 matches, so `c > 3` is the same.
        count = count_in(each)
        if count is None or not isinstance(other, BoundConstant) or other.value is None:
            continue
        values = (0, other.value) if index == 0 else (other.value, 0)
        if not _COMPARED[name](*values):
            arguments[index] = count
            return call_of(name, *arguments)
    return condition


_FLIPPED = {"<": ">", "<=": ">="}


def _without_count(condition: BoundExpression) -> BoundExpression:
    """`(SELECT COUNT(*) …) > 0` as EXISTS; any other condition as it is."""
    if not isinstance(condition, BoundFunction) or len(condition.arguments) != 2:
        return condition
    name, (one, other) = condition.call.function.name, condition.arguments
    if name in _FLIPPED:
        name, one, other = _FLIPPED[name], other, one
    counted = _counted_rows(one)
    if counted is None or not isinstance(other, BoundConstant) or not isinstance(other.value, int | Decimal):
        return condition
    is_any = (name == ">" and 0 <= other.value < 1) or (name == ">=" and 0 < other.value <= 1)
    return counted if is_any else condition


def _counted_rows(expression: BoundExpression) -> BoundSubQuery | None:
    """The query whose rows another one counts."""
    if not isinstance(expression, BoundSubQuery) or expression.kind != "scalar":
        return None
    relation = expression.relation
    if isinstance(relation, Calculation) and isinstance(relation.expressions[0], BoundColumn):
        relation = relation if relation.condition is not None else relation.input
    if not isinstance(relation, Aggregation) or relation.keys or len(relation.aggregates) != 1:
        return None
    (aggregate,) = relation.aggregates
    is_count = aggregate.call.function is COUNT and not aggregate.arguments and aggregate.condition is None
    return replace(expression, kind="exists", type=_TRUTH, relation=relation.input) if is_count else None


def _is_itself(results: Sequence[BoundExpression]) -> bool:
    """Whether CASE only repeats the truth of its condition: `CASE WHEN c THEN TRUE ELSE FALSE END`."""
    values = [each.value if isinstance(each, BoundConstant) else None for each in results]
    return values == [True, False]


def _query_of(condition: BoundExpression) -> tuple[BoundSubQuery, bool] | None:
    """The query of a condition that is [NOT] IN or [NOT] EXISTS, and whether it is negated."""
    is_negated = isinstance(condition, BoundFunction) and condition.call.function.name == "not"
    inner = condition.arguments[0] if isinstance(condition, BoundFunction) and is_negated else condition
    return (inner, is_negated) if isinstance(inner, BoundSubQuery) and inner.kind in ("in", "exists") else None


def _may_be_semi(condition: BoundExpression, is_having: bool) -> bool:
    """Whether all queries of IN and EXISTS in a condition may become semi joins."""
    query = _query_of(condition)
    if query is None:
        return not any(each.kind in ("in", "exists", "some") for each in _queries_in(condition))
    return not (is_having and query[0].outer) and not any(map(has_query, query[0].operands))


def _semi_joined(source: Relation, conditions: list[BoundExpression]) -> Relation | None:
    """The rows for which queries have rows, or none; None if one cannot become a semi join."""
    for each in conditions:
        query = _query_of(each)
        assert query is not None
        joined = _semi_join(source, *query)
        if joined is None:
            return None
        source = joined
    return source


def _semi_join(source: Relation, query: BoundSubQuery, is_negated: bool) -> Relation | None:
    if query.kind == "exists" and always_has_row(query.relation):
        nothing = BoundConstant(_TRUTH, False)
        return Calculation(source.columns, source, same_columns_of(source), nothing) if is_negated else source
    pulled = pulled_up(query.relation)
    if pulled is None:
        return None
    width = len(source.columns)
    right = with_subquery_joins(pulled.relation)
    conditions: list[BoundExpression] = []
    if query.kind == "in":
        for index, operand in enumerate(query.operands):
            column = right.columns[index]
            its = BoundColumn(column.type, width + index, column.name)
            conditions.append(_not_different(operand, its) if is_negated else call_of("=", operand, its))
    elif not query.outer:
        right, conditions = _any_row(right, width, is_negated)
    for each in pulled.conditions:
        moves = {index: width + index for index in range(len(right.columns))}
        conditions.append(with_outer(moved(each, moves), lambda column: query.outer[column.number]))
    kind: JoinKind = "anti" if is_negated else "semi"
    return Join(columns_of_join(source.columns, right.columns, kind), source, right, kind, all_true(conditions))


def _not_different(one: BoundExpression, other: BoundExpression) -> BoundExpression:
    """Whether two values are equal, or one of them is NULL."""
    # `3 NOT IN (1, NULL)` is unknown, and WHERE drops the row. So an anti join has to match the NULL, too, and
    # has no key: it runs in one subtask, unless both columns are NOT NULL. NOT EXISTS has a key.
    missing = [call_of("is null", each) for each in (one, other) if each.type._nullable]
    equal = call_of("=", one, other)
    return call_of("or", *missing, equal) if missing else equal


def _any_row(relation: Relation, width: int, is_negated: bool) -> tuple[Relation, list[BoundExpression]]:
    """One row that shows whether a relation has rows, and the condition on it."""
    # EXISTS without a condition on outer columns: the join keeps one row of an aggregate instead of all rows of the
    # query.
    mark = Calculation((Column("i", _TRUTH),), relation, (BoundConstant(_TRUTH, True),))
    least = bind_aggregate(MIN, [Argument(_TRUTH)])
    groups = Aggregation((Column("m", least.result),), mark, (), (BoundAggregate(least, (0,)),))
    if not is_negated:
        return groups, [call_of("is not null", BoundColumn(least.result, width, "m"))]
    truth = call_of("is not null", BoundColumn(least.result, 0, "m"))
    right = Calculation((Column("$f0", _TRUTH),), groups, (truth,))
    return right, [BoundColumn(_TRUTH, width, "$f0")]


# Values


def _computed(
    source: Relation, expression: BoundExpression, logic: Logic, is_negated: bool = False
) -> tuple[Relation, BoundExpression]:
    """The rows with the results of all queries of an expression as columns, and the expression on these."""
    if isinstance(expression, BoundSubQuery):
        operands = []
        for each in expression.operands:
            source, value = _computed(source, each, Logic.FULL)
            operands.append(value)
        inner = with_subquery_joins(expression.relation, may_be_semi=False)
        query = replace(expression, relation=inner, operands=tuple(operands))
        return join_value(source, query, logic, is_negated)
    if not has_query(expression):
        return source, expression
    name = expression.call.function.name if isinstance(expression, BoundFunction) else ""
    first, *_ = parts_in(expression)
    if name == "not" and isinstance(first, BoundSubQuery):
        return _computed(source, first, logic, is_negated=True)
    parts = []
    for index, each in enumerate(parts_in(expression)):
        source, value = _computed(source, each, logic.of_part(name, index, len(parts_in(expression))))
        parts.append(value)
    changed = iter(parts)
    return source, with_parts(expression, lambda each: next(changed))
