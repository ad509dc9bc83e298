"""Window table functions: TUMBLE, HOP, CUMULATE and SESSION behind FROM."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

from funke.engine.errors import SqlValidationError
from funke.engine.sql.binding import BoundColumn, Column, Relation
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.scope import Scope, rejected
from funke.engine.sql.binding.windows.window_relations import WindowTable, WindowTime
from funke.engine.sql.functions.function import Session
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.sql.window_kinds import Windows
from funke.engine.types.logical import (
    DayTimeIntervalType,
    LocalZonedTimestampType,
    TimestampType,
    YearMonthIntervalType,
    to_sql_text,
    with_nullable,
)

__all__ = ["bind_window_table", "interval_ms", "window_table", "window_time", "windows_of", "with_time"]


def bind_window_table(
    function: queries.WindowFunction,
    bind_source: Callable[[queries.Relation], tuple[Relation, Scope]],
    session: Session,
    is_streaming: bool,
) -> WindowTable:
    """The meaning of a window table function."""
    source, scope = bind_source(function.input)
    names = [column.name for column in scope.columns]
    if function.time_column not in names:
        raise rejected(f"Unknown identifier '{function.time_column}'", function.position)
    index = names.index(function.time_column)
    if not isinstance(source.columns[index].type, (TimestampType, LocalZonedTimestampType)):
        raise SqlValidationError(
            f"SQL validation failed. The window function {function.kind.signature} requires the timecol to be "
            f"TIMESTAMP or TIMESTAMP_LTZ, but is {to_sql_text(source.columns[index].type)}."
        )
    timed = with_time(source.columns[index], is_streaming)
    if timed.time is None:
        raise SqlValidationError(
            f"The window function requires the timecol is a time attribute type, but is {to_sql_text(timed.type)}."
        )
    windows = windows_of(function.kind, function.sizes, function.offset)
    windows.validate_table_function()
    # Windows of GROUP BY are planned otherwise: they may fire early, and Top-N does not divide by them.
    windows = replace(windows, is_table_function=True)
    partition_by = tuple(_column_of(each, scope) for each in function.partition_by)
    named = [Column(name, column.type, column.time) for name, column in zip(names, source.columns)]
    return window_table(source, named, windows, window_time(timed, index, session), partition_by)


def with_time(column: Column, is_streaming: bool) -> Column:
    """A time column for windows. As in Flink, every timestamp is an event time in batch mode."""
    if is_streaming or column.time is not None or not isinstance(column.type, (TimestampType, LocalZonedTimestampType)):
        return column
    return replace(column, time=TimeAttribute.ROWTIME)


def window_table(
    source: Relation,
    names: Sequence[Column],
    windows: Windows,
    time: WindowTime,
    partition_by: tuple[int, ...] | None,
) -> WindowTable:
    """The rows of a source, with other names, and their windows."""
    column = source.columns[time.column]
    # As in Flink start and end are local times, whatever the type of the time column; only window_time keeps its role.
    bound = TimestampType(3, False)
    added = (
        Column("window_start", bound),
        Column("window_end", bound),
        Column("window_time", with_nullable(column.type, False), column.time),
    )
    return WindowTable((*names, *added), source, windows, time, partition_by)


def window_time(column: Column, index: int, session: Session) -> WindowTime:
    """The time of windows on a column."""
    is_event_time = column.time is TimeAttribute.ROWTIME
    # A TIMESTAMP has no zone: its windows lie on its own clock. TIMESTAMP_LTZ and processing time are instants, whose
    # windows lie on the clock of the session's zone.
    is_local = is_event_time and isinstance(column.type, TimestampType)
    is_utc = session.zone in (ZoneInfo("UTC"), datetime.UTC)
    return WindowTime(index, is_event_time, None if is_local or is_utc else session.zone)


def windows_of(
    kind: type[Windows], sizes: Sequence[syntax.Expression], offset: syntax.Expression | None = None
) -> Windows:
    """Windows with the lengths and the offset of a function's arguments."""
    return kind.of([interval_ms(each) for each in sizes], 0 if offset is None else interval_ms(offset))


def interval_ms(expression: syntax.Expression) -> int:
    """The milliseconds of a constant length of time."""
    if isinstance(expression, syntax.Literal) and isinstance(expression.type, DayTimeIntervalType):
        return int(expression.value)
    # Months have no fixed length; Flink rejects them with these words.
    if isinstance(expression, syntax.Literal) and isinstance(expression.type, YearMonthIntervalType):
        raise SqlValidationError(
            "Window aggregate only support SECOND, MINUTE, HOUR, DAY as the time unit. MONTH and YEAR time unit are "
            "not supported yet."
        )
    raise rejected("A window needs constant lengths of time, as in INTERVAL '5' SECOND", expression.position)


def _column_of(expression: syntax.Expression, scope: Scope) -> int:
    if isinstance(expression, syntax.Name):
        column, fields = scope.find(expression)
        if isinstance(column, BoundColumn) and not fields:
            return column.index
    raise rejected("PARTITION BY of a window table function needs columns", expression.position)
