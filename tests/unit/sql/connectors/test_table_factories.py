"""Connectors are found by name, and options are checked with Flink's words."""

from __future__ import annotations

import pytest

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.catalog.objects import Identifier
from funke.engine.sql.connectors.table_factories import create_table_sink, create_table_source
from funke.engine.sql.connectors.table_factory import TableContext
from funke.engine.types.logical.data_types import DataTypes

NAME = Identifier("default_catalog", "default_database", "t")


def context(**options: str) -> TableContext:
    texts = {key.replace("__", ".").replace("_", "-"): text for key, text in options.items()}
    return TableContext(NAME, (Column("x", DataTypes.INT()),), texts)


def test_a_table_without_a_connector_is_refused() -> None:
    with pytest.raises(ValidationException) as refused:
        create_table_source(context(b="1", password="hush"))
    assert str(refused.value) == (
        "Unable to create a source for reading table 'default_catalog.default_database.t'.\n\n"
        "Table options are:\n\n'b'='1'\n'password'='******'\n"
        "Caused by: ValidationException: Table options do not contain an option key 'connector' for discovering a "
        "connector."
    )


def test_an_unknown_connector_lists_those_there_are() -> None:
    with pytest.raises(ValidationException) as refused:
        create_table_sink(context(connector="foo"))
    told = str(refused.value)
    assert told.startswith("Unable to create a sink for writing table 'default_catalog.default_database.t'.")
    assert (
        "Caused by: ValidationException: Cannot discover a connector using option: 'connector'='foo'\n"
        "Caused by: ValidationException: Could not find any factory for identifier 'foo' that implements "
        "'org.apache.flink.table.factories.DynamicTableFactory' in the classpath.\n\n"
        "Available factory identifiers are:\n\n"
    ) in told
