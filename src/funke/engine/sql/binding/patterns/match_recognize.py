"""Binds MATCH_RECOGNIZE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from funke.engine.errors import SqlValidationError, TypeMismatchError, UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException
from funke.engine.operators.patterns.pattern import stages_in
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundExpression,
    BoundSymbol,
    TimeAttribute,
    time_of,
    with_columns,
)
from funke.engine.sql.binding.grouped_queries import AggregateFinder
from funke.engine.sql.binding.ordered_queries import sort_key
from funke.engine.sql.binding.patterns.match_patterns import stages_of, with_rules
from funke.engine.sql.binding.patterns.match_relations import Definition, Lookup, Matches, Measure
from funke.engine.sql.binding.patterns.row_offsets import offset_of, with_row_offsets, without_variables
from funke.engine.sql.binding.relations import BoundAggregate, Calculation, Column, Relation, SortKey
from funke.engine.sql.binding.scope import Scope, rejected
from funke.engine.sql.binding.syntax_parts import parts_of
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.binding.windows.window_tables import with_time
from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction, bind_aggregate
from funke.engine.sql.functions.function import Session
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.types.logical.atomic_types import BigIntType, VarCharType
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.families import with_nullable
from funke.engine.types.logical.interval_types import DayTimeIntervalType

__all__ = ["bind_match_recognize"]

_NAVIGATION = ("first", "last")


def _is_classifier(expression: syntax.Expression) -> bool:
    return isinstance(expression, syntax.Call) and expression.name == "classifier" and not expression.arguments


def bind_match_recognize(
    match: queries.Pattern,
    bind_source: Callable[[queries.Relation], tuple[Relation, Scope]],
    expression_binder: Callable[[Scope], ExpressionBinder],
    find_aggregate: AggregateFinder,
    session: Session,
    is_streaming: bool,
) -> Matches:
    """The meaning of a pattern of rows."""
    is_all_rows = match.rows_per_match == "all rows"
    match, offset_count = with_row_offsets(match, is_streaming)
    source, scope = bind_source(match.input)
    plain = expression_binder(scope)
    computed = _Computed(source)
    elements = stages_of(match.pattern)
    names = tuple(stage.name for stage in stages_in(elements))
    variables = _variables(match, names)
    keys = tuple(computed.index(plain.bind(each)) for each in match.partition_by)
    time, order = _order(match, plain, computed, is_streaming)
    # The columns of PREV and NEXT stand last. The result does not show them.
    own = range(len(source.columns) - offset_count)
    before, behind = keys, tuple[int, ...]()
    if is_all_rows:
        # As in the standard: columns of PARTITION BY and ORDER BY, the measures, all other columns.
        sorted_by = [index for index in (time.column, *(each.index for each in order)) if index in own]
        before = tuple(dict.fromkeys((*keys, *sorted_by)))
        behind = tuple(index for index in own if index not in before)

    def lookups(own: int | None) -> _MatchBinder:
        return _MatchBinder(scope, session, plain, variables, own, computed, time, find_aggregate)

    definitions = tuple(_definition(name, each, names, lookups, computed) for name, each in match.definitions)
    measures: list[Measure] = []
    columns = [_named(source, scope, key) for key in before]
    for item in match.measures:
        assert isinstance(item, syntax.Alias)
        binder = lookups(None)
        expression = binder.bind(item.operand)
        measures.append(Measure(expression, tuple(binder.lookups)))
        time_of_match = binder.time_of_match or (None if is_all_rows else time_of(expression))
        columns.append(Column(item.names[0], expression.type, time_of_match))
    columns += [_named(source, scope, each) for each in behind]
    _reject_same_names(columns)
    pattern = with_rules(elements, _within_ms(match), match.after_match)
    return Matches(
        tuple(columns),
        computed.relation(),
        keys,
        time,
        order,
        pattern,
        definitions,
        tuple(measures),
        before,
        behind,
        is_all_rows,
    )


def _named(source: Relation, scope: Scope, index: int) -> Column:
    if index < len(scope.columns):
        return Column(scope.columns[index].name, scope.columns[index].type)
    raise SqlValidationError("SQL validation failed. PARTITION BY of MATCH_RECOGNIZE needs columns")


def _reject_same_names(columns: Sequence[Column]) -> None:
    names = [each.name for each in columns]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise SqlValidationError(f"Columns ambiguously defined: {{{', '.join(repeated)}}}")


def _variables(match: queries.Pattern, names: tuple[str, ...]) -> Mapping[str, tuple[int, ...]]:
    variables: dict[str, tuple[int, ...]] = {name: (stage,) for stage, name in enumerate(names)}
    for name, parts in match.subsets:
        unknown = next((each for each in parts if each not in names), None)
        if unknown is not None:
            raise rejected(f"Unknown pattern '{unknown}'", match.position)
        variables[name] = tuple(names.index(each) for each in parts)
    return variables


def _within_ms(match: queries.Pattern) -> int | None:
    within = match.within
    if within is None:
        return None
    if isinstance(within, syntax.Literal) and isinstance(within.type, DayTimeIntervalType):
        return int(within.value)
    raise TableException(
        "Only constant intervals with millisecond resolution are supported as time constraints of patterns."
    )


def _order(
    match: queries.Pattern, plain: ExpressionBinder, computed: _Computed, is_streaming: bool
) -> tuple[WindowTime, tuple[SortKey, ...]]:
    if not match.order_by:
        raise TableException("You must specify either rowtime or proctime for order by.")
    first, *others = match.order_by
    bound = plain.bind(first.operand)
    column = None
    if isinstance(bound, BoundColumn):
        column = with_time(Column(bound.name, bound.type, bound.time), is_streaming)
    if column is None or column.time is None:
        raise TableException("You must specify either rowtime or proctime for order by as the first one.")
    if not first.is_ascending:
        raise TableException("Primary sort order of a streaming table must be ascending on time.")
    assert isinstance(bound, BoundColumn)
    order = tuple(sort_key(computed.index(plain.bind(each.operand)), each) for each in others)
    return WindowTime(bound.index, column.time is TimeAttribute.ROWTIME), order


def _definition(
    name: str,
    condition: syntax.Expression,
    names: tuple[str, ...],
    lookups: Callable[[int | None], _MatchBinder],
    computed: _Computed,
) -> Definition:
    if name not in names:
        raise rejected(f"Pattern variable '{name}' of DEFINE is not in the pattern", condition.position)
    stage = names.index(name)
    binder = lookups(stage)
    bound = binder.bind_condition(condition, "DEFINE")
    # Such a condition does not depend on the partial match. It is evaluated once for a whole batch, as columns.
    if all(_is_of_row(each, stage) for each in binder.lookups):
        indexes = [each.column for each in binder.lookups]
        own = with_columns(bound, lambda column: computed.column(column.type, indexes[column.index]))
        return Definition(stage, own, None)
    return Definition(stage, bound, tuple(binder.lookups))


def _is_of_row(lookup: Lookup, stage: int) -> bool:
    """Whether a lookup reads the row that the condition is evaluated for."""
    is_column = lookup.aggregate is None and lookup.kind == "column"
    is_last = is_column and not lookup.is_first and lookup.offset == 0
    return is_last and (not lookup.stages or stage in lookup.stages)


@dataclass
class _Computed:
    """The source, and expressions on its rows that are computed before they are matched."""

    source: Relation
    added: list[BoundExpression] = field(default_factory=list)

    def index(self, expression: BoundExpression) -> int:
        if isinstance(expression, BoundColumn):
            return expression.index
        # Equal expressions of DEFINE and MEASURES are computed once, in front of the matching.
        if expression not in self.added:
            self.added.append(expression)
        return len(self.source.columns) + self.added.index(expression)

    def column(self, data_type: DataType, index: int) -> BoundColumn:
        """A column of the source, or of an expression that is computed in front of the matching."""
        own = self.source.columns
        name = own[index].name if index < len(own) else f"$match{index - len(own)}"
        return BoundColumn(data_type, index, name)

    def relation(self) -> Relation:
        if not self.added:
            return self.source
        columns = self.source.columns
        own = [BoundColumn(each.type, index, each.name, each.time) for index, each in enumerate(columns)]
        added = [Column(f"$match{index}", each.type) for index, each in enumerate(self.added)]
        return Calculation((*columns, *added), self.source, (*own, *self.added))


class _MatchBinder(ExpressionBinder):
    """Binds expressions over matches; their columns are the values of `lookups`, in this order."""

    def __init__(
        self,
        scope: Scope,
        session: Session,
        plain: ExpressionBinder,
        variables: Mapping[str, tuple[int, ...]],
        own: int | None,
        computed: _Computed,
        time: WindowTime,
        find_aggregate: AggregateFinder,
    ) -> None:
        super().__init__(scope, session, plain.find)
        self._plain = plain
        self._variables = variables
        # The stage that is defined; None in measures.
        self._own = own
        self._computed = computed
        self._time = time
        self._find_aggregate = find_aggregate
        # Of FINAL measures.
        self._is_final = False
        self.lookups: list[Lookup] = []
        self.time_of_match: TimeAttribute | None = None

    def bind(self, expression: syntax.Expression) -> BoundExpression:
        if isinstance(expression, syntax.Name):
            return self._navigated(expression, is_first=False, offset=0)
        if isinstance(expression, syntax.Call):
            bound = self._special(expression)
            if bound is not None:
                return bound
        return super().bind(expression)

    def _special(self, call: syntax.Call) -> BoundExpression | None:
        if call.name in ("final", "running") and len(call.arguments) == 1:
            self._is_final, before = call.name == "final", self._is_final
            bound = self.bind(call.arguments[0])
            self._is_final = before
            return bound
        if call.name in _NAVIGATION:
            return self._navigation(call)
        if _is_classifier(call):
            return self._classifier(is_first=False, offset=0)
        if call.name == "match_number" and not call.arguments:
            if self._own is not None:
                raise UnsupportedFeatureError("MATCH_NUMBER in DEFINE", "matches are numbered once they are complete")
            return self._looked_up(Lookup(BigIntType(False), (), kind="match number"))
        if call.name == "match_rowtime":
            return self._match_rowtime(call)
        if call.name == "match_proctime":
            self.time_of_match = TimeAttribute.PROCTIME
            return self._plain.bind(syntax.Call("proctime", position=call.position))
        aggregate = self._find_aggregate(call)
        return None if aggregate is None else self._aggregate(aggregate, call)

    def _match_rowtime(self, call: syntax.Call) -> BoundExpression:
        if call.arguments or not self._time.is_event_time:
            raise SqlValidationError("MATCH_ROWTIME() needs rows in the order of event time, and no argument")
        self.time_of_match = TimeAttribute.ROWTIME
        column = self._computed.source.columns[self._time.column]
        # Of a row of a match too: it is the time at which the match is complete.
        return self._looked_up(Lookup(with_nullable(column.type, False), (), self._time.column, is_final=True))

    def _navigation(self, call: syntax.Call) -> BoundExpression:
        offset, is_first = offset_of(call, 0), call.name == "first"
        if _is_classifier(call.arguments[0]):
            return self._classifier(is_first=is_first, offset=offset)
        return self._navigated(call.arguments[0], is_first=is_first, offset=offset)

    def _classifier(self, *, is_first: bool, offset: int) -> BoundExpression:
        return self._looked_up(Lookup(VarCharType(), (), is_first=is_first, offset=offset, kind="classifier"))

    def _navigated(self, expression: syntax.Expression, *, is_first: bool, offset: int) -> BoundExpression:
        stages, inner = self._of_one_variable(expression, "FIRST and LAST")
        return self._looked_up(
            Lookup(with_nullable(inner.type, True), stages, self._computed.index(inner), is_first, offset)
        )

    def _of_one_variable(self, expression: syntax.Expression, what: str) -> tuple[tuple[int, ...], BoundExpression]:
        """The stages whose rows an expression uses, and the expression on such a row."""
        variables: set[str] = set()
        inner = self._plain.bind(without_variables(expression, self._variables, variables))
        if len(variables) > 1:
            raise SqlValidationError(f"SQL validation failed. {what} must be applied to a single pattern variable")
        return self._variables.get(next(iter(variables), ""), ()), inner

    def _aggregate(self, function: AggregateFunction, call: syntax.Call) -> BoundExpression:
        if call.is_distinct:
            raise SqlValidationError(
                f"SQL validation failed. DISTINCT is not supported in MATCH_RECOGNIZE: {call.name.upper()}"
            )
        if call.condition is not None:
            raise UnsupportedFeatureError("FILTER in MATCH_RECOGNIZE")
        rows: set[tuple[int, ...]] = set()
        arguments: list[BoundExpression] = []
        for each in call.arguments:
            if isinstance(each, syntax.Star):
                rows.add(self._variables[each.table[0]] if each.table else ())
                continue
            if any(isinstance(part, syntax.Name) for part in parts_of(each)):
                stages, inner = self._of_one_variable(each, "Aggregation")
                rows.add(stages)
                arguments.append(inner)
            else:
                arguments.append(self._plain.bind_argument(each))
        # SUM(A.x + B.y) would have to pair rows of two variables; Flink rejects it too.
        if len(rows) > 1:
            raise SqlValidationError("Aggregation must be applied to a single pattern variable")
        try:
            bound = bind_aggregate(
                function, [each.as_argument() for each in arguments], may_be_empty=True, session=self._session
            )
        except TypeMismatchError as error:
            raise rejected(str(error), call.position) from error
        indexes = tuple(-1 if isinstance(each, BoundSymbol) else self._computed.index(each) for each in arguments)
        aggregate = BoundAggregate(bound, indexes)
        return self._looked_up(Lookup(bound.result, next(iter(rows), ()), aggregate=aggregate))

    def _looked_up(self, lookup: Lookup) -> BoundExpression:
        lookup = replace(lookup, is_final=lookup.is_final or self._is_final)
        if lookup not in self.lookups:
            self.lookups.append(lookup)
        return BoundColumn(lookup.type, self.lookups.index(lookup), f"lookup{self.lookups.index(lookup)}")
