"""Gives JOIN t FOR SYSTEM_TIME AS OF a.proctime its meaning: each row with the rows that a table has for it now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundExpression,
    BoundFunction,
    columns_in,
    conjuncts,
    time_of,
    with_columns,
)
from funke.engine.sql.binding.relations import Calculation, Column, Relation, Scan
from funke.engine.sql.binding.scope import Scope, ScopeColumn, names_of
from funke.engine.sql.binding.temporal_joins import bind_versions
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.syntax import queries
from funke.engine.types.logical.families import with_nullable

__all__ = ["LookupJoin", "bind_lookup_join", "is_temporal"]

MakeBinder = Callable[[Scope], ExpressionBinder]


@dataclass(frozen=True)
class LookupKey:
    """A column of the table that is looked up, and what its value must be, computed of the input's columns."""

    column: int
    expression: BoundExpression


@dataclass(frozen=True)
class LookupJoin(Relation):
    """The columns of the input, then those of the rows that a table has for its keys when a row comes.

    A condition on both is looked at for each pair. A row for which there is none is left out, or kept with NULLs.
    """

    input: Relation
    # A LookupTable, and what plans call it.
    table: Any
    path: tuple[str, ...]
    keys: tuple[LookupKey, ...]
    condition: BoundExpression | None = None
    keeps_all: bool = False
    # Whether the keys hold the table's primary key, so that no row meets two.
    is_unique: bool = False


def is_temporal(source: queries.Relation | None) -> bool:
    """Whether a table is joined as it is at a time."""
    return (
        isinstance(source, queries.Join)
        and isinstance(source.right, queries.TableRef)
        and source.right.as_of is not None
    )


def bind_lookup_join(
    join: queries.Join, left: tuple[Relation, Scope], table: Relation, make: MakeBinder
) -> tuple[Relation, Scope]:
    """The meaning of a join with a table as it is now, or as it was; `table` is what the name behind JOIN means."""
    right: Any = join.right
    relation, scope = left
    time = make(scope).bind(right.as_of)
    if time_of(time) is None:
        raise TableException(
            "Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time attribute field"
        )
    if join.kind not in ("inner", "left"):
        raise TableException(
            f"Temporal table join currently only support INNER JOIN and LEFT JOIN, but was {join.kind.upper()} JOIN"
        )
    if join.using or join.is_natural or join.condition is None:
        raise UnsupportedFeatureError("a join FOR SYSTEM_TIME AS OF without ON")
    keeps_all = join.kind == "left"
    shown = _shown(table, right, keeps_all)
    whole = Scope(
        (*scope.columns, *(ScopeColumn(each.name, each.type, right.alias or right.path[-1]) for each in shown))
    )
    condition = make(whole).bind_condition(join.condition, "ON")
    if time_of(time) is TimeAttribute.ROWTIME:
        return bind_versions(relation, time, table, shown, condition, keeps_all), whole
    return _joined(relation, table, shown, condition, keeps_all), whole


def _shown(table: Relation, right: queries.TableRef, keeps_all: bool) -> tuple[Column, ...]:
    names = names_of(right, [each.name for each in table.columns])
    return tuple(
        Column(name, with_nullable(each.type, each.type._nullable or keeps_all))
        for name, each in zip(names, table.columns, strict=True)
    )


def _joined(
    left: Relation, table: Relation, shown: tuple[Column, ...], condition: BoundExpression, keeps_all: bool
) -> Relation:
    width = len(left.columns)
    scan, computed = _scanned(table)
    # The condition in terms of what the connector reads: computed columns are written out.
    places = {width + place: moved_right(each, width) for place, each in enumerate(computed)}
    written = with_columns(condition, lambda column: places.get(column.index, column))
    keys, rest = _keys(conjuncts(written), width, scan)
    if not keys:
        raise TableException(
            f"Temporal table join requires an equality condition on fields of table [{'.'.join(scan.path)}]."
        )
    source: TableSource = scan.table
    for each in rest:
        used = list(columns_in([each]))
        if used and min(used) >= width:
            own = with_columns(each, lambda column: replace(column, index=column.index - width))
            source = source.with_condition(own) or source
    looked_up = source.lookup_table()
    if looked_up is None:
        raise TableException(f"the connector of table [{'.'.join(scan.path)}] has no lookup by keys")
    made = tuple(Column(each.name, with_nullable(each.type, each.type._nullable or keeps_all)) for each in scan.columns)
    columns = (*left.columns, *made)
    names = {scan.columns[each.column].name for each in keys}
    is_unique = bool(scan.primary_key) and names >= {*scan.primary_key}
    together = _together(rest, written)
    join = LookupJoin(columns, left, looked_up, scan.path, tuple(keys), together, keeps_all, is_unique)
    same = [BoundColumn(each.type, place, each.name, each.time) for place, each in enumerate(left.columns)]
    expressions = (*same, *(moved_right(each, width) for each in computed))
    return Calculation((*left.columns, *shown), join, expressions)


def _scanned(table: Relation) -> tuple[Scan, list[BoundExpression]]:
    """The scan below a table's computed columns, and each column of the table in terms of the scan's."""
    if isinstance(table, WatermarkAssigner):
        return _scanned(table.input)
    if isinstance(table, Calculation) and table.condition is None:
        scan, below = _scanned(table.input)
        return scan, [with_columns(each, lambda column: below[column.index]) for each in table.expressions]
    if isinstance(table, Scan) and isinstance(table.table, TableSource):
        return table, [BoundColumn(each.type, place, each.name) for place, each in enumerate(table.columns)]
    raise TableException("FOR SYSTEM_TIME AS OF a processing time needs a table of a connector, not a view or a query")


def moved_right(expression: BoundExpression, width: int) -> BoundExpression:
    """The same expression behind so many columns more."""
    return with_columns(expression, lambda column: replace(column, index=column.index + width))


def _keys(conditions: list[BoundExpression], width: int, scan: Scan) -> tuple[list[LookupKey], list[BoundExpression]]:
    """The keys among conditions, and what must be looked at for each pair of rows."""
    keys: list[LookupKey] = []
    rest: list[BoundExpression] = []
    for each in conditions:
        key = _key(each, width)
        if key is None or any(known.column == key.column for known in keys):
            rest.append(each)
            continue
        keys.append(key)
        wanted = with_nullable(scan.columns[key.column].type, True)
        if with_nullable(key.expression.type, True) != wanted:
            # Its value is cast for the query, which may lose something.
            rest.append(each)
    return keys, rest


def _key(condition: BoundExpression, width: int) -> LookupKey | None:
    if not isinstance(condition, BoundFunction) or condition.call.function.name != "=":
        return None
    first, second = condition.arguments
    for column, other in ((first, second), (second, first)):
        is_right = isinstance(column, BoundColumn) and column.index >= width
        used = list(columns_in([other]))
        if is_right and used and max(used) < width:
            assert isinstance(column, BoundColumn)
            return LookupKey(column.index - width, other)
    return None


def _together(rest: list[BoundExpression], written: BoundExpression) -> BoundExpression | None:
    """All conditions that are left; the whole one if there are several, since keys hold in any case."""
    if not rest:
        return None
    return rest[0] if len(rest) == 1 else written
