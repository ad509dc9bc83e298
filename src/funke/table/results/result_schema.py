"""The columns of a result as programs see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from funke.engine.sql.binding.relations import Column
from funke.engine.sql.statements.tables.resolved_table import (
    ResolvedColumn,
    ResolvedTable,
    ResolvedWatermark,
    written_expression,
)
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.sql_form import declared_form, schema_form
from funke.engine.types.logical.sql_text import to_sql_text
from funke.table import catalog
from funke.table.catalog import PhysicalColumn, ResolvedSchema, UniqueConstraint, WatermarkSpec
from funke.table.resolved_expression import ResolvedExpression
from funke.table.table_schema import TableSchema
from funke.table.types import DataType

__all__ = ["declared_schema_of", "resolved_schema_of", "table_schema_of"]


def table_schema_of(schema: ResolvedSchema) -> TableSchema:
    """The columns by name and type, with a text that says all of them."""
    return TableSchema(schema.get_column_names(), schema.get_column_data_types())._shown_as(_lines(schema))


def resolved_schema_of(columns: Sequence[Column]) -> ResolvedSchema:
    """The columns of a query by name and type, and with what they are."""
    return ResolvedSchema.of([PhysicalColumn(each.name, each.type)._changed(_time=each.time) for each in columns])


def declared_schema_of(table: ResolvedTable) -> ResolvedSchema:
    """The columns of a table as they were declared, with watermark and primary key."""
    watermarks = [] if table.watermark is None else [_watermark_of(table.watermark)]
    key = UniqueConstraint(table.primary_key_name, list(table.primary_key)) if table.primary_key else None
    return ResolvedSchema([_column_of(each) for each in table.columns], watermarks, key)


def _column_of(column: ResolvedColumn) -> catalog.Column:
    definition = column.definition
    described: catalog.Column
    if definition.expression is not None:
        described = catalog.Column.computed(column.name, _expression(definition.expression, column.type))
    elif definition.is_metadata:
        described = catalog.Column.metadata(column.name, column.type, definition.metadata_key, definition.is_virtual)
    else:
        described = catalog.Column.physical(column.name, column.type)
    changed: catalog.Column = described._changed(_time=column.time, _comment=definition.comment)
    return changed


def _watermark_of(watermark: ResolvedWatermark) -> WatermarkSpec:
    return WatermarkSpec(watermark.column, _expression(watermark.declared, watermark.type))


def _expression(declared: syntax.Expression, data_type: DataType) -> ResolvedExpression:
    written = written_expression(declared)
    return ResolvedExpression(written, data_type, schema_form(written), shown_text=declared_form(declared))


def _lines(schema: ResolvedSchema) -> Iterator[str]:
    for column in schema.get_columns():
        extras = column.explain_extras()
        yield f"{column.get_name()}: {column._type_text()}" + (f" {extras}" if extras else "")
    for each in schema.get_watermark_specs():
        expression = each.get_watermark_expression()
        data_type = to_sql_text(expression.get_output_data_type())
        yield f"WATERMARK FOR {each.get_rowtime_attribute()}: {data_type} AS {expression.as_summary_string()}"
    key = schema.get_primary_key()
    if key is not None:
        yield f"CONSTRAINT {key.get_name()} PRIMARY KEY ({', '.join(key.get_columns())})"
