"""Tables and views of an environment of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.datastream.data_stream import DataStream
from funke.engine.errors import did_you_mean
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.catalog.objects import CatalogTable, CatalogView
from funke.engine.sql.statements.table_statements import check_table
from funke.engine.sql.statements.view_statements import schema_of_relation
from funke.engine.sql.syntax.expressions import Star
from funke.engine.sql.syntax.path_text import format_path, parse_path
from funke.engine.sql.syntax.queries import Select, TableRef
from funke.table.expression import Expression
from funke.table.schema import Schema
from funke.table.table import Table
from funke.table.table_descriptor import TableDescriptor

if TYPE_CHECKING:
    from funke.engine.sql.statements.table_session import TableSession
    from funke.table.table_environment import TableEnvironment

__all__ = ["RegisteredTables"]


class RegisteredTables:
    """The part of an environment that knows the names of tables and views."""

    _session: TableSession
    # How many tables have got a name because a query mentions them.
    _unnamed = 0

    def create_temporary_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,
    ) -> None:
        """Make a table that lives as long as this environment."""
        identifier = self._session.catalogs.qualify(parse_path(path))
        self._session.catalogs.create_temporary(identifier, self._checked(descriptor), bool(ignoreIfExists))

    def create_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,
    ) -> None:
        """Make a table of the catalog."""
        identifier = self._session.catalogs.qualify(parse_path(path))
        self._session.catalogs.create_table(identifier, self._checked(descriptor), bool(ignoreIfExists))

    def create_temporary_view(
        self,
        view_path: str,
        table_or_data_stream: Table | DataStream,
        *fields_or_schema: str | Expression[Any] | Schema,
    ) -> None:
        """Give a table or a stream a name that queries can use."""
        identifier = self._session.catalogs.qualify(parse_path(view_path))
        view = self._view_of(table_or_data_stream, *fields_or_schema)
        self._session.catalogs.create_temporary(identifier, view, False)

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool | None = False) -> bool:
        """Make a view of the catalog; returns whether it was made."""
        identifier = self._session.catalogs.qualify(parse_path(view_path))
        is_there = self._session.catalogs.find(identifier) is not None
        self._session.catalogs.create_table(identifier, self._view_of(table), bool(ignore_if_exists))
        return not is_there

    def from_path(self, path: str) -> Table:
        """Return a table or view of the catalog."""
        return self._registered(parse_path(path))

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """Return a table that has no name."""
        anonymous = self._session.anonymous_tables
        connector = descriptor.get_options().get("connector")
        identifier = self._session.catalogs.qualify((f"*anonymous_{connector}${len(anonymous) + 1}*",))
        table = self._checked(descriptor)
        relation = self._session.relation_of(identifier, table, may_be_unreadable=True)
        anonymous[identifier] = table
        path = (identifier.catalog, identifier.database, identifier.name)
        query = Select((Star(),), TableRef(path))
        return Table(relation, self._environment(), self._session.declared(table), query)

    def _registered(self, path: tuple[str, ...]) -> Table:
        relation = self._session.find_table(path)
        if relation is None:
            missing = self._session.missing_part(path)
            hint = did_you_mean(missing.name, missing.names, begin=" Did")
            raise ValidationException(f"Table {format_path(path)} was not found.{hint}")
        identifier = self._session.catalogs.qualify(path)
        named = TableRef((identifier.catalog, identifier.database, identifier.name))
        return Table(relation, self._environment(), self._session.find_declared(path), Select((Star(),), named))

    def _environment(self) -> TableEnvironment:
        """The environment that this is a part of."""
        raise NotImplementedError

    def list_tables(self) -> list[str]:
        """Return the names of tables and views."""
        return self._session.catalogs.list_tables()

    def list_views(self) -> list[str]:
        """Return the names of views."""
        return self._session.catalogs.list_views()

    def list_materialized_tables(self) -> list[str]:
        """Return the names of materialized tables: there are none."""
        return []

    def list_temporary_tables(self) -> list[str]:
        """Return the names of temporary tables and views, as PyFlink does."""
        catalogs = self._session.catalogs
        return sorted([*catalogs.list_temporary_tables(), *catalogs.list_temporary_views()])

    def list_temporary_views(self) -> list[str]:
        """Return the names of temporary views."""
        return self._session.catalogs.list_temporary_views()

    def drop_temporary_table(self, table_path: str) -> bool:
        """Forget a temporary table; returns whether there was one."""
        return self._session.catalogs.drop_temporary_table(self._session.catalogs.qualify(parse_path(table_path)), True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drop a table of the catalog; returns whether there was one."""
        identifier = self._session.catalogs.qualify(parse_path(table_path))
        return self._session.catalogs.drop_table(identifier, bool(ignore_if_not_exists))

    def drop_temporary_view(self, view_path: str) -> bool:
        """Forget a temporary view; returns whether there was one."""
        return self._session.catalogs.drop_temporary_view(self._session.catalogs.qualify(parse_path(view_path)), True)

    def drop_view(self, view_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drop a view of the catalog; returns whether there was one."""
        identifier = self._session.catalogs.qualify(parse_path(view_path))
        return self._session.catalogs.drop_view(identifier, bool(ignore_if_not_exists))

    # Their descriptions

    def _register_unnamed(self, table: Table) -> str:
        name = f"UnnamedTable${self._unnamed}"
        self._unnamed += 1
        self.create_temporary_view(name, table)
        return name

    def _view_of(self, table: Table | DataStream, *fields_or_schema: Any) -> CatalogView:
        if not isinstance(table, Table):
            raise TypeError(f"a view is made of a Table, got {type(table).__name__}")
        return CatalogView(schema_of_relation(table._relation), table=table._relation)

    def _checked(self, descriptor: TableDescriptor) -> CatalogTable:
        table = descriptor._to_catalog_table()
        check_table(self._session, table)
        return table
