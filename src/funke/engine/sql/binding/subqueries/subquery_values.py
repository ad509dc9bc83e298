"""Joins rows with columns from which the value of a query in an expression is computed, as Flink does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import TypeAlias

from funke.engine.flink_exceptions import TableException
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
    Scan,
    columns_in,
    conjuncts,
    moved,
    with_columns,
)
from funke.engine.sql.binding.grouped_queries import distinct_rows
from funke.engine.sql.binding.joins.regular_joins import (
    Join,
    JoinKind,
    all_true,
    call_of,
    columns_of_join,
    distinct_names,
)
from funke.engine.sql.binding.subqueries.decorrelation import (
    decorrelated,
    has_outer_columns,
    outer_columns_in,
    same_columns_of,
    with_outer,
)
from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction, bind_aggregate
from funke.engine.sql.functions.aggregates.counting import COUNT
from funke.engine.sql.functions.aggregates.extremes import MAX, MIN
from funke.engine.sql.functions.aggregates.single_value import SINGLE_VALUE
from funke.engine.sql.functions.function import Argument
from funke.engine.types.logical.atomic_types import BigIntType, BooleanType

__all__ = ["Logic", "always_has_row", "count_in", "join_value", "joined_values", "named_results"]

Value: TypeAlias = "tuple[Relation, BoundExpression]"

_TRUTH = BooleanType(False)
_TRUE = BoundConstant(_TRUTH, True)
_UNKNOWN = BoundConstant(BooleanType(), None)
_COUNT = BigIntType(False)
_ZERO, _ONE = BoundConstant(_COUNT, 0), BoundConstant(_COUNT, 1)


class Logic(Enum):
    """The treatment of an unknown truth value, by where it stands. Where it counts as false, joins are smaller."""

    # A condition of its own: rows for which it is not true are left out.
    TRUE = auto()
    # A part of a condition in which unknown counts as false.
    AS_FALSE = auto()
    # The same, where rows stay: FILTER of an aggregate.
    TRUE_ONLY = auto()
    # A value that may be NULL.
    FULL = auto()

    def of_part(self, name: str, index: int, count: int) -> Logic:
        """The logic of an argument of a function."""
        if name in ("and", "or"):
            return Logic.FULL if self is Logic.FULL else Logic.AS_FALSE
        is_condition = (name == "case" and index % 2 == 0 and index < count - 1) or name == "is true"
        return Logic.AS_FALSE if is_condition else Logic.FULL


def join_value(source: Relation, query: BoundSubQuery, logic: Logic, is_negated: bool) -> Value:
    """The rows with more columns, and the value of a query on these, or its opposite."""
    if query.kind == "scalar":
        source, value = _scalar(source, query)
        return source, call_of("not", value) if is_negated else value
    if query.kind == "exists":
        return _exists(source, query, logic, is_negated)
    if query.kind == "some":
        return _some(source, query, logic, is_negated)
    return _in(source, query, logic, is_negated)


def always_has_row(relation: Relation) -> bool:
    """Whether a query has exactly one row, whatever it reads: an aggregate over all rows."""
    if isinstance(relation, Calculation) and relation.condition is None:
        return always_has_row(relation.input)
    return isinstance(relation, Aggregation) and not relation.keys


def _correlated_join(
    source: Relation, relation: Relation, outer: Sequence[BoundExpression], kind: JoinKind
) -> tuple[Join, tuple[int, ...]]:
    """Rows joined with those of a query that may be correlated, and the indexes of its columns."""
    right = decorrelated(relation, source, outer)
    width = len(source.columns)
    numbers = sorted(right.outer, key=lambda each: _index_of(outer[each]))
    columns = right.relation.columns
    equal = [call_of(right.equality(each), outer[each], _column(columns, right.outer[each], width)) for each in numbers]
    joined = columns_of_join(source.columns, columns, kind)
    join = Join(joined, source, right.relation, kind, all_true(equal))
    return join, tuple(width + each for each in right.indexes)


def _index_of(expression: BoundExpression) -> int:
    return expression.index if isinstance(expression, BoundColumn) else 1_000_000


def _column(columns: Sequence[Column], index: int, width: int = 0) -> BoundColumn:
    return BoundColumn(columns[index].type, width + index, columns[index].name)


def _columns(join: Join, indexes: Sequence[int]) -> list[BoundColumn]:
    same = same_columns_of(join)
    return [same[each] for each in indexes]


def _aggregate(
    relation: Relation, names: Sequence[str], calls: Sequence[tuple[AggregateFunction, int | None]]
) -> Aggregation:
    """Aggregates of columns over all rows."""
    aggregates = []
    for function, index in calls:
        arguments = [] if index is None else [Argument(relation.columns[index].type)]
        aggregates.append(BoundAggregate(bind_aggregate(function, arguments), () if index is None else (index,)))
    columns = tuple(Column(name, each.call.result) for name, each in zip(names, aggregates))
    return Aggregation(columns, relation, (), tuple(aggregates))


# One value


def _scalar(source: Relation, query: BoundSubQuery) -> Value:
    relation: Relation = query.relation
    # A query in place of a value must not have two rows. A key or an aggregate over all rows proves that; otherwise
    # SINGLE_VALUE fails the job at the second row.
    if isinstance(relation, Calculation) and _is_by_key(relation):
        return _looked_up(source, relation, query)
    if not always_has_row(relation):
        relation = _aggregate(relation, ["$f0"], [(SINGLE_VALUE, 0)])
    join, values = joined_values(source, relation, query.outer, "left")
    return join, values[0]


def joined_values(
    source: Relation, relation: Relation, outer: Sequence[BoundExpression], kind: JoinKind
) -> tuple[Join, list[BoundExpression]]:
    """Rows joined with those of a query that may be correlated, and the columns of the query."""
    results: tuple[BoundExpression, ...] | None = None
    is_counted = kind == "left" and has_outer_columns(relation) and always_has_row(relation)
    if is_counted and isinstance(relation, Calculation) and isinstance(relation.input, Aggregation):
        # Expressions on aggregates move behind the join, where COUNT of no rows is 0: COUNT(*) + 1 is 1, not NULL.
        results = relation.expressions
        relation = named_results(relation.input, relation)
    join, indexes = _correlated_join(source, relation, outer, kind)
    values: list[BoundExpression] = [*_columns(join, indexes)]
    if is_counted and isinstance(relation, Aggregation):
        values = [_counted(each, own) for each, own in zip(values, relation.aggregates)]
    if results is None:
        return join, values
    moved_results = (with_columns(each, lambda column: values[column.index]) for each in results)
    return join, [with_outer(each, lambda column: outer[column.number]) for each in moved_results]


def named_results(relation: Relation, calculation: Calculation) -> Relation:
    """An aggregation whose columns have the names that the query gives them, as in Flink's plans of joins."""
    if not isinstance(relation, Aggregation):
        return relation
    aliases = {
        each.index: column.name
        for each, column in reversed([*zip(calculation.expressions, calculation.columns)])
        if isinstance(each, BoundColumn)
    }
    names = [aliases.get(index, f"$f{index}") for index in range(len(relation.columns))]
    columns = tuple(replace(each, name=name) for name, each in zip(distinct_names(names), relation.columns))
    return replace(relation, columns=columns)


