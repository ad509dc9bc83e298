"""Group windows, GROUP BY TUMBLE(time, size) with TUMBLE_START and so on, rewritten as window table functions."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from funke.engine.errors import SqlValidationError, UnsupportedFeatureError
from funke.engine.sql.binding import BoundColumn, Calculation, Column, Relation, time_of
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.scope import Scope, ScopeColumn, rejected
from funke.engine.sql.binding.syntax_parts import parts_of
from funke.engine.sql.binding.table_aggregations import table_aggregate_in
from funke.engine.sql.binding.windows.window_relations import RowWindowTable, WindowTable
from funke.engine.sql.binding.windows.window_tables import window_table, window_time, windows_of, with_time
from funke.engine.sql.functions.function import Session
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.sql.window_kinds import WINDOW_KINDS
from funke.engine.types.logical import BigIntType, DayTimeIntervalType, TimestampType, to_sql_text

__all__ = ["with_group_window"]

_KINDS = {name: kind for name, kind in WINDOW_KINDS.items() if kind.is_group_window}
_PARTS = {f"{name}_{part}": (name, part) for name in _KINDS for part in ("start", "end", "rowtime", "proctime")}
# Names that no query can write.
_START, _END, _TIME, _CLOCK = (syntax.Name((f"\x00window_{part}",)) for part in ("start", "end", "time", "clock"))

_EPOCH = datetime.datetime(1970, 1, 1)
_MILLISECONDS = DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution.SECOND, nullable=False)


def with_group_window(
    select: queries.Select, source: Relation, scope: Scope, session: Session, is_streaming: bool
) -> tuple[queries.Select, Relation, Scope]:
    """A query with a group window, rewritten over rows that have windows; any other query as it is."""
    # Windows of GROUP BY become window table functions with hidden columns: the auxiliary functions (TUMBLE_START …)
    # are plain columns then, and grouping is that of any other query.
    select, source, scope = _with_clock(select, source, scope, session)
    if not is_streaming:
        select, source, scope = _with_counted_time(select, source, scope, session)
    window = _window_of(select)
    if window is None:
        return select, source, scope
    if table_aggregate_in(select) is not None:
        raise UnsupportedFeatureError("an aggregate function that gives rows, in a group window")
    if any(map(_is_number, window.arguments)):
        return _counting_rows(select, window, source, scope)
    table = _table(window, source, scope, session, is_streaming)
    bounds = [ScopeColumn(column.name, column.type, None, column.time) for column in table.columns[-3:]]
    written = _Properties(window, table.time.is_event_time)
    items = tuple(
        syntax.Alias(written.out(item), (f"EXPR${index}",)) if _is_property(item) else written.out(item)
        for index, item in enumerate(select.items)
    )
    assert select.group_by is not None
    sets = tuple(_group_keys(keys, window) for keys in select.group_by.sets)
    having = None if select.having is None else written.out(select.having)
    windows = tuple((name, _with_parts(each, written.out)) for name, each in select.windows)
    changed = replace(select, items=items, group_by=queries.GroupBy(sets), having=having, windows=windows)
    return changed, table, Scope((*scope.columns, *bounds))


def _with_clock(
    select: queries.Select, source: Relation, scope: Scope, session: Session
) -> tuple[queries.Select, Relation, Scope]:
    """The query with a column for the PROCTIME() of its window."""
    window = _window_of(select)
    if window is None or not _is_by_clock(window):
        return select, source, scope
    return _with_time_column(select, source, scope, window.arguments[0], session)


def _with_counted_time(
    select: queries.Select, source: Relation, scope: Scope, session: Session
) -> tuple[queries.Select, Relation, Scope]:
    """The query with a timestamp for the BIGINT of its window: milliseconds since 1970, in batches of the Table API."""
    window = _window_of(select)
    if window is None or not _is_by_number(window, scope):
        return select, source, scope
    # The number times one millisecond is an interval, which can be added to 1970.
    since_1970 = syntax.Call("*", (window.arguments[0], syntax.Literal(1, _MILLISECONDS)))
    time = syntax.Call("+", (syntax.Literal(_EPOCH, TimestampType(3, False)), since_1970))
    return _with_time_column(select, source, scope, window.arguments[0], session, time)


def _is_by_number(window: syntax.Call, scope: Scope) -> bool:
    time, *sizes = window.arguments or (None,)
    if window.position is not None or any(map(_is_number, sizes)):
        return False
    return isinstance(time, syntax.Name) and isinstance(scope.find(time)[0].type, BigIntType)


def _with_time_column(
    select: queries.Select,
    source: Relation,
    scope: Scope,
    time_expression: syntax.Expression,
    session: Session,
    time: syntax.Expression | None = None,
) -> tuple[queries.Select, Relation, Scope]:
    """The query with the time of its windows in a column of its own."""
    bound = ExpressionBinder(scope, session).bind(time_expression if time is None else time)
    own = [BoundColumn(each.type, index, each.name, each.time) for index, each in enumerate(source.columns)]
    added = Column(_CLOCK.parts[0], bound.type, time_of(bound))
    rows = Calculation((*source.columns, added), source, (*own, bound))

    def by_column(expression: Any) -> Any:
        if _is_by(expression, time_expression):
            return replace(expression, arguments=(_CLOCK, *expression.arguments[1:]))
        return _with_parts(expression, by_column)

    assert select.group_by is not None
    changed = replace(
        select,
        items=tuple(map(by_column, select.items)),
        group_by=queries.GroupBy(tuple(tuple(map(by_column, keys)) for keys in select.group_by.sets)),
        having=None if select.having is None else by_column(select.having),
        windows=tuple((name, _with_parts(each, by_column)) for name, each in select.windows),
    )
    return changed, rows, Scope((*scope.columns, ScopeColumn(added.name, added.type, None, added.time)))


def _is_by_clock(window: syntax.Call) -> bool:
    time = window.arguments[0] if window.arguments else None
    return isinstance(time, syntax.Call) and time.name == "proctime"


def _is_by(expression: Any, time: syntax.Expression) -> bool:
    """Whether an expression is a window on a time, or one of its bounds."""
    is_of_window = _is_window(expression) or _is_property(expression)
    return is_of_window and expression.arguments[:1] == (time,)


def _window_of(select: queries.Select) -> syntax.Call | None:
    keys = [] if select.group_by is None else [key for each in select.group_by.sets for key in each]
    windows = list(dict.fromkeys(key for key in keys if _is_window(key)))
    if len(windows) > 1:
        raise rejected("Only a single group window function may stand in GROUP BY", windows[1].position)
    return windows[0] if windows else None  # type: ignore[return-value]


def _is_window(expression: syntax.Expression) -> bool:
    return isinstance(expression, syntax.Call) and expression.name in _KINDS and expression.function is None


def _is_property(expression: syntax.Expression) -> bool:
    return isinstance(expression, syntax.Call) and expression.name in _PARTS


def _group_keys(keys: tuple[syntax.Expression, ...], window: syntax.Call) -> tuple[syntax.Expression, ...]:
    others = tuple(key for key in keys if key != window)
    # All bounds are keys: they are the same for all rows of a window, and the results need them.
    return (*others, _START, _END, _TIME) if window in keys else others


def _table(window: syntax.Call, source: Relation, scope: Scope, session: Session, is_streaming: bool) -> WindowTable:
    time, *sizes = window.arguments or (None,)
    if len(sizes) != len(_KINDS[window.name].length_arguments) or not isinstance(time, syntax.Name):
        raise rejected(f"{window.name.upper()} in GROUP BY needs a time column and intervals", window.position)
    time_column = _time_column(time, scope, is_streaming)
    column = with_time(source.columns[time_column.index], is_streaming)
    named = [Column(own.name, each.type, each.time) for own, each in zip(scope.columns, source.columns)]
    windows = windows_of(_KINDS[window.name], sizes)
    table = window_table(source, named, windows, window_time(column, time_column.index, session), None)
    *rest, start, end, last = table.columns
    # Those of the Table API, which stand nowhere in a text, may be NULL as far as their types go.
    bound = TimestampType(3, window.position is None)
    hidden = (
        replace(start, name=_START.parts[0], type=bound),
        replace(end, name=_END.parts[0], type=bound),
        # So may the window's time, as in Flink.
        replace(last, name=_TIME.parts[0], type=column.type),
    )
    return replace(table, columns=(*rest, *hidden))


def _time_column(time: syntax.Name, scope: Scope, is_streaming: bool = True) -> BoundColumn:
    column, nested = scope.find(time)
    if nested or with_time(Column(column.name, column.type, column.time), is_streaming).time is None:
        raise SqlValidationError(
            "Window aggregate can only be defined over a time attribute column, but "
            f"{to_sql_text(column.type)} encountered."
        )
    return column


def _is_number(expression: syntax.Expression) -> bool:
    return isinstance(expression, syntax.Literal) and isinstance(expression.type, BigIntType)


def _counting_rows(
    select: queries.Select, window: syntax.Call, source: Relation, scope: Scope
) -> tuple[queries.Select, Relation, Scope]:
    """The query over windows that count rows. Only the Table API has them, and they have no bounds."""
    time, *sizes = window.arguments
    numbers = [each.value for each in sizes if isinstance(each, syntax.Literal) and _is_number(each)]
    kind = _KINDS[window.name].row_count_name
    if kind is None or len(numbers) != len(sizes) or not isinstance(time, syntax.Name):
        raise rejected(
            f"{window.name.upper()} needs a time column, and either lengths of time or numbers of rows", None
        )
    # Counting needs an order in which rows come, and late rows would change closed windows.
    if _time_column(time, scope).time is not TimeAttribute.PROCTIME:
        raise SqlValidationError("Event-time grouping windows on row intervals are currently not supported.")
    if any(_is_property(part) for item in (*select.items, select.having) if item for part in parts_of(item)):
        raise SqlValidationError(f"Window start and Window end cannot be selected for a row-count {kind} window.")
    assert select.group_by is not None
    sets = tuple(tuple(key for key in keys if key != window) for keys in select.group_by.sets)
    table = RowWindowTable(source.columns, source, numbers[-1], numbers[0])
    return replace(select, group_by=queries.GroupBy(sets)), table, scope


class _Properties:
    """Replaces the functions of a window by columns."""

    def __init__(self, window: syntax.Call, is_event_time: bool) -> None:
        self._window = window
        self._is_event_time = is_event_time

    def out(self, expression: syntax.Expression) -> syntax.Expression:
        """The same expression over the columns of the window."""
        if isinstance(expression, syntax.Call) and expression.function is None:
            if expression.name in _KINDS:
                raise rejected(
                    f"Group function '${expression.name.upper()}' can only appear in GROUP BY clause",
                    expression.position,
                )
            if expression.name in _PARTS:
                return self._property(expression)
        written: syntax.Expression = _with_parts(expression, self.out)
        return written

    def _property(self, call: syntax.Call) -> syntax.Expression:
        kind, part = _PARTS[call.name]
        if (kind, call.arguments) != (self._window.name, self._window.arguments):
            raise rejected(
                f"Call to auxiliary group function '{call.name.upper()}' must have matching call to group function "
                f"'${kind.upper()}' in GROUP BY clause",
                call.position,
            )
        if part == "proctime":
            return syntax.Call("proctime", position=call.position)
        if part == "rowtime" and not self._is_event_time:
            raise SqlValidationError("A proctime window cannot provide a rowtime attribute.")
        return {"start": _START, "end": _END, "rowtime": _TIME}[part]


def _with_parts(expression: Any, change: Callable[[syntax.Expression], syntax.Expression]) -> Any:
    """A node with all its expressions changed, sub-queries excepted."""
    changes = {each.name: _changed(getattr(expression, each.name), change) for each in fields(expression)}
    return replace(expression, **changes)


def _changed(value: Any, change: Callable[[syntax.Expression], syntax.Expression]) -> Any:
    if isinstance(value, syntax.Expression):
        return change(value)
    if isinstance(value, syntax.OverWindow):
        return _with_parts(value, change)
    return tuple(_changed(each, change) for each in value) if isinstance(value, tuple) else value
