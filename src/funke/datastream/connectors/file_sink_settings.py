"""Where a file sink puts its files, how it names them, and when it begins a new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.connectors.file_sink import bucket_assigner as engine_buckets
from funke.engine.connectors.file_sink import compaction, part_name, rolling_policy
from funke.engine.connectors.file_sink.bulk_format import BulkFormat
from funke.engine.errors import ConfigurationError
from funke.engine.formats.file_format import FileFormat

__all__ = [
    "BucketAssigner",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
]


class BucketAssigner(engine_buckets.BucketAssigner):
    """Names the bucket (the directory below the base path) of each element.

    Besides the ready-made ones, a subclass may define `get_bucket_id(element, context)`; the context has
    `timestamp()` and `current_processing_time()`.

    >>> from funke.datastream.connectors.file_system import BucketAssigner
    >>> class ByCountry(BucketAssigner):
    ...     def get_bucket_id(self, element, context):
    ...         return f"country={element['country']}"
    >>> ByCountry().get_bucket_id({"country": "nl"}, None)  # FileSink...with_bucket_assigner(ByCountry())
    'country=nl'
    """

    _assigner: engine_buckets.BucketAssigner | None = None

    def __init__(self, engine_assigner: engine_buckets.BucketAssigner | None = None) -> None:
        self._assigner = engine_assigner

    def get_bucket_id(self, element: Any, context: engine_buckets.BucketContext) -> str:
        """Return the path of the element's bucket below the base path."""
        if self._assigner is None:
            raise NotImplementedError(f"{type(self).__name__} must define get_bucket_id(element, context)")
        return self._assigner.get_bucket_id(element, context)

    def assign(self, values: list[Any], timestamps: list[int] | None, now_ms: int) -> dict[str, list[Any]]:
        """Sort a batch into buckets."""
        if self._assigner is not None:
            return self._assigner.assign(values, timestamps, now_ms)
        return super().assign(values, timestamps, now_ms)

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Return the assigner that puts all files into the base path."""
        return BucketAssigner(engine_buckets.BasePathBucketAssigner())

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """Return the assigner that names buckets after the processing time, in Java's date patterns."""
        return BucketAssigner(engine_buckets.DateTimeBucketAssigner(format_str, timezone_id))


