"""Databases, tables, views, partitions, functions and models of a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from funke.common.configuration import Configuration
from funke.engine.sql.catalog import objects
from funke.table.schema import Schema
from funke.table.table_schema import TableSchema

__all__ = [
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogTableStatistics",
    "Procedure",
]

_LANGUAGES = ("PYTHON", "JAVA", "SCALA")


class CatalogDatabase:
    """A database: its properties and what it is for.

    >>> from funke.table.catalog import Catalog, CatalogDatabase, InMemoryCatalog
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> catalog.create_database("stock", CatalogDatabase.create_instance({"owner": "ada"}, "What is in stock"), False)
    >>> catalog.get_database("stock").get_comment(), catalog.get_database("stock").get_properties()
    ('What is in stock', {'owner': 'ada'})
    """

    def __init__(self, database: objects.CatalogDatabase) -> None:
        self._database = database

    @staticmethod
    def create_instance(properties: Mapping[str, str], comment: str | None = None) -> CatalogDatabase:
        """Describe a database."""
        return CatalogDatabase(objects.CatalogDatabase(_required(properties, "properties"), comment or ""))

    def get_properties(self) -> dict[str, str]:
        """Return the properties."""
        return dict(self._database.properties)

    def get_comment(self) -> str:
        """Return what the database is for."""
        return self._database.comment

    def copy(self) -> CatalogDatabase:
        """Return a copy."""
        return CatalogDatabase(objects.CatalogDatabase(self.get_properties(), self.get_comment()))

    def get_description(self) -> str | None:
        """Return a short description."""
        return self._database.comment

    def get_detailed_description(self) -> str | None:
        """Return a long description."""
        return self._database.comment


class CatalogBaseTable:
    """A table or a view.

    >>> from funke.table import DataTypes, TableSchema
    >>> from funke.table.catalog import Catalog, CatalogBaseTable, InMemoryCatalog, ObjectPath
    >>> schema = TableSchema(["id"], [DataTypes.INT()])
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> table = CatalogBaseTable.create_table(schema, properties={"connector": "datagen"}, comment="Orders")
    >>> catalog.create_table(ObjectPath("sales", "orders"), table, False)
    >>> catalog.list_tables("sales"), catalog.get_table(ObjectPath("sales", "orders")).get_options()
    (['orders'], {'connector': 'datagen'})
    """

    def __init__(self, table: objects.TableObject) -> None:
        self._table = table

    @staticmethod
    def create_table(
        schema: TableSchema,
        partition_keys: list[str] = [],  # noqa: B006  (PyFlink's default; copied)
        properties: Mapping[str, str] = {},
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """Describe a table."""
        keys = tuple(_required(partition_keys, "partition_keys"))
        options = dict(_required(properties, "properties"))
        return CatalogBaseTable(objects.CatalogTable(_definition(schema), options, keys, comment or ""))

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: TableSchema,
        properties: Mapping[str, str],
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """Describe a view by the text of its query, as it was written and with full names."""
        view = objects.CatalogView(
            _definition(schema),
            text=_required(original_query, "original_query"),
            options=dict(_required(properties, "properties")),
            comment=comment or "",
            expanded_text=_required(expanded_query, "expanded_query"),
        )
        return CatalogBaseTable(view)

    def get_options(self) -> dict[str, str]:
        """Return the options of the connector."""
        return dict(self._table.options)

    def get_unresolved_schema(self) -> Schema:
        """Return the columns as they were declared."""
        return Schema(self._table.schema)

    def get_comment(self) -> str:
        """Return what the table is for."""
        return self._table.comment

    def copy(self) -> CatalogBaseTable:
        """Return a copy."""
        return CatalogBaseTable(self._table)

    def get_description(self) -> str | None:
        """Return a short description."""
        return self._table.comment

    def get_detailed_description(self) -> str | None:
        """Return a long description: there is none."""
        return None


class CatalogPartition:
    """A partition of a table.

    >>> from funke.table.catalog import CatalogPartition
    >>> CatalogPartition.create_instance({"files": "3"}, "One day").get_properties()
    {'files': '3'}
    """

    def __init__(self, partition: objects.CatalogPartition) -> None:
        self._partition = partition

    @staticmethod
    def create_instance(properties: Mapping[str, str], comment: str | None = None) -> CatalogPartition:
        """Describe a partition."""
        return CatalogPartition(objects.CatalogPartition(_required(properties, "properties"), comment or ""))

    def get_properties(self) -> dict[str, str]:
        """Return the properties."""
        return dict(self._partition.properties)

    def copy(self) -> CatalogPartition:
        """Return a copy."""
        return CatalogPartition(objects.CatalogPartition(self.get_properties(), self.get_comment()))

    def get_description(self) -> str | None:
        """Return a short description: there is none."""
        return None

    def get_detailed_description(self) -> str | None:
        """Return a long description: there is none."""
        return None

    def get_comment(self) -> str:
        """Return what the partition is for."""
        return self._partition.comment


class CatalogFunction:
    """A function by the full name of its class or object.

    >>> from funke.table.catalog import Catalog, CatalogFunction, InMemoryCatalog, ObjectPath
    >>> catalog = Catalog(InMemoryCatalog("shop", "sales"))
    >>> catalog.create_function(ObjectPath("sales", "up"), CatalogFunction.create_instance("str.upper"), False)
    >>> catalog.list_functions("sales"), catalog.get_function(ObjectPath("sales", "up")).get_function_language()
    (['up'], 'PYTHON')
    """

    def __init__(self, function: objects.CatalogFunction) -> None:
        self._function = function

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """Describe a function; only those of Python can be called."""
        language = function_language.upper()
        if language not in _LANGUAGES:
            raise ValueError("function_language must be one of 'Python', 'Java' or 'Scala'")
        return CatalogFunction(objects.CatalogFunction(_required(class_name, "class_name"), language))

    def get_class_name(self) -> str:
        """Return the full name, `module.function`."""
        return self._function.class_name

    def copy(self) -> CatalogFunction:
        """Return a copy."""
        return CatalogFunction(self._function)

    def get_description(self) -> str | None:
        """Return a short description."""
        return "This is a user-defined function"

    def get_detailed_description(self) -> str | None:
        """Return a long description."""
        return "This is a user-defined function"

    def get_function_language(self) -> str:
        """Return the language in capitals."""
        return self._function.language

    def get_options(self) -> dict[str, str]:
        """Return the options."""
        return dict(self._function.options)


class CatalogModel:
    """A model for machine learning: what goes in, what comes out.

    >>> from funke.table import DataTypes, Schema
    >>> from funke.table.catalog import CatalogModel
    >>> review = Schema.new_builder().column("review", DataTypes.STRING()).build()
    >>> mood = Schema.new_builder().column("mood", DataTypes.STRING()).build()
    >>> CatalogModel.create_model(review, mood, {"provider": "openai"}, "The mood of a review").get_comment()
    'The mood of a review'
    """

    def __init__(self, model: objects.CatalogModel) -> None:
        self._model = model

    @staticmethod
    def create_model(
        input_schema: Schema,
        output_schema: Schema,
        options: Mapping[str, str] = {},
        comment: str | None = None,
    ) -> CatalogModel:
        """Describe a model."""
        inputs, outputs = _required(input_schema, "input_schema"), _required(output_schema, "output_schema")
        settings = dict(_required(options, "options"))
        return CatalogModel(objects.CatalogModel(inputs._definition, outputs._definition, settings, comment or ""))

    def copy(self) -> CatalogModel:
        """Return a copy."""
        return CatalogModel(self._model)

    def get_comment(self) -> str:
        """Return what the model is for."""
        return self._model.comment

    def get_options(self) -> dict[str, str]:
        """Return the options."""
        return dict(self._model.options)


class Procedure:
    """A procedure of a catalog; none of the catalogs here has any.

    >>> from funke.table.catalog import Catalog, InMemoryCatalog, Procedure
    >>> Catalog(InMemoryCatalog("shop", "sales")).list_procedures("sales")  # what would be a Procedure
    []
    """


class CatalogTableStatistics:
    """How large a table is; -1 or None where it is unknown.

    >>> from funke.table.catalog import CatalogTableStatistics
    >>> statistics = CatalogTableStatistics(row_count=1000, total_size=20_000)
    >>> statistics.get_row_count(), statistics.get_total_size(), statistics.get_raw_data_size()
    (1000, 20000, None)
    """

    def __init__(
        self,
        row_count: int | None = None,
        field_count: int | None = None,
        total_size: int | None = None,
        raw_data_size: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._numbers = (row_count, field_count, total_size, raw_data_size)
        self._properties = dict(properties or {})

    def get_row_count(self) -> int | None:
        """Return the number of rows."""
        return self._numbers[0]

    def get_field_count(self) -> int | None:
        """Return the number of files; PyFlink calls it so."""
        return self._numbers[1]

    def get_total_size(self) -> int | None:
        """Return the bytes that are stored."""
        return self._numbers[2]

    def get_raw_data_size(self) -> int | None:
        """Return the bytes without compression."""
        return self._numbers[3]

    def get_properties(self) -> dict[str, str]:
        """Return further properties."""
        return dict(self._properties)

    def copy(self) -> CatalogTableStatistics:
        """Return a copy."""
        return CatalogTableStatistics(*self._numbers, properties=self._properties)


class CatalogColumnStatistics:
    """What is known about the values of columns.

    >>> from funke.table.catalog import CatalogColumnStatistics
    >>> CatalogColumnStatistics({"price": {"max": 30}}, {"source": "nightly"}).get_properties()
    {'source': 'nightly'}
    """

    def __init__(
        self, column_statistics_data: Mapping[str, Any] | None = None, properties: Mapping[str, str] | None = None
    ) -> None:
        self._data = dict(column_statistics_data or {})
        self._properties = dict(properties or {})

    def get_column_statistics_data(self) -> dict[str, Any]:
        """Return what is known, by column."""
        return dict(self._data)

    def get_properties(self) -> dict[str, str]:
        """Return further properties."""
        return dict(self._properties)

    def copy(self) -> CatalogColumnStatistics:
        """Return a copy."""
        return CatalogColumnStatistics(self._data, self._properties)


class CatalogDescriptor:
    """A catalog to be made: its name and its options.

    >>> from funke.common import Configuration
    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> from funke.table.catalog import CatalogDescriptor
    >>> settings = Configuration().set_string("type", "generic_in_memory")
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> t_env.create_catalog("shop", CatalogDescriptor.of("shop", settings))
    >>> t_env.list_catalogs()
    ['default_catalog', 'shop']
    """

    def __init__(self, catalog_name: str, configuration: Configuration, comment: str | None) -> None:
        self._catalog_name = catalog_name
        self._configuration = configuration
        self._comment = comment

    @staticmethod
    def of(catalog_name: str, configuration: Configuration, comment: str | None = None) -> CatalogDescriptor:
        """Describe a catalog; `type` is its most important option."""
        name = _required(catalog_name, "catalog_name")
        return CatalogDescriptor(name, _required(configuration, "configuration"), comment)


def _definition(schema: TableSchema | Schema) -> objects.SchemaDefinition:
    required = _required(schema, "schema")
    return required._definition if isinstance(required, Schema) else required._to_schema()._definition


def _required(value: Any, what: str) -> Any:
    if value is None:
        raise AssertionError(f"{what} must not be None")
    return value
