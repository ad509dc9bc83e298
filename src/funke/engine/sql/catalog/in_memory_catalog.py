"""A catalog in memory, which ends with the program: Flink's `default_catalog`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from funke.engine.flink_exceptions import (
    CatalogException,
    DatabaseAlreadyExistException,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    FunctionAlreadyExistException,
    FunctionNotExistException,
    ModelAlreadyExistException,
    ModelNotExistException,
    PartitionAlreadyExistsException,
    PartitionNotExistException,
    PartitionSpecInvalidException,
    TableAlreadyExistException,
    TableNotExistException,
    TableNotPartitionedException,
)
from funke.engine.sql.catalog.catalog import Catalog, PartitionSpec
from funke.engine.sql.catalog.objects import (
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogTable,
    CatalogView,
    Identifier,
    TableObject,
)

__all__ = ["InMemoryCatalog"]

_SpecKey = tuple[tuple[str, str], ...]


@dataclass
class _Database:
    """One database and all that is in it."""

    definition: CatalogDatabase
    tables: dict[str, TableObject] = field(default_factory=dict)
    # By name in lower case: functions are found in any spelling.
    functions: dict[str, CatalogFunction] = field(default_factory=dict)
    models: dict[str, CatalogModel] = field(default_factory=dict)
    partitions: dict[str, dict[_SpecKey, CatalogPartition]] = field(default_factory=dict)


class InMemoryCatalog(Catalog):
    """Databases in a dict.

    >>> from funke.table.catalog import InMemoryCatalog
    >>> catalog = InMemoryCatalog("shop", "sales")  # for TableEnvironment.register_catalog(), in a Catalog
    >>> catalog.list_databases()
    ['sales']
    """

    def __init__(self, name: str, default_database: str = "default") -> None:
        super().__init__(name, default_database)
        self._databases: dict[str, _Database] = {default_database: _Database(CatalogDatabase())}

    # Databases

    def list_databases(self) -> list[str]:
        return list(self._databases)

    def get_database(self, name: str) -> CatalogDatabase:
        return self._database(name).definition

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        if name not in self._databases:
            self._databases[name] = _Database(database)
        elif not ignore_if_exists:
            raise DatabaseAlreadyExistException(f"Database {name} already exists in Catalog {self.name}.")

    def drop_database(self, name: str, ignore_if_not_exists: bool, is_cascade: bool = False) -> None:
        if ignore_if_not_exists and name not in self._databases:
            return
        database = self._database(name)
        if not is_cascade and (database.tables or database.functions):
            raise DatabaseNotEmptyException(f"Database {name} in catalog {self.name} is not empty.")
        del self._databases[name]

    def alter_database(self, name: str, database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        if not (ignore_if_not_exists and name not in self._databases):
            self._database(name).definition = database

    def _database(self, name: str) -> _Database:
        if name not in self._databases:
            raise DatabaseNotExistException(f"Database {name} does not exist in Catalog {self.name}.")
        return self._databases[name]

    # Tables and views

    def list_tables(self, database: str) -> list[str]:
        return list(self._database(database).tables)

    def list_views(self, database: str) -> list[str]:
        tables = self._database(database).tables
        return [name for name, table in tables.items() if isinstance(table, CatalogView)]

    def get_table(self, database: str, name: str) -> TableObject:
        if not self.table_exists(database, name):
            raise self._no_table(database, name)
        return self._databases[database].tables[name]

    def table_exists(self, database: str, name: str) -> bool:
        return database in self._databases and name in self._databases[database].tables

    def create_table(self, database: str, name: str, table: TableObject, ignore_if_exists: bool) -> None:
        tables = self._database(database).tables
        if name not in tables:
            tables[name] = table
        elif not ignore_if_exists:
            raise self._table_exists(database, name)

    def drop_table(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        if self._is_there(database, name, ignore_if_not_exists):
            del self._databases[database].tables[name]
            self._databases[database].partitions.pop(name, None)

    def rename_table(self, database: str, name: str, new_name: str, ignore_if_not_exists: bool) -> None:
        if not self._is_there(database, name, ignore_if_not_exists):
            return
        content = self._databases[database]
        if new_name in content.tables:
            raise self._table_exists(database, new_name)
        content.tables[new_name] = content.tables.pop(name)
        if name in content.partitions:
            content.partitions[new_name] = content.partitions.pop(name)

    def alter_table(self, database: str, name: str, table: TableObject, ignore_if_not_exists: bool) -> None:
        if not self._is_there(database, name, ignore_if_not_exists):
            return
        tables = self._databases[database].tables
        if isinstance(tables[name], CatalogView) != isinstance(table, CatalogView):
            kinds = ("VIEW" if isinstance(each, CatalogView) else "TABLE" for each in (tables[name], table))
            raise CatalogException(
                "Table types don't match. Existing table is '{}' and new table is '{}'.".format(*kinds)
            )
        tables[name] = table

    def _is_there(self, database: str, name: str, ignore_if_not_exists: bool) -> bool:
        is_there = self.table_exists(database, name)
        if not is_there and not ignore_if_not_exists:
            raise self._no_table(database, name)
        return is_there

    def _no_table(self, database: str, name: str) -> TableNotExistException:
        return TableNotExistException(f"Table (or view) {database}.{name} does not exist in Catalog {self.name}.")

    def _table_exists(self, database: str, name: str) -> TableAlreadyExistException:
        return TableAlreadyExistException(f"Table (or view) {database}.{name} already exists in Catalog {self.name}.")

    # Functions

    def list_functions(self, database: str) -> list[str]:
        return list(self._database(database).functions)

    def get_function(self, database: str, name: str) -> CatalogFunction | None:
        own = self._databases.get(database)
        return None if own is None else own.functions.get(name.lower())

    def create_function(self, database: str, name: str, function: CatalogFunction, ignore_if_exists: bool) -> None:
        functions = self._database(database).functions
        if name.lower() not in functions:
            functions[name.lower()] = function
        elif not ignore_if_exists:
            raise FunctionAlreadyExistException(
                f"Function {database}.{name.lower()} already exists in Catalog {self.name}."
            )

    def alter_function(self, database: str, name: str, function: CatalogFunction, ignore_if_not_exists: bool) -> None:
        if self._has_function(database, name, ignore_if_not_exists):
            self._databases[database].functions[name.lower()] = function

    def drop_function(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        if self._has_function(database, name, ignore_if_not_exists):
            del self._databases[database].functions[name.lower()]

    def _has_function(self, database: str, name: str, ignore_if_not_exists: bool) -> bool:
        is_there = self.get_function(database, name) is not None
        if not is_there and not ignore_if_not_exists:
            raise FunctionNotExistException(
                f"Function {database}.{name.lower()} does not exist in Catalog {self.name}."
            )
        return is_there

    # Models

    def list_models(self, database: str) -> list[str]:
        return list(self._database(database).models)

    def get_model(self, database: str, name: str) -> CatalogModel | None:
        own = self._databases.get(database)
        return None if own is None else own.models.get(name)

    def create_model(self, database: str, name: str, model: CatalogModel, ignore_if_exists: bool) -> None:
        models = self._database(database).models
        if name not in models:
            models[name] = model
        elif not ignore_if_exists:
            raise self._model_exists(database, name)

    def alter_model(self, database: str, name: str, model: CatalogModel, ignore_if_not_exists: bool) -> None:
        if self._has_model(database, name, ignore_if_not_exists):
            self._databases[database].models[name] = model

    def rename_model(self, database: str, name: str, new_name: str, ignore_if_not_exists: bool) -> None:
        if not self._has_model(database, name, ignore_if_not_exists):
            return
        models = self._databases[database].models
        if new_name in models:
            raise self._model_exists(database, new_name)
        models[new_name] = models.pop(name)

    def drop_model(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        if self._has_model(database, name, ignore_if_not_exists):
            del self._databases[database].models[name]

    def _has_model(self, database: str, name: str, ignore_if_not_exists: bool) -> bool:
        is_there = self.get_model(database, name) is not None
        if not is_there and not ignore_if_not_exists:
            raise ModelNotExistException(f"Model '{Identifier(self.name, database, name)}' does not exist.")
        return is_there

    def _model_exists(self, database: str, name: str) -> ModelAlreadyExistException:
        return ModelAlreadyExistException(f"Model {database}.{name} already exists in Catalog {self.name}.")

    # Partitions

    def list_partitions(self, database: str, name: str, spec: PartitionSpec | None = None) -> list[PartitionSpec]:
        # Flink reports a missing table only for a list of all partitions.
        if spec is None:
            self.get_table(database, name)
        if not self._partition_keys(database, name):
            raise self._not_partitioned(database, name)
        items = (spec or {}).items()
        return [dict(key) for key in self._partitions(database, name) if items <= dict(key).items()]

    def get_partition(self, database: str, name: str, spec: PartitionSpec) -> CatalogPartition:
        partition = self._partitions(database, name).get(_spec_key(spec))
        if partition is None:
            raise self._no_partition(database, name, spec)
        return partition

    def partition_exists(self, database: str, name: str, spec: PartitionSpec) -> bool:
        return _spec_key(spec) in self._partitions(database, name)

    def create_partition(
        self, database: str, name: str, spec: PartitionSpec, partition: CatalogPartition, ignore_if_exists: bool
    ) -> None:
        self.get_table(database, name)
        keys = self._partition_keys(database, name)
        if not keys:
            raise self._not_partitioned(database, name)
        if set(spec) != set(keys):
            raise PartitionSpecInvalidException(
                f"PartitionSpec {_spec_text(spec)} does not match partition keys [{', '.join(keys)}] "
                f"of table {database}.{name} in catalog {self.name}."
            )
        if not ignore_if_exists and self.partition_exists(database, name, spec):
            raise PartitionAlreadyExistsException(
                f"Partition {_spec_text(spec)} of table {database}.{name} in catalog {self.name} already exists."
            )
        # As in Flink's catalog in memory, an existing partition is replaced.
        self._databases[database].partitions.setdefault(name, {})[_spec_key(spec)] = partition

    def drop_partition(self, database: str, name: str, spec: PartitionSpec, ignore_if_not_exists: bool) -> None:
        if self._has_partition(database, name, spec, ignore_if_not_exists):
            del self._databases[database].partitions[name][_spec_key(spec)]

    def alter_partition(
        self, database: str, name: str, spec: PartitionSpec, partition: CatalogPartition, ignore_if_not_exists: bool
    ) -> None:
        if self._has_partition(database, name, spec, ignore_if_not_exists):
            self._databases[database].partitions[name][_spec_key(spec)] = partition

    def _has_partition(self, database: str, name: str, spec: PartitionSpec, ignore_if_not_exists: bool) -> bool:
        is_there = self.partition_exists(database, name, spec)
        if not is_there and not ignore_if_not_exists:
            raise self._no_partition(database, name, spec)
        return is_there

    def _partitions(self, database: str, name: str) -> Mapping[_SpecKey, CatalogPartition]:
        """The partitions of a table; empty if the table is missing, has none or cannot have any."""
        content = self._databases.get(database)
        return {} if content is None else content.partitions.get(name, {})

    def _partition_keys(self, database: str, name: str) -> Sequence[str]:
        table = self.get_table(database, name) if self.table_exists(database, name) else None
        return table.partition_keys if isinstance(table, CatalogTable) else ()

    def _not_partitioned(self, database: str, name: str) -> TableNotPartitionedException:
        return TableNotPartitionedException(f"Table {database}.{name} in catalog {self.name} is not partitioned.")

    def _no_partition(self, database: str, name: str, spec: PartitionSpec) -> PartitionNotExistException:
        return PartitionNotExistException(
            f"Partition {_spec_text(spec)} of table {database}.{name} in catalog {self.name} does not exist."
        )


def _spec_key(spec: PartitionSpec) -> _SpecKey:
    return tuple(sorted(spec.items()))


def _spec_text(spec: PartitionSpec) -> str:
    entries = ", ".join(f"{column}={value}" for column, value in spec.items())
    return f"CatalogPartitionSpec{{{{{entries}}}}}"
