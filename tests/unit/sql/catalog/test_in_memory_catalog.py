"""The catalog in memory keeps databases, tables, functions and partitions, and rejects with Flink's texts."""

from __future__ import annotations

import pytest

from funke.engine.flink_exceptions import (
    CatalogException,
    DatabaseAlreadyExistException,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    FunctionAlreadyExistException,
    FunctionNotExistException,
    PartitionAlreadyExistsException,
    PartitionNotExistException,
    PartitionSpecInvalidException,
    TableAlreadyExistException,
    TableNotExistException,
    TableNotPartitionedException,
)
from funke.engine.sql.catalog.in_memory_catalog import InMemoryCatalog
from funke.engine.sql.catalog.objects import (
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogTable,
    CatalogView,
    SchemaDefinition,
)

TABLE = CatalogTable(SchemaDefinition(), {"connector": "print"})
VIEW = CatalogView(SchemaDefinition(), "SELECT 1")
PARTITIONED = CatalogTable(SchemaDefinition(), partition_keys=("day", "hour"))


@pytest.fixture
def catalog() -> InMemoryCatalog:
    return InMemoryCatalog("c", "db")


def test_databases(catalog: InMemoryCatalog) -> None:
    catalog.create_database("shop", CatalogDatabase(comment="sales"), ignore_if_exists=False)
    catalog.alter_database("shop", CatalogDatabase(comment="all sales"), ignore_if_not_exists=False)

    assert catalog.list_databases() == ["db", "shop"]
    assert catalog.get_database("shop").comment == "all sales"
    catalog.create_database("shop", CatalogDatabase(), ignore_if_exists=True)
    assert catalog.get_database("shop").comment == "all sales"
    with pytest.raises(DatabaseAlreadyExistException, match=r"^Database shop already exists in Catalog c\.$"):
        catalog.create_database("shop", CatalogDatabase(), ignore_if_exists=False)
    catalog.drop_database("shop", ignore_if_not_exists=False)
    catalog.drop_database("shop", ignore_if_not_exists=True)
    with pytest.raises(DatabaseNotExistException, match=r"^Database shop does not exist in Catalog c\.$"):
        catalog.drop_database("shop", ignore_if_not_exists=False)


def test_a_database_with_contents_is_dropped_only_with_them(catalog: InMemoryCatalog) -> None:
    catalog.create_table("db", "t", TABLE, ignore_if_exists=False)

    with pytest.raises(DatabaseNotEmptyException, match=r"^Database db in catalog c is not empty\.$"):
        catalog.drop_database("db", ignore_if_not_exists=False)
    catalog.drop_database("db", ignore_if_not_exists=False, is_cascade=True)
    assert catalog.list_databases() == []


def test_tables_and_views(catalog: InMemoryCatalog) -> None:
    catalog.create_table("db", "t", TABLE, ignore_if_exists=False)
    catalog.create_table("db", "v", VIEW, ignore_if_exists=False)

    assert catalog.list_tables("db") == ["t", "v"]
    assert catalog.list_views("db") == ["v"]
    assert catalog.get_table("db", "t") is TABLE
    assert not catalog.table_exists("nowhere", "t")
    with pytest.raises(TableAlreadyExistException, match=r"^Table \(or view\) db.t already exists in Catalog c\.$"):
        catalog.create_table("db", "t", VIEW, ignore_if_exists=False)
    with pytest.raises(DatabaseNotExistException):
        catalog.create_table("nowhere", "t", TABLE, ignore_if_exists=True)
    with pytest.raises(CatalogException, match="Existing table is 'TABLE' and new table is 'VIEW'"):
        catalog.alter_table("db", "t", VIEW, ignore_if_not_exists=False)


def test_a_table_that_is_not_there(catalog: InMemoryCatalog) -> None:
    text = r"^Table \(or view\) db.t does not exist in Catalog c\.$"
    for attempt in (
        lambda: catalog.get_table("db", "t"),
        lambda: catalog.drop_table("db", "t", ignore_if_not_exists=False),
        lambda: catalog.rename_table("db", "t", "u", ignore_if_not_exists=False),
        lambda: catalog.alter_table("db", "t", TABLE, ignore_if_not_exists=False),
    ):
        with pytest.raises(TableNotExistException, match=text):
            attempt()
    catalog.drop_table("db", "t", ignore_if_not_exists=True)


def test_renaming_keeps_partitions_and_never_replaces(catalog: InMemoryCatalog) -> None:
    catalog.create_table("db", "t", PARTITIONED, ignore_if_exists=False)
    catalog.create_table("db", "other", TABLE, ignore_if_exists=False)
    catalog.create_partition("db", "t", {"day": "1", "hour": "2"}, CatalogPartition(), ignore_if_exists=False)

    with pytest.raises(TableAlreadyExistException):
        catalog.rename_table("db", "t", "other", ignore_if_not_exists=False)
    catalog.rename_table("db", "t", "u", ignore_if_not_exists=False)

    assert catalog.list_tables("db") == ["other", "u"]
    assert catalog.partition_exists("db", "u", {"hour": "2", "day": "1"})


