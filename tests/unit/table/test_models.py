"""Models are kept in catalogs and sessions, as PyFlink's are."""

from __future__ import annotations

import pytest

from funke.engine.flink_exceptions import (
    DatabaseNotExistException,
    ModelAlreadyExistException,
    ModelNotExistException,
    ValidationException,
)
from funke.table import DataTypes, EnvironmentSettings, Schema, TableEnvironment
from funke.table.catalog import Catalog, CatalogDatabase, CatalogModel, ObjectPath
from funke.table.model_descriptor import ModelDescriptor

FIRST, SECOND, NOWHERE = ObjectPath("db1", "m1"), ObjectPath("db1", "m2"), ObjectPath("zz", "m")
IDS = Schema.new_builder().column("id", DataTypes.STRING()).build()


def model(**options: str) -> CatalogModel:
    return CatalogModel.create_model(IDS, IDS, options=options, comment="some comment")


def described(**options: str) -> ModelDescriptor:
    created = ModelDescriptor.for_provider("openai").input_schema(IDS).output_schema(IDS)
    for key, value in options.items():
        created = created.option(key, value)
    return created.build()


@pytest.fixture
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


@pytest.fixture
def catalog(t_env: TableEnvironment) -> Catalog:
    result = t_env.get_catalog("default_catalog")
    assert result is not None
    result.create_database("db1", CatalogDatabase.create_instance({}), False)
    result.create_model(FIRST, model(), False)
    return result


def test_a_catalog_keeps_models(catalog: Catalog) -> None:
    catalog.create_model(FIRST, model(a="b"), True)
    assert catalog.get_model(FIRST).get_options() == {} and catalog.get_model(FIRST).get_comment() == "some comment"
    catalog.alter_model(FIRST, model(a="b"), False)
    assert catalog.get_model(FIRST).copy().get_options() == {"a": "b"}
    catalog.rename_model(FIRST, "m2", False)
    assert catalog.list_models("db1") == ["m2"] and not catalog.model_exists(FIRST)
    catalog.drop_model(SECOND, False)
    assert catalog.list_models("db1") == [] and not catalog.model_exists(NOWHERE)


def test_models_that_are_there_already_or_not_at_all(catalog: Catalog) -> None:
    catalog.create_model(SECOND, model(), False)
    for rejected in (
        lambda: catalog.create_model(FIRST, model(), False),
        lambda: catalog.rename_model(SECOND, "m1", False),
    ):
        with pytest.raises(
            ModelAlreadyExistException, match=r"^Model db1\.m1 already exists in Catalog default_catalog\.$"
        ):
            rejected()
    with pytest.raises(DatabaseNotExistException):
        catalog.create_model(NOWHERE, model(), False)
    for missing in (
        lambda: catalog.get_model(NOWHERE),
        lambda: catalog.alter_model(NOWHERE, model(), False),
        lambda: catalog.rename_model(NOWHERE, "x", False),
        lambda: catalog.drop_model(NOWHERE, False),
    ):
        with pytest.raises(ModelNotExistException, match=r"^Model '`default_catalog`.`zz`.`m`' does not exist.$"):
            missing()
    catalog.alter_model(NOWHERE, model(), True)
    catalog.rename_model(NOWHERE, "x", True)
    catalog.drop_model(NOWHERE, True)


def test_an_environment_makes_models_of_descriptions(t_env: TableEnvironment) -> None:
    t_env.create_model("m1", described(task="a"))
    t_env.create_model("m1", described(), True)
    t_env.create_temporary_model("m1", described())
    t_env.create_temporary_model("m2", described())
    assert (t_env.list_models(), t_env.list_temporary_models()) == (["m1"], ["m1", "m2"])
    result = t_env.get_catalog("default_catalog")
    assert result is not None
    assert result.get_model(ObjectPath("default_database", "m1")).get_options() == {"provider": "openai", "task": "a"}
    # As in Flink, the name of a temporary model alone counts too.
    assert [t_env.drop_model("m1"), t_env.drop_model("m2"), t_env.drop_model("m3")] == [True, True, False]
    assert (t_env.list_models(), t_env.list_temporary_models()) == ([], ["m1", "m2"])
    assert [t_env.drop_temporary_model("m2"), t_env.drop_temporary_model("m2")] == [True, False]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("m1", "Could not execute CreateModel in path `default_catalog`.`default_database`.`m1`"),
        ("zz.m1", "Could not execute CreateModel in path `default_catalog`.`zz`.`m1`"),
        ("a.b.c", "Catalog a does not exist."),
    ],
)
def test_models_that_cannot_be_made(t_env: TableEnvironment, path: str, message: str) -> None:
    t_env.create_model("m1", described())
    with pytest.raises(ValidationException, match=message):
        t_env.create_model(path, described())
    with pytest.raises(ValidationException, match="Input schema missing in ModelDescriptor"):
        t_env.create_model("n", ModelDescriptor.for_provider("x").build())
    with pytest.raises(
        ValidationException, match=r"Model with identifier 'default_catalog.default_database.n' does not"
    ):
        t_env.drop_model("n", False)
