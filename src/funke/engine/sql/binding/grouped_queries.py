"""Binds GROUP BY, HAVING and aggregate functions.

A query with aggregates becomes three relations: a calculation of keys, arguments and conditions, the aggregation, and a
calculation on its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from funke.engine.errors import TypeMismatchError, UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding import (
    Aggregation,
    BoundAggregate,
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    BoundOuterColumn,
    BoundSubQuery,
    BoundSymbol,
    Calculation,
    Column,
    Expansion,
    Relation,
    time_of,
    with_parts,
)
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.over.over_queries import over_in, window_parts
from funke.engine.sql.binding.scope import Scope, rejected
from funke.engine.sql.binding.syntax_parts import parts_of
from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction, bind_aggregate
from funke.engine.sql.functions.aggregates.catalog import find_aggregate
from funke.engine.sql.functions.aggregates.spreads import in_sums, is_spread
from funke.engine.sql.functions.function import Session
from funke.engine.sql.functions.users.user_aggregates import UserAggregate, as_aggregate
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.types.logical import NUMERIC, BigIntType, DataType, with_nullable

__all__ = [
    "AggregateFinder",
    "GroupedBinder",
    "aggregate_in",
    "distinct_rows",
    "is_grouped",
    "plain_aggregate",
    "reject_aggregates_in_joins",
]

# The aggregate function that a call means; None if it means none.
AggregateFinder = Callable[[syntax.Call], AggregateFunction | None]

_GROUPING = ("grouping", "grouping_id", "group_id")


def plain_aggregate(call: syntax.Call) -> AggregateFunction | None:
    """The aggregate function that a call means: the user's own, or that of its name."""
    if call.function is not None:
        return as_aggregate(call.function) if call.function.kind == "aggregate" else None
    return find_aggregate(call.name)


def aggregate_in(expression: syntax.Expression | None, find: AggregateFinder) -> syntax.Call | None:
    """The first call of an aggregate in an expression, calls with OVER excepted."""
    if expression is None:
        return None
    calls = (each for each in parts_of(expression) if isinstance(each, syntax.Call) and each.over is None)
    return next((each for each in calls if find(each) is not None), None)


def reject_aggregates_in_joins(source: queries.Relation | None, find: AggregateFinder) -> None:
    """Rejects aggregates in ON, which is evaluated for pairs of rows."""
    if not isinstance(source, queries.Join):
        return
    reject_aggregates_in_joins(source.left, find)
    reject_aggregates_in_joins(source.right, find)
    if source.condition is None:
        return
    calls = [each for each in parts_of(source.condition) if isinstance(each, syntax.Call)]
    for each in calls:
        if each.over is not None:
            raise rejected("Windowed aggregate expression is illegal in ON clause", each.position)
        if find(each) is not None:
            raise rejected("Aggregate expression is illegal in ON clause", each.position)


def is_grouped(select: queries.Select, find: AggregateFinder) -> bool:
    """Whether a query groups its rows."""
    if select.group_by is not None or select.having is not None:
        return True
    return any(aggregate_in(each, find) is not None for each in (*select.items, *window_parts(select)))


def distinct_rows(relation: Relation) -> Relation:
    """Every row of a relation once."""
    # As in Flink DISTINCT is a group by all columns: in a stream, state for each different row.
    return Aggregation(relation.columns, relation, tuple(range(len(relation.columns))), ())


_Item = TypeVar("_Item")


class _Numbered(Generic[_Item]):
    """Distinct items with their indexes. Queries may have thousands, so equal ones are found by hash."""

    def __init__(self) -> None:
        self.items: list[_Item] = []
        self._indexes: dict[int, list[int]] = {}

    def index_of(self, item: _Item) -> int:
        try:
            indexes = self._indexes.setdefault(hash(item), [])
        except TypeError:  # a constant like a list is within
            indexes = self._indexes.setdefault(0, [])
        for index in indexes:
            if self.items[index] == item:
                return index
        indexes.append(len(self.items))
        self.items.append(item)
        return indexes[-1]


