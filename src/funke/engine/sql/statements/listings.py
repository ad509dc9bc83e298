"""SHOW: lists objects, and the statements that create them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import JavaException, TableException, ValidationException
from funke.engine.sql.catalog.objects import CatalogTable, CatalogView
from funke.engine.sql.functions.built_in_names import built_in_names
from funke.engine.sql.statements.catalog_statements import database_path
from funke.engine.sql.statements.created_again import create_catalog_text, create_table_text, create_view_text
from funke.engine.sql.statements.descriptions import columns_listing
from funke.engine.sql.statements.outcome import Outcome, listing, text_outcome
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.syntax.expressions import Literal
from funke.engine.sql.syntax.statements import Show
from funke.engine.types.logical.data_types import DataTypes

__all__ = ["show"]


def show(session: TableSession, statement: Show) -> Outcome:
    listing_of = _LISTINGS.get(statement.what)
    if listing_of is None:
        raise UnsupportedFeatureError(f"SHOW {statement.what.upper()}")
    return listing_of(session, statement)


def _names(column: str, names: Iterable[str], statement: Show) -> Outcome:
    keeps = _filter(statement)
    return listing([(name,) for name in names if keeps(name)], column)


def _filter(statement: Show) -> Callable[[str], bool]:
    """A test for the names that LIKE, or NOT LIKE, lets pass."""
    if statement.pattern is None:
        return lambda name: True
    parts = (".*" if each == "%" else "." if each == "_" else re.escape(each) for each in statement.pattern)
    pattern = re.compile("".join(parts), re.DOTALL | (re.IGNORECASE if statement.ignores_case else 0))
    return lambda name: (pattern.fullmatch(name) is None) == statement.is_negated


def _namespace(session: TableSession, statement: Show) -> tuple[str, str]:
    """The catalog and the database that FROM names."""
    if not statement.path:
        return session.catalogs.current_catalog, session.catalogs.current_database
    catalog, database = database_path(session, statement.path)
    owner = session.catalogs.get_catalog(catalog)
    if owner is None or not owner.database_exists(database):
        raise ValidationException(f"Database '{database}' doesn't exist in catalog '{catalog}'.")
    return catalog, database


def _tables(session: TableSession, statement: Show) -> Outcome:
    return _names("table name", session.catalogs.list_tables(*_namespace(session, statement)), statement)


def _views(session: TableSession, statement: Show) -> Outcome:
    return _names("view name", session.catalogs.list_views(*_namespace(session, statement)), statement)


def _catalogs(session: TableSession, statement: Show) -> Outcome:
    return _names("catalog name", session.catalogs.list_catalogs(), statement)


def _databases(session: TableSession, statement: Show) -> Outcome:
    catalog = statement.path[-1] if statement.path else session.catalogs.current_catalog
    return _names("database name", sorted(session.catalogs.catalog(catalog).list_databases()), statement)


def _functions(session: TableSession, statement: Show) -> Outcome:
    names = {*built_in_names(), *session.functions.list_user_defined()}
    return _names("function name", sorted(names), statement)


def _user_functions(session: TableSession, statement: Show) -> Outcome:
    return _names("function name", session.functions.list_user_defined(), statement)


def _modules(session: TableSession, statement: Show) -> Outcome:
    return _names("module name", session.modules.list_modules(), statement)


def _full_modules(session: TableSession, statement: Show) -> Outcome:
    return listing(list(session.modules.list_full_modules()), "module name", ("used", DataTypes.BOOLEAN()))


def _current_catalog(session: TableSession, statement: Show) -> Outcome:
    return listing([(session.catalogs.current_catalog,)], "current catalog name")


def _current_database(session: TableSession, statement: Show) -> Outcome:
    return listing([(session.catalogs.current_database,)], "current database name")


def _columns(session: TableSession, statement: Show) -> Outcome:
    identifier = session.catalogs.qualify(statement.path)
    table = session.catalogs.find(identifier)
    if table is None:
        raise ValidationException(f"Tables or views with the identifier '{identifier.summary}' doesn't exist.")
    return columns_listing(session, table, _filter(statement))


def _partitions(session: TableSession, statement: Show) -> Outcome:
    identifier = session.catalogs.qualify(statement.path)
    spec = {name: str(value.value) for name, value in statement.partition if isinstance(value, Literal)}
    try:
        catalog = session.catalogs.catalog(identifier.catalog)
        partitions = catalog.list_partitions(identifier.database, identifier.name, spec or None)
    except JavaException as error:
        raise TableException(
            f"Could not execute SHOW PARTITIONS {identifier.summary}\nCaused by: {type(error).__name__}: {error}"
        ) from error
    rows = ["/".join(f"{key}={value}" for key, value in each.items()) for each in partitions]
    return listing([(each,) for each in rows], "partition name")


def _create_table(session: TableSession, statement: Show) -> Outcome:
    identifier = session.catalogs.qualify(statement.path)
    table = _shown_object(session, statement, "SHOW CREATE TABLE")
    if not isinstance(table, CatalogTable):
        raise TableException(
            f"SHOW CREATE TABLE is only supported for tables, but {identifier.summary} is a view. Please use "
            "SHOW CREATE VIEW instead."
        )
    is_temporary = session.catalogs.is_temporary(identifier)
    return text_outcome(create_table_text(session, identifier, table, is_temporary))


def _create_view(session: TableSession, statement: Show) -> Outcome:
    identifier = session.catalogs.qualify(statement.path)
    view = _shown_object(session, statement, "SHOW CREATE VIEW")
    if not isinstance(view, CatalogView):
        raise TableException(
            f"SHOW CREATE VIEW is only supported for views, but {identifier.summary} is a table. Please use "
            "SHOW CREATE TABLE instead."
        )
    return text_outcome(create_view_text(identifier, view, session.catalogs.is_temporary(identifier)))


def _shown_object(session: TableSession, statement: Show, what: str) -> CatalogTable | CatalogView:
    identifier = session.catalogs.qualify(statement.path)
    table = session.catalogs.find(identifier)
    if table is None:
        raise ValidationException(
            f"Could not execute {what}. {'View' if 'VIEW' in what else 'Table'} with identifier {identifier} does not "
            "exist."
        )
    return table


def _create_catalog(session: TableSession, statement: Show) -> Outcome:
    name = statement.path[-1]
    if session.catalogs.get_catalog(name) is None:
        raise ValidationException(f"Cannot obtain metadata information from Catalog {name}.")
    return text_outcome(create_catalog_text(name, session.catalog_definitions.get(name)))


_LISTINGS: dict[str, Callable[[TableSession, Show], Outcome]] = {
    "tables": _tables,
    "views": _views,
    "catalogs": _catalogs,
    "databases": _databases,
    "functions": _functions,
    "user functions": _user_functions,
    "modules": _modules,
    "full modules": _full_modules,
    "current catalog": _current_catalog,
    "current database": _current_database,
    "columns": _columns,
    "partitions": _partitions,
    "create table": _create_table,
    "create view": _create_view,
    "create catalog": _create_catalog,
}
