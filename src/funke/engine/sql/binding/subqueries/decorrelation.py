"""Makes correlated queries independent of the columns of the query around them, as in Flink.

There are two ways. Conditions are pulled up to the join that the query becomes (`pulled_up`). Where that does not
suffice the query gives its rows for every value of the outer columns, which become columns of its own (`decorrelated`):
an outer column that must be equal to one of the query's has the values of that one, any other is joined from the
distinct values that the query around has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding import (
    Aggregation,
    BoundColumn,
    BoundExpression,
    BoundFunction,
    BoundOuterColumn,
    Calculation,
    Column,
    Limit,
    Relation,
    Sort,
    calls_in,
    columns_in,
    conjuncts,
    has_query,
    inputs_of,
    moved,
    parts_in,
    with_parts,
)
from funke.engine.sql.binding.grouped_queries import distinct_rows
from funke.engine.sql.binding.joins.regular_joins import Join, all_true, call_of, columns_of_join

__all__ = [
    "Decorrelated",
    "PulledUp",
    "decorrelated",
    "has_outer_columns",
    "outer_columns_in",
    "pulled_up",
    "same_columns_of",
    "with_outer",
]


def outer_columns_in(expression: BoundExpression | None) -> set[int]:
    """The outer columns that an expression uses."""
    if isinstance(expression, BoundOuterColumn):
        return {expression.number}
    return set() if expression is None else {each for part in parts_in(expression) for each in outer_columns_in(part)}


def has_outer_columns(relation: Relation) -> bool:
    """Whether a query is correlated: uses columns of the query around it."""
    return any(map(outer_columns_in, _expressions_of(relation))) or any(map(has_outer_columns, inputs_of(relation)))


def _expressions_of(relation: Relation) -> Iterable[BoundExpression]:
    for value in vars(relation).values():
        several = value if isinstance(value, tuple) else (value,)
        yield from (each for each in several if isinstance(each, BoundExpression))


def with_outer(expression: BoundExpression, change: Callable[[BoundOuterColumn], BoundExpression]) -> BoundExpression:
    """The same expression with something else in place of each outer column."""
    if isinstance(expression, BoundOuterColumn):
        return change(expression)
    return with_parts(expression, with_outer, change)


def same_columns_of(relation: Relation) -> tuple[BoundColumn, ...]:
    """The columns of a relation as expressions."""
    return tuple(BoundColumn(each.type, index, each.name, each.time) for index, each in enumerate(relation.columns))


# Conditions that are pulled up


@dataclass(frozen=True)
class PulledUp:
    """A query without its conditions on outer columns: these are on its columns, of which some may be new."""

    relation: Relation
    conditions: tuple[BoundExpression, ...] = ()


def pulled_up(relation: Relation) -> PulledUp | None:
    """A query whose rows do not depend on outer columns; None if conditions alone cannot achieve that."""
    # `EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.v > 3)`: the join gets r.k = l.k, and r.v > 3 stays below it.
    if not has_outer_columns(relation):
        return PulledUp(relation)
    if isinstance(relation, Calculation):
        return _pulled_of_calculation(relation)
    if isinstance(relation, Aggregation):
        return _pulled_of_groups(relation)
    if isinstance(relation, (Limit, Sort)):
        # As in Flink the first rows are those of all values.
        below = pulled_up(relation.input)
        return below and PulledUp(
            replace(relation, columns=below.relation.columns, input=below.relation), below.conditions
        )
    if isinstance(relation, Join) and relation.kind == "inner" and not outer_columns_in(relation.condition):
        return _pulled_of_join(relation)
    return None


def _pulled_of_calculation(calculation: Calculation) -> PulledUp | None:
    below = pulled_up(calculation.input)
    conditions = [] if calculation.condition is None else conjuncts(calculation.condition)
    outer = [each for each in conditions if outer_columns_in(each)]
    if below is None or any(map(outer_columns_in, calculation.expressions)) or not all(map(_can_move, outer)):
        return None
    pulled = [*below.conditions, *outer]
    exposed = _Exposed(calculation, below.relation)
    moves = {index: exposed.index_of(index) for index in columns_in(pulled)}
    own = all_true([each for each in conditions if each not in outer])
    projected = Calculation(exposed.columns, below.relation, exposed.expressions, own)
    return PulledUp(projected, tuple(moved(each, moves) for each in pulled))


def _can_move(condition: BoundExpression) -> bool:
    """Whether Flink's rule moves a condition: not if it has OR or another query in it."""
    names = {each.call.function.name for each in calls_in(condition)}
    return "or" not in names and not has_query(condition)


