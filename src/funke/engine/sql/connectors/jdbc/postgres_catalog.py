"""The tables of a PostgreSQL server as a catalog, which stores nothing and asks the server each time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from funke.engine.config.secret_keys import hide_passwords
from funke.engine.connectors.jdbc.database import PostgresDatabase
from funke.engine.connectors.jdbc.jdbc_url import database_of
from funke.engine.flink_exceptions import (
    CatalogException,
    DatabaseNotExistException,
    TableNotExistException,
    ValidationException,
)
from funke.engine.sql.catalog.catalog import Catalog
from funke.engine.sql.catalog.objects import CatalogDatabase, CatalogTable, SchemaDefinition
from funke.engine.sql.connectors.jdbc.postgres_types import table_type
from funke.engine.sql.syntax.statements import ColumnDefinition

__all__ = ["PostgresCatalog"]

_DATABASES = (
    "SELECT datname FROM pg_database WHERE datallowconn AND datname NOT IN ('template0', 'template1') ORDER BY 1"
)
# Partitions of a table (relispartition) are not listed beside it. As in Flink the catalog has no views.
_TABLES = """
    SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    ORDER BY n.nspname, c.relname
"""
_COLUMNS = """
    SELECT a.attname, t.typname, a.atttypmod, NOT a.attnotnull, col_description(c.oid, a.attnum)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    JOIN pg_type t ON t.oid = a.atttypid
    WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
"""
_KEY = """
    SELECT k.conname, array_agg(a.attname::text ORDER BY array_position(k.conkey, a.attnum))
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (k.conkey)
    WHERE k.contype = 'p' AND n.nspname = %s AND c.relname = %s GROUP BY k.conname
"""


class PostgresCatalog(Catalog):
    """Reads a server; tables are called `schema.table`, or `table` for those of the schema public."""

    def __init__(self, name: str, default_database: str, username: str, password: str, base_url: str) -> None:
        super().__init__(name, default_database)
        if not re.fullmatch(r"jdbc:postgresql://[^/?]+/?", base_url):
            raise ValidationException(
                f"The base URL of a catalog looks like jdbc:postgresql://host:5432/, got {hide_passwords(base_url)!r}"
            )
        self.base_url = base_url.rstrip("/") + "/"
        self.username = username
        self._password = password

    def open(self) -> None:
        """Connects once, so that a wrong host or password fails here."""
        self._rows(self.default_database, "SELECT 1")

    def list_databases(self) -> list[str]:
        return [row[0] for row in self._rows(self.default_database, _DATABASES)]

    def get_database(self, name: str) -> CatalogDatabase:
        self._require(name)
        return CatalogDatabase()

    def list_tables(self, database: str) -> list[str]:
        self._require(database)
        return [row[0] for row in self._rows(database, _TABLES)]

    def list_views(self, database: str) -> list[str]:
        return []

    def table_exists(self, database: str, name: str) -> bool:
        return self.database_exists(database) and bool(self._rows(database, _COLUMNS, _parts(name)))

    def get_table(self, database: str, name: str) -> CatalogTable:
        parts = _parts(name)
        rows = self._rows(database, _COLUMNS, parts) if self.database_exists(database) else []
        if not rows:
            raise TableNotExistException(f"Table (or view) {database}.{name} does not exist in Catalog {self.name}.")
        columns = tuple(
            ColumnDefinition(column, table_type(kind, modifier, is_nullable), comment=comment)
            for column, kind, modifier, is_nullable, comment in rows
        )
        key_name, key = next(iter(self._rows(database, _KEY, parts)), ("", []))
        options = {
            "connector": "jdbc",
            "url": f"{self.base_url}{database}",
            "username": self.username,
            # Flink's catalog hands its own credentials to the tables that it lists, too.
            "password": self._password,
            "table-name": ".".join(map(_table_part, parts)),
        }
        return CatalogTable(SchemaDefinition(columns, primary_key=tuple(key), primary_key_name=key_name), options)

    def _require(self, database: str) -> None:
        if not self.database_exists(database):
            raise DatabaseNotExistException(f"Database {database} does not exist in Catalog {self.name}.")

    def _rows(self, database: str, query: str, values: Sequence[str] = ()) -> list[Any]:
        reached = database_of(f"{self.base_url}{database}", self.username, self._password)
        assert isinstance(reached, PostgresDatabase)
        try:
            with closing(reached.connect()) as connection:
                return list(connection.execute(query, values or None).fetchall())
        except reached.error as error:
            raise CatalogException(
                f"Failed connecting to {self.base_url}{database} via JDBC: {type(error).__name__}: {error}"
            ) from error


def _table_part(name: str) -> str:
    """In quotes where the name would mean another without them."""
    return name if re.fullmatch(r"[a-z_][a-z0-9_$]*", name) else '"' + name.replace('"', '""') + '"'


def _parts(name: str) -> tuple[str, str]:
    schema, _, table = name.rpartition(".")
    return schema or "public", table
