"""Functions of users: temporary ones of the system and of a database, and those of a catalog."""

from __future__ import annotations

import pytest

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.catalog.catalog_manager import CatalogManager
from funke.engine.sql.catalog.function_registry import FunctionRegistry
from funke.engine.sql.catalog.module_manager import ModuleManager
from funke.engine.sql.catalog.objects import CatalogFunction

F, G = CatalogFunction("m.f"), CatalogFunction("m.g")
PATH = "`default_catalog`.`default_database`.`f`"


@pytest.fixture
def functions() -> FunctionRegistry:
    return FunctionRegistry(CatalogManager())


def test_a_temporary_function_hides_that_of_the_catalog(functions: FunctionRegistry) -> None:
    functions.create(["F"], F, ignore_if_exists=False)
    functions.create_temporary(["f"], G, ignore_if_exists=False)

    assert functions.find(["default_database", "F"]) is G
    with pytest.raises(ValidationException, match=f"A temporary function '{PATH}' does already exist. Please drop"):
        functions.drop(["f"], ignore_if_not_exists=False)
    assert functions.drop_temporary(["F"], ignore_if_not_exists=False)
    assert functions.find(["f"]) is F
    assert functions.drop(["f"], ignore_if_not_exists=False)
    assert functions.find(["f"]) is None


def test_a_system_function_has_no_path(functions: FunctionRegistry) -> None:
    functions.create_temporary_system("Sys", F, ignore_if_exists=False)

    assert functions.find_system("SYS") is F
    assert functions.find(["sys"]) is None
    assert functions.list_user_defined() == ["sys"]
    with pytest.raises(ValidationException, match="A function named 'sys' does already exist"):
        functions.create_temporary_system("sys", G, ignore_if_exists=False)
    assert functions.drop_temporary_system("SYS", ignore_if_not_exists=False)
    with pytest.raises(ValidationException, match="A function named 'sys' doesn't exist"):
        functions.drop_temporary_system("sys", ignore_if_not_exists=False)


def test_creating_and_dropping_twice(functions: FunctionRegistry) -> None:
    functions.create(["f"], F, ignore_if_exists=False)
    functions.create(["f"], G, ignore_if_exists=True)

    assert functions.find(["f"]) is F
    with pytest.raises(ValidationException, match=f"Could not register catalog function. A function '{PATH}' does"):
        functions.create(["f"], F, ignore_if_exists=False)
    functions.drop(["f"], ignore_if_not_exists=False)
    with pytest.raises(ValidationException, match=f"Could not drop catalog function. A function '{PATH}' doesn't"):
        functions.drop(["f"], ignore_if_not_exists=False)
    with pytest.raises(ValidationException, match=f"^Temporary catalog function {PATH} doesn't exist$"):
        functions.drop_temporary(["f"], ignore_if_not_exists=False)


def test_modules() -> None:
    modules = ModuleManager()
    modules.load("mine", object())

    assert modules.list_modules() == ["core", "mine"]
    modules.use(["mine"])
    assert modules.list_full_modules() == [("mine", True), ("core", False)]
    for attempt, text in (
        (lambda: modules.load("core", object()), "A module with name 'core' already exists"),
        (lambda: modules.use(["x"]), "No module with name 'x' exists"),
        (lambda: modules.use(["core", "core"]), "Module 'core' appears more than once"),
        (lambda: modules.unload("x"), "No module with name 'x' exists"),
    ):
        with pytest.raises(ValidationException, match=f"^{text}$"):
            attempt()
    modules.unload("core")
    assert modules.list_full_modules() == [("mine", True)]
