"""Finds groups that are windows: GROUP BY window_start, window_end over a window table function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from funke.engine.errors import SqlValidationError
from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    BoundSymbol,
)
from funke.engine.sql.binding.relations import Calculation, Column, Relation
from funke.engine.sql.binding.window_relations import AggregateUse, WindowAggregation, WindowTable

__all__ = ["WindowColumns", "window_aggregation", "window_columns"]


@dataclass(frozen=True)
class WindowColumns:
    """The columns of a relation that are bounds of the windows of a table; a column may come more than once."""

    table: WindowTable | WindowAggregation
    start: frozenset[int]
    end: frozenset[int]
    time: frozenset[int]

    def through(self, expressions: Sequence[BoundExpression]) -> WindowColumns:
        """The same columns behind a calculation."""

        def places(columns: frozenset[int]) -> frozenset[int]:
            pairs = enumerate(expressions)
            return frozenset(at for at, each in pairs if isinstance(each, BoundColumn) and each.index in columns)

        return WindowColumns(self.table, places(self.start), places(self.end), places(self.time))


def window_columns(relation: Relation) -> WindowColumns | None:
    """Which columns of a relation are bounds of windows; None if it has no windows."""
    if isinstance(relation, (WindowTable, WindowAggregation)):
        start, end, time = range(len(relation.columns) - 3, len(relation.columns))
        return WindowColumns(relation, frozenset({start}), frozenset({end}), frozenset({time}))
    if isinstance(relation, Calculation):
        found = window_columns(relation.input)
        return None if found is None else found.through(relation.expressions)
    return None


def window_aggregation(
    source: Relation, keys: tuple[int, ...], uses: tuple[AggregateUse, ...], columns: tuple[Column, ...]
) -> Relation | None:
    """What groups of a source mean if windows are among the keys; None if they are not.

    The result has the columns of the groups: the keys in their order, then the aggregates.
    """
    found = window_columns(source)
    if found is None or not found.start & {*keys} or not found.end & {*keys}:
        return None
    bounds = found.start | found.end | found.time
    others = tuple(key for key in keys if key not in bounds)
    if not _are_sessions_of(source, found, others):
        return None
    _require_slices(found.table)
    made = _sliced(source, found.table, others, uses, columns) or _attached(source, found, others, uses, columns)
    return _in_order(made, keys, found, columns)


def _require_slices(table: WindowTable | WindowAggregation) -> None:
    windows = table.windows
    is_function = isinstance(table, WindowTable) and table.partition_by is not None
    if is_function and windows is not None and windows.kind == "hop" and windows.size_ms % windows.slide_ms:
        raise SqlValidationError(
            "HOP table function based aggregate requires size must be an integral multiple of slide, but got size "
            f"{windows.size_ms} ms and slide {windows.slide_ms} ms"
        )


def _are_sessions_of(source: Relation, found: WindowColumns, keys: tuple[int, ...]) -> bool:
    """Whether groups by these keys are those that sessions were made for; other windows are those of any group."""
    table = found.table
    if not isinstance(table, WindowTable) or table.windows.kind != "session" or table.partition_by is None:
        return True
    origins = {_origin(source, key) for key in keys}
    return origins == {*table.partition_by}


def _origin(relation: Relation, place: int) -> int | None:
    """The column of the window table that a column is."""
    if isinstance(relation, Calculation):
        expression = relation.expressions[place]
        return _origin(relation.input, expression.index) if isinstance(expression, BoundColumn) else None
    return place


def _sliced(
    source: Relation,
    table: WindowTable | WindowAggregation,
    keys: tuple[int, ...],
    uses: tuple[AggregateUse, ...],
    columns: tuple[Column, ...],
) -> WindowAggregation | None:
    """The aggregation of rows that have not been given windows; None if something is computed of these."""
    if not isinstance(table, WindowTable):
        return None
    plain = _without_windows(source)
    if plain is None:
        return None
    places = plain.places
    try:
        moved = tuple(_moved_use(use, places) for use in uses)
        own = tuple(places[key] for key in keys)
    except KeyError:
        return None
    time = replace(table.time, column=plain.time)
    shown = _shown(plain.relation, own, columns[len(columns) - len(uses) :], table)
    return WindowAggregation(shown, plain.relation, own, moved, table.windows, time)


def _attached(
    source: Relation,
    found: WindowColumns,
    keys: tuple[int, ...],
    uses: tuple[AggregateUse, ...],
    columns: tuple[Column, ...],
) -> WindowAggregation:
    """The aggregation of rows that carry their windows."""
    shown = _shown(source, keys, columns[len(columns) - len(uses) :], found.table)
    bounds = (min(found.start), min(found.end))
    return WindowAggregation(shown, source, keys, uses, None, found.table.time, bounds)


def _shown(
    source: Relation,
    keys: tuple[int, ...],
    results: tuple[Column, ...],
    table: WindowTable | WindowAggregation,
) -> tuple[Column, ...]:
    return (*(source.columns[key] for key in keys), *results, *table.columns[-3:])


def _in_order(
    made: WindowAggregation, keys: tuple[int, ...], found: WindowColumns, columns: tuple[Column, ...]
) -> Relation:
    """The columns in the order in which they were asked for."""
    last = len(made.columns)
    places, others = [], iter(range(len(made.keys)))
    for key in keys:
        if key in found.start:
            places.append(last - 3)
        elif key in found.end:
            places.append(last - 2)
        else:
            places.append(last - 1 if key in found.time else next(others))
    places += range(len(made.keys), len(made.keys) + len(made.uses))
    picked = [made.columns[place] for place in places]
    shown = tuple(Column(own.name, other.type, other.time) for own, other in zip(columns, picked))
    expressions = tuple(BoundColumn(each.type, at, each.name, each.time) for at, each in zip(places, picked))
    return Calculation(shown, made, expressions)


# Rows before they get windows


@dataclass(frozen=True)
class _Plain:
    """Rows without windows, where their columns went, and the column of their time."""

    relation: Relation
    places: dict[int, int]
    time: int


def _without_windows(relation: Relation) -> _Plain | None:
    if isinstance(relation, WindowTable):
        places = {at: at for at in range(len(relation.columns) - 3)}
        return _Plain(relation.input, places, relation.time.column)
    inner = _without_windows(relation.input) if isinstance(relation, Calculation) else None
    if inner is None or not isinstance(relation, Calculation):
        return None
    try:
        return _moved_calculation(relation, inner)
    except KeyError:
        return None


def _moved_calculation(calculation: Calculation, inner: _Plain) -> _Plain:
    source = inner.relation.columns
    condition = None if calculation.condition is None else _moved(calculation.condition, inner.places)
    columns: list[Column] = []
    expressions: list[BoundExpression] = []
    places: dict[int, int] = {}
    for at, (column, expression) in enumerate(zip(calculation.columns, calculation.expressions)):
        if isinstance(expression, BoundColumn) and expression.index not in inner.places:
            continue  # a bound of the windows
        places[at] = len(columns)
        columns.append(column)
        expressions.append(_moved(expression, inner.places))
    columns.append(Column(_free_name(columns), source[inner.time].type, source[inner.time].time))
    expressions.append(BoundColumn(source[inner.time].type, inner.time, source[inner.time].name))
    made = Calculation(tuple(columns), inner.relation, tuple(expressions), condition)
    return _Plain(made, places, len(columns) - 1)


def _free_name(columns: Sequence[Column]) -> str:
    taken = {column.name for column in columns}
    return next(name for name in (f"$time{number}" for number in range(len(taken) + 1)) if name not in taken)


def _moved(expression: BoundExpression, places: dict[int, int]) -> BoundExpression:
    """The expression on columns that stand elsewhere; KeyError if one of them is gone."""
    if isinstance(expression, BoundColumn):
        return replace(expression, index=places[expression.index])
    if isinstance(expression, BoundFunction):
        return replace(expression, arguments=tuple(_moved(each, places) for each in expression.arguments))
    if isinstance(expression, (BoundConstant, BoundSymbol)):
        return expression
    # Somebody else's: rows carry their windows then.
    raise KeyError(type(expression).__name__)


def _moved_use(use: AggregateUse, places: dict[int, int]) -> AggregateUse:
    condition = None if use.condition is None else places[use.condition]
    return AggregateUse(use.call, tuple(places[each] for each in use.arguments), condition)
