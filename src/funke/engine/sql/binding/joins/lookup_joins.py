"""Binds JOIN t FOR SYSTEM_TIME AS OF a.proctime: joins each row with the rows that a table has when it arrives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.sql.binding import (
    BoundColumn,
    BoundExpression,
    Calculation,
    Column,
    Relation,
    Scan,
    time_of,
    with_columns,
)
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.joins.lookup_hints import LookupHint, Retry
from funke.engine.sql.binding.joins.temporal_joins import bind_versions
from funke.engine.sql.binding.scope import Scope, ScopeColumn, names_of
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.syntax import queries
from funke.engine.types.logical.families import with_nullable

__all__ = ["AsyncLookups", "LookupJoin", "LookupSettings", "bind_lookup_join", "is_temporal"]

MakeBinder = Callable[[Scope], ExpressionBinder]


@dataclass(frozen=True)
class AsyncLookups:
    """Lookups by threads: the number of requests at a time, and the time limit of each."""

    is_ordered: bool = True
    is_key_ordered: bool = False
    timeout_ms: int = 180_000
    capacity: int = 100


@dataclass(frozen=True)
class LookupSettings:
    """The settings of lookups, from the options of the table and of the session, and from hints."""

    # None: the subtask asks, and waits.
    requests: AsyncLookups | None = None
    retry: Retry | None = None
    is_shuffled: bool = False
    # Whether a retraction must repeat the rows that were sent, even if the table has others by now.
    resolves_updates: bool = False


@dataclass(frozen=True)
class LookupJoin(Relation):
    """The columns of the input, then those of the rows that a table has for a row when it arrives.

    A row without any is left out, or kept with NULLs.
    """

    input: Relation
    # A TableSource, and its path in plans.
    table: Any
    path: tuple[str, ...]
    primary_key: tuple[str, ...]
    # The columns of the table, made of those that its source reads.
    expressions: tuple[BoundExpression, ...]
    # On the columns of both.
    condition: BoundExpression | None = None
    keeps_all: bool = False
    hint: LookupHint = field(default_factory=LookupHint)
    settings: LookupSettings = field(default_factory=LookupSettings)


def is_temporal(source: queries.Relation | None) -> bool:
    """Whether a relation is a join with FOR SYSTEM_TIME AS OF."""
    return (
        isinstance(source, queries.Join)
        and isinstance(source.right, queries.TableRef)
        and source.right.as_of is not None
    )


def bind_lookup_join(
    join: queries.Join,
    left: tuple[Relation, Scope],
    table: Relation,
    make: MakeBinder,
    hints: Mapping[str, LookupHint] | None = None,
) -> tuple[Relation, Scope]:
    """The meaning of a join with a table as it is now, or as it was; `table` is the meaning of the name behind JOIN."""
    right: Any = join.right
    relation, scope = left
    time = make(scope).bind(right.as_of)
    if time_of(time) is None:
        raise TableException(
            "Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time attribute field"
        )
    if not isinstance(time, BoundColumn):
        raise ValidationException(
            "SQL validation failed. Unsupported time travel expression: PROCTIME() for the expression can not be "
            "reduced to a constant by Flink."
        )
    if join.kind not in ("inner", "left", "cross"):
        raise TableException(
            f"Temporal table join currently only support INNER JOIN and LEFT JOIN, but was {join.kind.upper()} JOIN"
        )
    if join.using or join.is_natural:
        raise UnsupportedFeatureError("a join FOR SYSTEM_TIME AS OF with USING or NATURAL")
    keeps_all = join.kind == "left"
    table_columns = _table_columns(table, right, keeps_all)
    name = right.alias or right.path[-1]
    whole = Scope((*scope.columns, *(ScopeColumn(each.name, each.type, name) for each in table_columns)))
    condition = None if join.condition is None else make(whole).bind_condition(join.condition, "ON")
    if time_of(time) is TimeAttribute.ROWTIME:
        if condition is None:
            raise UnsupportedFeatureError("a join FOR SYSTEM_TIME AS OF an event time without ON")
        return bind_versions(relation, time, table, table_columns, condition, keeps_all), whole
    scan, computed = _scanned(table)
    columns = (*relation.columns, *table_columns)
    hint = (hints or {}).get(name, LookupHint())
    expressions = tuple(computed)
    lookup = LookupJoin(
        columns, relation, scan.table, scan.path, scan.primary_key, expressions, condition, keeps_all, hint
    )
    return lookup, whole


def _table_columns(table: Relation, right: queries.TableRef, keeps_all: bool) -> tuple[Column, ...]:
    names = names_of(right, [each.name for each in table.columns])
    return tuple(
        Column(name, with_nullable(each.type, each.type._nullable or keeps_all))
        for name, each in zip(names, table.columns, strict=True)
    )


def _scanned(table: Relation) -> tuple[Scan, list[BoundExpression]]:
    """The scan below a table's computed columns, and each column of the table in terms of the scan's."""
    if isinstance(table, WatermarkAssigner):
        return _scanned(table.input)
    if isinstance(table, Calculation) and table.condition is None:
        scan, below = _scanned(table.input)
        return scan, [with_columns(each, lambda column: below[column.index]) for each in table.expressions]
    if isinstance(table, Scan) and isinstance(table.table, TableSource):
        return table, [BoundColumn(each.type, index, each.name) for index, each in enumerate(table.columns)]
    raise TableException("FOR SYSTEM_TIME AS OF a processing time needs a table of a connector, not a view or a query")
