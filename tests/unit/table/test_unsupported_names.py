"""The rest of the Table API can be imported, and says that it does not work when it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import funke.table
import funke.version
from funke import alias
from funke.engine.errors import UnsupportedFeatureError
from funke.table import (
    AggregateFunction,
    ChangelogMode,
    EnvironmentSettings,
    ExplainDetail,
    FormatDescriptor,
    PlanReference,
    Row,
    ScalarFunction,
    Schema,
    SqlDialect,
    StreamTableEnvironment,
    TableConfig,
    TableDescriptor,
    TableEnvironment,
    TableSchema,
)

WORKING = {"DataTypes", "UserDefinedType", "Row", "RowKind"}


@pytest.fixture
def pyflink() -> Iterator[None]:
    alias.install()
    yield
    alias.uninstall()


@pytest.mark.parametrize("name", sorted(set(funke.table.__all__) - WORKING))
def test_making_one_raises(name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"the Table API: {name} is not supported: Funke runs DataStream"):
        getattr(funke.table, name)("anything", option=1)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: StreamTableEnvironment.create("env"), "StreamTableEnvironment.create"),
        (lambda: TableEnvironment.create(environment_settings=None), "TableEnvironment.create"),
        (EnvironmentSettings.in_streaming_mode, "EnvironmentSettings.in_streaming_mode"),
        (EnvironmentSettings.new_instance, "EnvironmentSettings.new_instance"),
        (EnvironmentSettings.Builder, "EnvironmentSettings.Builder"),
        (TableConfig.get_default, "TableConfig.get_default"),
        (Schema.new_builder, "Schema.new_builder"),
        (TableSchema.builder, "TableSchema.builder"),
        (lambda: TableDescriptor.for_connector("kafka"), "TableDescriptor.for_connector"),
        (lambda: FormatDescriptor.for_format("json"), "FormatDescriptor.for_format"),
        (lambda: PlanReference.from_file("plan.json"), "PlanReference.from_file"),
        (ChangelogMode.insert_only, "ChangelogMode.insert_only"),
    ],
)
def test_calling_a_static_method_raises(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"the Table API: {name} is not supported"):
        call()


class Doubled(ScalarFunction):
    """Defining a function works; making one does not, even if it has a constructor of its own."""

    def __init__(self) -> None:
        self.factor = 2


class Total(AggregateFunction[int, Row]):
    """A function with types."""


@pytest.mark.parametrize(("function", "name"), [(Doubled, "ScalarFunction"), (Total, "AggregateFunction")])
def test_a_users_own_function_is_refused_by_what_it_extends(function: type, name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"the Table API: {name} is"):
        function()


def test_constants() -> None:
    assert (SqlDialect.DEFAULT, SqlDialect.HIVE) == (0, 1)
    assert ExplainDetail.PLAN_ADVICE == 3


@pytest.mark.usefixtures("pyflink")
def test_programs_import_by_pyflinks_names() -> None:
    from pyflink.table import DataTypes, StreamTableEnvironment  # type: ignore[import-not-found]
    from pyflink.table.types import RowType  # type: ignore[import-not-found]
    from pyflink.version import __version__  # type: ignore[import-not-found]

    assert isinstance(DataTypes.ROW([]), RowType)
    assert StreamTableEnvironment is funke.table.StreamTableEnvironment
    assert __version__ == funke.version.__version__ == "2.3.0"
    with pytest.raises(ModuleNotFoundError, match="the Table API and SQL are not available yet"):
        import pyflink.table.expressions  # type: ignore[import-not-found]  # noqa: F401
