"""Tables from the text of CREATE TABLE, without an environment."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.catalog.objects import Identifier, SchemaDefinition
from funke.engine.sql.connectors.table_factories import create_table_sink, create_table_source
from funke.engine.sql.connectors.table_factory import TableContext
from funke.engine.sql.connectors.table_option import OptionValues
from funke.engine.sql.connectors.table_scan import physical_columns, table_relation
from funke.engine.sql.connectors.table_sink import TableSink
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.functions.function import Session
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax.statements import CreateTable


def created(text: str) -> tuple[TableContext, SchemaDefinition]:
    (statement,) = parse(text)
    assert isinstance(statement, CreateTable)
    schema = SchemaDefinition(statement.columns, statement.watermark, statement.primary_key)
    name = Identifier("default_catalog", "default_database", statement.path[-1])
    options: Mapping[str, str] = dict(statement.options)
    context = TableContext(name, physical_columns(schema), options, statement.partitioned_by, statement.primary_key)
    return context, schema


def source_of(text: str) -> TableSource:
    return create_table_source(created(text)[0])


def sink_of(text: str) -> TableSink:
    return create_table_sink(created(text)[0])


@cache
def relation_of(text: str) -> Relation:
    context, schema = created(text)
    source = create_table_source(context)
    return table_relation(
        context.identifier,
        schema,
        source,
        OptionValues(context.options),
        lambda scope: ExpressionBinder(scope, Session()),
    )
