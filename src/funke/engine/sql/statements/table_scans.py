"""Tables of connectors as relations: what the connector reads, then what is computed of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.expressions import BoundColumn, BoundExpression
from funke.engine.sql.binding.relations import Calculation, Column, Relation, Scan
from funke.engine.sql.binding.scope import Scope, ScopeColumn
from funke.engine.sql.catalog.objects import CatalogTable, Identifier
from funke.engine.sql.connectors.table_factories import create_table_source
from funke.engine.sql.connectors.table_factory import TableContext
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.statements.resolved_table import ResolvedTable, bound_computed, resolved

if TYPE_CHECKING:
    from funke.engine.sql.binding.query_binder import QueryBinder
    from funke.engine.sql.statements.table_session import TableSession

__all__ = ["scan_of", "table_context"]


def scan_of(session: TableSession, identifier: Identifier, table: CatalogTable, options: Mapping[str, str]) -> Relation:
    """The rows of a table with all its columns."""
    binder = session.binder()
    columns = resolved(table.schema, binder)
    context = table_context(session, identifier, table, columns, options)
    source = _with_metadata(create_table_source(context), columns)
    scan = Scan(source.columns, source, (identifier.catalog, identifier.database, identifier.name))
    return with_declared_columns(scan, columns, binder)


def table_context(
    session: TableSession,
    identifier: Identifier,
    table: CatalogTable,
    columns: ResolvedTable,
    options: Mapping[str, str],
) -> TableContext:
    """A table as its connector sees it; options of a hint go before its own."""
    return TableContext(
        identifier,
        tuple(each.as_column() for each in columns.physical),
        {**table.options, **options},
        table.partition_keys,
        columns.primary_key,
        not session.is_streaming,
        session.zone,
        session.settings.to_map(),
    )


def with_declared_columns(scan: Relation, columns: ResolvedTable, binder: QueryBinder) -> Relation:
    """The columns of a table in their declared order, with those that are computed of what was read."""
    relation = scan
    if [each.name for each in scan.columns] != [each.name for each in columns.columns]:
        scope = Scope(tuple(ScopeColumn(each.name, each.type, None, each.time) for each in scan.columns))
        expressions = ExpressionBinder(scope, binder.session, binder.find_function)
        bound = tuple(_bound(each, scan, expressions) for each in columns.columns)
        relation = Calculation(
            tuple(Column(c.name, c.type, None if c.time is None else c.time) for c in columns.columns), scan, bound
        )
    if columns.watermark is not None:
        raise UnsupportedFeatureError("WATERMARK in a table")
    return relation


def _bound(column: Any, scan: Relation, binder: ExpressionBinder) -> BoundExpression:
    if column.is_computed:
        return bound_computed(column.definition, binder)
    index = next(place for place, each in enumerate(scan.columns) if each.name == column.name)
    return BoundColumn(scan.columns[index].type, index, column.name, scan.columns[index].time)


def _with_metadata(source: TableSource, columns: ResolvedTable) -> TableSource:
    wanted = [(each.metadata_key, each.name) for each in columns.metadata]
    return source.with_metadata(wanted) if wanted else source