def _counted(value: BoundExpression, aggregate: BoundAggregate) -> BoundExpression:
    """The result of an aggregate behind a join: without a row COUNT is 0."""
    is_count = aggregate.call.function is COUNT
    return call_of("case", call_of("is null", value), _ZERO, value) if is_count else value


def _is_by_key(relation: Calculation) -> bool:
    """Whether a query selects a column of the row that outer columns identify by a key."""
    if relation.condition is None or has_outer_columns(relation.input):
        return False
    if not isinstance(relation.expressions[0], BoundColumn):
        return False
    equal = {
        each.index
        for condition in conjuncts(relation.condition)
        if isinstance(condition, BoundFunction) and condition.call.function.name == "=" and outer_columns_in(condition)
        for each in condition.arguments
        if isinstance(each, BoundColumn)
    }
    return any(key <= equal for key in _unique_keys(relation.input))


def _unique_keys(relation: Relation) -> list[set[int]]:
    """Sets of columns that identify a row."""
    if isinstance(relation, Scan) and relation.primary_key:
        names = [each.name for each in relation.columns]
        return [{names.index(each) for each in relation.primary_key}] if {*relation.primary_key} <= {*names} else []
    if isinstance(relation, Aggregation) and relation.keys:
        return [set(range(len(relation.keys)))]
    if not isinstance(relation, Calculation):
        return []
    indexes = {each.index: index for index, each in enumerate(relation.expressions) if isinstance(each, BoundColumn)}
    return [{indexes[each] for each in key} for key in _unique_keys(relation.input) if key <= {*indexes}]


