"""The connector filesystem: its options, and what reads and writes its tables."""

from __future__ import annotations

import logging

from funke.engine.sql.connectors.error_causes import caused_by
from funke.engine.sql.connectors.filesystem.filesystem_source import FileTableSource
from funke.engine.sql.connectors.filesystem.table_files import FileColumn, PartitionColumn, TableFiles
from funke.engine.sql.connectors.formats.file_formats import find_file_format
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import TableOption
from funke.engine.types.logical.row_type import RowField

__all__ = ["FileSystemFactory"]

_LOG = logging.getLogger(__name__)

PATH = TableOption("path", description="The folder or file; for reading also a pattern with *, ? and [ ].")
FORMAT = TableOption("format", description="The format of the files; its options follow as 'csv.…' and so on.")
_DEFAULT_NAME = TableOption(
    "partition.default-name",
    default="__DEFAULT_PARTITION__",
    description="The folder of a partition whose value is NULL or empty.",
)
_MONITOR = TableOption(
    "source.monitor-interval", "Duration", None, "How often to look for new files; without it files are read once."
)
_PATTERN = TableOption("source.path.regex-pattern", description="Only files whose whole paths match it are read.")
_STATISTICS = TableOption(
    "source.report-statistics", "Enum", "ALL", "For planners that count rows; has no effect.", ("NONE", "ALL")
)


class FileSystemFactory(TableFactory):
    identifier = "filesystem"
    purpose = "Files in a folder, on this machine or in any store that Spark's or Arrow's file systems reach."
    reads = True
    required_options = (PATH,)
    optional_options = (FORMAT, _DEFAULT_NAME, _MONITOR, _PATTERN, _STATISTICS)

    def options_for(self, context: TableContext) -> tuple[tuple[TableOption, ...], tuple[TableOption, ...]]:
        required, optional = super().options_for(context)
        if FORMAT.key not in context.options:
            return (*required, FORMAT), optional
        return required, (*optional, *_format_options(context))

    def create_source(self, context: TableContext) -> FileTableSource:
        values = context.values
        factory = find_file_format(values[FORMAT])
        fields = {each.name: RowField(each.name, each.type) for each in context.columns}
        inside = tuple(field for name, field in fields.items() if name not in context.partition_keys)
        with caused_by(f"Error creating scan format '{factory.identifier}' in option space '{factory.identifier}.'."):
            reader = factory.create_reader(inside, values.behind(factory.identifier))
        places = {field.name: place for place, field in enumerate(inside)}
        columns: list[FileColumn] = [
            places[name] if name in places else PartitionColumn(field, values[_DEFAULT_NAME])
            for name, field in fields.items()
        ]
        interval = values[_MONITOR]
        return FileTableSource(
            values[PATH],
            TableFiles(reader, tuple(columns)),
            None if interval is None else interval.to_millis(),
            values[_PATTERN],
        )


def _format_options(context: TableContext) -> tuple[TableOption, ...]:
    """The options of the table's format. Those that it does not know are not refused, as in Flink, but told."""
    factory = find_file_format(context.values[FORMAT])
    known = tuple(each.with_prefix(factory.identifier) for each in factory.options)
    keys = {key for each in known for key in each.keys}
    unknown = [key for key in context.options if key.startswith(f"{factory.identifier}.") and key not in keys]
    for key in unknown:
        _LOG.warning("the format '%s' has no option '%s': it has no effect", factory.identifier, key)
    return (*known, *map(TableOption, unknown))
