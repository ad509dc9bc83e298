"""A name means what stands in the current catalog and database; temporary things stand before permanent ones."""

from __future__ import annotations

import pytest

from funke.engine.flink_exceptions import CatalogException, TableAlreadyExistException, ValidationException
from funke.engine.sql.catalog.catalog_manager import CatalogManager
from funke.engine.sql.catalog.in_memory_catalog import InMemoryCatalog
from funke.engine.sql.catalog.objects import CatalogDatabase, CatalogTable, CatalogView, Identifier, SchemaDefinition

TABLE = CatalogTable(SchemaDefinition(), {"connector": "print"})
OTHER = CatalogTable(SchemaDefinition(), {"connector": "blackhole"})
VIEW = CatalogView(SchemaDefinition(), "SELECT 1")
T = Identifier("default_catalog", "default_database", "t")
PATH = "`default_catalog`.`default_database`.`t`"


@pytest.fixture
def manager() -> CatalogManager:
    manager = CatalogManager()
    manager.register("mine", InMemoryCatalog("mine", "first"))
    manager.catalog("mine").create_database("second", CatalogDatabase(), ignore_if_exists=False)
    return manager


def test_paths_are_completed_from_what_is_current(manager: CatalogManager) -> None:
    assert manager.qualify(["t"]) == T
    assert manager.qualify(["db", "t"]) == Identifier("default_catalog", "db", "t")
    manager.use_catalog("mine")
    assert manager.qualify(["t"]) == Identifier("mine", "first", "t")
    manager.use_database("second")
    assert manager.qualify(["t"]) == Identifier("mine", "second", "t")
    assert manager.qualify(["c", "d", "t"]) == Identifier("c", "d", "t")


@pytest.mark.parametrize("path", [[], ["a", "b", "c", "d"], ["a", " "]])
def test_paths_that_are_none(manager: CatalogManager, path: list[str]) -> None:
    with pytest.raises(ValidationException, match=r"[Oo]bject identifier"):
        manager.qualify(path)


def test_what_cannot_become_current(manager: CatalogManager) -> None:
    with pytest.raises(CatalogException, match=r"^A catalog with name \[x\] does not exist\.$"):
        manager.use_catalog("x")
    with pytest.raises(
        CatalogException, match=r"^A database with name \[x\] does not exist in the catalog: \[default_catalog\]\.$"
    ):
        manager.use_database("x")


def test_what_is_current_cannot_be_dropped(manager: CatalogManager) -> None:
    with pytest.raises(CatalogException, match="Cannot drop a catalog which is currently in use"):
        manager.unregister("default_catalog", ignore_if_not_exists=False)
    with pytest.raises(ValidationException, match="Cannot drop a database which is currently in use"):
        manager.drop_database("default_catalog", "default_database", ignore_if_not_exists=False, is_cascade=True)
    manager.drop_database("mine", "second", ignore_if_not_exists=False, is_cascade=False)
    manager.unregister("mine", ignore_if_not_exists=False)
    assert manager.list_catalogs() == ["default_catalog"]
    with pytest.raises(CatalogException, match=r"^Catalog mine does not exist\.$"):
        manager.unregister("mine", ignore_if_not_exists=False)


def test_a_catalog_is_registered_once(manager: CatalogManager) -> None:
    with pytest.raises(CatalogException, match=r"^Catalog mine already exists\.$"):
        manager.register("mine", InMemoryCatalog("mine"))


def test_a_temporary_table_hides_a_permanent_one(manager: CatalogManager) -> None:
    manager.create_table(T, TABLE, ignore_if_exists=False)
    manager.create_temporary(T, OTHER, ignore_if_exists=False)

    assert manager.get(T) is OTHER
    assert manager.list_tables() == ["t"]
    with pytest.raises(ValidationException, match=f"Temporary table with identifier '{PATH}' exists. Drop it first"):
        manager.drop_table(T, ignore_if_not_exists=False)
    assert manager.drop_temporary_table(T, ignore_if_not_exists=False)
    assert manager.get(T) is TABLE
    assert manager.drop_table(T, ignore_if_not_exists=False)
    assert manager.find(T) is None


def test_a_temporary_object_needs_no_database(manager: CatalogManager) -> None:
    somewhere = Identifier("nowhere", "nothing", "t")
    manager.create_temporary(somewhere, TABLE, ignore_if_exists=False)

    assert manager.get(somewhere) is TABLE


def test_a_hidden_view_is_not_listed(manager: CatalogManager) -> None:
    manager.create_table(T, VIEW, ignore_if_exists=False)
    assert manager.list_views() == ["t"]
    manager.create_temporary(T, TABLE, ignore_if_exists=False)

    assert manager.list_views() == []
    assert manager.list_temporary_tables() == ["t"]
    assert manager.list_temporary_views() == []


def test_creating_twice(manager: CatalogManager) -> None:
    manager.create_table(T, TABLE, ignore_if_exists=False)
    manager.create_table(T, OTHER, ignore_if_exists=True)

    assert manager.get(T) is TABLE
    with pytest.raises(ValidationException, match=f"^Could not execute CreateTable in path {PATH}\n") as caught:
        manager.create_table(T, TABLE, ignore_if_exists=False)
    assert isinstance(caught.value.__cause__, TableAlreadyExistException)
    manager.create_temporary(T, TABLE, ignore_if_exists=False)
    with pytest.raises(ValidationException, match=f"^Temporary table '{PATH}' already exists$"):
        manager.create_temporary(T, TABLE, ignore_if_exists=False)


def test_what_is_not_there(manager: CatalogManager) -> None:
    with pytest.raises(ValidationException) as caught:
        manager.get(T)
    assert str(caught.value) == (
        f"Cannot find table '{PATH}' in any of the catalogs [default_catalog, mine], nor as a temporary table."
    )
    with pytest.raises(
        ValidationException, match=r"^Table with identifier 'default_catalog.default_database.t' does not"
    ):
        manager.drop_table(T, ignore_if_not_exists=False)
    with pytest.raises(ValidationException, match=r"^Temporary table or view with identifier 'default_catalog."):
        manager.drop_temporary_view(T, ignore_if_not_exists=False)
    assert not manager.drop_view(T, ignore_if_not_exists=True)


def test_a_view_is_no_table(manager: CatalogManager) -> None:
    manager.create_table(T, VIEW, ignore_if_exists=False)

    with pytest.raises(ValidationException, match=r"^Table with identifier"):
        manager.drop_table(T, ignore_if_not_exists=False)
    assert manager.drop_view(T, ignore_if_not_exists=False)


def test_lists_of_another_database(manager: CatalogManager) -> None:
    manager.create_table(Identifier("mine", "second", "b"), TABLE, ignore_if_exists=False)
    manager.create_temporary(Identifier("mine", "second", "a"), VIEW, ignore_if_exists=False)

    assert manager.list_tables("mine", "second") == ["a", "b"]
    assert manager.list_tables() == []
    with pytest.raises(ValidationException, match=r"^Database x does not exist$"):
        manager.list_tables("mine", "x")