def test_functions_are_found_in_any_spelling(catalog: InMemoryCatalog) -> None:
    catalog.create_function("db", "MyF", CatalogFunction("m.f"), ignore_if_exists=False)

    assert catalog.list_functions("db") == ["myf"]
    assert catalog.get_function("db", "MYF") == CatalogFunction("m.f")
    with pytest.raises(FunctionAlreadyExistException, match=r"^Function db.myf already exists in Catalog c\.$"):
        catalog.create_function("db", "myF", CatalogFunction("m.g"), ignore_if_exists=False)
    catalog.drop_function("db", "MYF", ignore_if_not_exists=False)
    with pytest.raises(FunctionNotExistException, match=r"^Function db.myf does not exist in Catalog c\.$"):
        catalog.drop_function("db", "MYF", ignore_if_not_exists=False)


def test_partitions(catalog: InMemoryCatalog) -> None:
    catalog.create_table("db", "t", PARTITIONED, ignore_if_exists=False)
    for hour in "12":
        catalog.create_partition("db", "t", {"day": "1", "hour": hour}, CatalogPartition(), ignore_if_exists=False)

    assert catalog.list_partitions("db", "t") == [{"day": "1", "hour": "1"}, {"day": "1", "hour": "2"}]
    assert catalog.list_partitions("db", "t", {"hour": "2"}) == [{"day": "1", "hour": "2"}]
    with pytest.raises(
        PartitionAlreadyExistsException, match=r"CatalogPartitionSpec\{\{day=1, hour=2\}\} of table db.t"
    ):
        catalog.create_partition("db", "t", {"day": "1", "hour": "2"}, CatalogPartition(), ignore_if_exists=False)
    with pytest.raises(
        PartitionSpecInvalidException, match=r"does not match partition keys \[day, hour\] of table db.t"
    ):
        catalog.create_partition("db", "t", {"day": "1"}, CatalogPartition(), ignore_if_exists=False)
    with pytest.raises(PartitionNotExistException):
        catalog.drop_partition("db", "t", {"day": "2", "hour": "2"}, ignore_if_not_exists=False)
    catalog.create_partition("db", "t", {"day": "1", "hour": "2"}, CatalogPartition({"k": "v"}), ignore_if_exists=True)
    assert catalog.get_partition("db", "t", {"day": "1", "hour": "2"}) == CatalogPartition({"k": "v"})
    catalog.create_table("db", "plain", TABLE, ignore_if_exists=False)
    with pytest.raises(TableNotPartitionedException, match=r"^Table db.plain in catalog c is not partitioned\.$"):
        catalog.list_partitions("db", "plain")


@pytest.mark.parametrize("table", ["t", "plain", "view", "missing"])
@pytest.mark.parametrize("spec", [{"day": "1", "hour": "2"}, {"day": "1"}, {"month": "1"}])
def test_a_partition_that_is_not_there_has_one_answer(
    catalog: InMemoryCatalog, table: str, spec: dict[str, str]
) -> None:
    catalog.create_table("db", "t", PARTITIONED, ignore_if_exists=False)
    catalog.create_table("db", "plain", CatalogTable(SchemaDefinition()), ignore_if_exists=False)
    catalog.create_table("db", "view", VIEW, ignore_if_exists=False)

    for database in ("db", "missing"):
        assert not catalog.partition_exists(database, table, spec)
        catalog.drop_partition(database, table, spec, ignore_if_not_exists=True)
        catalog.alter_partition(database, table, spec, CatalogPartition(), ignore_if_not_exists=True)
        with pytest.raises(PartitionNotExistException):
            catalog.get_partition(database, table, spec)
        with pytest.raises(PartitionNotExistException):
            catalog.drop_partition(database, table, spec, ignore_if_not_exists=False)
        with pytest.raises(PartitionNotExistException):
            catalog.alter_partition(database, table, spec, CatalogPartition(), ignore_if_not_exists=False)


def test_partitions_are_listed_by_any_columns(catalog: InMemoryCatalog) -> None:
    catalog.create_table("db", "t", PARTITIONED, ignore_if_exists=False)

    assert catalog.list_partitions("db", "t", {"month": "1"}) == []
    with pytest.raises(TableNotExistException):
        catalog.list_partitions("db", "missing")
    with pytest.raises(TableNotPartitionedException):
        catalog.list_partitions("db", "missing", {"day": "1"})
