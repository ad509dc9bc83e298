"""Modules give out what PyFlink's modules of the same name happen to import."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import cloudpickle
import pytest

from funke import alias


@pytest.fixture(autouse=True)
def alias_installed() -> Iterator[None]:
    alias.install()
    yield
    alias.uninstall()


@pytest.mark.parametrize(
    ("module", "name", "home"),
    [
        ("datastream.window", "Time", "common.time"),
        ("datastream.state", "Time", "common.time"),
        ("datastream.functions", "ValueStateDescriptor", "datastream.state"),
        ("datastream.data_stream", "ProcessWindowFunction", "datastream.functions"),
        ("datastream.stream_execution_environment", "RuntimeExecutionMode", "datastream.execution_mode"),
        ("datastream.stream_execution_environment", "TimeCharacteristic", "datastream.time_characteristic"),
        ("common", "JsonRowDeserializationSchema", "datastream.formats.json"),
        ("common.serialization", "CsvRowSerializationSchema", "datastream.formats.csv"),
        ("common", "SimpleStringEncoder", "common.serialization"),
    ],
)
def test_a_name_can_be_imported_from_where_pyflink_passes_it_on(module: str, name: str, home: str) -> None:
    passed_on = getattr(importlib.import_module(f"pyflink.{module}"), name)

    assert passed_on is getattr(importlib.import_module(f"funke.{home}"), name)


def test_type_variables_annotate_functions() -> None:
    from pyflink.datastream.functions import IN, KEY, OUT, W  # type: ignore[import-not-found]

    assert [each.__name__ for each in (IN, KEY, OUT, W)] == ["IN", "KEY", "OUT", "W"]
    assert cloudpickle.loads(cloudpickle.dumps(IN)) is IN


def test_a_name_that_nobody_has_is_missing_as_ever() -> None:
    with pytest.raises(ImportError, match=r"cannot import name 'Tiem' from 'funke\.datastream\.window'"):
        from pyflink.datastream.window import Tiem  # type: ignore[import-not-found]  # noqa: F401
    assert not hasattr(importlib.import_module("funke.datastream.window"), "Tiem")
