"""The connector filesystem: its options, and how they become sources and sinks."""

from __future__ import annotations

import logging

from funke.engine.connectors.file_sink.bulk_format import BulkFormat
from funke.engine.connectors.file_sink.compaction import Compactor, CompactStrategy, ConcatCompactor
from funke.engine.connectors.file_sink.encoders import Encoder
from funke.engine.connectors.file_sink.rolling_policy import RollingPolicy
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException
from funke.engine.formats.table.table_writer import BatchFileWriter, TableFileWriter
from funke.engine.sql.connectors.error_causes import caused_by
from funke.engine.sql.connectors.filesystem.filesystem_source import FileTableSource
from funke.engine.sql.connectors.filesystem.partition_commit import PartitionCommits
from funke.engine.sql.connectors.filesystem.partition_paths import Partitions
from funke.engine.sql.connectors.filesystem.table_file_sink import ColumnCompactor, FileTableSink, TableFileSink
from funke.engine.sql.connectors.filesystem.table_files import FileColumn, PartitionColumn, TableFiles
from funke.engine.sql.connectors.formats.file_format_factory import FileFormatFactory
from funke.engine.sql.connectors.formats.file_formats import find_file_format
from funke.engine.sql.connectors.lookup.lookup_options import CACHE_TTL
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import OptionValues, TableOption
from funke.engine.sql.connectors.table_sink import SINK_PARALLELISM
from funke.engine.sql.functions.dates.time_zones import zone_of
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
_FILE_SIZE = TableOption("sink.rolling-policy.file-size", "MemorySize", "128 mb", "Part files are closed at this size.")
_ROLLOVER = TableOption(
    "sink.rolling-policy.rollover-interval", "Duration", "30 min", "The greatest age of an open file."
)
_INACTIVITY = TableOption(
    "sink.rolling-policy.inactivity-interval",
    "Duration",
    "30 min",
    "A file that nothing came to for so long is closed.",
)
_CHECK = TableOption("sink.rolling-policy.check-interval", "Duration", "1 min", "How often ages are looked at.")
_COMPACT = TableOption(
    "auto-compaction",
    "Boolean",
    "false",
    "The files of a checkpoint become one for each partition before they are seen.",
)
_COMPACT_SIZE = TableOption(
    "compaction.file-size", "MemorySize", None, "The target size of compacted files; by default that of rolling."
)
_SUCCESS_KIND = TableOption(
    "sink.partition-commit.policy.kind",
    description="What tells that a partition has new files: 'success-file' puts an empty file beside them.",
)
_SUCCESS_NAME = TableOption(
    "sink.partition-commit.success-file.name", default="_SUCCESS", description="The name of that file."
)
_TRIGGER = TableOption(
    "sink.partition-commit.trigger",
    default="process-time",
    description=(
        "When partitions are reported complete: by the clock (process-time), without a delay with every commit of "
        "files; or when the watermark has passed the time that their values say (partition-time)."
    ),
)
_DELAY = TableOption(
    "sink.partition-commit.delay",
    "Duration",
    "0 s",
    "How long to wait for that, after the partition was begun or after its own time.",
)
_ZONE = TableOption(
    "sink.partition-commit.watermark-time-zone", default="UTC", description="The zone of the times of partitions."
)
_TIME_KIND = TableOption(
    "partition.time-extractor.kind", default="default", description="How partitions have times; only 'default'."
)
_TIME_PATTERN = TableOption(
    "partition.time-extractor.timestamp-pattern",
    description="The time of a partition as a string of its values: '$day $hour:00:00'; by default the first value.",
)
_TIME_FORMATTER = TableOption(
    "partition.time-extractor.timestamp-formatter",
    description="The pattern in which that text is written: yyyy-MM-dd HH:mm:ss or yyyy-MM-dd by default.",
)
_REJECTED = tuple(
    TableOption(key, description="Rejected: not available here.")
    for key in (
        "partition.time-extractor.class",
        "sink.partition-commit.policy.class",
        "sink.partition-commit.policy.class.parameters",
        "sink.shuffle-by-partition.enable",
    )
)
_SINK_OPTIONS = (
    SINK_PARALLELISM,
    _FILE_SIZE,
    _ROLLOVER,
    _INACTIVITY,
    _CHECK,
    _COMPACT,
    _COMPACT_SIZE,
    _SUCCESS_KIND,
    _SUCCESS_NAME,
    _TRIGGER,
    _DELAY,
    _ZONE,
    _TIME_KIND,
    _TIME_PATTERN,
    _TIME_FORMATTER,
)


