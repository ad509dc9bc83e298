"""What Flink's tables and catalogs report, under the names by which PyFlink programs catch it."""

from __future__ import annotations

from funke.engine.errors import FunkeError

__all__ = [
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "JavaException",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "TableAlreadyExistException",
    "TableException",
    "TableNotExistException",
    "TableNotPartitionedException",
    "ValidationException",
]


class JavaException(FunkeError):
    """An error that Flink reports from its Java side.

    >>> from funke.util.exceptions import JavaException, TableNotExistException
    >>> issubclass(TableNotExistException, JavaException)  # so one `except` catches all that Flink reports
    True
    """

    def __init__(self, stack_trace: str) -> None:
        super().__init__(stack_trace)
        self.stack_trace = stack_trace

    def __str__(self) -> str:
        return self.stack_trace


class TableException(JavaException):
    """Something went wrong with a table.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.util.exceptions import TableException
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> try:
    ...     t_env.sql_query("SELECT COUNT(x, y) FROM (VALUES (1, 2)) AS t (x, y)")
    ... except TableException as error:
    ...     print(error)
    We now only support the count of one field.
    """


class ValidationException(JavaException):
    """What a program asks for does not fit together."""


class CatalogException(JavaException):
    """Something went wrong with a catalog.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.util.exceptions import CatalogException
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> try:
    ...     t_env.use_database("stock")
    ... except CatalogException as error:
    ...     print(error)
    A database with name [stock] does not exist in the catalog: [default_catalog].
    """


class DatabaseAlreadyExistException(JavaException):
    """A database to be created exists already.

    >>> from funke.table.catalog import Catalog, CatalogDatabase, InMemoryCatalog
    >>> from funke.util.exceptions import DatabaseAlreadyExistException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> try:
    ...     catalog.create_database("sales", CatalogDatabase.create_instance({}), False)
    ... except DatabaseAlreadyExistException as error:
    ...     print(error)
    Database sales already exists in Catalog shop.
    """


class DatabaseNotEmptyException(JavaException):
    """A database to be dropped still holds something.

    >>> from funke.table import DataTypes, TableSchema
    >>> from funke.table.catalog import Catalog, CatalogBaseTable, InMemoryCatalog, ObjectPath
    >>> from funke.util.exceptions import DatabaseNotEmptyException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> orders = ObjectPath("sales", "orders")
    >>> table = CatalogBaseTable.create_table(TableSchema(["id"], [DataTypes.INT()]))
    >>> catalog.create_table(orders, table, False)
    >>> try:
    ...     catalog.drop_database("sales", False)
    ... except DatabaseNotEmptyException as error:
    ...     print(error)
    Database sales in catalog shop is not empty.
    """


class DatabaseNotExistException(JavaException):
    """A database does not exist.

    >>> from funke.table.catalog import Catalog, InMemoryCatalog
    >>> from funke.util.exceptions import DatabaseNotExistException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> try:
    ...     catalog.get_database("stock")
    ... except DatabaseNotExistException as error:
    ...     print(error)
    Database stock does not exist in Catalog shop.
    """


class FunctionAlreadyExistException(JavaException):
    """A function to be created exists already.

    >>> from funke.table.catalog import Catalog, CatalogFunction, InMemoryCatalog, ObjectPath
    >>> from funke.util.exceptions import FunctionAlreadyExistException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> upper = CatalogFunction.create_instance("str.upper")
    >>> catalog.create_function(ObjectPath("sales", "up"), upper, False)
    >>> try:
    ...     catalog.create_function(ObjectPath("sales", "up"), upper, False)
    ... except FunctionAlreadyExistException as error:
    ...     print(error)
    Function sales.up already exists in Catalog shop.
    """


class FunctionNotExistException(JavaException):
    """A function does not exist.

    >>> from funke.table.catalog import Catalog, InMemoryCatalog, ObjectPath
    >>> from funke.util.exceptions import FunctionNotExistException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> try:
    ...     catalog.get_function(ObjectPath("sales", "up"))
    ... except FunctionNotExistException as error:
    ...     print(error)
    Function sales.up does not exist in Catalog shop.
    """


class PartitionAlreadyExistsException(JavaException):
    """A partition to be created exists already.

    >>> from funke.table import DataTypes, TableSchema
    >>> from funke.table.catalog import Catalog, CatalogBaseTable, InMemoryCatalog, ObjectPath
    >>> from funke.table.catalog import CatalogPartition, CatalogPartitionSpec
    >>> from funke.util.exceptions import PartitionAlreadyExistsException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> orders = ObjectPath("sales", "orders")
    >>> schema = TableSchema(["id", "day"], [DataTypes.INT(), DataTypes.STRING()])
    >>> catalog.create_table(orders, CatalogBaseTable.create_table(schema, ["day"]), False)
    >>> day = CatalogPartitionSpec({"day": "2026-11-19"})
    >>> catalog.create_partition(orders, day, CatalogPartition.create_instance({}), False)
    >>> try:
    ...     catalog.create_partition(orders, day, CatalogPartition.create_instance({}), False)
    ... except PartitionAlreadyExistsException as error:
    ...     print(error)
    Partition CatalogPartitionSpec{{day=2026-11-19}} of table sales.orders in catalog shop already exists.
    """