class _Exposed:
    """The columns of a calculation, and more of its input where conditions need them."""

    def __init__(self, calculation: Calculation, source: Relation) -> None:
        self.columns = calculation.columns
        self.expressions = calculation.expressions
        self._source = source

    def index_of(self, index: int) -> int:
        """Where a column of the input is."""
        for position, each in enumerate(self.expressions):
            if isinstance(each, BoundColumn) and each.index == index:
                return position
        column = self._source.columns[index]
        self.columns += (column,)
        self.expressions += (BoundColumn(column.type, index, column.name, column.time),)
        return len(self.columns) - 1


def _pulled_of_groups(aggregation: Aggregation) -> PulledUp | None:
    """Groups that are also by the columns that must be equal to outer ones."""
    below = pulled_up(aggregation.input)
    # `SELECT MAX(v) FROM r WHERE r.k = l.k` groups by k too, and has the result of each l.k. With r.k < l.k a row of r
    # would be in the groups of many l.k, which no key of r expresses.
    if below is None or not all(isinstance(_equal_to_outer(each), BoundColumn) for each in below.conditions):
        return None
    more = [each for each in dict.fromkeys(columns_in(below.conditions)) if each not in aggregation.keys]
    grouped = _with_keys(aggregation, below.relation, more)
    moves = {each: index for index, each in enumerate(grouped.keys)}
    return PulledUp(
        _in_order(grouped, aggregation, len(more)),
        tuple(moved(each, _behind_results(moves, aggregation)) for each in below.conditions),
    )


def _with_keys(aggregation: Aggregation, source: Relation, more: Sequence[int]) -> Aggregation:
    count = len(aggregation.keys)
    added = tuple(source.columns[each] for each in more)
    columns = (*aggregation.columns[:count], *added, *aggregation.columns[count:])
    return replace(aggregation, columns=columns, input=source, keys=(*aggregation.keys, *more))


def _in_order(grouped: Aggregation, aggregation: Aggregation, added: int) -> Relation:
    """The columns of an aggregation as they were, those that were added behind them."""
    count, same = len(aggregation.keys), same_columns_of(grouped)
    order = (*same[:count], *same[count + added :], *same[count : count + added])
    return Calculation(tuple(grouped.columns[each.index] for each in order), grouped, order)


def _behind_results(moves: Mapping[int, int], aggregation: Aggregation) -> dict[int, int]:
    count, results = len(aggregation.keys), len(aggregation.aggregates)
    return {old: new if new < count else new + results for old, new in moves.items()}


def _pulled_of_join(join: Join) -> PulledUp | None:
    left, right = pulled_up(join.left), pulled_up(join.right)
    if left is None or right is None:
        return None
    width, added = len(join.left.columns), len(left.relation.columns) - len(join.left.columns)
    moves = {index: index if index < width else index + added for index in range(len(join.columns))}
    conditions = [*left.conditions, *(_shifted(each, width + added) for each in right.conditions)]
    condition = None if join.condition is None else moved(join.condition, moves)
    columns = columns_of_join(left.relation.columns, right.relation.columns, "inner")
    joined = Join(columns, left.relation, right.relation, "inner", condition)
    if not added:
        return PulledUp(joined, tuple(conditions))
    # The columns of the join come first, as before.
    indexes = [*moves.values()]
    indexes += [index for index in range(len(columns)) if index not in indexes]
    same = same_columns_of(joined)
    ordered = Calculation(tuple(columns[each] for each in indexes), joined, tuple(same[each] for each in indexes))
    back = {old: new for new, old in enumerate(indexes)}
    return PulledUp(ordered, tuple(moved(each, back) for each in conditions))


def _shifted(expression: BoundExpression, distance: int) -> BoundExpression:
    return moved(expression, {index: index + distance for index in columns_in([expression])})


# Rows for all values of outer columns


@dataclass(frozen=True)
class Decorrelated:
    """A query that has its rows for every value of the outer columns that it uses."""

    relation: Relation
    # The indexes of the columns of the query.
    indexes: tuple[int, ...]
    # The indexes of the columns with the values of outer columns.
    outer: Mapping[int, int]
    # Outer columns that may be NULL in rows of the query.
    nullable: frozenset[int] = frozenset()

    def equality(self, number: int) -> str:
        """The operator that compares an outer column with its values here."""
        # Flink joins with =, and loses the rows whose outer column is NULL (docs/flink-differences.md).
        return "is not distinct from" if number in self.nullable else "="


def decorrelated(relation: Relation, source: Relation, outer: Sequence[BoundExpression]) -> Decorrelated:
    """A query made independent; the outer columns are expressions on the rows of the query around it."""
    result = _Decorrelation(source, outer).of(relation)
    if result is None:
        raise TableException("unexpected correlate variable $cor0 in the plan")
    return result


