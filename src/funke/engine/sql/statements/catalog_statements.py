"""Statements on catalogs and databases, and DROP for everything that stands in them."""

from __future__ import annotations

from dataclasses import replace

from funke.engine.config.secret_keys import masked
from funke.engine.flink_exceptions import CatalogException, JavaException, TableException, ValidationException
from funke.engine.sql.catalog.catalog import Catalog
from funke.engine.sql.catalog.in_memory_catalog import InMemoryCatalog
from funke.engine.sql.catalog.objects import CatalogDatabase
from funke.engine.sql.catalog.spark_catalog import SparkCatalog
from funke.engine.sql.connectors.jdbc.postgres_catalog import PostgresCatalog
from funke.engine.sql.statements.catalog_definition import CatalogDefinition
from funke.engine.sql.statements.function_statements import drop_function
from funke.engine.sql.statements.outcome import OK, Outcome
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.syntax import statements as syntax

__all__ = [
    "alter_catalog",
    "alter_database",
    "create_catalog",
    "create_database",
    "database_path",
    "drop_object",
    "new_catalog",
]

_IN_MEMORY = "generic_in_memory"
_SPARK = "spark"


def create_database(session: TableSession, statement: syntax.CreateDatabase) -> Outcome:
    catalog, name = database_path(session, statement.path)
    database = CatalogDatabase(dict(statement.options), statement.comment or "")
    try:
        session.catalogs.catalog(catalog).create_database(name, database, statement.if_not_exists)
    except JavaException as error:
        properties = ", ".join(f"{key}={value}" for key, value in statement.options)
        raise _caused(
            f"Could not execute CREATE DATABASE: (catalogDatabase: [{{{properties}}}], catalogName: [{catalog}], "
            f"databaseName: [{name}], ignoreIfExists: [{str(statement.if_not_exists).lower()}])",
            error,
        ) from error
    return OK


def alter_database(session: TableSession, statement: syntax.AlterDatabase) -> Outcome:
    catalog, name = database_path(session, statement.path)
    owner = session.catalogs.catalog(catalog)
    try:
        database = owner.get_database(name)
        changed = replace(database, properties={**database.properties, **dict(statement.options)})
        owner.alter_database(name, changed, False)
    except JavaException as error:
        raise _caused(f"Could not execute ALTER DATABASE {catalog}.{name}", error) from error
    return OK


def create_catalog(session: TableSession, statement: syntax.CreateCatalog) -> Outcome:
    if statement.if_not_exists and session.catalogs.get_catalog(statement.name) is not None:
        return OK
    options = dict(statement.options)
    session.catalogs.register(statement.name, new_catalog(session, statement.name, options))
    session.catalog_definitions[statement.name] = CatalogDefinition(options, statement.comment or "")
    return OK


def alter_catalog(session: TableSession, statement: syntax.AlterCatalog) -> Outcome:
    if session.catalogs.get_catalog(statement.name) is None:
        raise CatalogException(f"Catalog {statement.name} does not exist in the catalog store.")
    definition = session.catalog_definitions.get(statement.name, CatalogDefinition({_TYPE: _IN_MEMORY}))
    # The catalog would be another one.
    if _TYPE in dict(statement.options) or _TYPE in statement.keys:
        raise ValidationException("ALTER CATALOG does not support changing the option 'type'")
    options = {**definition.options, **dict(statement.options)}
    kept = {key: value for key, value in options.items() if key not in statement.keys}
    comment = definition.comment if statement.comment is None else statement.comment
    session.catalog_definitions[statement.name] = CatalogDefinition(kept, comment)
    return OK


