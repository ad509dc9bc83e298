"""Gives OVER its meaning: aggregates of the rows before each row, in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from funke.engine.errors import SqlValidationError, TypeMismatchError, UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundExpression,
    BoundFunction,
    BoundSymbol,
    time_of,
)
from funke.engine.sql.binding.ordered_queries import sort_key
from funke.engine.sql.binding.ranks import NumberedRows
from funke.engine.sql.binding.relations import BoundAggregate, Calculation, Column, Relation, SortKey
from funke.engine.sql.binding.scope import Scope, refused
from funke.engine.sql.binding.syntax_parts import parts_of
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.sql.binding.window_relations import OverAggregation, WindowTime
from funke.engine.sql.binding.window_tables import interval_ms
from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction, bind_aggregate
from funke.engine.sql.functions.aggregates.ranking import RANKING
from funke.engine.sql.functions.function import Function, Session
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.types.logical.atomic_types import BigIntType

__all__ = ["RESULTS", "OverBinder", "has_over"]

_RANKING = {function.name: function for function in RANKING}
_NOT_IN_STREAMS = ("lead", "ntile", "cume_dist", "percent_rank")
_SEVERAL_WINDOWS = (
    "Over Agg: Unsupported use of OVER windows. All aggregates must be computed on the same window. "
    "please re-check the over window statement."
)
# Results stand behind all columns of the input, whose number is known once everything is bound.
RESULTS = 1 << 40


def has_over(select: queries.Select) -> bool:
    """Whether a query has OVER aggregates."""
    parts = (part for item in select.items for part in parts_of(item))
    return any(isinstance(each, syntax.Call) and each.over is not None for each in parts)


@dataclass(frozen=True)
class _Frame:
    """The rows that an aggregate sees."""

    partition_by: tuple[int, ...]
    time: BoundColumn
    is_rows: bool
    preceding: int | None


class OverBinder(ExpressionBinder):
    """Binds the items of a query with OVER aggregates, all of which have the same window."""

    def __init__(
        self,
        scope: Scope,
        session: Session,
        find: Callable[[str], Function | None],
        find_aggregate: Callable[[syntax.Call], AggregateFunction | None],
        windows: Mapping[str, syntax.OverWindow],
    ) -> None:
        super().__init__(scope, session, find)
        self._plain = ExpressionBinder(scope, session, find)
        self._find_aggregate = find_aggregate
        self._windows = windows
        # Expressions that are computed before, behind the columns of the source.
        self._computed: list[BoundExpression] = []
        self._first = len(scope.columns)
        self._frame: _Frame | None = None
        self._aggregates: list[BoundAggregate] = []
        # The keys and the order of ROW_NUMBER, if that is not the order of time.
        self._numbering: tuple[tuple[int, ...], tuple[SortKey, ...]] | None = None

    def bind(self, expression: syntax.Expression) -> BoundExpression:
        if isinstance(expression, syntax.Call) and expression.over is not None:
            return self._bind_over(expression)
        return super().bind(expression)

    def relation(self, source: Relation, where: BoundExpression | None) -> Relation:
        """The rows with all aggregates that were bound."""
        computed = self._with_computed(source, where)
        if self._numbering is not None:
            return NumberedRows((*computed.columns, Column("over$0", BigIntType(False))), computed, *self._numbering)
        assert self._frame is not None
        results = [Column(f"over${place}", each.call.result) for place, each in enumerate(self._aggregates)]
        time = WindowTime(self._frame.time.index, self._frame.time.time is TimeAttribute.ROWTIME)
        return OverAggregation(
            (*computed.columns, *results),
            computed,
            self._frame.partition_by,
            time,
            self._frame.is_rows,
            self._frame.preceding,
            tuple(self._aggregates),
        )

    def _with_computed(self, source: Relation, where: BoundExpression | None) -> Relation:
        """The rows with everything that windows need."""
        added = [Column(f"${place}", each.type, time_of(each)) for place, each in enumerate(self._computed)]
        own = [BoundColumn(each.type, place, each.name, each.time) for place, each in enumerate(source.columns)]
        return Calculation((*source.columns, *added), source, (*own, *self._computed), where)

    def _place_of_result(self, number: int) -> int:
        return self._first + len(self._computed) + number

    def placed(self, expression: BoundExpression) -> BoundExpression:
        """An expression that was bound, over the columns of the relation."""
        if isinstance(expression, BoundColumn) and expression.index >= RESULTS:
            return replace(expression, index=self._place_of_result(expression.index - RESULTS))
        if isinstance(expression, BoundFunction):
            return replace(expression, arguments=tuple(map(self.placed, expression.arguments)))
        return expression

    def _bind_over(self, call: syntax.Call) -> BoundExpression:
        function = self._function(call)
        window = self._window(call)
        if function.name == "row_number" and not self._is_by_time(window):
            return self._bind_number(window)
        if function.name in ("rank", "dense_rank") and not self._is_by_time(window):
            raise TableException(f"{function.name.upper()}() on streaming table is not supported currently")
        frame = self._frame_of(call, window)
        if function.name == "row_number":
            frame = replace(frame, is_rows=True)
        if self._frame not in (None, frame) or self._numbering is not None:
            raise UnsupportedFeatureError(_SEVERAL_WINDOWS)
        self._frame = frame
        is_by_rank = function.name in ("rank", "dense_rank")
        made = self._aggregate(function, call, [frame.time] if is_by_rank else self._arguments(call))
        if made not in self._aggregates:
            self._aggregates.append(made)
        number = self._aggregates.index(made)
        return BoundColumn(made.call.result, RESULTS + number, f"over${number}")

    def _is_by_time(self, window: syntax.OverWindow) -> bool:
        if len(window.order_by) != 1 or not window.order_by[0].is_ascending:
            return not window.order_by
        return time_of(self._plain.bind(window.order_by[0].operand)) is not None

    def _bind_number(self, window: syntax.OverWindow) -> BoundExpression:
        """The number of a row by an order; whoever reads it asks for the first rows."""
        keys = tuple(self._place(self._plain.bind(each)) for each in window.partition_by)
        order = tuple(sort_key(self._place(self._plain.bind(each.operand)), each) for each in window.order_by)
        if self._frame is not None or self._numbering not in (None, (keys, order)):
            raise UnsupportedFeatureError(_SEVERAL_WINDOWS)
        self._numbering = keys, order
        return BoundColumn(BigIntType(False), RESULTS, "over$0")

    def _function(self, call: syntax.Call) -> AggregateFunction:
        if call.name in _NOT_IN_STREAMS:
            raise UnsupportedFeatureError(f"{call.name.upper()} Function is not supported in stream mode.")
        function = _RANKING.get(call.name) or self._find_aggregate(call)
        if function is None:
            raise refused("OVER must be applied to aggregate function", call.position)
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
            condition = self._place(self._plain.bind_condition(call.condition, "FILTER"))
        try:
            made = bind_aggregate(
                function,
                [each.as_argument() for each in arguments],
                may_be_empty=may_be_empty or condition is not None,
                is_distinct=call.is_distinct and not function.ignores_repeats,
                session=self._session,
            )
        except TypeMismatchError as error:
            raise refused(str(error), call.position) from error
        places = tuple(-1 if isinstance(each, BoundSymbol) else self._place(each) for each in arguments)
        return BoundAggregate(made, places, condition)

    def _place(self, expression: BoundExpression) -> int:
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
            raise refused(f"Window '{name}' not found", call.position)
        return self._windows[name]

    def _frame_of(self, call: syntax.Call, window: syntax.OverWindow) -> _Frame:
        if len(window.order_by) != 1:
            raise SqlValidationError("The window can only be ordered by a single time column.")
        (order,) = window.order_by
        if not order.is_ascending:
            raise SqlValidationError("The window can only be ordered in ASCENDING mode.")
        preceding = self._preceding(window, call)
        bound = self._plain.bind(order.operand)
        if time_of(bound) is None:
            if preceding is not None:
                raise SqlValidationError("Non-time attribute sort is not supported for bounded OVER window.")
            raise UnsupportedFeatureError("OVER with an ORDER BY that is no time attribute")
        partition_by = tuple(self._place(self._plain.bind(each)) for each in window.partition_by)
        return _Frame(partition_by, self._time_column(bound), window.is_rows, preceding)

    def _time_column(self, time: BoundExpression) -> BoundColumn:
        if isinstance(time, BoundColumn):
            return time
        place = self._place(time)
        return BoundColumn(time.type, place, f"${place - self._first}", time_of(time))

    def _preceding(self, window: syntax.OverWindow, call: syntax.Call) -> int | None:
        upper, lower = window.upper, window.lower
        if upper is not None and not _is_current(upper):
            raise UnsupportedFeatureError("OVER RANGE FOLLOWING windows are not supported yet.")
        if lower is None or (lower.is_preceding and lower.distance is None):
            return None
        if _is_current(lower):
            return 0
        assert lower.distance is not None
        if not lower.is_preceding:
            raise UnsupportedFeatureError("OVER RANGE FOLLOWING windows are not supported yet.")
        if not window.is_rows:
            return interval_ms(lower.distance)
        if isinstance(lower.distance, syntax.Literal) and isinstance(lower.distance.value, int):
            return lower.distance.value
        raise refused("OVER needs a constant number of rows", call.position)


def _is_current(bound: syntax.WindowBound) -> bool:
    return isinstance(bound.distance, syntax.Literal) and bound.distance.value == 0