class _Decorrelation:
    def __init__(self, source: Relation, outer: Sequence[BoundExpression]) -> None:
        self._source = source
        self._outer = outer

    def of(self, relation: Relation) -> Decorrelated | None:
        if not has_outer_columns(relation):
            return Decorrelated(relation, tuple(range(len(relation.columns))), {})
        if isinstance(relation, Calculation):
            below = self.of(relation.input)
            return below and self._calculation(relation, below)
        if isinstance(relation, Aggregation):
            below = self.of(relation.input)
            return below and self._groups(relation, below)
        if isinstance(relation, Join):
            return self._join(relation)
        return None

    def _calculation(self, calculation: Calculation, below: Decorrelated) -> Decorrelated:
        if calculation.condition is not None:
            condition = _on(below, calculation.condition)
            below = self._with_equal_columns(below, condition)
            strict = {number for each in conjuncts(condition) for number in _rejecting_null(each)}
            below = self._with_values(below, outer_columns_in(condition), strict)
            relation = below.relation
            conditions = [_simplified(_on(below, each, False)) for each in conjuncts(condition)]
            kept = all_true([each for each in conditions if each is not None])
            relation = Calculation(relation.columns, relation, same_columns_of(relation), kept)
            below = replace(below, relation=relation)
        expressions = [_on(below, each) for each in calculation.expressions]
        below = self._with_values(below, {each for one in expressions for each in outer_columns_in(one)})
        expressions = [_on(below, each, False) for each in expressions]
        numbers = self._in_order(below.outer)
        same = same_columns_of(below.relation)
        values = [same[below.outer[each]] for each in numbers]
        columns = (*calculation.columns, *(Column(each.name, each.type) for each in values))
        projected = Calculation(columns, below.relation, (*expressions, *values))
        count = len(calculation.columns)
        indexes = {each: count + index for index, each in enumerate(numbers)}
        return Decorrelated(projected, tuple(range(count)), indexes, below.nullable)

    def _with_equal_columns(self, below: Decorrelated, condition: BoundExpression) -> Decorrelated:
        """Replaces outer columns by what they must be equal to; all of the condition, or none."""
        # With `r.k = l.k` the values of r.k are the only ones for which the query has rows: the outer side is not read
        # again.
        missing = outer_columns_in(condition) - set(below.outer)
        equal: dict[int, BoundExpression] = {}
        for each in conjuncts(condition):
            value = _equal_to_outer(each)
            if value is not None:
                equal.setdefault(next(iter(outer_columns_in(each))), value)
        if not missing <= set(equal):
            return below
        indexes = dict(below.outer)
        relation = below.relation
        for number in self._in_order(missing):
            value = equal[number]
            if isinstance(value, BoundColumn):
                indexes[number] = value.index
                continue
            indexes[number] = len(relation.columns)
            # The name that Flink's plans have.
            column = Column(f"$f{len(relation.columns)}", value.type)
            relation = Calculation((*relation.columns, column), relation, (*same_columns_of(relation), value))
        return Decorrelated(relation, below.indexes, indexes, below.nullable)

    def _with_values(self, below: Decorrelated, needed: set[int], strict: Iterable[int] = ()) -> Decorrelated:
        """The rows joined with all values of missing outer columns. For columns in `strict` NULL matches no row."""
        missing = self._in_order(needed - set(below.outer))
        if not missing:
            return below
        # `r.v < l.v` has no equality to read values from: r is joined with the distinct l.v. That is a join without a
        # key, in one subtask, which keeps all rows of both sides.
        values = tuple(self._outer[each] for each in missing)
        columns = tuple(Column(_name_of(each), each.type) for each in values)
        distinct = distinct_rows(Calculation(columns, self._source, values))
        relation = below.relation
        width = len(relation.columns)
        joined = Join(columns_of_join(relation.columns, columns, "inner"), relation, distinct, "inner")
        indexes = {**below.outer, **{each: width + index for index, each in enumerate(missing)}}
        nullable = {each for each in missing if self._outer[each].type._nullable}.difference(strict)
        return Decorrelated(joined, below.indexes, indexes, below.nullable | nullable)

    def _groups(self, aggregation: Aggregation, below: Decorrelated) -> Decorrelated:
        """Groups by the outer columns as well."""
        numbers = self._in_order(below.outer)
        # Columns of their own, so that a key stands for one thing.
        same = same_columns_of(below.relation)
        values = [same[below.outer[each]] for each in numbers]
        inputs = [same[each] for each in below.indexes]
        columns = (*aggregation.input.columns, *(Column(each.name, each.type) for each in values))
        computed = Calculation(columns, below.relation, (*inputs, *values))
        first = len(inputs)
        groups = _with_keys(aggregation, computed, range(first, first + len(numbers)))
        count, added = len(aggregation.keys), len(numbers)
        indexes = (*range(count), *range(count + added, len(groups.columns)))
        outer = {each: count + index for index, each in enumerate(numbers)}
        return Decorrelated(groups, indexes, outer, below.nullable)

    def _join(self, join: Join) -> Decorrelated | None:
        """A join of which a side, or the condition, uses outer columns."""
        left, right = self.of(join.left), self.of(join.right)
        is_plain = join.kind == "inner" or (join.kind in ("left", "semi", "anti") and right and not right.outer)
        if left is None or right is None or not is_plain:
            return None
        width = len(left.relation.columns)
        indexes = (*left.indexes, *(width + each for each in right.indexes))
        condition = None if join.condition is None else moved(join.condition, dict(enumerate(indexes)))
        conditions = [] if condition is None else conjuncts(condition)
        own = [each for each in conditions if not outer_columns_in(each)]
        about_outer = [each for each in conditions if outer_columns_in(each)]
        if about_outer and join.kind != "inner":
            return None
        outer = dict(left.outer)
        columns = columns_of_join(left.relation.columns, right.relation.columns, join.kind)
        for number, position in right.outer.items():
            if number in outer:
                one, other = left.relation.columns[outer[number]], right.relation.columns[position]
                pair = (
                    BoundColumn(one.type, outer[number], one.name),
                    BoundColumn(other.type, width + position, other.name),
                )
                equality = "=" if left.equality(number) == "=" else right.equality(number)
                own.append(call_of(equality, *pair))
            outer.setdefault(number, width + position)
        joined = Join(columns, left.relation, right.relation, join.kind, all_true(own))
        kept = indexes[: len(join.columns)]
        # An outer column that one side compares with = is not NULL on the other side either.
        certain = {number for side in (left, right) for number in side.outer if number not in side.nullable}
        result = Decorrelated(joined, kept, outer, (left.nullable | right.nullable) - certain)
        if not about_outer:
            return result
        same = same_columns_of(joined)
        back = {position: index for index, position in enumerate(kept)}
        asked = all_true([moved(each, back) for each in about_outer])
        return self._calculation(Calculation(join.columns, join, same[: len(kept)], asked), result)

    def _in_order(self, numbers: Iterable[int]) -> list[int]:
        """Outer columns in the order of the rows that have them."""

        def index(number: int) -> tuple[int, int]:
            value = self._outer[number]
            return (value.index if isinstance(value, BoundColumn) else len(self._source.columns)), number

        return sorted(numbers, key=index)


