"""Connectors are found by name, and options are checked with Flink's words."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.catalog.objects import Identifier
from funke.engine.sql.connectors import table_factories as factories
from funke.engine.sql.connectors.blackhole_factory import BlackholeTableSink
from funke.engine.sql.connectors.table_factories import create_table_sink, create_table_source
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import TableOption
from funke.engine.sql.connectors.table_sink import TableSink
from funke.engine.types.logical.data_types import DataTypes

NAME = Identifier("default_catalog", "default_database", "t")


def context(**options: str) -> TableContext:
    strings = {key.replace("__", ".").replace("_", "-"): text for key, text in options.items()}
    return TableContext(NAME, (Column("x", DataTypes.INT()),), strings)


def test_a_table_without_a_connector_is_rejected() -> None:
    with pytest.raises(ValidationException) as rejected:
        create_table_source(context(b="1", password="hush"))
    assert str(rejected.value) == (
        "Unable to create a source for reading table 'default_catalog.default_database.t'.\n\n"
        "Table options are:\n\n'b'='1'\n'password'='******'\n"
        "Caused by: ValidationException: Table options do not contain an option key 'connector' for discovering a "
        "connector."
    )


def test_an_unknown_connector_lists_those_there_are() -> None:
    with pytest.raises(ValidationException) as rejected:
        create_table_sink(context(connector="foo"))
    message = str(rejected.value)
    assert message.startswith("Unable to create a sink for writing table 'default_catalog.default_database.t'.")
    assert (
        "Caused by: ValidationException: Cannot discover a connector using option: 'connector'='foo'\n"
        "Caused by: ValidationException: Could not find any factory for identifier 'foo' that implements "
        "'org.apache.flink.table.factories.DynamicTableFactory' in the classpath.\n\n"
        "Available factory identifiers are:\n\n"
    ) in message


class OwnFactory(TableFactory):
    """A connector as another package brings it."""

    identifier = "own"
    writes = True
    required_options = (TableOption("url"), TableOption("size", "Integer", older_keys=("length",)))

    def create_sink(self, context: TableContext) -> TableSink:
        assert context.values[self.required_options[1]] == 5
        return BlackholeTableSink()


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The factory is found by its entry point."""
    # Through a module that is importable by name: this one is not.
    monkeypatch.setattr(factories, "OwnFactory", OwnFactory, raising=False)
    point = EntryPoint("own", f"{factories.__name__}:OwnFactory", "funke.table_factories")
    monkeypatch.setattr(factories, "entry_points", lambda group: [point])
    factories.table_factories.cache_clear()
    yield
    factories.table_factories.cache_clear()


@pytest.mark.usefixtures("own")
def test_other_packages_bring_connectors() -> None:
    assert isinstance(create_table_sink(context(connector="own", url="x", length="5")), BlackholeTableSink)
    with pytest.raises(ValidationException) as rejected:
        create_table_sink(context(connector="own"))
    message = "One or more required options are missing.\n\nMissing required options are:\n\nsize\nurl"
    assert str(rejected.value).endswith(message)
    with pytest.raises(ValidationException, match="Connector 'own' can only be used as a sink"):
        create_table_source(context(connector="own"))


def test_ends_that_a_connector_has_not() -> None:
    with pytest.raises(ValidationException, match="'datagen' can only be used as a source"):
        create_table_sink(context(connector="datagen"))
    with pytest.raises(ValidationException, match="'print' can only be used as a sink"):
        create_table_source(context(connector="print"))


def test_unknown_options_list_those_there_are() -> None:
    with pytest.raises(ValidationException) as rejected:
        create_table_sink(context(connector="print", standard_errorr="true"))
    assert str(rejected.value).endswith(
        "Unsupported options found for 'print'.\n\nUnsupported options:\n\nstandard-errorr\n\nSupported options:\n\n"
        "connector\nprint-identifier\nproperty-version\nscan.watermark.alignment.group\n"
        "scan.watermark.alignment.max-drift\nscan.watermark.alignment.update-interval\n"
        "scan.watermark.emit.on-event.gap\nscan.watermark.emit.strategy\nscan.watermark.idle-timeout\n"
        "sink.parallelism\nstandard-error\n\nUnknown option 'standard-errorr'; did you mean 'standard-error'?"
    )


def test_a_value_that_cannot_be_read_names_its_key() -> None:
    with pytest.raises(ValidationException, match="Could not parse value 'many' for key 'number-of-rows'"):
        create_table_source(context(connector="datagen", number_of_rows="many"))


@pytest.mark.parametrize("name", sorted({*factories.table_factories()} - {"upsert-kafka"}))
def test_the_file_of_a_connector_has_its_name(name: str) -> None:
    module = type(factories.table_factories()[name]).__module__
    if module.startswith("funke."):
        assert module.rpartition(".")[2] == f"{name.replace('-', '_')}_factory"