def _looked_up(source: Relation, relation: Calculation, query: BoundSubQuery) -> Value:
    """The value of a query that finds its row by a key."""
    assert relation.condition is not None
    width = len(source.columns)
    conditions = conjuncts(relation.condition)
    own = [each for each in conditions if not outer_columns_in(each)]
    right = relation.input
    if own:
        right = Calculation(right.columns, right, same_columns_of(right), all_true(own))
    moves = {index: width + index for index in columns_in(conditions)}
    keys = [
        with_outer(moved(each, moves), lambda column: query.outer[column.number])
        for each in conditions
        if each not in own
    ]
    join = Join(columns_of_join(source.columns, right.columns, "left"), source, right, "left", all_true(keys))
    key_column = relation.expressions[0]
    assert isinstance(key_column, BoundColumn)
    return join, same_columns_of(join)[width + key_column.index]


def count_in(expression: BoundExpression) -> BoundExpression | None:
    """The count inside of the CASE that `_counted` makes; None for any other expression."""
    if not isinstance(expression, BoundFunction) or expression.call.function.name != "case":
        return None
    *_, zero, count = expression.arguments
    is_counted = len(expression.arguments) == 3 and zero is _ZERO
    return count if is_counted else None


# Whether there are rows


def _exists(source: Relation, query: BoundSubQuery, logic: Logic, is_negated: bool) -> Value:
    if always_has_row(query.relation):
        return source, BoundConstant(_TRUTH, not is_negated)
    is_inner = logic is Logic.TRUE and not is_negated
    join, mark = _marked(source, query, (), is_inner)
    if is_inner:
        return join, _TRUE
    return join, call_of("is null" if is_negated else "is not null", mark)


def _marked(
    source: Relation, query: BoundSubQuery, operands: Sequence[BoundExpression], is_inner: bool
) -> tuple[Join, BoundExpression]:
    """Rows joined with at most one row of a query, and a column that is not NULL if there is one."""
    relation: Relation = query.relation
    width = len(source.columns)
    right = decorrelated(relation, source, query.outer)
    numbers = sorted(right.outer, key=lambda each: _index_of(query.outer[each]))
    same = same_columns_of(right.relation)
    keys = [same[right.indexes[index]] for index in range(len(operands))]
    values = [*keys, *(same[right.outer[each]] for each in numbers)]
    # Distinct, so that a row is not repeated: `k IN (7, 7)` keeps it once.
    if values:
        columns = tuple(Column(each.name, each.type) for each in values)
        rows = distinct_rows(Calculation(columns, right.relation, tuple(values)))
        mark = Column(f"$f{len(values)}" if numbers else "i", _TRUTH)
        marked: Relation = rows
        if not is_inner:
            marked = Calculation((*columns, mark), rows, (*same_columns_of(rows), _TRUE))
    else:
        marked = distinct_rows(Calculation((Column("i", _TRUTH),), right.relation, (_TRUE,)))
    equal = [
        call_of(right.equality(each), query.outer[each], _column(marked.columns, len(keys) + index, width))
        for index, each in enumerate(numbers)
    ]
    equal += [call_of("=", each, _column(marked.columns, index, width)) for index, each in enumerate(operands)]
    kind: JoinKind = "inner" if is_inner else "left"
    join = Join(columns_of_join(source.columns, marked.columns, kind), source, marked, kind, all_true(equal))
    return join, same_columns_of(join)[-1]


# Whether a value is among those of a query