class FileSystemFactory(TableFactory):
    identifier = "filesystem"
    purpose = "Files in a folder, on this machine or in any store that Spark's or Arrow's file systems reach."
    reads = writes = True
    required_options = (PATH,)
    optional_options = (FORMAT, _DEFAULT_NAME, _MONITOR, _PATTERN, _STATISTICS, CACHE_TTL, *_SINK_OPTIONS, *_REJECTED)

    def options_for(self, context: TableContext) -> tuple[tuple[TableOption, ...], tuple[TableOption, ...]]:
        required, optional = super().options_for(context)
        if FORMAT.key not in context.options:
            return (*required, FORMAT), optional
        return required, (*optional, *_format_options(context))

    def create_source(self, context: TableContext) -> FileTableSource:
        values = context.values
        factory = find_file_format(values[FORMAT])
        fields = {each.name: RowField(each.name, each.type) for each in context.columns}
        # The values of partition columns stand in the path, as in Hive: files do not have them.
        inside = tuple(field for name, field in fields.items() if name not in context.partition_keys)
        with caused_by(f"Error creating scan format '{factory.identifier}' in option space '{factory.identifier}.'."):
            reader = factory.create_reader(inside, values.behind(factory.identifier))
        indexes = {field.name: index for index, field in enumerate(inside)}
        columns: list[FileColumn] = [
            indexes[name] if name in indexes else PartitionColumn(field, values[_DEFAULT_NAME])
            for name, field in fields.items()
        ]
        interval = values[_MONITOR]
        return FileTableSource(
            values[PATH],
            TableFiles(reader, tuple(columns)),
            None if interval is None else interval.to_millis(),
            values[_PATTERN],
            values[CACHE_TTL].to_millis(),
        )

    def create_sink(self, context: TableContext) -> FileTableSink:
        values = context.values
        _reject(values)
        factory = find_file_format(values[FORMAT])
        fields = tuple(RowField(each.name, each.type) for each in context.columns)
        partitions = Partitions(fields, context.partition_keys, values[_DEFAULT_NAME])
        inside = tuple(fields[index] for index in partitions.inside)
        with caused_by(f"Error creating sink format '{factory.identifier}' in option space '{factory.identifier}.'."):
            writer = factory.create_writer(inside, values.behind(factory.identifier))
            compactor = _compactor(factory, inside, writer, values) if values[_COMPACT] else None
        sink = TableFileSink(
            values[PATH],
            writer.file_format,
            rolling_policy=_rolling_policy(values, writer.file_format),
            check_interval_ms=values[_CHECK].to_millis(),
            compact_strategy=None if compactor is None else _compact_strategy(values),
            compactor=compactor,
            writer=writer,
            partitions=partitions,
            success_file=values[_SUCCESS_NAME] if values[_SUCCESS_KIND] else None,
            # A batch job has one commit, at its end: then every partition is complete.
            commits=None if context.is_batch else _partition_commits(values),
        )
        return FileTableSink(sink, context.is_batch, values[SINK_PARALLELISM])


def _compact_strategy(values: OptionValues) -> CompactStrategy:
    size = values[_COMPACT_SIZE]
    return CompactStrategy(num_checkpoints=1, size_threshold=values[_FILE_SIZE] if size is None else size)


def _compactor(
    factory: FileFormatFactory, fields: tuple[RowField, ...], writer: TableFileWriter, values: OptionValues
) -> Compactor:
    if isinstance(writer, BatchFileWriter):
        return ColumnCompactor(factory.create_reader(fields, values.behind(factory.identifier)), writer)
    return ConcatCompactor()


def _rolling_policy(values: OptionValues, form: Encoder | BulkFormat) -> RollingPolicy:
    # A bulk format has its index at the end (Parquet's footer), so a file is whole only when it is closed. And
    # compaction takes the files of one checkpoint together.
    if isinstance(form, BulkFormat) or values[_COMPACT]:
        return RollingPolicy.on_checkpoint()
    return RollingPolicy(values[_FILE_SIZE], values[_ROLLOVER].to_millis(), values[_INACTIVITY].to_millis())


def _reject(values: OptionValues) -> None:
    for option in _REJECTED:
        if option in values and values[option].lower() != "false":
            raise UnsupportedFeatureError(f"the option '{option.key}'")
    if values[_SUCCESS_KIND] not in (None, "success-file"):
        raise UnsupportedFeatureError(f"'{_SUCCESS_KIND.key}' = '{values[_SUCCESS_KIND]}'", "expected 'success-file'")
    if values[_TIME_KIND] != "default":
        raise UnsupportedFeatureError(f"'{_TIME_KIND.key}' = '{values[_TIME_KIND]}'", "expected 'default'")


def _partition_commits(values: OptionValues) -> PartitionCommits | None:
    trigger, delay_ms = values[_TRIGGER], values[_DELAY].to_millis()
    if trigger not in ("process-time", "partition-time"):
        raise TableException(f"Unsupported partition commit trigger: {trigger}")
    # The commit of a partition is then the commit of its files: nothing has to be remembered between checkpoints.
    if values[_SUCCESS_KIND] is None or (trigger == "process-time" and not delay_ms):
        return None
    zone = zone_of(values[_ZONE])
    is_by_event_time = trigger == "partition-time"
    return PartitionCommits(is_by_event_time, delay_ms, values[_TIME_PATTERN], values[_TIME_FORMATTER], zone)


def _format_options(context: TableContext) -> tuple[TableOption, ...]:
    """The options of the table's format. Unknown options give a warning; Flink rejects them."""
    factory = find_file_format(context.values[FORMAT])
    options = tuple(each.with_prefix(factory.identifier) for each in factory.options)
    keys = {key for each in options for key in each.keys}
    unknown = [key for key in context.options if key.startswith(f"{factory.identifier}.") and key not in keys]
    for key in unknown:
        _LOG.warning("the format '%s' has no option '%s': it has no effect", factory.identifier, key)
    return (*options, *map(TableOption, unknown))