def _on(below: Decorrelated, expression: BoundExpression, is_moved: bool = True) -> BoundExpression:
    """An expression of a query on the columns of its independent form, which may have the outer columns as well."""
    if is_moved:
        expression = moved(expression, dict(enumerate(below.indexes)))
    columns = below.relation.columns

    def value(column: BoundOuterColumn) -> BoundExpression:
        index = below.outer.get(column.number)
        return column if index is None else BoundColumn(columns[index].type, index, columns[index].name)

    return with_outer(expression, value)


def _simplified(condition: BoundExpression) -> BoundExpression | None:
    """The condition, simplified if it compares a column with itself: that is true unless the column is NULL."""
    if isinstance(condition, BoundFunction) and condition.call.function.name == "=":
        one, other = condition.arguments
        if _is_same(one, other):
            return call_of("is not null", one) if one.type._nullable else None
    return condition


def _is_same(one: BoundExpression, other: BoundExpression) -> bool:
    if isinstance(one, BoundColumn) and isinstance(other, BoundColumn):
        return one.index == other.index
    return one == other


# Functions that are NULL, so not true, wherever one of their arguments is.
_STRICT = frozenset({"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "cast", "upper", "lower", "like"})


def _rejecting_null(condition: BoundExpression) -> Iterable[int]:
    """The outer columns that are not NULL wherever a condition is true."""
    if isinstance(condition, BoundOuterColumn):
        yield condition.number
    elif isinstance(condition, BoundFunction) and condition.call.function.name in _STRICT:
        for each in condition.arguments:
            yield from _rejecting_null(each)


def _equal_to_outer(condition: BoundExpression) -> BoundExpression | None:
    """The other side of an equality with an outer column; None for any other condition."""
    if not isinstance(condition, BoundFunction) or condition.call.function.name != "=":
        return None
    first, second = condition.arguments
    for one, other in ((first, second), (second, first)):
        if isinstance(one, BoundOuterColumn) and not outer_columns_in(other) and list(columns_in([other])):
            return other
    return None


def _name_of(expression: Any) -> str:
    return expression.name if isinstance(expression, BoundColumn | BoundOuterColumn) else "$f0"
