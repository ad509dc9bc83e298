"""Tables of connectors as relations: the scan, then computed columns, then event time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from funke.engine.config.option_values import parse_duration
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.binding.scope import Scope
from funke.engine.sql.catalog.objects import CatalogTable, Identifier, SchemaDefinition
from funke.engine.sql.connectors.old_properties import modern_options
from funke.engine.sql.connectors.table_factories import create_table_source
from funke.engine.sql.connectors.table_factory import TableContext
from funke.engine.sql.connectors.table_option import OptionValues
from funke.engine.sql.connectors.table_scan import BinderFactory, table_relation
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.connectors.unreadable_source import UnreadableSource
from funke.engine.sql.statements.tables.resolved_table import ResolvedTable, resolved, written_expression

if TYPE_CHECKING:
    from funke.engine.sql.statements.table_session import TableSession

__all__ = ["binder_factory", "idle_timeout_ms", "scan_of", "table_context", "written_schema"]


def scan_of(
    session: TableSession,
    identifier: Identifier,
    table: CatalogTable,
    options: Mapping[str, str],
    may_be_unreadable: bool = False,
) -> Relation:
    """The rows of a table with all its columns; one that cannot be read is rejected here, or when it is planned."""
    columns = resolved(table.schema, session.binder())
    context = table_context(session, identifier, table, columns, options)
    schema = written_schema(table.schema, columns)
    return table_relation(
        identifier,
        schema,
        _source_of(context, schema) if may_be_unreadable else create_table_source(context),
        OptionValues(context.options),
        binder_factory(session),
        idle_timeout_ms(session),
    )


def _source_of(context: TableContext, schema: SchemaDefinition) -> TableSource:
    try:
        return create_table_source(context)
    # The Table API may name a table that is only written to: the error waits until a job reads it.
    except ValidationException as rejection:
        metadata = {each.metadata_key or each.name: each.type for each in schema.columns if each.is_metadata}
        typed_metadata = {key: data_type for key, data_type in metadata.items() if data_type is not None}
        return UnreadableSource(context.columns, typed_metadata, rejection)


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
        # Options of the old connector properties ('connector.type') are those of today under other names.
        {**modern_options(table.options), **options},
        table.partition_keys,
        columns.primary_key,
        not session.is_streaming,
        session.zone,
        session.settings.to_map(),
    )


def written_schema(schema: SchemaDefinition, columns: ResolvedTable) -> SchemaDefinition:
    """A schema whose types are known, and whose expressions are parsed."""
    definitions = (
        replace(each.definition, expression=written_expression(each.definition.expression))
        if each.definition.expression is not None
        else replace(each.definition, type=each.type)
        for each in columns.columns
    )
    watermark = schema.watermark
    if watermark is not None:
        watermark = replace(watermark, expression=written_expression(watermark.expression))
    return replace(schema, columns=tuple(definitions), watermark=watermark)


def binder_factory(session: TableSession) -> BinderFactory:
    """A factory of binders for the expressions of a schema."""
    binder = session.binder()

    def make(scope: Scope) -> ExpressionBinder:
        return ExpressionBinder(scope, binder.session, binder.find_function)

    return make


def idle_timeout_ms(session: TableSession) -> int | None:
    """The time after which a silent source is idle and holds back no event time; None if it never is."""
    return parse_duration(session.settings.get("table.exec.source.idle-timeout", "0 ms")).to_millis() or None