def _in(source: Relation, query: BoundSubQuery, logic: Logic, is_negated: bool) -> Value:
    if logic is Logic.TRUE and not is_negated:
        return _marked(source, query, query.operands, is_inner=True)[0], _TRUE
    columns = query.relation.columns
    nullable = [each for each in query.operands if each.type._nullable]
    if not nullable and not any(each.type._nullable for each in columns):
        join, mark = _marked(source, query, query.operands, is_inner=False)
        return join, call_of("is null" if is_negated else "is not null", mark)
    if logic is Logic.TRUE_ONLY and not is_negated:
        join, mark = _marked(source, query, query.operands, is_inner=False)
        return join, _and(call_of("is not null", mark), *(call_of("is not null", each) for each in nullable))
    # NULL decides only where unknown and false differ: `1 IN (2, NULL)` is unknown, and WHERE drops the row either way.
    needs_nulls = is_negated or logic is Logic.FULL
    counted, counts = _counts(source, query, needs_nulls)
    join, mark = _marked(counted, query, query.operands, is_inner=False)
    count, *others = counts
    values = _InValues(query, nullable, mark, count, others[0] if others else count, bool(query.outer))
    if logic is Logic.FULL:
        return join, values.opposite() if is_negated else values.full()
    return join, values.none() if is_negated else values.one()


def _counts(source: Relation, query: BoundSubQuery, needs_nulls: bool) -> tuple[Relation, list[BoundExpression]]:
    """Rows joined with the number of rows of a query, and the number of those that are not NULL."""
    relation: Relation = query.relation
    if needs_nulls and len(relation.columns) > 1:
        raise TableException("We now only support the count of one field.")
    has_nulls = needs_nulls and relation.columns[0].type._nullable
    calls: list[tuple[AggregateFunction, int | None]] = [(COUNT, None), (COUNT, 0)]
    aggregation: Relation = _aggregate(relation, ["c", "ck"], calls[: 2 if has_nulls else 1])
    if needs_nulls and not has_nulls:
        count = same_columns_of(aggregation)[0]
        aggregation = Calculation((Column("c", _COUNT), Column("ck", _COUNT)), aggregation, (count, count))
    kind: JoinKind = "left" if query.outer else "inner"
    join, indexes = _correlated_join(source, aggregation, query.outer, kind)
    return join, list(_columns(join, indexes))


class _InValues:
    """The value of IN, from the number of rows, the number of those that are not NULL, and a mark for an equal one."""

    def __init__(
        self,
        query: BoundSubQuery,
        nullable: Sequence[BoundExpression],
        mark: BoundExpression,
        count: BoundExpression,
        values: BoundExpression,
        is_outer: bool,
    ) -> None:
        self._missing = [call_of("is null", each) for each in nullable]
        self._has_operands = [call_of("is not null", each) for each in nullable]
        self._has_match, self._has_no_match = call_of("is not null", mark), call_of("is null", mark)
        has_null, rows = call_of("<", values, count), call_of("<>", count, _ZERO)
        # Behind an outer join numbers may be missing: then there are no rows.
        self._is_outer = is_outer
        self._empty = call_of("is not true", rows) if is_outer else call_of("=", count, _ZERO)
        self._rows = call_of("is true", rows) if is_outer else rows
        self._has_null = call_of("is true", has_null) if is_outer else has_null
        self._no_null = call_of("is not true", has_null) if is_outer else call_of(">=", values, count)

    def full(self) -> BoundExpression:
        """TRUE, FALSE or NULL."""
        parts = [
            # `v IN q` is FALSE if q has no rows; else NULL if v is NULL, TRUE with an equal row, NULL if q has a NULL,
            # or FALSE.
            _and(self._has_match, self._rows, *self._has_operands),
            _and(self._has_null, _UNKNOWN, self._rows, *self._has_operands, self._has_no_match),
        ]
        if self._missing:
            parts.insert(0, _and(_or(*self._missing), _UNKNOWN, self._rows))
        return _or(*parts)

    def opposite(self) -> BoundExpression:
        """The opposite: TRUE, FALSE or NULL."""
        if self._is_outer:
            return call_of("not", self.full())
        parts = [
            self._empty,
            _and(self._has_null, _UNKNOWN, *self._has_operands, self._has_no_match),
            _and(*self._has_operands, self._has_no_match, self._no_null),
        ]
        if self._missing:
            parts.insert(1, _and(_or(*self._missing), _UNKNOWN))
        return _or(*parts)

    def one(self) -> BoundExpression:
        """TRUE where there is an equal value; unknown counts as FALSE."""
        return _and(self._rows, self._has_match, *self._has_operands)

    def none(self) -> BoundExpression:
        """TRUE where there is certainly no equal value."""
        return _or(self._empty, _and(self._has_no_match, self._no_null, *self._has_operands))


