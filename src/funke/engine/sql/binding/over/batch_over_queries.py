"""Binds OVER in batch mode: windows in any order, with any frame, and several in one query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from funke.engine.sql.binding import BoundColumn, BoundExpression, Column, Relation, SortKey
from funke.engine.sql.binding.ordered_queries import sort_key
from funke.engine.sql.binding.over.over_queries import RESULTS, OverBinder, check_context
from funke.engine.sql.binding.over.ranks import NumberedRows
from funke.engine.sql.binding.scope import rejected
from funke.engine.sql.binding.windows.window_relations import Frame, OverCall, PartitionAggregation
from funke.engine.sql.binding.windows.window_tables import interval_ms
from funke.engine.sql.functions.aggregates.aggregate import AggregateFunction
from funke.engine.sql.functions.aggregates.ranking import RANKINGS
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.types.logical import DATETIME, NUMERIC, DataType

__all__ = ["BatchOverBinder"]

_RANKINGS = {function.name: function for function in RANKINGS}


@dataclass(frozen=True)
class _Partitions:
    """The partition and order of a window. Calls with equal ones are computed together."""

    partition_by: tuple[int, ...]
    order: tuple[SortKey, ...]


class BatchOverBinder(OverBinder):
    """Binds the items of a query with OVER windows, of which there may be several."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._calls: list[tuple[_Partitions, OverCall]] = []
        # Where the result of each call stands, once all are known.
        self._result_indexes: dict[int, int] = {}

    def relation(self, source: Relation, where: BoundExpression | None) -> Relation:
        """The rows with the results of all windows, one window behind the other."""
        relation = self._with_computed(source, where)
        for partitions in dict.fromkeys(each for each, _ in self._calls):
            mine = {number: call for number, (each, call) in enumerate(self._calls) if each == partitions}
            for index, number in enumerate(mine, len(relation.columns)):
                self._result_indexes[number] = index
            relation = self._with_results(relation, partitions, mine)
        return relation

    def _with_results(self, source: Relation, partitions: _Partitions, calls: dict[int, OverCall]) -> Relation:
        results = [Column(f"over${number}", each.aggregate.call.result) for number, each in calls.items()]
        columns, (first, *others) = (*source.columns, *results), calls.values()
        is_number = first.aggregate.call.function.name == "row_number" and not others and len(self._calls) == 1
        if is_number and not _is_by_time(source, partitions.order):
            # The outer query may ask for the first rows alone.
            return NumberedRows(columns, source, partitions.partition_by, partitions.order)
        return PartitionAggregation(columns, source, partitions.partition_by, partitions.order, tuple(calls.values()))

    def _index_of_result(self, number: int) -> int:
        return self._result_indexes[number]

    def _bind_over(self, call: syntax.Call) -> BoundExpression:
        function, window = self._function(call), self._window(call)
        check_context(function, call, window)
        frame = self._bounds(call, window)
        aggregate = self._aggregate(function, call, self._arguments(call), _may_be_empty(frame))
        keys = tuple(self._index_of_value(self._plain.bind(each)) for each in window.partition_by)
        order = tuple(sort_key(self._index_of_value(self._plain.bind(each.operand)), each) for each in window.order_by)
        bound = _Partitions(keys, order), OverCall(aggregate, frame)
        if bound not in self._calls:
            self._calls.append(bound)
        number = self._calls.index(bound)
        return BoundColumn(aggregate.call.result, RESULTS + number, f"over${number}")

    def _function(self, call: syntax.Call) -> AggregateFunction:
        function = _RANKINGS.get(call.name) or self._find_aggregate(call)
        if function is None:
            raise rejected("OVER must be applied to aggregate function", call.position)
        return function

    def _arguments(self, call: syntax.Call) -> list[BoundExpression]:
        arguments = super()._arguments(call)
        if call.name in ("lag", "lead") and len(arguments) == 3 and arguments[0].type != arguments[2].type:
            # The default for a missing row has the type of the other rows.
            arguments[2] = self._plain.bind(syntax.Cast(call.arguments[2], arguments[0].type))
        return arguments

    # Frames

    def _bounds(self, call: syntax.Call, window: syntax.OverWindow) -> Frame:
        if not window.order_by:
            # As in Flink also with a frame: no row stands before another.
            return Frame(upper=None)
        lower, upper = window.lower, window.upper
        if lower is None or upper is None:
            # The default of the standard is RANGE up to the current row, with its peers; ROW_NUMBER distinguishes
            # peers.
            return Frame(is_rows=call.name == "row_number")
        if lower.distance is None and not lower.is_preceding:
            raise rejected("UNBOUNDED FOLLOWING cannot be specified for the lower frame boundary", call.position)
        if upper.distance is None and upper.is_preceding and lower is not upper:
            raise rejected("UNBOUNDED PRECEDING cannot be specified for the upper frame boundary", call.position)
        frame = Frame(window.is_rows, self._distance(lower, call, window), self._distance(upper, call, window))
        _check_bounds(frame, call)
        return frame

    def _distance(self, bound: syntax.WindowBound, call: syntax.Call, window: syntax.OverWindow) -> Any:
        """The distance from the current row, below 0 in front of it; None is unbounded."""
        if bound.distance is None:
            return None
        value = bound.distance.value if isinstance(bound.distance, syntax.Literal) else None
        if value == 0:
            return 0
        if window.is_rows:
            if not isinstance(value, int):
                raise rejected("OVER needs a constant number of rows", call.position)
            distance: Any = value
        else:
            distance = self._distance_of_values(bound.distance, call, window)
        return -distance if bound.is_preceding else distance

    def _distance_of_values(self, distance: syntax.Expression, call: syntax.Call, window: syntax.OverWindow) -> Any:
        if len(window.order_by) > 1:
            raise rejected("RANGE clause cannot be used with compound ORDER BY clause", call.position)
        data_type: DataType = self._plain.bind(window.order_by[0].operand).type
        if isinstance(data_type, DATETIME):
            return interval_ms(distance)
        if not isinstance(data_type, NUMERIC):
            raise rejected("Data type of ORDER BY prohibits use of RANGE clause", call.position)
        if not isinstance(distance, syntax.Literal) or not isinstance(distance.type, NUMERIC):
            raise rejected("OVER needs a constant distance, of the kind of its order", call.position)
        return distance.value


def _is_by_time(source: Relation, order: tuple[SortKey, ...]) -> bool:
    return len(order) == 1 and order[0].is_ascending and source.columns[order[0].index].time is not None


def _check_bounds(frame: Frame, call: syntax.Call) -> None:
    lower, upper = frame.lower, frame.upper
    if lower is None or upper is None:
        return
    words = {1: "FOLLOWING", 0: "CURRENT ROW", -1: "PRECEDING"}
    one, other = (lower > 0) - (lower < 0), (upper > 0) - (upper < 0)
    if one > other:
        raise rejected(
            f"Upper frame boundary cannot be {words[other]} when lower boundary is {words[one]}", call.position
        )


def _may_be_empty(frame: Frame) -> bool:
    """Whether a frame has a bound besides UNBOUNDED and the current row: as in Flink its results are nullable then."""
    return bool(frame.lower or frame.upper)
