"""CREATE TABLE and ALTER TABLE."""

from __future__ import annotations

from dataclasses import replace

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import JavaException, ValidationException
from funke.engine.sql.catalog.catalog import Catalog
from funke.engine.sql.catalog.objects import (
    CatalogPartition,
    CatalogTable,
    CatalogView,
    Identifier,
    SchemaDefinition,
)
from funke.engine.sql.statements.outcome import OK, Inserts, Outcome, StatementResult
from funke.engine.sql.statements.plans.insert_plans import plan_rows
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.statements.tables.resolved_table import resolved
from funke.engine.sql.statements.tables.schema_changes import changed_schema, merged_columns
from funke.engine.sql.statements.tables.table_likeness import with_likeness
from funke.engine.sql.statements.view_statements import schema_of_relation
from funke.engine.sql.syntax import statements as syntax
from funke.engine.sql.syntax.expressions import Literal

__all__ = ["alter_table", "check_table", "create_table"]


def create_table(session: TableSession, statement: syntax.CreateTable) -> StatementResult:
    identifier = session.catalogs.qualify(statement.path)
    if statement.distribution is not None:
        raise UnsupportedFeatureError("DISTRIBUTED in CREATE TABLE")
    if statement.query is not None:
        return _create_as(session, identifier, statement)
    if statement.mode != "create":
        raise UnsupportedFeatureError(f"{statement.mode.upper()} TABLE without AS")
    table = _declared(statement)
    if statement.like is not None:
        table = _like(session, table, statement.like)
    _register(session, identifier, table, statement)
    return OK


def _declared(statement: syntax.CreateTable) -> CatalogTable:
    key, name = statement.primary_key, statement.primary_key_name
    schema = SchemaDefinition(statement.columns, statement.watermark, key, name)
    return CatalogTable(schema, dict(statement.options), statement.partitioned_by, statement.comment or "")


def _like(session: TableSession, table: CatalogTable, like: syntax.LikeClause) -> CatalogTable:
    source = session.catalogs.qualify(like.source)
    base = session.catalogs.find(source)
    if base is None:
        raise ValidationException(f"Source table '{source}' of the LIKE clause not found in the catalog")
    if isinstance(base, CatalogView):
        raise ValidationException(f"Source table '{source}' of the LIKE clause can not be a VIEW")
    return with_likeness(base, table, like.features)


def _register(
    session: TableSession, identifier: Identifier, table: CatalogTable, statement: syntax.CreateTable
) -> None:
    check_table(session, table)
    if statement.is_temporary:
        session.catalogs.create_temporary(identifier, table, statement.if_not_exists)
    else:
        session.catalogs.create_table(identifier, table, statement.if_not_exists)


def check_table(session: TableSession, table: CatalogTable) -> None:
    """Reject a table whose columns do not fit together."""
    columns = resolved(table.schema, session.binder())
    names = [each.name for each in columns.physical]
    missing = next((key for key in table.partition_keys if key not in names), None)
    if missing is not None:
        raise ValidationException(
            f"Invalid partition key '{missing}'. A partition key must reference a physical column in the schema. "
            f"Available columns are: [{', '.join(names)}]"
        )


def _create_as(session: TableSession, identifier: Identifier, statement: syntax.CreateTable) -> StatementResult:
    """Creates a table of the columns of a query, then writes the query's rows to it."""
    assert statement.query is not None
    if statement.is_temporary:
        raise UnsupportedFeatureError("CREATE TEMPORARY TABLE … AS")
    is_there = session.catalogs.find(identifier) is not None
    if is_there and statement.if_not_exists:
        return OK
    # REPLACE, and CREATE OR REPLACE: the old table goes first.
    if statement.mode != "create" and is_there:
        session.catalogs.drop_table(identifier, True)
    relation = session.bind(statement.query)
    own = _declared(statement)
    columns = merged_columns(own.schema.columns, schema_of_relation(relation).columns)
    table = replace(own, schema=replace(own.schema, columns=columns))
    check_table(session, table)
    session.catalogs.create_table(identifier, table, False)
    names = tuple(each.name for each in relation.columns)
    # The catalog may know more of it: Spark's says how it is written.
    created = session.catalogs.get(identifier)
    assert isinstance(created, CatalogTable)
    try:
        return Inserts((plan_rows(session, identifier, created, relation, names),))
    except (JavaException, UnsupportedFeatureError):
        # What cannot be written is not there either.
        session.catalogs.drop_table(identifier, True)
        raise


def alter_table(session: TableSession, statement: syntax.AlterTable) -> Outcome:
    identifier = session.catalogs.qualify(statement.path)
    table = session.catalogs.find(identifier)
    if table is None:
        if statement.if_exists:
            return OK
        raise ValidationException(f"Table {identifier} doesn't exist or is a temporary table.")
    if not isinstance(table, CatalogTable):
        raise ValidationException("ALTER TABLE for a view is not allowed")
    if statement.action == "rename":
        new = session.catalogs.qualify(statement.new_path)
        session.catalogs.rename_table(identifier, new.name, statement.if_exists)
    elif statement.partitions:
        _alter_partitions(session, identifier, statement)
    else:
        changed = _changed(table, statement)
        # Before the catalog changes: a computed column may name one that is gone.
        check_table(session, changed)
        session.catalogs.alter_table(identifier, changed, statement.if_exists)
    return OK


def _changed(table: CatalogTable, statement: syntax.AlterTable) -> CatalogTable:
    if statement.action == "set":
        return replace(table, options={**table.options, **dict(statement.options)})
    if statement.action == "reset":
        if "connector" in statement.keys:
            raise ValidationException("ALTER TABLE RESET does not support changing 'connector'")
        if not statement.keys:
            raise ValidationException("ALTER TABLE RESET does not support empty key")
        return replace(table, options={key: value for key, value in table.options.items() if key not in statement.keys})
    return replace(table, schema=changed_schema(table, statement))


def _alter_partitions(session: TableSession, identifier: Identifier, statement: syntax.AlterTable) -> None:
    catalog = session.catalogs.catalog(identifier.catalog)
    change = _add_partition if statement.action == "add" else _drop_partition
    for partition in statement.partitions:
        spec = {name: str(value.value) for name, value in partition if isinstance(value, Literal)}
        change(catalog, identifier, spec, statement.ignores_partitions)


def _add_partition(catalog: Catalog, table: Identifier, spec: dict[str, str], is_ignored: bool) -> None:
    catalog.create_partition(table.database, table.name, spec, CatalogPartition(), is_ignored)


def _drop_partition(catalog: Catalog, table: Identifier, spec: dict[str, str], is_ignored: bool) -> None:
    catalog.drop_partition(table.database, table.name, spec, is_ignored)