def new_catalog(session: TableSession, name: str, options: dict[str, str]) -> Catalog:
    """Make the catalog that options describe."""
    # Masked: a message goes to logs.
    listed = "\n".join(f"'{key}'='{value}'" for key, value in masked(options).items())
    failure = f"Unable to create catalog '{name}'.\n\nCatalog options are:\n{listed}"
    if _TYPE not in options:
        raise ValidationException(
            f"{failure}\nCaused by: ValidationException: Catalog options do not contain an option key 'type' for "
            "discovering a catalog."
        )
    kind = options[_TYPE]
    if kind not in _OPTIONS:
        raise ValidationException(
            f"{failure}\nCaused by: ValidationException: Could not find any factory for identifier '{kind}' "
            "that implements 'org.apache.flink.table.factories.CatalogFactory' in the classpath.\n\n"
            "Available factory identifiers are:\n\n" + "\n".join(sorted(_OPTIONS))
        )
    required, optional = _OPTIONS[kind]
    missing = sorted(required - set(options))
    if missing:
        raise ValidationException(
            f"{failure}\nCaused by: ValidationException: One or more required options are missing.\n\n"
            "Missing required options are:\n\n" + "\n".join(missing)
        )
    supported_options = required | optional
    unknown = sorted(set(options) - {_TYPE} - supported_options)
    if unknown:
        supported = "\n".join(sorted(supported_options))
        raise ValidationException(
            f"{failure}\nCaused by: ValidationException: Unsupported options found for '{kind}'.\n\n"
            f"Unsupported options:\n\n" + "\n".join(unknown) + f"\n\nSupported options:\n\n{supported}"
        )
    if kind == _JDBC:
        return _jdbc_catalog(name, options, failure)
    database = options.get(_DATABASE, "default")
    if kind == _SPARK:
        return SparkCatalog(name, database, options.get(_CATALOG, "spark_catalog"), session.settings.to_map)
    return InMemoryCatalog(name, database)


def _jdbc_catalog(name: str, options: dict[str, str], failure: str) -> Catalog:
    try:
        return PostgresCatalog(name, *(options[key] for key in (_DATABASE, "username", "password", "base-url")))
    except JavaException as error:
        raise _caused(failure, error) from error


def drop_object(session: TableSession, statement: syntax.DropObject) -> Outcome:
    catalogs = session.catalogs
    if statement.kind == "catalog":
        catalogs.unregister(statement.path[-1], statement.if_exists)
        session.catalog_definitions.pop(statement.path[-1], None)
    elif statement.kind == "database":
        _drop_database(session, statement)
    elif statement.kind == "function":
        drop_function(session, statement)
    else:
        identifier = catalogs.qualify(statement.path)
        if statement.kind == "table":
            drop = catalogs.drop_temporary_table if statement.is_temporary else catalogs.drop_table
        else:
            drop = catalogs.drop_temporary_view if statement.is_temporary else catalogs.drop_view
        drop(identifier, statement.if_exists)
    return OK


def database_path(session: TableSession, path: tuple[str, ...]) -> tuple[str, str]:
    """The catalog and the name of a database."""
    if len(path) > 2:
        raise ValidationException(f"a database has a catalog and a name, got {'.'.join(path)}")
    return (path[0] if len(path) == 2 else session.catalogs.current_catalog), path[-1]


def _drop_database(session: TableSession, statement: syntax.DropObject) -> None:
    catalog, name = database_path(session, statement.path)
    how = "CASCADE" if statement.is_cascade else "RESTRICT"
    exists = "IF EXISTS " if statement.if_exists else ""
    failure = f"Could not execute DROP DATABASE {exists}{catalog}.{name} {how}"
    try:
        session.catalogs.drop_database(catalog, name, statement.if_exists, statement.is_cascade)
    except ValidationException as error:
        raise TableException(f"{failure}\nCaused by: ValidationException: {error}") from error
    except JavaException as error:
        raise _caused(failure, error) from error


def _caused(failure: str, error: JavaException) -> ValidationException:
    return ValidationException(f"{failure}\nCaused by: {type(error).__name__}: {error}")


_TYPE = "type"
_DATABASE = "default-database"
_JDBC = "jdbc"
# The catalog among those that Spark is configured with.
_CATALOG = "catalog"
# By type: the options that a catalog must have, and those that it may have.
_OPTIONS = {
    _IN_MEMORY: (frozenset[str](), frozenset({_DATABASE})),
    _JDBC: (frozenset({_DATABASE, "username", "password", "base-url"}), frozenset[str]()),
    _SPARK: (frozenset[str](), frozenset({_CATALOG, _DATABASE})),
}