class RollingPolicy:
    """When a part file is closed and a new one begun.

    >>> from funke.common.serialization import Encoder
    >>> from funke.datastream.connectors.file_system import FileSink, RollingPolicy
    >>> policy = RollingPolicy.default_rolling_policy(part_size=1024**3, rollover_interval=15 * 60 * 1000)
    >>> builder = FileSink.for_row_format("/tmp/orders", Encoder.simple_string_encoder())
    >>> sink = builder.with_rolling_policy(policy).build()
    >>> isinstance(policy, RollingPolicy)
    True
    """

    def __init__(self, engine_policy: rolling_policy.RollingPolicy) -> None:
        self.engine_policy = engine_policy

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128, rollover_interval: int = 60 * 1000, inactivity_interval: int = 60 * 1000
    ) -> DefaultRollingPolicy:
        """Return the policy that rolls by size in bytes, and by age and inactivity in milliseconds."""
        return DefaultRollingPolicy(rolling_policy.RollingPolicy(part_size, rollover_interval, inactivity_interval))

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Return the policy that rolls at every checkpoint, and only there."""
        return OnCheckpointRollingPolicy(rolling_policy.RollingPolicy.on_checkpoint())


class DefaultRollingPolicy(RollingPolicy):
    """Rolls by size, age and inactivity.

    >>> from funke.datastream.connectors.file_system import DefaultRollingPolicy, RollingPolicy
    >>> policy: DefaultRollingPolicy = RollingPolicy.default_rolling_policy(part_size=64 * 1024 * 1024)
    >>> isinstance(policy, RollingPolicy)
    True
    """


class OnCheckpointRollingPolicy(RollingPolicy):
    """Rolls at every checkpoint.

    >>> from funke.datastream.connectors.file_system import OnCheckpointRollingPolicy, RollingPolicy
    >>> policy: OnCheckpointRollingPolicy = RollingPolicy.on_checkpoint_rolling_policy()  # the one for bulk formats
    >>> isinstance(policy, RollingPolicy)
    True
    """


class OutputFileConfig:
    """Prefix and suffix of part files.

    >>> from funke.datastream.connectors.file_system import OutputFileConfig
    >>> config = OutputFileConfig.builder().with_part_prefix("orders").with_part_suffix(".csv").build()
    >>> config.get_part_prefix(), config.get_part_suffix()  # FileSink...with_output_file_config(config)
    ('orders', '.csv')
    """

    def __init__(self, part_prefix: str, part_suffix: str) -> None:
        self.engine_config = part_name.OutputFileConfig(part_prefix, part_suffix)

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Start with the prefix `part` and no suffix."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """Return the prefix."""
        return self.engine_config.prefix

    def get_part_suffix(self) -> str:
        """Return the suffix."""
        return self.engine_config.suffix

    class OutputFileConfigBuilder:
        """Collects prefix and suffix."""

        def __init__(self) -> None:
            self.part_prefix = "part"
            self.part_suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the prefix."""
            self.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the suffix."""
            self.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """Return the configuration."""
            return OutputFileConfig(self.part_prefix, self.part_suffix)


class FileCompactStrategy:
    """When small files are made into larger ones.

    >>> from funke.common import Encoder
    >>> from funke.datastream.connectors.file_system import FileCompactor, FileCompactStrategy, FileSink
    >>> strategy = FileCompactStrategy.builder().set_size_threshold(1024**2).enable_compaction_on_checkpoint(5).build()
    >>> builder = FileSink.for_row_format("/tmp/words", Encoder.simple_string_encoder())
    >>> sink = builder.enable_compact(strategy, FileCompactor.concat_file_compactor()).build()
    >>> type(sink).__name__
    'FileSink'
    """

    def __init__(self, engine_strategy: compaction.CompactStrategy) -> None:
        self.engine_strategy = engine_strategy

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Start with no condition set."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Collects the conditions; at least one is needed."""

        def __init__(self) -> None:
            self._num_checkpoints = -1
            self._size_threshold = -1
            self._num_threads = 1

        def build(self) -> FileCompactStrategy:
            """Return the strategy."""
            settings = self._num_checkpoints, self._size_threshold, self._num_threads
            return FileCompactStrategy(compaction.CompactStrategy(*settings))

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Compact at every n-th checkpoint what all subtasks have written since the one before."""
            if num_checkpoints_before_compaction <= 0:
                raise ConfigurationError(
                    f"the number of checkpoints before compaction must be positive, "
                    f"got {num_checkpoints_before_compaction}"
                )
            self._num_checkpoints = num_checkpoints_before_compaction
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Compact the files of a bucket once a subtask has this many bytes of them."""
            self._size_threshold = size_threshold
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Compact so many files at the same time; 1 by default."""
            self._num_threads = num_compact_threads
            return self


class FileCompactor:
    """How several files become one; `to_engine` makes the engine's compactor for a sink's format.

    >>> from funke.common import Types
    >>> from funke.datastream.connectors.file_system import FileCompactor, FileCompactStrategy, FileSink
    >>> from funke.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
    >>> row_type = Types.ROW_NAMED(["id"], [Types.INT()])
    >>> compactor = FileCompactor.record_wise_file_compactor(ParquetColumnarRowInputFormat(row_type))
    >>> strategy = FileCompactStrategy.builder().set_size_threshold(1024**2).build()
    >>> builder = FileSink.for_bulk_format("/tmp/orders", ParquetBulkWriters.for_row_type(row_type))
    >>> type(builder.enable_compact(strategy, compactor).build()).__name__
    'FileSink'
    """

    def __init__(self, to_engine: Callable[[Any], compaction.Compactor]) -> None:
        self.to_engine = to_engine

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Put the files one behind the other, each with the delimiter behind it if there is one."""
        return FileCompactor(lambda _: compaction.ConcatCompactor(file_delimiter))

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Keep the only file as it is; several files are an error."""
        return FileCompactor(lambda _: compaction.IdenticalCompactor())

    @staticmethod
    def record_wise_file_compactor(reader_format: Any) -> FileCompactor:
        """Read the records of all files and write them again; goes beyond PyFlink.

        For bulk formats whose files cannot be joined byte by byte: Parquet, ORC, Avro. `reader_format` is what reads
        them, such as `ParquetColumnarRowInputFormat(row_type)`.
        """
        reader = getattr(reader_format, "engine_format", None)
        if not isinstance(reader, FileFormat):
            raise ConfigurationError(f"a format that reads files is needed, got {reader_format!r}")
        return FileCompactor(lambda writer: compaction.RecordWiseCompactor(reader, _require_bulk(writer)))


def _require_bulk(writer: Any) -> BulkFormat:
    if not isinstance(writer, BulkFormat):
        raise ConfigurationError(
            "files of a row format are not compacted record by record: use concat_file_compactor()"
        )
    return writer
