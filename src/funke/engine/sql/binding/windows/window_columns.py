"""Which columns of a relation are bounds of windows, through all relations between it and the window function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from funke.engine.sql.binding import (
    BoundColumn,
    BoundExpression,
    Calculation,
    Expansion,
    Relation,
    columns_in,
    with_columns,
)
from funke.engine.sql.binding.joins.regular_joins import Join, JoinKind, conditions_of, equal_sides
from funke.engine.sql.binding.over.ranks import NumberedRows, RankedWindows
from funke.engine.sql.binding.windows.window_relations import OverAggregation, WindowAggregation, WindowTable

__all__ = [
    "JoinedWindows",
    "WindowColumns",
    "WindowEquality",
    "conditions_below",
    "looks_at_columns",
    "origin_of",
    "window_columns",
    "window_equality",
]


@dataclass(frozen=True)
class WindowColumns:
    """The columns of a relation that are bounds of the windows of a table; a column may come more than once."""

    table: WindowTable | WindowAggregation
    start: frozenset[int]
    end: frozenset[int]
    time: frozenset[int]

    @property
    def maker(self) -> WindowTable | WindowAggregation:
        """The relation that assigned the windows; an aggregation of rows with windows only passes them on."""
        inner = window_columns(self.table.input) if self.table.windows is None else None
        return self.table if inner is None else inner.maker

    def through(self, lists: Sequence[Sequence[BoundExpression]]) -> WindowColumns:
        """The same columns behind a calculation, or behind several whose rows follow each other."""

        def indexes(columns: frozenset[int]) -> frozenset[int]:
            return frozenset(
                at
                for at, several in enumerate(zip(*lists))
                if all(isinstance(each, BoundColumn) and each.index in columns for each in several)
            )

        return WindowColumns(self.table, indexes(self.start), indexes(self.end), indexes(self.time))

    def behind(self, width: int) -> WindowColumns:
        """The same columns of the right side of a join."""
        start, end, time = (frozenset(width + each for each in own) for own in (self.start, self.end, self.time))
        return WindowColumns(self.table, start, end, time)

    def __or__(self, other: WindowColumns) -> WindowColumns:
        return WindowColumns(self.table, self.start | other.start, self.end | other.end, self.time | other.time)


@dataclass(frozen=True)
class JoinedWindows(Relation):
    """Rows of two relations whose windows are the same."""

    left: Relation
    right: Relation
    kind: JoinKind


@dataclass(frozen=True)
class WindowEquality:
    """The columns of a join's sides by which windows are compared: start and end of each."""

    left: tuple[int, int]
    right: tuple[int, int]
    others: tuple[BoundExpression, ...]


def window_columns(
    relation: Relation, conditions: Sequence[BoundExpression] = (), is_joined: bool = False
) -> WindowColumns | None:
    """Which columns of a relation are bounds of windows; None if it has no windows.

    The conditions are those that its rows fulfil, which may say that the rows of a join have the same windows. The
    sides of a join may be the first rows of each window, which rules find later.
    """
    if isinstance(relation, (WindowTable, WindowAggregation)):
        start, end, time = range(len(relation.columns) - 3, len(relation.columns))
        return WindowColumns(relation, frozenset({start}), frozenset({end}), frozenset({time}))
    if isinstance(relation, RankedWindows):
        return window_columns(relation.input)
    if isinstance(relation, Calculation):
        if relation.has_query:
            # The query becomes a regular join, which sends rows when they match and not when their windows end.
            return None
        columns = window_columns(relation.input, conditions_below(relation, conditions), is_joined)
        return None if columns is None else columns.through([relation.expressions])
    if isinstance(relation, Expansion):
        columns = window_columns(relation.input)
        return None if columns is None else columns.through(relation.projections)
    if isinstance(relation, (NumberedRows, OverAggregation)):
        return _of_first_rows(relation, conditions) if is_joined else None
    if isinstance(relation, Join) and window_equality(relation, conditions) is not None:
        return _of_join(relation.left, relation.right, relation.kind)
    return _of_join(relation.left, relation.right, relation.kind) if isinstance(relation, JoinedWindows) else None


