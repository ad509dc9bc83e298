"""Tables of a connector, described without SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from funke.engine.config.config_option import ConfigOption
from funke.engine.config.option_values import format_value
from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.catalog.objects import CatalogTable, SchemaDefinition
from funke.engine.types.java_order import in_java_order
from funke.engine.types.logical.sql_text import quoted
from funke.table.schema import Schema

__all__ = ["TableDescriptor", "FormatDescriptor", "ConfigOption", "Schema"]


class TableDescriptor:
    """A table: its connector, its options and its columns.

    >>> from funke.table import DataTypes, EnvironmentSettings, Schema, TableDescriptor, TableEnvironment
    >>> schema = Schema.new_builder().column("id", DataTypes.INT()).build()
    >>> descriptor = TableDescriptor.for_connector("datagen").option("rows-per-second", "10").schema(schema).build()
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> t_env.create_temporary_table("orders", descriptor)
    >>> t_env.from_path("orders").get_schema().get_field_names()
    ['id']
    """

    def __init__(
        self,
        schema: Schema | None,
        options: Mapping[str, str],
        partition_keys: tuple[str, ...] = (),
        comment: str | None = None,
    ) -> None:
        self._schema = schema
        self._options = dict(options)
        self._partition_keys = partition_keys
        self._comment = comment

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """Begin the description of a table of a connector."""
        if not connector:
            raise ValidationException("Table descriptors require a connector identifier.")
        return TableDescriptor.Builder().option("connector", connector)

    def get_schema(self) -> Schema | None:
        """Return the columns, if they are declared."""
        return self._schema

    def get_options(self) -> dict[str, str]:
        """Return the options, the connector among them."""
        return dict(self._options)

    def get_partition_keys(self) -> list[str]:
        """Return the columns that the table is partitioned by."""
        return list(self._partition_keys)

    def get_comment(self) -> str | None:
        """Return what the table is for, if that is given."""
        return self._comment

    def _to_catalog_table(self) -> CatalogTable:
        """Return what a catalog keeps."""
        schema = SchemaDefinition() if self._schema is None else self._schema._definition
        return CatalogTable(schema, self.get_options(), self._partition_keys, self._comment or "")

    def __str__(self) -> str:
        schema = "" if self._schema is None else str(self._schema)
        comment = "" if self._comment is None else f"COMMENT '{self._comment}'\n"
        keys = f"PARTITIONED BY ({', '.join(map(quoted, self._partition_keys))})\n" if self._partition_keys else ""
        options = ",\n".join(f"  '{key}' = '{self._options[key]}'" for key in in_java_order(self._options))
        return f"{schema}\n{comment}{keys}WITH (\n{options}\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableDescriptor) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(str(self))

    class Builder:
        """Collects the description."""

        def __init__(self) -> None:
            self._schema: Schema | None = None
            self._options: dict[str, str] = {}
            self._partition_keys: tuple[str, ...] = ()
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """Set the columns."""
            self._schema = schema
            return self

        def option(self, key: str | ConfigOption[Any], value: Any) -> TableDescriptor.Builder:
            """Set an option of the connector."""
            self._options[_key_of(key)] = format_value(value)
            return self

        def format(
            self, format: str | FormatDescriptor, format_option: ConfigOption[str] | None = None
        ) -> TableDescriptor.Builder:
            """Set the format, with its options, under `format` or another key such as `key.format`."""
            key = "format" if format_option is None else format_option.key
            if isinstance(format, str):
                return self.option(key, format)
            self.option(key, format.get_format())
            prefix = f"{_format_prefix(key)}{format.get_format()}."
            for name, value in format.get_options().items():
                self.option(prefix + name, value)
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """Set the columns that the table is partitioned by."""
            self._partition_keys = (*self._partition_keys, *partition_keys)
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """Tell what the table is for."""
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """Return the description."""
            return TableDescriptor(self._schema, self._options, self._partition_keys, self._comment)


class FormatDescriptor:
    """A format with its options.

    >>> from funke.table import FormatDescriptor, TableDescriptor
    >>> csv = FormatDescriptor.for_format("csv").option("field-delimiter", ";").build()
    >>> TableDescriptor.for_connector("filesystem").option("path", "/tmp/orders").format(csv).build().get_options()
    {'connector': 'filesystem', 'path': '/tmp/orders', 'format': 'csv', 'csv.field-delimiter': ';'}
    """

    def __init__(self, format: str, options: Mapping[str, str]) -> None:
        self._format = format
        self._options = dict(options)

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """Begin the description of a format."""
        if not format:
            raise ValidationException("Format descriptors require a format identifier.")
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """Return the name of the format."""
        return self._format

    def get_options(self) -> dict[str, str]:
        """Return the options."""
        return dict(self._options)

    def __str__(self) -> str:
        options = ", ".join(f"{key}={self._options[key]}" for key in in_java_order(self._options))
        return f"{self._format}[{{{options}}}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatDescriptor) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(str(self))

    class Builder:
        """Collects the description."""

        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: str | ConfigOption[Any], value: Any) -> FormatDescriptor.Builder:
            """Set an option of the format."""
            self._options[_key_of(key)] = format_value(value)
            return self

        def build(self) -> FormatDescriptor:
            """Return the description."""
            return FormatDescriptor(self._format, self._options)


def _key_of(key: str | ConfigOption[Any]) -> str:
    return key if isinstance(key, str) else key.key


def _format_prefix(format_key: str) -> str:
    """Return what stands before the options of a format: nothing for `format`, `key.` for `key.format`."""
    if format_key == "format":
        return ""
    if not format_key.endswith(".format"):
        raise ConfigurationError(
            at_user_line(f"Format identifier key should be 'format' or end with '.format', got {format_key!r}")
        )
    return format_key.removesuffix("format")
