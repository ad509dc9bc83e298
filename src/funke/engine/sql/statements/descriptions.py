"""DESCRIBE: the columns of tables, and the properties of catalogs and databases."""

from __future__ import annotations

from funke.engine.config.secret_keys import masked
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import CatalogException, ValidationException
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.catalog.objects import CatalogTable, CatalogView, Identifier, TableObject
from funke.engine.sql.catalog.schema_text import metadata_text
from funke.engine.sql.statements.catalog_definition import CatalogDefinition
from funke.engine.sql.statements.catalog_statements import database_path
from funke.engine.sql.statements.outcome import Outcome, listing
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.statements.tables.resolved_table import ResolvedColumn, ResolvedTable, resolved
from funke.engine.sql.syntax import statements as syntax
from funke.engine.sql.syntax.sql_form import declared_form
from funke.engine.types.logical import DataTypes, to_sql_text, with_nullable

__all__ = ["columns_listing", "describe", "existing"]

_COLUMNS = ("name", "type", ("null", DataTypes.BOOLEAN()), "key", "extras", "watermark")


def describe(session: TableSession, statement: syntax.Describe) -> Outcome:
    if statement.kind == "table":
        identifier = session.catalogs.qualify(statement.path)
        return columns_listing(session, existing(session, identifier))
    if statement.kind == "catalog":
        return _catalog(session, statement.path[-1], statement.is_extended)
    if statement.kind == "database":
        return _database(session, statement)
    raise UnsupportedFeatureError(f"DESCRIBE {statement.kind.upper()}")


def existing(session: TableSession, identifier: Identifier) -> TableObject:
    """A table or view that must be there."""
    table = session.catalogs.find(identifier)
    if table is None:
        raise ValidationException(f"Tables or views with the identifier '{identifier.summary}' doesn't exist.")
    return table


def columns_listing(session: TableSession, table: TableObject, is_kept: object = None) -> Outcome:
    """The columns of a table or view, those whose names are kept."""
    if isinstance(table, CatalogTable):
        rows = _table_rows(resolved(table.schema, session.binder()))
    else:
        rows = _view_rows(session, table)
    comments = {each.name: each.comment for each in table.schema.columns}
    kept = [row for row in rows if not callable(is_kept) or is_kept(row[0])]
    if not any(comments.values()):
        return listing(kept, *_COLUMNS)
    return listing([(*row, comments.get(str(row[0]))) for row in kept], *_COLUMNS, "comment")


def _table_rows(table: ResolvedTable) -> list[tuple[object, ...]]:
    key = f"PRI({', '.join(table.primary_key)})"
    return [
        (
            each.name,
            _type_text(each.as_column()),
            each.type._nullable,
            key if each.name in table.primary_key else None,
            _extras(each),
            declared_form(table.watermark.declared)
            if table.watermark is not None and table.watermark.column == each.name
            else None,
        )
        for each in table.columns
    ]


def _view_rows(session: TableSession, view: CatalogView) -> list[tuple[object, ...]]:
    columns = session.relation_of(Identifier("", "", ""), view).columns
    return [(each.name, _type_text(each), each.type._nullable, None, None, None) for each in columns]


def _type_text(column: Column) -> str:
    # Without NOT NULL, for which DESCRIBE has a column of its own.
    text = to_sql_text(with_nullable(column.type, True))
    return text if column.time is None else f"{text} {column.time}"


def _extras(column: ResolvedColumn) -> str | None:
    if column.is_computed and column.definition.expression is not None:
        return f"AS {declared_form(column.definition.expression)}"
    if column.definition.is_metadata:
        return metadata_text(column.definition.metadata_key, column.definition.is_virtual)
    return None


def _catalog(session: TableSession, name: str, is_extended: bool) -> Outcome:
    if session.catalogs.get_catalog(name) is None:
        raise ValidationException(f"Cannot obtain metadata information from Catalog {name}.")
    definition = session.catalog_definitions.get(name, CatalogDefinition())
    rows: list[tuple[object, ...]] = [
        ("name", name),
        ("type", definition.options.get("type", "generic_in_memory")),
        ("comment", definition.comment or None),
    ]
    if is_extended:
        rows += [(f"option:{key}", value) for key, value in masked(definition.options).items() if key != "type"]
    return listing(rows, "info name", "info value")


def _database(session: TableSession, statement: syntax.Describe) -> Outcome:
    catalog, name = database_path(session, statement.path)
    owner = session.catalogs.get_catalog(catalog)
    if owner is None or not owner.database_exists(name):
        raise CatalogException(f"A database with name [{name}] does not exist in the catalog: [{catalog}].")
    database = owner.get_database(name)
    rows: list[tuple[object, ...]] = [("catalog", catalog), ("database", name), ("comment", database.comment or None)]
    if statement.is_extended:
        rows.append(
            ("properties", ", ".join(f"({key}, {value})" for key, value in sorted(database.properties.items())))
        )
    return listing(rows, "info name", "info value")