# Comparisons with the values of a query


def _some(source: Relation, query: BoundSubQuery, logic: Logic, is_negated: bool) -> Value:
    (operand,) = query.operands
    is_inner = not query.outer or (logic is Logic.TRUE and not is_negated)
    join, value, count, values = _with_extreme(source, query, is_inner)
    # `v > SOME (q)` is v > MIN(q), and `v < SOME (q)` is v < MAX(q): one row for each group instead of all of q.
    compared = call_of(query.comparison, operand, value)
    if query.comparison == "<>":
        many = _and(call_of(">", values, _ONE), call_of("is not null", operand))
        compared = _or(many, _and(call_of("=", values, _ONE), compared))
    rows, has_null = call_of("<>", count, _ZERO), call_of(">", count, values)
    if logic is not Logic.FULL:
        opposite = _all(query, operand, value, values, compared, has_null)
        return join, _or(call_of("=", count, _ZERO), opposite) if is_negated else _and(rows, compared)
    is_one, is_none = call_of("is true", compared), call_of("is not true", compared)
    unknown = _and(has_null, _UNKNOWN, rows, is_none)
    full = _or(_and(is_one, rows), unknown, _and(_unless_missing(query, operand, value, compared), rows, is_none))
    return join, call_of("not", full) if is_negated else full


def _with_extreme(
    source: Relation, query: BoundSubQuery, is_inner: bool
) -> tuple[Join, BoundExpression, BoundExpression, BoundExpression]:
    """Rows joined with the least or greatest value of a query and the numbers of its rows, with and without NULL."""
    is_unequal = query.comparison == "<>"
    relation: Relation = query.relation
    if is_unequal:
        # There is another value if there are two.
        relation = distinct_rows(Calculation(relation.columns[:1], relation, same_columns_of(relation)[:1]))
    extreme = MIN if query.comparison in (">", ">=") else MAX
    names = ["c", "d", "m"] if is_unequal else ["m", "c", "d"]
    calls: dict[str, tuple[AggregateFunction, int | None]] = {"m": (extreme, 0), "c": (COUNT, None), "d": (COUNT, 0)}
    aggregation = _aggregate(relation, names, [calls[each] for each in names])
    join, indexes = _correlated_join(source, aggregation, query.outer, "inner" if is_inner else "left")
    values: dict[str, BoundExpression] = dict(zip(names, _columns(join, indexes)))
    if not is_inner:
        # Behind an outer join numbers may be missing.
        values |= {each: call_of("coalesce", values[each], _ZERO) for each in ("c", "d")}
    return join, values["m"], values["c"], values["d"]


def _all(
    query: BoundSubQuery,
    operand: BoundExpression,
    value: BoundExpression,
    values: BoundExpression,
    compared: BoundExpression,
    has_null: BoundExpression,
) -> BoundExpression:
    """Whether a comparison is false for all values."""
    if query.comparison == "<>":
        return _and(call_of("=", values, _ONE), call_of("=", operand, value), call_of("not", has_null))
    return _and(call_of(_OPPOSITES[query.comparison], operand, value), call_of("is not true", _or(compared, has_null)))


_OPPOSITES = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _unless_missing(
    query: BoundSubQuery, operand: BoundExpression, value: BoundExpression, compared: BoundExpression
) -> BoundExpression:
    """A comparison with an operand that may be NULL is unknown then."""
    return compared if query.comparison != "<>" else call_of("<>", operand, value)


def _and(*parts: BoundExpression) -> BoundExpression:
    return parts[0] if len(parts) == 1 else call_of("and", *parts)


def _or(*parts: BoundExpression) -> BoundExpression:
    return parts[0] if len(parts) == 1 else call_of("or", *parts)
