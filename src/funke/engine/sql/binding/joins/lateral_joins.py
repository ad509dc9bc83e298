"""Binds LATERAL (SELECT …): joins each row with the rows of a query that uses its columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.binding import (
    Aggregation,
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    BoundOuterColumn,
    Calculation,
    Column,
    Relation,
    Sort,
    conjuncts,
    with_columns,
)
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.joins.regular_joins import JoinKind, call_of
from funke.engine.sql.binding.over.ranks import NumberedRows
from funke.engine.sql.binding.scope import Scope
from funke.engine.sql.binding.subqueries.decorrelation import outer_columns_in, same_columns_of
from funke.engine.sql.binding.subqueries.subquery_joins import with_subquery_joins
from funke.engine.sql.binding.subqueries.subquery_values import joined_values
from funke.engine.sql.syntax import queries
from funke.engine.sql.syntax.expressions import Literal
from funke.engine.types.logical import BigIntType, with_nullable

__all__ = ["bind_lateral_join"]

MakeBinder = Callable[[Scope], ExpressionBinder]
Joined = tuple[Relation, Scope]


def bind_lateral_join(
    join: queries.Join, left: Joined, right: Joined, outer: Sequence[BoundExpression], make: MakeBinder
) -> Joined:
    """The meaning of a join with a query that uses the `outer` columns of the left side."""
    if join.kind not in ("inner", "left", "cross"):
        raise UnsupportedFeatureError(f"{join.kind.upper()} JOIN LATERAL")
    kind: JoinKind = "left" if join.kind == "left" else "inner"
    (source, left_scope), (query, right_scope) = left, right
    source, query = with_subquery_joins(source), with_subquery_joins(query)
    # As Flink's CorrelateSortToRankRule: a Top-N keeps n rows of a key. As there, any other limit on rows that depend
    # on outer columns is rejected.
    first_rows = _first_rows(source, query, outer) if kind == "inner" and _is_plain(join) else None
    if first_rows is not None:
        return first_rows, Scope(
            tuple(replace(each, time=None) for each in (*left_scope.columns, *right_scope.columns))
        )
    outer_columns = list(outer)
    if join.condition is not None:
        whole = Scope((*left_scope.columns, *right_scope.columns))
        condition = make(whole).bind_condition(join.condition, "ON")
        query = _with_condition(query, condition, source, outer_columns)
    joined, values = joined_values(source, query, outer_columns, kind)
    width = len(source.columns)
    own = tuple(
        Column(each.name, with_nullable(value.type, kind == "left" or value.type._nullable))
        for each, value in zip(query.columns, values)
    )
    columns = (*joined.columns[:width], *own)
    calculation = Calculation(columns, joined, (*same_columns_of(joined)[:width], *values))
    scope_columns = (*left_scope.columns, *right_scope.columns)
    scope = Scope(tuple(replace(each, type=column.type, time=None) for each, column in zip(scope_columns, columns)))
    return calculation, scope


def _with_condition(
    query: Relation, condition: BoundExpression, source: Relation, outer_columns: list[BoundExpression]
) -> Relation:
    """The query with the condition of its join, in which the columns of the left side are outer columns."""
    if isinstance(condition, BoundConstant) and condition.value is True:
        return query
    width = len(source.columns)

    def inside(column: BoundColumn) -> BoundExpression:
        if column.index >= width:
            return replace(column, index=column.index - width)
        if column not in outer_columns:
            outer_columns.append(column)
        return BoundOuterColumn(column.type, outer_columns.index(column), column.name)

    return Calculation(query.columns, query, same_columns_of(query), with_columns(condition, inside))


# The first rows of each key


def _is_plain(join: queries.Join) -> bool:
    condition = join.condition
    return condition is None or (isinstance(condition, Literal) and condition.value is True)


def _first_rows(source: Relation, query: Relation, outer: Sequence[BoundExpression]) -> Relation | None:
    """The first rows of each key of a table; None if the query has another form than, as in Flink:

    FROM (SELECT DISTINCT k FROM t) AS s, LATERAL (SELECT … FROM t WHERE k = s.k ORDER BY … LIMIT n)
    """
    projection = query if isinstance(query, Calculation) and isinstance(query.input, Sort) else None
    ordered = query if projection is None else projection.input
    keys = _distinct_columns(source)
    if keys is None or not isinstance(ordered, Sort) or ordered.limit is None or ordered.offset:
        return None
    rows = ordered.input
    if not isinstance(rows, Calculation) or rows.condition is None or any(map(outer_columns_in, rows.expressions)):
        return None
    table, columns = keys
    equal = [_key_of(each, outer) for each in conjuncts(rows.condition)]
    if rows.input != table or sorted(equal, key=repr) != sorted(enumerate(columns), key=repr):
        return None
    return _numbered(source, query, ordered, replace(rows, condition=None), columns)


def _distinct_columns(source: Relation) -> tuple[Relation, list[int]] | None:
    """The table and the columns whose distinct values a relation has."""
    rows = source.input if isinstance(source, Aggregation) and not source.aggregates else None
    if not isinstance(rows, Calculation) or rows.condition is not None:
        return None
    indexes = [each.index for each in rows.expressions if isinstance(each, BoundColumn)]
    return (rows.input, indexes) if len(indexes) == len(rows.expressions) else None


def _key_of(condition: BoundExpression, outer: Sequence[BoundExpression]) -> tuple[int, int] | None:
    """The key that must be equal to a column, and the column."""
    if not isinstance(condition, BoundFunction) or condition.call.function.name != "=":
        return None
    for one, other in (condition.arguments, condition.arguments[::-1]):
        if isinstance(one, BoundColumn) and isinstance(other, BoundOuterColumn):
            key = outer[other.number]
            return (key.index, one.index) if isinstance(key, BoundColumn) else None
    return None


def _numbered(source: Relation, query: Relation, ordered: Sort, rows: Calculation, keys: list[int]) -> Relation:
    width = len(rows.columns)
    parted = same_columns_of(rows.input)
    computed = Calculation(
        (*rows.columns, *source.columns), rows.input, (*rows.expressions, *(parted[each] for each in keys))
    )
    indexes = tuple(range(width, width + len(keys)))
    number = Column("w0$o0", BigIntType(False))
    numbered = NumberedRows((*computed.columns, number), computed, indexes, ordered.keys)
    same = same_columns_of(numbered)
    results = query.expressions if isinstance(query, Calculation) else same_columns_of(ordered)
    assert ordered.limit is not None
    is_first = call_of("<=", same[-1], BoundConstant(BigIntType(False), ordered.limit))
    columns = (*source.columns, *query.columns)
    return Calculation(columns, numbered, (*(same[each] for each in indexes), *results), is_first)
