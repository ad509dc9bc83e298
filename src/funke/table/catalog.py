"""Catalogs: where tables, views and functions are kept, and what is kept there."""

from __future__ import annotations

from typing import Any

from funke.common.configuration import Configuration
from funke.engine.errors import UnsupportedFeatureError, unsupported
from funke.engine.flink_exceptions import FunctionNotExistException, ModelNotExistException
from funke.engine.sql.catalog import Identifier
from funke.engine.sql.catalog import catalog as engine
from funke.engine.sql.catalog.in_memory_catalog import InMemoryCatalog
from funke.engine.sql.connectors.jdbc.postgres_catalog import PostgresCatalog
from funke.table.catalog_objects.contents import (
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogDescriptor,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogTableStatistics,
    Procedure,
)
from funke.table.catalog_objects.names import CatalogPartitionSpec, ObjectIdentifier, ObjectPath
from funke.table.catalog_objects.resolved_schema import (
    Column,
    ComputedColumn,
    Constraint,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from funke.table.resolved_expression import ResolvedExpression
from funke.table.schema import Schema
from funke.table.table_schema import TableSchema
from funke.table.types import DataType

__all__ = [
    "Catalog",
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "Column",
    "ComputedColumn",
    "Configuration",
    "Constraint",
    "DataType",
    "HiveCatalog",
    "InMemoryCatalog",
    "JdbcCatalog",
    "MetadataColumn",
    "ObjectIdentifier",
    "ObjectPath",
    "PhysicalColumn",
    "Procedure",
    "ResolvedExpression",
    "ResolvedSchema",
    "Schema",
    "TableSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]

_NO_STATISTICS = "statistics are not used: Spark gathers its own"


class Catalog:
    """A catalog. One that a user writes overrides the methods it can answer.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.catalog import Catalog, InMemoryCatalog
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> t_env.register_catalog("shop", Catalog(InMemoryCatalog("shop", "sales")))
    >>> catalog: Catalog = t_env.get_catalog("shop")
    >>> catalog.get_default_database(), catalog.list_databases()
    ('sales', ['sales'])
    """

    def __init__(self, catalog: engine.Catalog) -> None:
        self._catalog = catalog

    def _open(self) -> None:
        """Called when it is registered; one that has to connect says so if it cannot."""

    def get_default_database(self) -> str:
        """Return the database that is current when the catalog becomes so."""
        return self._catalog.default_database

    def list_databases(self) -> list[str]:
        """Return the names of all databases."""
        return self._catalog.list_databases()

    def get_database(self, database_name: str) -> CatalogDatabase:
        """Return a database."""
        return CatalogDatabase(self._catalog.get_database(database_name))

    def database_exists(self, database_name: str) -> bool:
        """Tell whether there is a database."""
        return self._catalog.database_exists(database_name)

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Create a database."""
        self._catalog.create_database(name, database._database, ignore_if_exists)

    def drop_database(self, name: str, ignore_if_exists: bool) -> None:
        """Drop a database, which must be empty."""
        self._catalog.drop_database(name, ignore_if_exists)

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        """Change a database."""
        self._catalog.alter_database(name, new_database._database, ignore_if_not_exists)

    def list_tables(self, database_name: str) -> list[str]:
        """Return the names of tables and views."""
        return self._catalog.list_tables(database_name)

    def list_views(self, database_name: str) -> list[str]:
        """Return the names of views."""
        return self._catalog.list_views(database_name)

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """Return the names of materialized tables: there are none."""
        self._catalog.get_database(database_name)
        return []

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """Return a table or view."""
        return CatalogBaseTable(self._catalog.get_table(*table_path._parts()))

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Tell whether there is a table or view."""
        return self._catalog.table_exists(*table_path._parts())

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a table or view."""
        self._catalog.drop_table(*table_path._parts(), ignore_if_not_exists)

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        """Give a table or view another name in its database."""
        self._catalog.rename_table(*table_path._parts(), new_table_name, ignore_if_not_exists)

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        """Create a table or view."""
        self._catalog.create_table(*table_path._parts(), table._table, ignore_if_exists)

    def alter_table(self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool) -> None:
        """Change a table or view."""
        self._catalog.alter_table(*table_path._parts(), new_table._table, ignore_if_not_exists)

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """Return the partitions of a table, all or those with some values."""
        spec = None if partition_spec is None else partition_spec._spec
        return [CatalogPartitionSpec(each) for each in self._catalog.list_partitions(*table_path._parts(), spec)]

    def get_partition(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> CatalogPartition:
        """Return a partition."""
        return CatalogPartition(self._catalog.get_partition(*table_path._parts(), partition_spec._spec))

    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        """Tell whether there is a partition."""
        return self._catalog.partition_exists(*table_path._parts(), partition_spec._spec)

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        """Create a partition."""
        spec, content = partition_spec._spec, partition._partition
        self._catalog.create_partition(*table_path._parts(), spec, content, ignore_if_exists)

    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec, ignore_if_not_exists: bool
    ) -> None:
        """Drop a partition."""
        self._catalog.drop_partition(*table_path._parts(), partition_spec._spec, ignore_if_not_exists)

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        """Change a partition."""
        spec, content = partition_spec._spec, new_partition._partition
        self._catalog.alter_partition(*table_path._parts(), spec, content, ignore_if_not_exists)

    def list_functions(self, database_name: str) -> list[str]:
        """Return the names of functions, in lower case."""
        return self._catalog.list_functions(database_name)

    def list_procedures(self, database_name: str) -> list[str]:
        """Return the names of procedures: there are none."""
        self._catalog.get_database(database_name)
        return []

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """Return a function."""
        function = self._catalog.get_function(*function_path._parts())
        if function is None:
            path = f"{function_path.get_database_name()}.{function_path.get_object_name().lower()}"
            raise FunctionNotExistException(f"Function {path} does not exist in Catalog {self._catalog.name}.")
        return CatalogFunction(function)

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Tell whether there is a function."""
        return self._catalog.get_function(*function_path._parts()) is not None

    def create_function(self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool) -> None:
        """Create a function."""
        self._catalog.create_function(*function_path._parts(), function._function, ignore_if_exists)

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        """Change a function."""
        self._catalog.alter_function(*function_path._parts(), new_function._function, ignore_if_not_exists)

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a function."""
        self._catalog.drop_function(*function_path._parts(), ignore_if_not_exists)

    get_procedure = unsupported("Catalog.get_procedure", "Flink procedures are Java classes")

    def list_models(self, database_name: str) -> list[str]:
        """Return the names of a database's models."""
        return self._catalog.list_models(database_name)

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        """Return a model."""
        model = self._catalog.get_model(*model_path._parts())
        if model is None:
            raise ModelNotExistException(
                f"Model '{Identifier(self._catalog.name, *model_path._parts())}' does not exist."
            )
        return CatalogModel(model)

    def model_exists(self, model_path: ObjectPath) -> bool:
        """Tell whether there is a model."""
        return self._catalog.get_model(*model_path._parts()) is not None

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a model."""
        self._catalog.drop_model(*model_path._parts(), ignore_if_not_exists)

    def rename_model(self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool) -> None:
        """Give a model another name."""
        self._catalog.rename_model(*model_path._parts(), new_model_name, ignore_if_not_exists)

    def create_model(self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool) -> None:
        """Create a model."""
        self._catalog.create_model(*model_path._parts(), model._model, ignore_if_exists)

    def alter_model(self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool) -> None:
        """Change a model."""
        self._catalog.alter_model(*model_path._parts(), new_model._model, ignore_if_not_exists)

    get_table_statistics = unsupported("Catalog.get_table_statistics", _NO_STATISTICS)
    get_table_column_statistics = unsupported("Catalog.get_table_column_statistics", _NO_STATISTICS)
    get_partition_statistics = unsupported("Catalog.get_partition_statistics", _NO_STATISTICS)
    bulk_get_partition_statistics = unsupported("Catalog.bulk_get_partition_statistics", _NO_STATISTICS)
    get_partition_column_statistics = unsupported("Catalog.get_partition_column_statistics", _NO_STATISTICS)
    bulk_get_partition_column_statistics = unsupported("Catalog.bulk_get_partition_column_statistics", _NO_STATISTICS)
    alter_table_statistics = unsupported("Catalog.alter_table_statistics", _NO_STATISTICS)
    alter_table_column_statistics = unsupported("Catalog.alter_table_column_statistics", _NO_STATISTICS)
    alter_partition_statistics = unsupported("Catalog.alter_partition_statistics", _NO_STATISTICS)
    alter_partition_column_statistics = unsupported("Catalog.alter_partition_column_statistics", _NO_STATISTICS)


class HiveCatalog(Catalog):
    """The catalog of Hive's metastore.

    >>> from funke.table.catalog import HiveCatalog
    >>> HiveCatalog("hive")
    Traceback (most recent call last):
        ...
    funke.engine.errors.UnsupportedFeatureError: HiveCatalog is not supported: Hive's tables are reached...
    """

    def __init__(
        self,
        catalog_name: str,
        default_database: str | None = None,
        hive_conf_dir: str | None = None,
        hadoop_conf_dir: str | None = None,
        hive_version: str | None = None,
    ) -> None:
        raise UnsupportedFeatureError("HiveCatalog", "Hive's tables are reached through Spark's own catalog")


class JdbcCatalog(Catalog):
    """The tables of a PostgreSQL server, by the names `schema.table`.

    >>> from funke.table.catalog import JdbcCatalog
    >>> catalog = JdbcCatalog("shop", "orders", "ada", "secret", "jdbc:postgresql://localhost:5432")
    >>> catalog.get_default_database()  # t_env.register_catalog("shop", catalog) connects
    'orders'
    """

    def __init__(self, catalog_name: str, default_database: str, username: str, pwd: str, base_url: str) -> None:
        super().__init__(PostgresCatalog(catalog_name, default_database, username, pwd, base_url))

    def _open(self) -> None:
        self._catalog.open()


class UserCatalog(engine.Catalog):
    """A catalog that a user wrote in Python, as the engine asks it: `Catalog` with some methods overridden."""

    def __init__(self, name: str, catalog: Catalog) -> None:
        super().__init__(name, catalog.get_default_database())
        self._catalog = catalog

    def open(self) -> None:
        self._catalog._open()

    def list_databases(self) -> list[str]:
        return self._catalog.list_databases()

    def get_database(self, name: str) -> Any:
        return self._catalog.get_database(name)._database

    def database_exists(self, name: str) -> bool:
        return self._catalog.database_exists(name)

    def create_database(self, name: str, database: Any, ignore_if_exists: bool) -> None:
        self._catalog.create_database(name, CatalogDatabase(database), ignore_if_exists)

    def drop_database(self, name: str, ignore_if_not_exists: bool, is_cascade: bool = False) -> None:
        if is_cascade and self._catalog.database_exists(name):
            for table in self._catalog.list_tables(name):
                self._catalog.drop_table(ObjectPath(name, table), True)
            for function in self._catalog.list_functions(name):
                self._catalog.drop_function(ObjectPath(name, function), True)
        self._catalog.drop_database(name, ignore_if_not_exists)

    def alter_database(self, name: str, database: Any, ignore_if_not_exists: bool) -> None:
        self._catalog.alter_database(name, CatalogDatabase(database), ignore_if_not_exists)

    def list_tables(self, database: str) -> list[str]:
        return self._catalog.list_tables(database)

    def list_views(self, database: str) -> list[str]:
        return self._catalog.list_views(database)

    def get_table(self, database: str, name: str) -> Any:
        return self._catalog.get_table(ObjectPath(database, name))._table

    def table_exists(self, database: str, name: str) -> bool:
        return self._catalog.table_exists(ObjectPath(database, name))

    def create_table(self, database: str, name: str, table: Any, ignore_if_exists: bool) -> None:
        self._catalog.create_table(ObjectPath(database, name), CatalogBaseTable(table), ignore_if_exists)

    def drop_table(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        self._catalog.drop_table(ObjectPath(database, name), ignore_if_not_exists)

    def rename_table(self, database: str, name: str, new_name: str, ignore_if_not_exists: bool) -> None:
        self._catalog.rename_table(ObjectPath(database, name), new_name, ignore_if_not_exists)

    def alter_table(self, database: str, name: str, table: Any, ignore_if_not_exists: bool) -> None:
        self._catalog.alter_table(ObjectPath(database, name), CatalogBaseTable(table), ignore_if_not_exists)

    def list_functions(self, database: str) -> list[str]:
        return self._catalog.list_functions(database)

    def get_function(self, database: str, name: str) -> Any:
        path = ObjectPath(database, name)
        return self._catalog.get_function(path)._function if self._catalog.function_exists(path) else None

    def create_function(self, database: str, name: str, function: Any, ignore_if_exists: bool) -> None:
        self._catalog.create_function(ObjectPath(database, name), CatalogFunction(function), ignore_if_exists)

    def alter_function(self, database: str, name: str, function: Any, ignore_if_not_exists: bool) -> None:
        self._catalog.alter_function(ObjectPath(database, name), CatalogFunction(function), ignore_if_not_exists)

    def drop_function(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        self._catalog.drop_function(ObjectPath(database, name), ignore_if_not_exists)
