"""Table sources of Flink 1.x."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.table.flink_1.old_name_notes import note_old_name
from funke.table.schema import Schema
from funke.table.table_descriptor import TableDescriptor

if TYPE_CHECKING:
    from funke.table.types import DataType

__all__ = ["CsvTableSource", "TableSource"]


class TableSource:
    """A table to read, without a name.

    >>> from funke.table import CsvTableSource, DataTypes, TableSource
    >>> isinstance(CsvTableSource("/tmp/orders.csv", ["id"], [DataTypes.INT()]), TableSource)  # newer: TableDescriptor
    True
    """

    def __init__(self, descriptor: TableDescriptor) -> None:
        self._descriptor = descriptor


class CsvTableSource(TableSource):
    """Files of CSV.

    >>> from funke.table import CsvTableSource, DataTypes, EnvironmentSettings, TableEnvironment
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    >>> orders = t_env.from_table_source(CsvTableSource("/tmp/orders.csv", ["id"], [DataTypes.INT()]))
    >>> orders.get_schema().get_field_names()  # newer: CREATE TABLE, or a TableDescriptor
    ['id']
    """

    def __init__(
        self,
        source_path: str,
        field_names: list[str],
        field_types: list[DataType],
        field_delim: str | None = None,
        line_delim: str | None = None,
        quote_character: str | None = None,
        ignore_first_line: bool | None = None,
        ignore_comments: str | None = None,
        lenient: bool | None = None,
        include_path_as_field: bool | None = None,
    ) -> None:
        note_old_name("CsvTableSource")
        options = {
            "path": source_path,
            "format": "csv",
            "csv.field-delimiter": field_delim,
            "csv.line-delimiter": None if line_delim in (None, "\n", "\r\n") else line_delim,
            "csv.quote-character": quote_character,
            # Without a quote character Flink 1.x reads quotes as they are.
            "csv.disable-quote-character": "true" if quote_character is None else None,
            "csv.ignore-first-line": "true" if ignore_first_line else None,
            "csv.allow-comments": "true" if ignore_comments else None,
            "csv.ignore-parse-errors": "true" if lenient else None,
        }
        builder = TableDescriptor.for_connector("filesystem")
        for key, value in options.items():
            if value is not None:
                builder.option(key, value)
        builder.schema(Schema.new_builder().from_fields(field_names, field_types).build())
        super().__init__(builder.build())
