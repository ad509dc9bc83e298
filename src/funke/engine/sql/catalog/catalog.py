"""The interface of catalogs: the one in memory, Spark's, a database's, and those that users write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from funke.engine.flink_exceptions import CatalogException
from funke.engine.sql.catalog.objects import (
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    TableObject,
)

__all__ = ["Catalog", "PartitionSpec"]

PartitionSpec = Mapping[str, str]


class Catalog(ABC):
    """Databases with tables, views and functions. Methods that change something are rejected unless overridden."""

    def __init__(self, name: str, default_database: str) -> None:
        self.name = name
        self.default_database = default_database

    def open(self) -> None:
        """Prepare for work; called when the catalog is registered."""

    def close(self) -> None:
        """Clean up."""

    @abstractmethod
    def list_databases(self) -> list[str]: ...

    @abstractmethod
    def get_database(self, name: str) -> CatalogDatabase: ...

    def database_exists(self, name: str) -> bool:
        return name in self.list_databases()

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        self._reject("create databases")

    def drop_database(self, name: str, ignore_if_not_exists: bool, is_cascade: bool = False) -> None:
        self._reject("drop databases")

    def alter_database(self, name: str, database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        self._reject("alter databases")

    @abstractmethod
    def list_tables(self, database: str) -> list[str]:
        """Return the names of tables and views."""

    @abstractmethod
    def list_views(self, database: str) -> list[str]: ...

    @abstractmethod
    def get_table(self, database: str, name: str) -> TableObject: ...

    @abstractmethod
    def table_exists(self, database: str, name: str) -> bool: ...

    def create_table(self, database: str, name: str, table: TableObject, ignore_if_exists: bool) -> None:
        self._reject("create tables")

    def drop_table(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        self._reject("drop tables")

    def rename_table(self, database: str, name: str, new_name: str, ignore_if_not_exists: bool) -> None:
        self._reject("rename tables")

    def alter_table(self, database: str, name: str, table: TableObject, ignore_if_not_exists: bool) -> None:
        self._reject("alter tables")

    def list_functions(self, database: str) -> list[str]:
        return []

    def get_function(self, database: str, name: str) -> CatalogFunction | None:
        """Return a function, or None."""
        return None

    def create_function(self, database: str, name: str, function: CatalogFunction, ignore_if_exists: bool) -> None:
        self._reject("create functions")

    def alter_function(self, database: str, name: str, function: CatalogFunction, ignore_if_not_exists: bool) -> None:
        self._reject("alter functions")

    def drop_function(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        self._reject("drop functions")

    def list_models(self, database: str) -> list[str]:
        return []

    def get_model(self, database: str, name: str) -> CatalogModel | None:
        """Return a model, or None."""
        return None

    def create_model(self, database: str, name: str, model: CatalogModel, ignore_if_exists: bool) -> None:
        self._reject("create models")

    def alter_model(self, database: str, name: str, model: CatalogModel, ignore_if_not_exists: bool) -> None:
        self._reject("alter models")

    def rename_model(self, database: str, name: str, new_name: str, ignore_if_not_exists: bool) -> None:
        self._reject("rename models")

    def drop_model(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        self._reject("drop models")

    def list_partitions(self, database: str, name: str, spec: PartitionSpec | None = None) -> list[PartitionSpec]:
        self._reject("list partitions")
        return []

    def get_partition(self, database: str, name: str, spec: PartitionSpec) -> CatalogPartition:
        raise CatalogException(f"the catalog {self.name!r} has no partitions")

    def partition_exists(self, database: str, name: str, spec: PartitionSpec) -> bool:
        return False

    def create_partition(
        self, database: str, name: str, spec: PartitionSpec, partition: CatalogPartition, ignore_if_exists: bool
    ) -> None:
        self._reject("create partitions")

    def drop_partition(self, database: str, name: str, spec: PartitionSpec, ignore_if_not_exists: bool) -> None:
        self._reject("drop partitions")

    def alter_partition(
        self, database: str, name: str, spec: PartitionSpec, partition: CatalogPartition, ignore_if_not_exists: bool
    ) -> None:
        self._reject("alter partitions")

    def _reject(self, what: str) -> None:
        raise CatalogException(f"the catalog {self.name!r}, of {type(self).__name__}, cannot {what}")
