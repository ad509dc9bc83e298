"""Table sinks of Flink 1.x."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING

from funke.engine.errors import at_user_line
from funke.table.flink_1.old_name_notes import note_old_name
from funke.table.schema import Schema
from funke.table.table_descriptor import TableDescriptor

if TYPE_CHECKING:
    from funke.table.types import DataType

__all__ = ["CsvTableSink", "TableSink", "WriteMode"]


class WriteMode:
    """What becomes of files that are there.

    >>> from funke.table import CsvTableSink, DataTypes, WriteMode
    >>> sink = CsvTableSink(["id"], [DataTypes.INT()], "/tmp/orders.csv", write_mode=WriteMode.OVERWRITE)
    >>> WriteMode.NO_OVERWRITE, WriteMode.OVERWRITE
    (0, 1)
    """

    NO_OVERWRITE = 0
    OVERWRITE = 1


class TableSink:
    """A table to write to, without a name; it may get its columns later.

    >>> from funke.table import CsvTableSink, DataTypes, TableSink
    >>> isinstance(CsvTableSink(["id"], [DataTypes.INT()], "/tmp/orders.csv"), TableSink)  # newer: TableDescriptor
    True
    """

    def __init__(self, options: dict[str, str], field_names: list[str], field_types: list[DataType]) -> None:
        self._options = options
        self._field_names = field_names
        self._field_types = field_types

    def _make_room(self) -> None:
        """Remove what the sink overwrites."""

    def _to_descriptor(self, field_names: list[str], field_types: list[DataType]) -> TableDescriptor:
        builder = TableDescriptor.for_connector(self._options["connector"])
        for key, value in self._options.items():
            builder.option(key, value)
        names, types = field_names or self._field_names, field_types or self._field_types
        return builder.schema(Schema.new_builder().from_fields(names, types).build()).build()


class CsvTableSink(TableSink):
    """Files of CSV in a directory.

    >>> from funke.table import CsvTableSink, DataTypes, EnvironmentSettings, TableEnvironment
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    >>> t_env.register_table_sink("orders", CsvTableSink(["id"], [DataTypes.INT()], "/tmp/orders.csv"))
    >>> t_env.list_tables()  # newer: CREATE TABLE, or a TableDescriptor
    ['orders']
    """

    def __init__(
        self,
        field_names: list[str],
        field_types: list[DataType],
        path: str,
        field_delimiter: str = ",",
        num_files: int = -1,
        write_mode: int | None = None,
    ) -> None:
        if write_mode not in (None, WriteMode.NO_OVERWRITE, WriteMode.OVERWRITE):
            raise Exception(at_user_line(f"Unsupported write_mode: {write_mode}"))
        note_old_name("CsvTableSink")
        options = {
            "connector": "filesystem",
            "path": path,
            "format": "csv",
            "csv.field-delimiter": field_delimiter,
            # Flink 1.x writes cells as they are.
            "csv.disable-quote-character": "true",
        }
        super().__init__(options, field_names, field_types)
        self._path = path
        self._write_mode = write_mode

    def _make_room(self) -> None:
        """Remove the file, or the files in the directory, that an earlier run of the program has written."""
        if self._write_mode == WriteMode.OVERWRITE and "://" not in (path := self._path.removeprefix("file://")):
            for file in [path] if os.path.isfile(path) else glob.glob(f"{glob.escape(path)}/part-*"):
                os.remove(file)
