"""Binds OVER in streams: aggregates of the rows before each row, in the order of time or of a column's values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from funke.engine.errors import SqlValidationError, TypeMismatchError, UnsupportedFeatureError
from funke.engine.sql.binding import (
    BoundAggregate,
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    BoundSymbol,
    Calculation,
    Column,
    Relation,
    SortKey,
    time_of,
)
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.ordered_queries import sort_key
from funke.engine.sql.binding.over.ranks import NumberedRows
from funke.engine.sql.binding.scope import Scope, rejected
from funke.engine.sql.binding.syntax_parts import parts_of
from funke.engine.sql.binding.windows.window_relations import OverAggregation, SortedAggregation, WindowTime
from funke.engine.sql.binding.windows.window_tables import interval_ms
from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction, bind_aggregate
from funke.engine.sql.functions.aggregates.ranking import RANKING
from funke.engine.sql.functions.function import Session
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries

__all__ = ["RESULTS", "OverBinder", "check_context", "has_over", "over_in", "rising_order", "window_parts"]

_RANKING = {function.name: function for function in RANKING}
_NOT_IN_STREAMS = ("lead", "ntile", "cume_dist", "percent_rank")
_SEVERAL_WINDOWS = (
    "Over Agg: Unsupported use of OVER windows. All aggregates must be computed on the same window. "
    "please re-check the over window statement."
)
_NO_ORDER = (
    "Over Agg: The window rank function requires order by clause with non-constant fields. "
    "please re-check the over window statement."
)
_RANKS = ("rank", "dense_rank", "percent_rank", "cume_dist")
_NUMBERS = ("row_number", "ntile", *_RANKS)
# Results stand behind all columns of the input, whose number is known once everything is bound.
RESULTS = 1 << 40


def has_over(select: queries.Select) -> bool:
    """Whether a query has OVER aggregates."""
    return any(map(over_in, select.items))


def over_in(expression: syntax.Expression) -> bool:
    """Whether there are OVER aggregates in an expression."""
    return any(isinstance(each, syntax.Call) and each.over is not None for each in parts_of(expression))


def window_parts(select: queries.Select) -> Iterator[syntax.Expression]:
    """The partition and order of the windows of the WINDOW clause."""
    for _, window in select.windows:
        yield from (*window.partition_by, *window.order_by)


def check_context(function: AggregateFunction, call: syntax.Call, window: syntax.OverWindow) -> None:
    """Checks the window of a ranking function: it needs an order and takes no frame."""
    name = function.name
    if name not in _NUMBERS:
        return
    if name in _RANKS and not window.order_by:
        raise rejected("RANK or DENSE_RANK functions require ORDER BY clause in window specification", call.position)
    if name == "row_number" and not window.order_by:
        raise SqlValidationError(_NO_ORDER)
    if window.lower is not None:
        raise rejected("ROW/RANGE not allowed with RANK, DENSE_RANK or ROW_NUMBER functions", call.position)
    if name == "ntile":
        parts = call.arguments[0] if call.arguments else None
        if not isinstance(parts, syntax.Literal) or not isinstance(parts.value, int) or parts.value < 1:
            raise rejected("NTILE needs a constant number of parts, at least 1", call.position)


def rising_order(order: Sequence[SortKey]) -> SortKey:
    """The one column that a stream can be ordered by, which must rise."""
    if len(order) != 1:
        raise SqlValidationError("The window can only be ordered by a single time column.")
    if not order[0].is_ascending:
        raise SqlValidationError("The window can only be ordered in ASCENDING mode.")
    return order[0]


@dataclass(frozen=True)
class _Frame:
    """The rows that an aggregate sees; by time if there is one, else by the values of the order."""

    partition_by: tuple[int, ...]
    order: tuple[SortKey, ...]
    time: BoundColumn | None
    is_rows: bool
    preceding: int | None


class OverBinder(ExpressionBinder):
    """Binds the items of a query with OVER aggregates, all of which have the same window."""

    def __init__(
        self,
        scope: Scope,
        session: Session,
        plain: ExpressionBinder,
        width: int,
        find_aggregate: Callable[[syntax.Call], AggregateFunction | None],
        windows: Mapping[str, syntax.OverWindow],
    ) -> None:
        super().__init__(scope, session, plain.find)
        # Binds arguments, keys and orders of windows, and expressions beside them, to the columns of the source.
        self._plain = plain
        self._find_aggregate = find_aggregate
        self._windows = windows
        # Expressions that are computed before, behind the columns of the source.
        self._computed: list[BoundExpression] = []
        self._first = width
        self._frame: _Frame | None = None
        self._aggregates: list[BoundAggregate] = []

    def bind(self, expression: syntax.Expression) -> BoundExpression:
        if isinstance(expression, syntax.Call) and expression.over is not None:
            return self._bind_over(expression)
        return super().bind(expression) if over_in(expression) else self._plain.bind(expression)

    def bind_star(self, columns: Sequence[BoundColumn], star: syntax.Star) -> Sequence[BoundExpression]:
        return self._plain.bind_star(columns, star)

    def relation(self, source: Relation, where: BoundExpression | None) -> Relation:
        """The rows with all aggregates that were bound."""
        computed, frame = self._with_computed(source, where), self._frame
        assert frame is not None
        results = [Column(f"over${index}", each.call.result) for index, each in enumerate(self._aggregates)]
        columns, aggregates = (*computed.columns, *results), tuple(self._aggregates)
        if frame.time is not None:
            time = WindowTime(frame.time.index, frame.time.time is TimeAttribute.ROWTIME)
            return OverAggregation(
                columns, computed, frame.partition_by, time, frame.is_rows, frame.preceding, aggregates
            )
        if [each.call.function.name for each in aggregates] == ["row_number"]:
            # The outer query may ask for the first rows alone: rules/ranks.py makes it a Top-N then.
            return NumberedRows(columns, computed, frame.partition_by, frame.order)
        return SortedAggregation(
            columns,
            computed,
            frame.partition_by,
            rising_order(frame.order),
            frame.is_rows,
            aggregates,
            frame.preceding,
        )

    def _with_computed(self, source: Relation, where: BoundExpression | None) -> Relation:
        """The rows with everything that windows need."""
        added = [Column(f"${index}", each.type, time_of(each)) for index, each in enumerate(self._computed)]
        own = [BoundColumn(each.type, index, each.name, each.time) for index, each in enumerate(source.columns)]
        return Calculation((*source.columns, *added), source, (*own, *self._computed), where)

    def _index_of_result(self, number: int) -> int:
        return self._first + len(self._computed) + number

    def placed(self, expression: BoundExpression) -> BoundExpression:
        """An expression that was bound, over the columns of the relation."""
        if isinstance(expression, BoundColumn) and expression.index >= RESULTS:
            return replace(expression, index=self._index_of_result(expression.index - RESULTS))
        if isinstance(expression, BoundFunction):
            return replace(expression, arguments=tuple(map(self.placed, expression.arguments)))
        return expression

    def _bind_over(self, call: syntax.Call) -> BoundExpression:
        function, window = self._function(call), self._window(call)
        check_context(function, call, window)
        frame = self._frame_of(function, call, window)
        if self._frame not in (None, frame):
            raise UnsupportedFeatureError(_SEVERAL_WINDOWS)
        self._frame = frame
        # RANK has no argument; it compares the values of the order, to see which rows are peers.
        is_by_rank = function.name in ("rank", "dense_rank")
        arguments = [self._order_column(window)] if is_by_rank else self._arguments(call)
        aggregate = self._aggregate(function, call, arguments, frame.preceding not in (None, 0))
        if aggregate not in self._aggregates:
            self._aggregates.append(aggregate)
        number = self._aggregates.index(aggregate)
        return BoundColumn(aggregate.call.result, RESULTS + number, f"over${number}")

    def _function(self, call: syntax.Call) -> AggregateFunction:
        if call.name in _NOT_IN_STREAMS:
            raise UnsupportedFeatureError(f"{call.name.upper()} Function is not supported in stream mode.")
        function = _RANKING.get(call.name) or self._find_aggregate(call)
        if function is None:
            raise rejected("OVER must be applied to aggregate function", call.position)
        return function

    def _arguments(self, call: syntax.Call) -> list[BoundExpression]:
        is_star = [type(each) for each in call.arguments] == [syntax.Star]
        return [] if is_star else [self._plain.bind_argument(each) for each in call.arguments]

    def _aggregate(
        self,
        function: AggregateFunction,
        call: syntax.Call,
        arguments: Sequence[BoundExpression],
        may_be_empty: bool = False,
    ) -> BoundAggregate:
        condition = None
        if call.condition is not None:
            condition = self._index_of_value(self._plain.bind_condition(call.condition, "FILTER"))
        try:
            bound = bind_aggregate(
                function,
                [each.as_argument() for each in arguments],
                may_be_empty=may_be_empty or condition is not None,
                is_distinct=call.is_distinct and not function.ignores_repeats,
                session=self._session,
            )
        except TypeMismatchError as error:
            raise rejected(str(error), call.position) from error
        indexes = tuple(-1 if isinstance(each, BoundSymbol) else self._index_of_value(each) for each in arguments)
        return BoundAggregate(bound, indexes, condition)

    def _index_of_value(self, expression: BoundExpression) -> int:
        if isinstance(expression, BoundColumn):
            return expression.index
        if expression not in self._computed:
            self._computed.append(expression)
        return self._first + self._computed.index(expression)

    # Windows

    def _window(self, call: syntax.Call) -> syntax.OverWindow:
        assert call.over is not None
        if isinstance(call.over, str):
            return self._named(call.over, call)
        if call.over.base is None:
            return call.over
        base = self._named(call.over.base, call)
        return replace(call.over, partition_by=base.partition_by, order_by=call.over.order_by or base.order_by)

    def _named(self, name: str, call: syntax.Call) -> syntax.OverWindow:
        if name not in self._windows:
            raise rejected(f"Window '{name}' not found", call.position)
        return self._windows[name]

    def _frame_of(self, function: AggregateFunction, call: syntax.Call, window: syntax.OverWindow) -> _Frame:
        is_rows = window.is_rows or function.name == "row_number"
        keys = tuple(self._index_of_value(self._plain.bind(each)) for each in window.partition_by)
        order = tuple(sort_key(self._index_of_value(self._plain.bind(each.operand)), each) for each in window.order_by)
        if function.name == "row_number" and (len(order) > 1 or not order[0].is_ascending):
            # A Top-N if `WHERE rn <= n` stands around it; if not, rules reject numbers by such an order.
            return _Frame(keys, order, None, is_rows, None)
        rising_order(order)
        column = self._order_column(window)
        _reject_following(window)
        if column.time is not None:
            return _Frame(keys, order, column, is_rows, self._preceding(window, call))
        # Flink has no bounded frames by values at all; rows are counted here, distances between values are not.
        if not _is_unbounded(window) and not window.is_rows:
            raise SqlValidationError("Non-time attribute sort is not supported for bounded OVER window.")
        if isinstance(self._plain.bind(window.order_by[0].operand), BoundConstant):
            raise SqlValidationError("The window can only be ordered by a single time column.")
        if function.name == "lag":
            raise UnsupportedFeatureError("LAG by an order that is not that of time")
        return _Frame(keys, order, None, is_rows, self._preceding(window, call))

    def _order_column(self, window: syntax.OverWindow) -> BoundColumn:
        order = self._plain.bind(window.order_by[0].operand)
        if isinstance(order, BoundColumn):
            return order
        index = self._index_of_value(order)
        return BoundColumn(order.type, index, f"${index - self._first}", time_of(order))

    def _preceding(self, window: syntax.OverWindow, call: syntax.Call) -> int | None:
        if _is_unbounded(window):
            return None
        assert window.lower is not None and window.lower.distance is not None
        distance = window.lower.distance
        if _is_current(window.lower):
            return 0
        if not window.is_rows:
            return interval_ms(distance)
        if isinstance(distance, syntax.Literal) and isinstance(distance.value, int):
            return distance.value
        raise rejected("OVER needs a constant number of rows", call.position)


def _is_unbounded(window: syntax.OverWindow) -> bool:
    return window.lower is None or (window.lower.is_preceding and window.lower.distance is None)


def _reject_following(window: syntax.OverWindow) -> None:
    is_last = window.upper is None or _is_current(window.upper)
    is_before = window.lower is None or window.lower.is_preceding or _is_current(window.lower)
    if not is_last or not is_before:
        raise UnsupportedFeatureError("OVER RANGE FOLLOWING windows are not supported yet.")


def _is_current(bound: syntax.WindowBound) -> bool:
    return isinstance(bound.distance, syntax.Literal) and bound.distance.value == 0
