"""The rest of the Table API can be imported, and says that it does not work when it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import funke.table
import funke.version
from funke import alias
from funke.engine.errors import UnsupportedFeatureError
from funke.table import StreamTableEnvironment, TableEnvironment, unsupported_names


@pytest.fixture
def pyflink() -> Iterator[None]:
    alias.install()
    yield
    alias.uninstall()


@pytest.mark.parametrize("name", sorted(unsupported_names.__all__))
def test_making_one_raises(name: str) -> None:
    with pytest.raises(
        UnsupportedFeatureError, match=f"the Table API: {name} is not supported: nothing runs tables yet"
    ):
        getattr(funke.table, name)("anything", option=1)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: StreamTableEnvironment.create("env"), "StreamTableEnvironment.create"),
        (lambda: TableEnvironment.create(environment_settings=None), "TableEnvironment.create"),
    ],
)
def test_calling_a_static_method_raises(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"the Table API: {name} is not supported"):
        call()


@pytest.mark.usefixtures("pyflink")
def test_programs_import_by_pyflinks_names() -> None:
    from pyflink.table import DataTypes, StreamTableEnvironment  # type: ignore[import-not-found]
    from pyflink.table.types import RowType  # type: ignore[import-not-found]
    from pyflink.version import __version__  # type: ignore[import-not-found]

    assert isinstance(DataTypes.ROW([]), RowType)
    assert StreamTableEnvironment is funke.table.StreamTableEnvironment
    assert __version__ == funke.version.__version__ == "2.3.0"
    with pytest.raises(ModuleNotFoundError, match="the Table API and SQL are not available yet"):
        import pyflink.table.statement_set  # type: ignore[import-not-found]  # noqa: F401