def _of_first_rows(
    relation: NumberedRows | OverAggregation, conditions: Sequence[BoundExpression]
) -> WindowColumns | None:
    """The windows of rows that are numbered in each window, if a condition uses the numbers."""
    if isinstance(relation, NumberedRows):
        keys = relation.keys
    elif [each.call.function.name for each in relation.aggregates] == ["row_number"]:
        keys = relation.partition_by
    else:
        return None
    columns = window_columns(relation.input, is_joined=True)
    if columns is None or not columns.start & {*keys} or not columns.end & {*keys}:
        return None
    return columns if len(relation.columns) - 1 in columns_in(conditions) else None


def conditions_below(calculation: Calculation, conditions: Sequence[BoundExpression]) -> list[BoundExpression]:
    """Conditions on columns that a calculation hands on, and its own, as conditions on the rows that it reads."""
    handed_on = [each for each in conditions if looks_at_columns(calculation, each)]
    inlined = (with_columns(each, lambda column: calculation.expressions[column.index]) for each in handed_on)
    return [*conditions_of(calculation.condition), *inlined]


def looks_at_columns(calculation: Calculation, condition: BoundExpression) -> bool:
    """Whether a condition looks only at columns that a calculation hands on as they are."""
    return all(isinstance(calculation.expressions[index], BoundColumn) for index in columns_in([condition]))


def window_equality(join: Join, conditions: Sequence[BoundExpression] = ()) -> WindowEquality | None:
    """The columns by which a join compares windows; None unless it compares starts and ends of equal windows."""
    left, right = (window_columns(each, is_joined=True) for each in (join.left, join.right))
    if left is None or right is None or not _are_alike(join, left, right):
        return None
    starts: list[tuple[int, int]] = []
    ends: list[tuple[int, int]] = []
    others: list[BoundExpression] = []
    all_conditions = (*conditions_of(join.condition), *(conditions if join.kind == "inner" else ()))
    for each in all_conditions:
        one, other = equal_sides(each, len(join.left.columns)) or (None, None)
        if isinstance(one, BoundColumn) and isinstance(other, BoundColumn):
            if one.index in left.start and other.index in right.start:
                starts.append((one.index, other.index))
                continue
            if one.index in left.end and other.index in right.end:
                ends.append((one.index, other.index))
                continue
        others.append(each)
    if not starts or not ends:
        return None
    return WindowEquality((starts[0][0], ends[0][0]), (starts[0][1], ends[0][1]), tuple(others))


def _of_join(left: Relation, right: Relation, kind: JoinKind) -> WindowColumns | None:
    """The windows of both sides, except of one whose rows may be missing."""
    mine, its = (window_columns(each, is_joined=True) for each in (left, right))
    assert mine is not None and its is not None
    its = its.behind(len(left.columns))
    # Behind a LEFT JOIN the bounds of the right side may be NULL: they are those of no window.
    if kind in ("inner", "left", "semi", "anti"):
        return mine | its if kind == "inner" else mine
    return its if kind == "right" else None


def _are_alike(join: Join, left: WindowColumns, right: WindowColumns) -> bool:
    """Whether windows are those of equal table functions over times of the same type."""
    one, other = left.maker, right.maker
    if one.windows is None or one.windows != other.windows or not one.windows.is_table_function:
        return False
    types = [each.input.columns[each.time.column].type for each in (one, other)]
    if types[0] != types[1] or one.time.is_event_time != other.time.is_event_time:
        return False
    # Sessions of other keys have other bounds: both sides must have been assigned by the same key columns.
    return not one.windows.is_merging or _session_keys(join.left, one) == _session_keys(join.right, other)


def _session_keys(relation: Relation, maker: WindowTable | WindowAggregation) -> list[int]:
    """The columns of a relation that sessions are partitioned by."""
    keys = {*range(len(maker.keys))} if isinstance(maker, WindowAggregation) else {*(maker.partition_by or ())}
    return [index for index in range(len(relation.columns)) if origin_of(relation, index) in keys]


def origin_of(relation: Relation, index: int) -> int | None:
    """The column of the relation that assigned windows which a column repeats; None if it is computed."""
    if isinstance(relation, Expansion):
        return None
    if isinstance(relation, Calculation):
        expression = relation.expressions[index]
        return origin_of(relation.input, expression.index) if isinstance(expression, BoundColumn) else None
    if isinstance(relation, (Join, JoinedWindows)):
        width = len(relation.left.columns)
        return origin_of(relation.left, index) if index < width else origin_of(relation.right, index - width)
    if isinstance(relation, (RankedWindows, NumberedRows, OverAggregation)):
        return origin_of(relation.input, index) if index < len(relation.input.columns) else None
    return index
