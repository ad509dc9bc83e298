"""The statements that would make a table, view or catalog again, as SHOW CREATE gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from funke.engine.config.secret_keys import masked
from funke.engine.sql.catalog.objects import CatalogTable, CatalogView, Identifier
from funke.engine.sql.catalog.schema_text import column_text, key_text, lines_text, metadata_text
from funke.engine.sql.statements.catalog_definition import CatalogDefinition
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.statements.tables.resolved_table import (
    ResolvedColumn,
    ResolvedTable,
    resolved,
    written_expression,
)
from funke.engine.sql.syntax.sql_form import schema_form
from funke.engine.types.logical.sql_text import quoted, to_full_sql_text

__all__ = ["create_catalog_text", "create_table_text", "create_view_text"]


def create_table_text(session: TableSession, identifier: Identifier, table: CatalogTable, is_temporary: bool) -> str:
    columns = resolved(table.schema, session.binder())
    parts = [f"CREATE {_temporary(is_temporary)}TABLE {identifier} {lines_text(_lines(columns))}"]
    if table.comment:
        parts.append(_comment(table.comment))
    if table.partition_keys:
        parts.append(f"PARTITIONED BY ({', '.join(map(quoted, table.partition_keys))})")
    parts.append(_options(table.options))
    return "\n".join(parts) + "\n"


def create_view_text(identifier: Identifier, view: CatalogView, is_temporary: bool) -> str:
    """The statement of a view, with its query as it was written."""
    names = lines_text(quoted(each.name) for each in view.schema.columns)
    comment = f"{_comment(view.comment)}\n" if view.comment else ""
    query = view.expanded_text or view.text or "a Table object"
    return f"CREATE {_temporary(is_temporary)}VIEW {identifier} {names}\n{comment}AS {query}\n"


def create_catalog_text(name: str, definition: CatalogDefinition | None) -> str:
    shown_definition = definition or CatalogDefinition({"type": "generic_in_memory"})
    comment = f"{_comment(shown_definition.comment)}\n" if shown_definition.comment else ""
    return f"CREATE CATALOG {quoted(name)}\n{comment}{_options(shown_definition.options)}\n"


def _lines(table: ResolvedTable) -> Iterator[str]:
    yield from map(_column_line, table.columns)
    if table.watermark is not None:
        yield f"WATERMARK FOR {quoted(table.watermark.column)} AS {schema_form(table.watermark.expression)}"
    if table.primary_key:
        yield key_text(table.primary_key_name, table.primary_key)


def _column_line(column: ResolvedColumn) -> str:
    definition = column.definition
    if definition.expression is not None:
        text = f"{quoted(column.name)} AS {schema_form(written_expression(definition.expression))}"
        return text if not definition.comment else f"{text} COMMENT '{definition.comment}'"
    extras = metadata_text(definition.metadata_key, definition.is_virtual) if definition.is_metadata else ""
    return column_text(column.name, to_full_sql_text(column.type), extras, definition.comment)


def _options(options: Mapping[str, str]) -> str:
    # Secrets are masked: the statement of such a table cannot be run as it stands.
    lines = (f"'{key}' = '{_escaped(str(value))}'" for key, value in masked(dict(options)).items())
    return f"WITH {lines_text(sorted(lines))}"


def _comment(text: str) -> str:
    return f"COMMENT '{_escaped(text)}'"


def _escaped(text: str) -> str:
    return text.replace("'", "''")


def _temporary(is_temporary: bool) -> str:
    return "TEMPORARY " if is_temporary else ""
