"""Recognises groups that are windows: GROUP BY window_start, window_end over a window table function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from funke.engine.sql.binding import (
    Aggregation,
    BoundAggregate,
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    BoundSymbol,
    Calculation,
    Column,
    Expansion,
    Relation,
    time_of,
)
from funke.engine.sql.binding.windows.window_columns import WindowColumns, origin_of, window_columns
from funke.engine.sql.binding.windows.window_relations import WindowAggregation, WindowTable

__all__ = ["with_windows"]


def with_windows(result: Calculation) -> Calculation:
    """The results of groups. If windows are among the keys, each result is sent once, when its window closes."""
    groups = result.input
    windows = window_columns(groups.input) if isinstance(groups, Aggregation) else None
    if windows is None or not isinstance(groups, Aggregation):
        return result
    # As in Flink only a group by start and end is one of windows; by one of them alone it is a plain group.
    if not windows.start & {*groups.keys} or not windows.end & {*groups.keys}:
        return result
    bounds = windows.start | windows.end | windows.time
    others = tuple(key for key in groups.keys if key not in bounds)
    # Sessions of other keys overlap: their rows are grouped like any others.
    if not _are_sessions_of(groups.input, windows, others):
        return result
    _require_slices(windows.table)
    results = groups.columns[len(groups.keys) :]
    # Sliced if possible: a row is added to its slice once, instead of to each of its windows.
    aggregation = _sliced(groups, windows.table, others, results) or _attached(groups, windows, others, results)
    return _in_order(result, aggregation, groups.keys, windows)


def _require_slices(table: WindowTable | WindowAggregation) -> None:
    windows = table.windows
    is_function = isinstance(table, WindowTable) and table.partition_by is not None
    if is_function and windows is not None:
        windows.validate_aggregate()


def _are_sessions_of(source: Relation, windows: WindowColumns, keys: tuple[int, ...]) -> bool:
    """Whether groups have the keys that sessions were assigned by; other windows suit any keys."""
    table = windows.table
    if not isinstance(table, WindowTable) or not table.windows.is_merging or table.partition_by is None:
        return True
    origins = {origin_of(source, key) for key in keys}
    return origins == {*table.partition_by}


def _sliced(
    groups: Aggregation,
    table: WindowTable | WindowAggregation,
    keys: tuple[int, ...],
    results: tuple[Column, ...],
) -> WindowAggregation | None:
    """The aggregation of rows without windows; None if an expression uses their bounds."""
    plain = _without_windows(groups.input) if isinstance(table, WindowTable) else None
    if plain is None or table.windows is None:
        return None
    try:
        aggregates = tuple(_moved_aggregate(each, plain.indexes) for each in groups.aggregates)
        own = tuple(plain.indexes[key] for key in keys)
    except KeyError:
        return None
    columns = (*(plain.relation.columns[key] for key in own), *results, *table.columns[-3:])
    time = replace(table.time, column=plain.time)
    return WindowAggregation(columns, plain.relation, own, aggregates, table.windows, time)


def _attached(
    groups: Aggregation, windows: WindowColumns, keys: tuple[int, ...], results: tuple[Column, ...]
) -> WindowAggregation:
    """The aggregation of rows that carry their windows."""
    columns = (*(groups.input.columns[key] for key in keys), *results, *windows.table.columns[-3:])
    bounds = (min(windows.start), min(windows.end))
    return WindowAggregation(columns, groups.input, keys, groups.aggregates, None, windows.table.time, bounds)


def _in_order(
    result: Calculation, aggregation: WindowAggregation, keys: tuple[int, ...], windows: WindowColumns
) -> Calculation:
    """The same results over the columns of the aggregation."""
    last, others = len(aggregation.columns), iter(range(len(aggregation.keys)))
    indexes = []
    for key in keys:
        if key in windows.start:
            indexes.append(last - 3)
        elif key in windows.end:
            indexes.append(last - 2)
        else:
            indexes.append(last - 1 if key in windows.time else next(others))
    indexes += range(len(aggregation.keys), last - 3)
    moves = dict(enumerate(indexes))
    expressions = tuple(_with_time(_moved(each, moves), aggregation) for each in result.expressions)
    columns = tuple(replace(column, time=time_of(each)) for column, each in zip(result.columns, expressions))
    condition = None if result.condition is None else _moved(result.condition, moves)
    return Calculation(columns, aggregation, expressions, condition)


def _with_time(expression: BoundExpression, aggregation: WindowAggregation) -> BoundExpression:
    """The expression with a time attribute if it is window_time; other keys lose theirs."""
    if isinstance(expression, BoundColumn) and expression.index == len(aggregation.columns) - 1:
        return replace(expression, time=aggregation.columns[-1].time)
    return expression


# Rows before they get windows


@dataclass(frozen=True)
class _Plain:
    """Rows without windows, the new indexes of their columns, and the column of their time."""

    relation: Relation
    indexes: dict[int, int]
    time: int


def _without_windows(relation: Relation) -> _Plain | None:
    if isinstance(relation, WindowTable):
        indexes = {at: at for at in range(len(relation.columns) - 3)}
        return _Plain(relation.input, indexes, relation.time.column)
    inner = _without_windows(relation.input) if isinstance(relation, (Calculation, Expansion)) else None
    if inner is None:
        return None
    try:
        if isinstance(relation, Calculation):
            return _moved_calculation(relation, inner)
        return _moved_expansion(relation, inner) if isinstance(relation, Expansion) else None
    except KeyError:
        return None


def _moved_calculation(calculation: Calculation, inner: _Plain) -> _Plain:
    condition = None if calculation.condition is None else _moved(calculation.condition, inner.indexes)
    columns, (expressions,), indexes = _moved_lists(calculation.columns, [calculation.expressions], inner)
    return _Plain(Calculation(columns, inner.relation, expressions, condition), indexes, len(columns) - 1)


def _moved_expansion(expansion: Expansion, inner: _Plain) -> _Plain:
    columns, projections, indexes = _moved_lists(expansion.columns, expansion.projections, inner)
    return _Plain(Expansion(columns, inner.relation, tuple(projections)), indexes, len(columns) - 1)


def _moved_lists(
    columns: Sequence[Column], lists: Sequence[Sequence[BoundExpression]], inner: _Plain
) -> tuple[tuple[Column, ...], list[tuple[BoundExpression, ...]], dict[int, int]]:
    """Columns and their expressions without the bounds of windows, and with the time as the last one."""
    kept = [at for at in range(len(columns)) if not all(_is_gone(each[at], inner) for each in lists)]
    time = inner.relation.columns[inner.time]
    own = BoundColumn(time.type, inner.time, time.name, time.time)
    moved = [(*(_moved(each[at], inner.indexes) for at in kept), own) for each in lists]
    names = [columns[at] for at in kept]
    added = replace(time, name=_free_name(time.name, names))
    return (*names, added), moved, {at: index for index, at in enumerate(kept)}


def _is_gone(expression: BoundExpression, inner: _Plain) -> bool:
    return isinstance(expression, BoundColumn) and expression.index not in inner.indexes


def _free_name(name: str, columns: Sequence[Column]) -> str:
    names = {column.name for column in columns}
    numbered = (f"{name}${number}" for number in range(len(names) + 1))
    return next(each for each in numbered if each not in names)


def _moved(expression: BoundExpression, indexes: dict[int, int]) -> BoundExpression:
    """The expression with other indexes of columns; KeyError if a column is gone."""
    if isinstance(expression, BoundColumn):
        return replace(expression, index=indexes[expression.index])
    if isinstance(expression, BoundFunction):
        return replace(expression, arguments=tuple(_moved(each, indexes) for each in expression.arguments))
    if isinstance(expression, (BoundConstant, BoundSymbol)):
        return expression
    # The window columns have another reader: rows carry their windows then.
    raise KeyError(type(expression).__name__)


def _moved_aggregate(use: BoundAggregate, indexes: dict[int, int]) -> BoundAggregate:
    condition = None if use.condition is None else indexes[use.condition]
    return BoundAggregate(use.call, tuple(each if each < 0 else indexes[each] for each in use.arguments), condition)
