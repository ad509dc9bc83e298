"""Schemas, descriptors, settings and catalogs as programs use them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from funke.common import Configuration
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.catalog.catalog_manager import CatalogManager
from funke.engine.sql.catalog.in_memory_catalog import InMemoryCatalog
from funke.engine.sql.catalog.objects import CatalogTable, Identifier
from funke.engine.sql.syntax.statements import ColumnDefinition, WatermarkDefinition
from funke.table import (
    ChangelogMode,
    DataTypes,
    EnvironmentSettings,
    FormatDescriptor,
    Module,
    ModuleEntry,
    PlanReference,
    Schema,
    SqlDialect,
    TableConfig,
    TableDescriptor,
    TableEnvironment,
    TableSchema,
)
from funke.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    Column,
    HiveCatalog,
    ObjectPath,
    ResolvedSchema,
    UniqueConstraint,
    UserCatalog,
)
from funke.table.expressions import col, lit
from funke.table.model_descriptor import ModelDescriptor
from funke.table.module import HiveModule
from funke.util.exceptions import FunctionNotExistException, TableNotExistException

INT, STRING = DataTypes.INT(), DataTypes.STRING()


def test_a_type_that_is_a_text_is_shown_as_it_was_given() -> None:
    schema = Schema.new_builder().column("id", INT.not_null()).column("payload", "ROW<name STRING, age INT>").build()
    copied = Schema.new_builder().from_schema(schema).build()
    assert str(schema) == str(copied) == "(\n  `id` INT NOT NULL,\n  `payload` [ROW<name STRING, age INT>]\n)"


def test_a_schema_is_what_a_statement_would_declare() -> None:
    watermark = col("ts") - lit(5).seconds
    schema = (
        Schema.new_builder()
        .column("id", "INT NOT NULL")
        .column_by_expression("next", col("id") + 1)
        .column_by_metadata("ts", DataTypes.TIMESTAMP(3), "timestamp", is_virtual=True)
        .watermark("ts", watermark)
        .primary_key("id")
        .build()
    )

    assert schema._definition.columns == (
        ColumnDefinition("id", INT.not_null()),
        ColumnDefinition("next", expression=(col("id") + 1)._syntax),
        ColumnDefinition("ts", DataTypes.TIMESTAMP(3), is_metadata=True, metadata_key="timestamp", is_virtual=True),
    )
    assert schema._definition.watermark == WatermarkDefinition(("ts",), watermark._syntax)
    assert schema._definition.primary_key == ("id",)


def test_equal_schemas() -> None:
    first, second = (Schema.new_builder().column("a", INT).build() for _ in range(2))

    assert first == second
    assert hash(first) == hash(second)
    assert first != Schema.new_builder().column("a", STRING).build()
    assert Schema.new_builder().from_schema(first).build() == first
    assert Schema.new_builder().from_resolved_schema(ResolvedSchema.physical(["a"], [INT])).build() == first


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Schema.new_builder().from_fields(["a"], []), ValidationException),
        (lambda: Schema.new_builder().from_row_data_type(INT), ValidationException),
        (lambda: Schema.new_builder().primary_key("a").primary_key("b"), ValidationException),
        (lambda: Schema.new_builder().primary_key_named("pk"), ValidationException),
        (lambda: Schema.new_builder().column("a", "NO TYPE"), ConfigurationError),
        (lambda: Schema.new_builder().column("a", 5), ConfigurationError),  # type: ignore[arg-type]
        (lambda: TableDescriptor.for_connector(""), ValidationException),
        (lambda: TableSchema(["a"], []), ValueError),
        (ResolvedSchema, AssertionError),
    ],
)
def test_descriptions_that_cannot_be(make: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_a_descriptor_has_the_options_of_its_format() -> None:
    csv = FormatDescriptor.for_format("csv").option("field-delimiter", ";").build()
    descriptor = (
        TableDescriptor.for_connector("filesystem")
        .schema(Schema.new_builder().column("a", INT).build())
        .option("path", "/data")
        .format(csv)
        .partitioned_by("a")
        .build()
    )

    assert descriptor.get_options() == {
        "connector": "filesystem",
        "path": "/data",
        "format": "csv",
        "csv.field-delimiter": ";",
    }
    assert descriptor.get_partition_keys() == ["a"]
    table = descriptor._to_catalog_table()
    assert (table.options["path"], table.partition_keys) == ("/data", ("a",))
    assert table.schema == Schema.new_builder().column("a", INT).build()._definition


def test_environment_settings() -> None:
    configuration = Configuration()
    configuration.set_string("parallelism.default", "2")
    settings = EnvironmentSettings.new_instance().with_configuration(configuration).in_batch_mode().build()

    assert not settings.is_streaming_mode()
    assert settings.get_configuration().to_dict() == {"parallelism.default": "2", "execution.runtime-mode": "BATCH"}
    assert (settings.get_built_in_catalog_name(), settings.get_built_in_database_name()) == (
        "default_catalog",
        "default_database",
    )


def test_table_config() -> None:
    root = Configuration()
    root.set_string("a", "from around")
    config = TableConfig(root=root)
    config.set_local_timezone("Asia/Shanghai")
    config.set_idle_state_retention(timedelta(hours=1))

    assert (config.get("a", ""), config.set("a", "own").get("a", "")) == ("from around", "own")
    assert config.get_local_timezone() == "Asia/Shanghai"
    assert config.get_idle_state_retention() == timedelta(hours=1)
    assert config.get_configuration().to_dict()["table.exec.state.ttl"] == "1 h"
    assert config.get_python_executable() is None
    assert config.get_sql_dialect() == SqlDialect.DEFAULT
    config.set_sql_dialect(SqlDialect.HIVE)
    assert config.get_sql_dialect() == SqlDialect.HIVE
    with pytest.raises(Exception, match=r"TableConfig\.timezone should be a string!"):
        config.set_local_timezone(8)  # type: ignore[arg-type]


@pytest.mark.parametrize(("dialect", "message"), [("hive", "identifier 'hive'"), ("other", r"SqlDialect\.OTHER")])
def test_statements_of_a_dialect_without_a_parser_are_rejected(dialect: str, message: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("table.sql-dialect", dialect)
    for rejected in (t_env.sql_query, t_env.execute_sql, t_env.explain_sql, t_env.compile_plan_sql):
        with pytest.raises(Exception, match=message):
            rejected("SELECT 1")


def test_a_zone_is_checked_where_it_is_read() -> None:
    config = TableConfig.get_default()
    config.set("table.local-time-zone", "UTC+8")
    with pytest.raises(ValidationException, match="Invalid time zone"):
        config.get_local_timezone()


def test_options_of_a_descriptor_are_shown_in_javas_order() -> None:
    options = ("zeta", "Alpha", "path", "field-delimiter", "scan")
    described = FormatDescriptor.for_format("csv")
    for key in options:
        described = described.option(key, key)
    assert str(described.build()) == (
        "csv[{zeta=zeta, path=path, field-delimiter=field-delimiter, Alpha=Alpha, scan=scan}]"
    )


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "GMT+08:00", "+08:00", "-3"])
def test_zones(zone: str) -> None:
    config = TableConfig.get_default()
    config.set_local_timezone(zone)

    assert config.get_local_timezone() == zone


def test_the_catalog_in_memory_from_a_program() -> None:
    catalog = Catalog(InMemoryCatalog("mine", "shop"))
    path = ObjectPath("shop", "orders")
    table = CatalogBaseTable.create_table(TableSchema(["day"], [STRING]), ["day"], {"connector": "print"}, "sales")
    catalog.create_table(path, table, False)
    catalog.create_database("other", CatalogDatabase.create_instance({"k": "v"}), False)
    catalog.create_function(ObjectPath("shop", "F"), CatalogFunction.create_instance("m.f"), False)
    spec = CatalogPartitionSpec({"day": "1"})
    catalog.create_partition(path, spec, CatalogPartition.create_instance({"p": "q"}), False)

    assert catalog.get_table(path).get_options() == {"connector": "print"}
    assert catalog.get_database("other").get_properties() == {"k": "v"}
    assert catalog.get_function(ObjectPath("shop", "f")).get_class_name() == "m.f"
    assert catalog.list_partitions(path) == [spec]
    assert catalog.get_partition(path, spec).get_properties() == {"p": "q"}
    catalog.rename_table(path, "sales", False)
    assert catalog.list_tables("shop") == ["sales"]
    with pytest.raises(TableNotExistException):
        catalog.get_table(path)
    with pytest.raises(FunctionNotExistException, match=r"^Function shop\.g does not exist in Catalog mine\.$"):
        catalog.get_function(ObjectPath("shop", "G"))


def test_a_catalog_that_a_user_wrote() -> None:
    class OneTable(Catalog):
        def __init__(self) -> None:
            pass

        def get_default_database(self) -> str:
            return "db"

        def list_databases(self) -> list[str]:
            return ["db"]

        def database_exists(self, database_name: str) -> bool:
            return database_name == "db"

        def list_tables(self, database_name: str) -> list[str]:
            return ["t"]

        def table_exists(self, table_path: ObjectPath) -> bool:
            return table_path == ObjectPath("db", "t")

        def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
            return CatalogBaseTable.create_table(TableSchema(["a"], [INT]), properties={"connector": "print"})

    manager = CatalogManager()
    manager.register("mine", UserCatalog("mine", OneTable()))
    manager.use_catalog("mine")

    results = manager.get(manager.qualify(["t"]))
    assert isinstance(results, CatalogTable)
    assert results.options == {"connector": "print"}
    assert manager.list_tables() == ["t"]
    assert manager.find(Identifier("mine", "db", "u")) is None


def test_resolved_schema() -> None:
    schema = ResolvedSchema(
        [
            Column.physical("a", INT.not_null()),
            Column.metadata("m", DataTypes.BIGINT(), "offset", True),
            Column.metadata("n", DataTypes.BIGINT(), None, False).with_comment("kept"),
        ],
        [],
        UniqueConstraint.primary_key("pk", ["a"]),
    )

    assert str(schema).splitlines()[1:-1] == [
        "  `a` INT NOT NULL,",
        "  `m` BIGINT METADATA FROM 'offset' VIRTUAL,",
        "  `n` BIGINT METADATA COMMENT 'kept',",
        "  CONSTRAINT `pk` PRIMARY KEY (`a`) NOT ENFORCED",
    ]
    assert schema.to_sink_row_data_type().field_names() == ["a", "n"]  # type: ignore[attr-defined]
    assert schema.to_physical_row_data_type().field_names() == ["a"]  # type: ignore[attr-defined]
    assert schema.get_primary_key_indexes() == [0]
    column = schema.get_column("a")
    assert column is not None
    assert column.rename("b").copy(STRING) == Column.physical("b", STRING)
    assert schema.get_column("x") is None


def test_small_values() -> None:
    model = ModelDescriptor.for_provider("openai").option("k", 1).build()

    assert ChangelogMode.all() != ChangelogMode.upsert()
    assert str(ChangelogMode.insert_only()) == "[INSERT]"
    assert ModuleEntry("core", True) == ModuleEntry("core", True)
    assert list(Module({"F": 1})._functions) == ["f"]
    assert PlanReference.from_json_string("{}").get_content() == "{}"
    assert model.get_options() == {"provider": "openai", "k": "1"}
    assert sorted([ObjectPath("b", "a"), ObjectPath("a", "b")])[0].get_full_name() == "a.b"


@pytest.mark.parametrize("make", [lambda: HiveCatalog("hive"), HiveModule, lambda: Catalog.get_procedure(None, None)])
def test_what_is_rejected(make: Callable[[], Any]) -> None:
    with pytest.raises(UnsupportedFeatureError):
        make()
