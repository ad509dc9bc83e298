"""Makes ranks of queries that ask for the first rows of each key by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding import (
    Aggregation,
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    Calculation,
    Column,
    Expansion,
    Relation,
    SortKey,
    columns_in,
    conjuncts,
    with_columns,
    with_inputs,
)
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.merged_calculations import merged_pair
from funke.engine.sql.binding.over.ranks import NumberedRows, RankedWindows
from funke.engine.sql.binding.windows.window_columns import window_columns
from funke.engine.sql.binding.windows.window_grouping import with_windows
from funke.engine.sql.binding.windows.window_relations import OverAggregation, SortedAggregation
from funke.engine.sql.plan import INSERTS, as_node
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.plan.ranks.deduplicate import Deduplicate
from funke.engine.sql.plan.ranks.rank import Rank
from funke.engine.sql.plan.ranks.rank_strategy import rank_strategy

__all__ = ["ranked", "with_ranks"]

_NO_END = "Rank end is not specified. Currently rank only support TopN, which means the rank end must be specified."
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def with_ranks(relation: Relation, is_stream: bool = True) -> Relation:
    """The relation with ranks and deduplications.

    In streams also by numbers in the order of time, and of windows, which are known when these end.
    """
    changed: Relation = with_inputs(relation, lambda each: with_ranks(each, is_stream))
    if not isinstance(changed, Calculation):
        return changed
    if isinstance(changed.input, Aggregation):
        # What it groups may have got its windows only now.
        return lower(with_windows(changed)) if _is_window_rank(changed.input.input) else changed
    # The condition is usually one query above the number: SELECT … FROM (SELECT …, ROW_NUMBER() …) WHERE n = 1.
    whole: Calculation = changed
    while isinstance(whole.input, Calculation) and (pair := merged_pair(whole, whole.input)) is not None:
        whole = pair
    if is_stream:
        _reject_ranks(whole)
    numbered = _numbered(whole.input, is_stream)
    if numbered is None:
        return changed
    return _limited(whole, numbered, is_stream) or changed


def _is_window_rank(relation: Relation) -> bool:
    while isinstance(relation, Calculation | Expansion):
        relation = relation.input
    return isinstance(relation, RankedWindows)


def _numbered(relation: Relation, is_stream: bool) -> NumberedRows | None:
    """Rows with their numbers, also those that are numbered as time goes on."""
    if isinstance(relation, NumberedRows):
        return relation
    if not is_stream or not isinstance(relation, OverAggregation) or relation.preceding is not None:
        return None
    if [each.call.function.name for each in relation.aggregates] != ["row_number"]:
        return None
    # In streams ROW_NUMBER by time is an OVER aggregate; a condition on it makes it a Top-N.
    return NumberedRows(relation.columns, relation.input, relation.partition_by, (SortKey(relation.time.column),))


def _reject_ranks(calculation: Calculation) -> None:
    """Rejects conditions on numbers without a last one, and those on ranks."""
    relation = calculation.input
    if calculation.condition is None or not isinstance(relation, NumberedRows | SortedAggregation):
        return
    for index, name in _ranks_of(relation):
        bounds = [_bound(each, index) for each in conjuncts(calculation.condition)]
        own_bounds = [each for several in bounds if several is not None for each in several]
        # Without an upper bound the state of a Top-N has no limit.
        if own_bounds and all(operator in (">", ">=") for operator, _ in own_bounds):
            raise TableException(_NO_END)
        if own_bounds and isinstance(relation, SortedAggregation):
            raise TableException(f"{name.upper()}() on streaming table is not supported currently")


def _ranks_of(relation: NumberedRows | SortedAggregation) -> list[tuple[int, str]]:
    """The columns that are numbers of rows, if there is nothing else beside them."""
    first = len(relation.input.columns)
    if isinstance(relation, NumberedRows):
        return [(first, "row_number")]
    names = [each.call.function.name for each in relation.aggregates]
    return [(first, names[0])] if names in (["rank"], ["dense_rank"]) else []


@dataclass(frozen=True)
class _Range:
    """The numbers that a condition lets pass."""

    first: int = 1
    last: int | None = None

    def within(self, operator: str, value: int) -> _Range:
        """The range with one more condition."""
        low = {">": value + 1, ">=": value, "=": value}.get(operator, self.first)
        high = {"<": value - 1, "<=": value, "=": value}.get(operator)
        last = self.last if high is None else high if self.last is None else min(high, self.last)
        return _Range(max(low, self.first), last)


def _limited(calculation: Calculation, numbered: NumberedRows, is_stream: bool) -> Relation | None:
    if calculation.condition is None:
        return None
    number = len(numbered.columns) - 1
    number_range, rest = _Range(), []
    for each in conjuncts(calculation.condition):
        bound = _bound(each, number)
        if bound is None:
            rest.append(each)
        else:
            for operator, value in bound:
                number_range = number_range.within(operator, value)
    if number_range.last is None:
        return None
    # As in Flink: a number that is not read is not emitted, so a row that only changes its number sends nothing.
    used = number in columns_in([*calculation.expressions, *rest])
    is_one = number_range.first == number_range.last
    number_columns = numbered.columns[number:] if used and not is_one else ()
    in_windows = _window_rank(numbered, number_range.first, number_range.last, number_columns) if is_stream else None
    relation = in_windows or _ranked_rows(numbered, number_range.first, number_range.last, number_columns)

    def placed(expression: BoundExpression) -> BoundExpression:
        constant = BoundConstant(numbered.columns[number].type, number_range.first)
        return with_columns(expression, lambda column: constant if is_one and column.index == number else column)

    for each in rest[1:]:
        relation = _filtered(relation, placed(each))
    condition = placed(rest[0]) if rest else None
    return Calc(calculation.columns, lower(relation), tuple(map(placed, calculation.expressions)), condition)


def _bound(condition: BoundExpression, number: int) -> list[tuple[str, int]] | None:
    """What a condition says of the number alone; None if it is about something else."""
    if not isinstance(condition, BoundFunction):
        return None
    name, arguments = condition.call.function.name, condition.arguments
    if name == "between" and _is_number(arguments[0], number):
        low, high = map(_integer, arguments[1:])
        return None if low is None or high is None else [(">=", low), ("<=", high)]
    if name not in _FLIPPED or len(arguments) != 2:
        return None
    one, other = arguments
    if _is_number(other, number):
        one, other, name = other, one, _FLIPPED[name]
    value = _integer(other)
    return [(name, value)] if _is_number(one, number) and value is not None else None


def _is_number(expression: BoundExpression, number: int) -> bool:
    inner = _uncast(expression)
    return isinstance(inner, BoundColumn) and inner.index == number


def _integer(expression: BoundExpression) -> int | None:
    inner = _uncast(expression)
    value = inner.value if isinstance(inner, BoundConstant) else None
    return value if isinstance(value, int) else None


def _uncast(expression: BoundExpression) -> BoundExpression:
    is_cast = isinstance(expression, BoundFunction) and expression.call.function.name == "cast"
    return expression.arguments[0] if is_cast and isinstance(expression, BoundFunction) else expression


def _filtered(relation: Relation, condition: BoundExpression) -> Calculation:
    same = (BoundColumn(each.type, index, each.name, each.time) for index, each in enumerate(relation.columns))
    return Calc(relation.columns, lower(relation), tuple(same), condition)


def _window_rank(numbered: NumberedRows, first: int, last: int, number: Sequence[Column]) -> RankedWindows | None:
    """The first rows of each window; None if keys are not event-time windows, or rows may be retracted.

    As in Flink windows are those of table functions.
    """
    source, keys = numbered.input, {*numbered.keys}
    bounds_of = window_columns(source)
    if bounds_of is None or not bounds_of.start & keys or not bounds_of.end & keys:
        return None
    windows = bounds_of.maker.windows
    if windows is None or not windows.is_table_function:
        return None
    if not bounds_of.table.time.is_event_time or as_node(source).changelog() != INSERTS:
        return None
    bounds = bounds_of.start | bounds_of.end | bounds_of.time
    time = source.columns[numbered.order[0].index].time if len(numbered.order) == 1 else None
    return RankedWindows(
        (*source.columns, *number),
        source,
        tuple(key for key in numbered.keys if key not in bounds),
        (min(bounds_of.start & keys), min(bounds_of.end & keys)),
        bounds_of.table.time,
        numbered.order,
        first,
        last,
        bool(number),
        is_deduplication=first == last == 1 and time is not None,
    )


def _ranked_rows(numbered: NumberedRows, first: int, last: int, number: Sequence[Column]) -> Relation:
    source = numbered.input
    time = source.columns[numbered.order[0].index].time if len(numbered.order) == 1 else None
    # One row per key by time is Flink's deduplication, which keeps one row instead of all.
    if first == last == 1 and time is not None and as_node(source).changelog() == INSERTS:
        rowtime = numbered.order[0].index if time is TimeAttribute.ROWTIME else None
        keeps_last = not numbered.order[0].is_ascending
        return Deduplicate(source.columns, lower(source), numbered.keys, rowtime, keeps_last)
    return ranked(source, numbered.keys, numbered.order, first, last, number)


def ranked(
    source: Relation,
    keys: tuple[int, ...],
    order: tuple[SortKey, ...],
    first: int,
    last: int,
    number: Sequence[Column] = (),
    is_limit: bool = False,
) -> Rank:
    """The first rows, known in the way that suits how they change."""
    node = lower(source)
    strategy, row_key = rank_strategy(node, keys, order)
    columns = (*source.columns, *number)
    return Rank(columns, node, keys, order, first, last, bool(number), is_limit, strategy, row_key)