class GroupedBinder(ExpressionBinder):
    """Binds expressions over the results of groups: keys, aggregates, and functions of both."""

    def __init__(
        self,
        scope: Scope,
        session: Session,
        plain: ExpressionBinder,
        group_by: queries.GroupBy | None,
        find: AggregateFinder = plain_aggregate,
    ) -> None:
        super().__init__(scope, session, plain.find, plain.bind_query, plain.outer)
        self._plain = plain
        self._find_aggregate = find
        self._inputs: _Numbered[BoundExpression] = _Numbered()
        self._aggregates: _Numbered[BoundAggregate] = _Numbered()
        self._sets = self._bind_sets(group_by)
        keys = [key for each in self._sets for key in each]
        self._keys = list(dict.fromkeys(map(self._inputs.index_of, keys)))
        self._key_expressions = [self._inputs.items[index] for index in self._keys]

    def _bind_sets(self, group_by: queries.GroupBy | None) -> list[list[BoundExpression]]:
        if group_by is None:
            return [[]]
        for each in (part for keys in group_by.sets for part in keys):
            call = aggregate_in(each, self._find_aggregate)
            if call is not None:
                raise rejected("Aggregate expression is illegal in GROUP BY clause", call.position)
        return [[self._plain.bind(each) for each in keys] for keys in group_by.sets]

    @property
    def _has_several_sets(self) -> bool:
        return len(self._sets) > 1 or len(self._sets[0]) < len(self._keys)

    def bind(self, expression: syntax.Expression) -> BoundExpression:
        if isinstance(expression, syntax.Call) and expression.over is None:
            if expression.name in _GROUPING and expression.function is None:
                return self._bind_grouping(expression)
            function = self._find_aggregate(expression)
            if function is not None:
                return self._bind_aggregate(function, expression)
        if aggregate_in(expression, self._find_aggregate) is None and not _has_grouping(expression):
            return self._of_keys(self._plain.bind(expression), expression)
        return super().bind(expression)

    def is_aggregate(self, expression: syntax.Expression) -> bool:
        """Whether an expression is an aggregate of the rows of a group."""
        if not isinstance(expression, syntax.Call) or expression.over is not None:
            return False
        return self._find_aggregate(expression) is not None

    def _of_keys(self, bound: BoundExpression, origin: syntax.Expression) -> BoundExpression:
        """The same expression over the columns of the aggregation."""
        # The largest part that is a key counts: with GROUP BY a + b, `(a + b) * 2` reads a key, `a * 2` is rejected.
        if bound in self._key_expressions:
            return self._key_column(self._key_expressions.index(bound))
        if isinstance(bound, (BoundConstant, BoundSymbol)):
            return bound
        if isinstance(bound, (BoundFunction, BoundSubQuery)):
            return with_parts(bound, self._of_keys, origin)
        assert isinstance(bound, (BoundColumn, BoundOuterColumn))
        raise self._not_grouped(bound, origin)

    def _not_grouped(self, column: BoundColumn | BoundOuterColumn, origin: syntax.Expression) -> Exception:
        names = [each for each in parts_of(origin) if isinstance(each, syntax.Name)]
        culprit = next((each for each in names if self._plain.bind(each) == column), None)
        text = column.name if culprit is None else ".".join(culprit.parts)
        position = origin.position if culprit is None else culprit.position
        return rejected(f"Expression '{text}' is not being grouped", position)

    def bind_star(self, columns: Sequence[BoundColumn], star: syntax.Star) -> list[BoundExpression]:
        """The columns of a star, all of which must be keys."""
        for each in columns:
            if each not in self._key_expressions:
                table = self._scope.columns[each.index].table
                name = each.name if table is None else f"{table}.{each.name}"
                raise rejected(f"Expression '{name}' is not being grouped", star.position)
        return [self._key_column(self._key_expressions.index(each)) for each in columns]

    def _key_column(self, number: int) -> BoundColumn:
        expression = self._key_expressions[number]
        name = expression.name if isinstance(expression, BoundColumn) else f"EXPR${number}"
        return BoundColumn(self._key_type(number), number, name)

    def _key_type(self, number: int) -> DataType:
        expression = self._key_expressions[number]
        is_always_there = all(expression in keys for keys in self._sets)
        # A key that is not in every set is NULL in the rows of the others.
        return expression.type if is_always_there else with_nullable(expression.type, True)

    def _bind_aggregate(self, function: AggregateFunction, call: syntax.Call) -> BoundExpression:
        # VAR and STDDEV of numbers are computed of two aggregates, the sum of squared distances and COUNT, which other
        # calls of the query may share.
        if is_spread(function) and len(call.arguments) == 1:
            argument = self._plain.bind(call.arguments[0])
            if isinstance(argument.type, NUMERIC):
                return super().bind(in_sums(function, call, argument.type))
        bound = self._bound_aggregate(function, call)
        number = self._aggregates.index_of(bound)
        # With GROUPING SETS the number of the set is a key as well.
        index = len(self._keys) + (1 if self._has_several_sets else 0) + number
        return BoundColumn(bound.call.result, index, f"EXPR${number}")

    def _bound_aggregate(self, function: AggregateFunction, call: syntax.Call) -> BoundAggregate:
        if call.within_group:
            raise UnsupportedFeatureError(f"{call.name.upper()} with WITHIN GROUP")
        for argument in call.arguments:
            if aggregate_in(argument, self._find_aggregate) is not None or over_in(argument):
                raise rejected("Aggregate expressions cannot be nested", call.position)
        if call.condition is not None and aggregate_in(call.condition, self._find_aggregate) is not None:
            raise rejected("FILTER must not contain aggregate expression", call.condition.position)
        condition = None
        if call.condition is not None:
            condition = self._inputs.index_of(self._plain.bind_condition(call.condition, "FILTER"))
        arguments = self._bound_arguments(function, call)
        try:
            bound = bind_aggregate(
                function,
                [each.as_argument() for each in arguments],
                # Without keys there is one group even if no row comes, and FILTER may leave no row: SUM is NULL then.
                may_be_empty=condition is not None or any(not keys for keys in self._sets),
                # MAX(DISTINCT v) is MAX(v), and does not have to remember values.
                is_distinct=call.is_distinct and not function.ignores_repeats,
                session=self._session,
            )
        except TypeMismatchError as error:
            raise rejected(str(error), call.position) from error
        return BoundAggregate(bound, tuple(map(self._index_of_argument, arguments)), condition)

    def _bound_arguments(self, function: AggregateFunction, call: syntax.Call) -> list[BoundExpression]:
        name = call.name.upper()
        if [type(each) for each in call.arguments] == [syntax.Star]:
            if name != "COUNT":
                raise rejected("Unknown identifier '*'", call.arguments[0].position)
            return []
        if not call.arguments and name == "COUNT":
            raise rejected("Invalid number of arguments to function 'COUNT'. Was expecting 1 arguments", call.position)
        if name == "COUNT" and len(call.arguments) > 1:
            raise TableException("We now only support the count of one field.")
        arguments = [self._plain.bind_argument(each) for each in call.arguments]
        if isinstance(function, UserAggregate) and function.input_types is not None:
            return self._plain.cast_arguments(function.name, function.input_types, arguments, call)
        if name == "COUNT" and not call.is_distinct:
            # A value that is never NULL makes no difference: COUNT(1) is COUNT(*).
            arguments = [each for each in arguments if each.type._nullable]
        return arguments

    def _index_of_argument(self, argument: BoundExpression) -> int:
        return -1 if isinstance(argument, BoundSymbol) else self._inputs.index_of(argument)

    def _bind_grouping(self, call: syntax.Call) -> BoundExpression:
        if not self._keys and not self._has_several_sets:
            raise rejected(f"{call.name.upper()} operator may only occur in an aggregate query", call.position)
        keys = [self._plain.bind(each) for each in call.arguments]
        for key, argument in zip(keys, call.arguments):
            if key not in self._key_expressions:
                raise rejected(
                    f"Argument to {call.name.upper()} operator must be a grouped expression", argument.position
                )
        # The answer differs by set: it is a CASE over the number of the set, which is a column of the aggregation.
        levels = [_level(keys, each) for each in self._sets]
        if call.name == "group_id":
            # GROUP_ID tells equal sets apart; GROUPING and GROUPING_ID which keys a row is grouped by.
            levels = [self._sets[:index].count(each) for index, each in enumerate(self._sets)]
        numbers = [BoundConstant(BigIntType(False), level) for level in levels]
        if not self._has_several_sets:
            return numbers[0]
        number_of_set = BoundColumn(BigIntType(False), len(self._keys), "$e")
        arguments: list[BoundExpression] = []
        for index, number in enumerate(numbers[:-1]):
            this_one = BoundConstant(BigIntType(False), index)
            arguments += [self._call("=", [number_of_set, this_one], call), number]
        return self._call("case", [*arguments, numbers[-1]], call)

    def aggregation(self, source: Relation, where: BoundExpression | None) -> Relation:
        """The aggregation of everything that was bound."""
        # COUNT(*) alone needs no column, but a batch without columns has no rows.
        inputs = self._inputs.items or [BoundConstant(BigIntType(False), 0)]
        columns = tuple(Column(_name(each, index), each.type, time_of(each)) for index, each in enumerate(inputs))
        # One calculation in front: keys and arguments of aggregates become columns, and equal ones are computed once.
        computed: Relation = Calculation(columns, source, tuple(inputs), where)
        keys, shift = tuple(self._keys), 0
        if self._has_several_sets:
            computed, keys, shift = self._expanded(computed), tuple(range(len(keys) + 1)), len(keys) + 1
        aggregates = tuple(_shifted(each, shift) for each in self._aggregates.items)
        results = [Column(f"agg${index}", each.call.result) for index, each in enumerate(aggregates)]
        return Aggregation((*(computed.columns[key] for key in keys), *results), computed, keys, aggregates)

    def _expanded(self, computed: Relation) -> Relation:
        """Every row once for each set of keys: the keys, those that are not in the set NULL, the set, all columns."""
        # (1, 2) for GROUPING SETS ((a), (b)) is sent as (1, NULL, 0, …) and (NULL, 2, 1, …). The number of the set is a
        # key, so that a NULL of the data is another group than a NULL that stands for "not grouped by". The columns
        # follow, since SUM(a) needs a in every set.
        same = [BoundColumn(each.type, index, each.name) for index, each in enumerate(computed.columns)]
        types = [self._key_type(number) for number in range(len(self._keys))]
        projections = []
        for number, keys in enumerate(self._sets):
            chosen: list[BoundExpression] = [
                same[index] if expression in keys else BoundConstant(with_nullable(data_type, True), None)
                for index, expression, data_type in zip(self._keys, self._key_expressions, types)
            ]
            projections.append((*chosen, BoundConstant(BigIntType(False), number), *same))
        key_columns = [Column(computed.columns[index].name, each) for index, each in zip(self._keys, types)]
        hidden = [Column(f"in${index}", each.type) for index, each in enumerate(computed.columns)]
        columns = (*key_columns, Column("$e", BigIntType(False)), *hidden)
        return Expansion(columns, computed, tuple(projections))


def _has_grouping(expression: syntax.Expression) -> bool:
    return any(isinstance(each, syntax.Call) and each.name in _GROUPING for each in parts_of(expression))


def _level(keys: list[BoundExpression], grouped: list[BoundExpression]) -> int:
    """The bits of the keys that a row is not grouped by, the last key's lowest."""
    level = 0
    for key in keys:
        level = level << 1 | (key not in grouped)
    return level


def _shifted(aggregate: BoundAggregate, shift: int) -> BoundAggregate:
    arguments = tuple(index if index < 0 else index + shift for index in aggregate.arguments)
    condition = None if aggregate.condition is None else aggregate.condition + shift
    return BoundAggregate(aggregate.call, arguments, condition)


def _name(expression: BoundExpression, index: int) -> str:
    # A name of its own for every column: exchanges find keys by name.
    return f"{expression.name}${index}" if isinstance(expression, BoundColumn) else f"${index}"
