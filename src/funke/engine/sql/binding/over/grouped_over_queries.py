"""Binds OVER and GROUP BY in one SELECT: `SUM(SUM(v)) OVER (ORDER BY k)` is a window over groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.binding import BoundColumn, BoundExpression, Calculation, Relation, with_columns
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.grouped_queries import GroupedBinder
from funke.engine.sql.binding.over.over_queries import over_in, window_parts
from funke.engine.sql.binding.scope import Scope
from funke.engine.sql.binding.syntax_parts import children_of
from funke.engine.sql.binding.windows.row_windows import with_row_windows
from funke.engine.sql.binding.windows.window_grouping import with_windows
from funke.engine.sql.functions.function import Session
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries

__all__ = ["GroupColumns", "groups_of_windows", "reject_over_in_having"]

_NO_VALUES = (syntax.Star, syntax.Symbol, syntax.TypeArgument)


def reject_over_in_having(select: queries.Select) -> None:
    """Rejects OVER in HAVING, which is evaluated before windows."""
    if select.having is not None and over_in(select.having):
        raise UnsupportedFeatureError("Aggregate functions over windows are not supported yet.")


def groups_of_windows(
    select: queries.Select, binder: GroupedBinder, source: Relation, where: BoundExpression | None
) -> Relation:
    """The groups, with the keys and aggregates that windows and the expressions beside them need."""
    for item in (*select.items, *window_parts(select)):
        for part in _parts_of_groups(item, binder):
            binder.bind(part)
    having = None if select.having is None else binder.bind_condition(select.having, "HAVING")
    groups = binder.aggregation(source, where)
    same = tuple(BoundColumn(column.type, index, column.name) for index, column in enumerate(groups.columns))
    return with_row_windows(with_windows(Calculation(groups.columns, groups, same, having)))


def _parts_of_groups(expression: syntax.Expression, binder: GroupedBinder) -> Iterator[syntax.Expression]:
    """The parts of an expression that are bound to groups: all but its windows and their functions."""
    if isinstance(expression, _NO_VALUES):
        return
    is_whole = binder.is_aggregate(expression) or not over_in(expression)
    if is_whole and not isinstance(expression, syntax.OrderItem):
        yield expression
        return
    for each in children_of(expression):
        yield from _parts_of_groups(each, binder)


class GroupColumns(ExpressionBinder):
    """Binds expressions to the columns of groups, which may be times: those of windows."""

    def __init__(self, scope: Scope, session: Session, grouped: GroupedBinder, groups: Relation) -> None:
        super().__init__(scope, session, grouped.find)
        self._grouped = grouped
        self._groups = groups

    def bind(self, expression: syntax.Expression) -> BoundExpression:
        return with_columns(self._grouped.bind(expression), self._timed)

    def bind_star(self, columns: Sequence[BoundColumn], star: syntax.Star) -> list[BoundExpression]:
        return [with_columns(each, self._timed) for each in self._grouped.bind_star(columns, star)]

    def _timed(self, column: BoundColumn) -> BoundColumn:
        return replace(column, time=self._groups.columns[column.index].time)