class PartitionNotExistException(JavaException):
    """A partition does not exist.

    >>> from funke.table import DataTypes, TableSchema
    >>> from funke.table.catalog import Catalog, CatalogBaseTable, CatalogPartitionSpec, InMemoryCatalog, ObjectPath
    >>> from funke.util.exceptions import PartitionNotExistException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> orders = ObjectPath("sales", "orders")
    >>> schema = TableSchema(["id", "day"], [DataTypes.INT(), DataTypes.STRING()])
    >>> catalog.create_table(orders, CatalogBaseTable.create_table(schema, ["day"]), False)
    >>> try:
    ...     catalog.get_partition(orders, CatalogPartitionSpec({"day": "2026-11-19"}))
    ... except PartitionNotExistException as error:
    ...     print(error)
    Partition CatalogPartitionSpec{{day=2026-11-19}} of table sales.orders in catalog shop does not exist.
    """


class PartitionSpecInvalidException(JavaException):
    """A partition description does not fit the partition keys of its table.

    >>> from funke.table import DataTypes, TableSchema
    >>> from funke.table.catalog import Catalog, CatalogBaseTable, InMemoryCatalog, ObjectPath
    >>> from funke.table.catalog import CatalogPartition, CatalogPartitionSpec
    >>> from funke.util.exceptions import PartitionSpecInvalidException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> orders = ObjectPath("sales", "orders")
    >>> schema = TableSchema(["id", "day"], [DataTypes.INT(), DataTypes.STRING()])
    >>> catalog.create_table(orders, CatalogBaseTable.create_table(schema, ["day"]), False)
    >>> hour = CatalogPartitionSpec({"hour": "8"})
    >>> try:
    ...     catalog.create_partition(orders, hour, CatalogPartition.create_instance({}), False)
    ... except PartitionSpecInvalidException as error:
    ...     print(error)
    PartitionSpec CatalogPartitionSpec{{hour=8}} does not match partition keys [day] of table sales.orders...
    """


class TableAlreadyExistException(JavaException):
    """A table or view to be created exists already.

    >>> from funke.table import DataTypes, TableSchema
    >>> from funke.table.catalog import Catalog, CatalogBaseTable, InMemoryCatalog, ObjectPath
    >>> from funke.util.exceptions import TableAlreadyExistException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> orders = ObjectPath("sales", "orders")
    >>> table = CatalogBaseTable.create_table(TableSchema(["id"], [DataTypes.INT()]))
    >>> catalog.create_table(orders, table, False)
    >>> try:
    ...     catalog.create_table(orders, table, False)
    ... except TableAlreadyExistException as error:
    ...     print(error)
    Table (or view) sales.orders already exists in Catalog shop.
    """


class TableNotExistException(JavaException):
    """A table or view does not exist.

    >>> from funke.table.catalog import Catalog, InMemoryCatalog, ObjectPath
    >>> from funke.util.exceptions import TableNotExistException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> try:
    ...     catalog.get_table(ObjectPath("sales", "orders"))
    ... except TableNotExistException as error:
    ...     print(error)
    Table (or view) sales.orders does not exist in Catalog shop.
    """


class ModelAlreadyExistException(JavaException):
    """A model to be created exists already.

    >>> from funke.table import DataTypes, Schema
    >>> from funke.table.catalog import Catalog, CatalogModel, InMemoryCatalog, ObjectPath
    >>> from funke.util.exceptions import ModelAlreadyExistException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> text = Schema.new_builder().column("text", DataTypes.STRING()).build()
    >>> model, path = CatalogModel.create_model(text, text), ObjectPath("sales", "mood")
    >>> catalog.create_model(path, model, False)
    >>> try:
    ...     catalog.create_model(path, model, False)
    ... except ModelAlreadyExistException as error:
    ...     print(error)
    Model sales.mood already exists in Catalog shop.
    """


class ModelNotExistException(JavaException):
    """A model does not exist.

    >>> from funke.table.catalog import Catalog, InMemoryCatalog, ObjectPath
    >>> from funke.util.exceptions import ModelNotExistException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> try:
    ...     catalog.get_model(ObjectPath("sales", "mood"))
    ... except ModelNotExistException as error:
    ...     print(error)
    Model '`shop`.`sales`.`mood`' does not exist.
    """


class TableNotPartitionedException(JavaException):
    """A table has no partitions.

    >>> from funke.table import DataTypes, TableSchema
    >>> from funke.table.catalog import Catalog, CatalogBaseTable, InMemoryCatalog, ObjectPath
    >>> from funke.util.exceptions import TableNotPartitionedException
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> orders = ObjectPath("sales", "orders")
    >>> table = CatalogBaseTable.create_table(TableSchema(["id"], [DataTypes.INT()]))
    >>> catalog.create_table(orders, table, False)
    >>> try:
    ...     catalog.list_partitions(orders)
    ... except TableNotPartitionedException as error:
    ...     print(error)
    Table sales.orders in catalog shop is not partitioned.
    """
