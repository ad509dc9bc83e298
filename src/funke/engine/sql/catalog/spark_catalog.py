"""The catalog of Spark's session: its databases and tables, which the connector `spark` reads and writes.

If Spark has Hive, these are Hive's. Nothing is stored here: every method asks Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from funke.engine.flink_exceptions import (
    CatalogException,
    DatabaseAlreadyExistException,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    TableAlreadyExistException,
    TableNotExistException,
)
from funke.engine.runtime.spark.spark_session import spark_session
from funke.engine.sql.catalog.catalog import Catalog
from funke.engine.sql.catalog.objects import CatalogDatabase, CatalogTable, SchemaDefinition, TableObject
from funke.engine.sql.syntax.path_text import format_path
from funke.engine.sql.syntax.statements import ColumnDefinition
from funke.engine.types.logical import DataType, from_column_type, to_column_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkCatalog"]

_FORMAT = "format"
_KNOWN_OPTIONS = ("connector", _FORMAT, "comment")


class SparkCatalog(Catalog):
    """A Spark catalog; `spark_name` is its name in Spark."""

    def __init__(
        self, name: str, default_database: str, spark_name: str, settings: Callable[[], Mapping[str, str]]
    ) -> None:
        super().__init__(name, default_database)
        self._spark_name = spark_name
        self._settings = settings

    @property
    def _spark(self) -> SparkSession:
        return spark_session(self._settings())

    def _path(self, *names: str) -> str:
        return format_path((self._spark_name, *names))

    # Databases

    def list_databases(self) -> list[str]:
        return [row[0].strip("`") for row in self._spark.sql(f"SHOW NAMESPACES IN {self._path()}").collect()]

    def get_database(self, name: str) -> CatalogDatabase:
        self._require_database(name)
        rows = self._spark.sql(f"DESCRIBE NAMESPACE EXTENDED {self._path(name)}").collect()
        details = {row[0]: row[1] for row in rows}
        return CatalogDatabase(
            {"location": details["Location"]} if details.get("Location") else {}, details.get("Comment", "")
        )

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        if self.database_exists(name):
            if ignore_if_exists:
                return
            raise DatabaseAlreadyExistException(f"Database {name} already exists in Catalog {self.name}.")
        properties = ", ".join(f"{_text(key)} = {_text(value)}" for key, value in database.properties.items())
        details = f" WITH PROPERTIES ({properties})" if properties else ""
        self._spark.sql(f"CREATE NAMESPACE {self._path(name)} COMMENT {_text(database.comment)}{details}")

    def drop_database(self, name: str, ignore_if_not_exists: bool, is_cascade: bool = False) -> None:
        if ignore_if_not_exists and not self.database_exists(name):
            return
        if not is_cascade and self.list_tables(name):
            raise DatabaseNotEmptyException(f"Database {name} in catalog {self.name} is not empty.")
        self._spark.sql(f"DROP NAMESPACE {self._path(name)} CASCADE")

    def _require_database(self, name: str) -> None:
        if not self.database_exists(name):
            raise DatabaseNotExistException(f"Database {name} does not exist in Catalog {self.name}.")

    # Tables

    def list_tables(self, database: str) -> list[str]:
        self._require_database(database)
        return self._names(f"SHOW TABLES IN {self._path(database)}", "tableName")

    def list_views(self, database: str) -> list[str]:
        self._require_database(database)
        return self._names(f"SHOW VIEWS IN {self._path(database)}", "viewName")

    def _names(self, statement: str, column: str) -> list[str]:
        # Those of the session alone are Spark's temporary views, which no database has.
        return [row[column] for row in self._spark.sql(statement).collect() if not row["isTemporary"]]

    def get_table(self, database: str, name: str) -> TableObject:
        """A table for the connector; also a Spark view, whose query Spark runs."""
        if not self.table_exists(database, name):
            raise TableNotExistException(f"Table (or view) {database}.{name} does not exist in Catalog {self.name}.")
        path = self._path(database, name)
        columns = tuple(
            ColumnDefinition(field.name, _data_type(name, field), comment=field.metadata.get("comment"))
            for field in self._spark.table(path).schema
        )
        keys = tuple(each.name for each in self._spark.catalog.listColumns(path) if each.isPartition)
        comment = self._spark.catalog.getTable(path).description or ""
        return CatalogTable(SchemaDefinition(columns), {"connector": "spark", "table": path}, keys, comment)

    def table_exists(self, database: str, name: str) -> bool:
        return self._spark.catalog.tableExists(self._path(database, name))

    def create_table(self, database: str, name: str, table: TableObject, ignore_if_exists: bool) -> None:
        self._require_database(database)
        if self.table_exists(database, name):
            if ignore_if_exists:
                return
            raise TableAlreadyExistException(
                f"Table (or view) {database}.{name} already exists in Catalog {self.name}."
            )
        self._spark.sql(self._statement(self._path(database, name), table))

    def _statement(self, path: str, table: TableObject) -> str:
        """CREATE TABLE in Spark's words."""
        if not isinstance(table, CatalogTable) or table.schema.watermark or table.schema.primary_key:
            self._reject("keep views, watermarks and keys: Spark has columns only")
        assert isinstance(table, CatalogTable)
        if any(each.type is None or each.expression is not None or each.is_metadata for each in table.schema.columns):
            self._reject("keep columns that are computed or metadata")
        if table.options.get("connector", "spark") != "spark" or set(table.options) - set(_KNOWN_OPTIONS):
            listed = ", ".join(f"'{key}'" for key in table.options)
            self._reject(f"keep tables of other connectors, nor options but '{_FORMAT}'; got {listed}")
        columns = ", ".join(f"{format_path((each.name,))} {_spark_type(each.type)}" for each in table.schema.columns)
        keys = ", ".join(format_path((key,)) for key in table.partition_keys)
        apart = f" PARTITIONED BY ({keys})" if keys else ""
        comment = f" COMMENT {_text(table.comment)}" if table.comment else ""
        return f"CREATE TABLE {path} ({columns}) USING {table.options.get(_FORMAT, 'parquet')}{apart}{comment}"

    def drop_table(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        if self.table_exists(database, name):
            # Spark's DROP TABLE rejects views.
            kind = "VIEW" if name in self.list_views(database) else "TABLE"
            self._spark.sql(f"DROP {kind} {self._path(database, name)}")
        elif not ignore_if_not_exists:
            raise TableNotExistException(f"Table (or view) {database}.{name} does not exist in Catalog {self.name}.")

    def rename_table(self, database: str, name: str, new_name: str, ignore_if_not_exists: bool) -> None:
        if self.table_exists(database, name):
            # Without the catalog: Spark takes all of a new name for one inside of it.
            new_path = format_path((database, new_name))
            self._spark.sql(f"ALTER TABLE {self._path(database, name)} RENAME TO {new_path}")
        elif not ignore_if_not_exists:
            raise TableNotExistException(f"Table (or view) {database}.{name} does not exist in Catalog {self.name}.")


def _data_type(table: str, field: Any) -> DataType:
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        # By way of Arrow, as the rows go: Spark's TIMESTAMP is an instant, and comes with a zone.
        return from_column_type(to_arrow_type(field.dataType, timezone="UTC"), field.nullable)
    except Exception as error:
        kind = field.dataType.simpleString()
        raise CatalogException(f"the column {field.name} of {table} has the Spark type {kind}: {error}") from error


def _spark_type(data_type: Any) -> str:
    from pyspark.sql.pandas.types import from_arrow_type

    # Spark's TIMESTAMP is an instant; a TIMESTAMP of Flink, which has no zone, is its TIMESTAMP_NTZ.
    type_text: str = from_arrow_type(to_column_type(data_type), prefer_timestamp_ntz=True).simpleString()
    return type_text if data_type._nullable else f"{type_text} NOT NULL"


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
