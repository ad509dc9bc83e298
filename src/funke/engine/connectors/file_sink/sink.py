"""The file sink: what to write, where, in which buckets, and when to begin a new file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from funke.engine.connectors.file_sink.bucket import Bucket, BucketSettings, BulkBucket, RowBucket
from funke.engine.connectors.file_sink.bucket_assigner import BucketAssigner, DateTimeBucketAssigner
from funke.engine.connectors.file_sink.bulk_format import BulkFormat, BulkWriter
from funke.engine.connectors.file_sink.committer import FileCommitter
from funke.engine.connectors.file_sink.compaction import Compactor, CompactStrategy, ConcatCompactor
from funke.engine.connectors.file_sink.encoders import Encoder
from funke.engine.connectors.file_sink.part_name import OutputFileConfig
from funke.engine.connectors.file_sink.rolling_policy import RollingPolicy
from funke.engine.connectors.file_sink.storage import open_storage, to_absolute_path
from funke.engine.connectors.file_sink.writer import FileSinkWriter, StreamingFileSinkWriter
from funke.engine.connectors.sink import Committer, Sink, WriterContext
from funke.engine.errors import ConfigurationError, at_user_line

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["FileSink", "StreamingFileSink"]

DEFAULT_CHECK_INTERVAL_MS = 60_000


@dataclass(frozen=True)
class FileSink(Sink):
    """Writes part files below `base_path`; they become visible when a checkpoint completes, or when the input ends."""

    base_path: str
    format: Encoder | BulkFormat
    bucket_assigner: BucketAssigner = field(default_factory=DateTimeBucketAssigner)
    rolling_policy: RollingPolicy | None = None
    file_config: OutputFileConfig = field(default_factory=OutputFileConfig)
    check_interval_ms: int = DEFAULT_CHECK_INTERVAL_MS
    compact_strategy: CompactStrategy | None = None
    compactor: Compactor | None = None

    def __post_init__(self) -> None:
        """Checks what can be checked before a job is started, and fills in the policy of the format."""
        if not self.base_path.strip():
            raise ConfigurationError(at_user_line("The file path must not be null or blank."))
        object.__setattr__(self, "base_path", to_absolute_path(self.base_path))
        is_bulk = isinstance(self.format, BulkFormat)
        policy = self.rolling_policy or (RollingPolicy.on_checkpoint() if is_bulk else RollingPolicy())
        if is_bulk and not policy.is_on_checkpoint:
            raise ConfigurationError("a bulk format needs the rolling policy that rolls on checkpoints")
        object.__setattr__(self, "rolling_policy", policy)
        if self.check_interval_ms <= 0:
            raise ConfigurationError(f"the bucket check interval must be positive, got {self.check_interval_ms} ms")
        if isinstance(self.format, BulkFormat) and not self.format.can_be_joined:
            self._check_compactor()

    def _check_compactor(self) -> None:
        if isinstance(self.compactor, ConcatCompactor):
            raise ConfigurationError(
                f"files of {type(self.format).__name__} cannot be joined byte by byte; use record_wise_file_compactor()"
            )

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.base_path,)

    def create_writer(self, context: WriterContext, restored: Any = None) -> FileSinkWriter:
        writer = self._new_writer(context, *self._writer_arguments(context))
        if restored:
            writer.restore(restored)
        return writer

    def create_committer(self) -> Committer:
        """The committer that renames files."""
        threads = 1 if self.compact_strategy is None else self.compact_strategy.num_threads
        return FileCommitter(self.base_path, self.compactor, threads)

    def _new_writer(self, context: WriterContext, *arguments: Any) -> FileSinkWriter:
        return FileSinkWriter(context, *arguments)

    def _writer_arguments(self, context: WriterContext) -> tuple[Any, ...]:
        assert self.rolling_policy is not None
        settings = BucketSettings(open_storage(self.base_path), self.rolling_policy, self.file_config)
        create_bucket = self._bucket_factory(settings, context.input_type)
        return self.bucket_assigner, settings, create_bucket, self.check_interval_ms, self.compact_strategy

    def _bucket_factory(
        self, settings: BucketSettings, input_type: TypeInformation | None
    ) -> Callable[[str, str, int], Bucket]:
        format = self.format
        if isinstance(format, Encoder):
            encode = format.bind(input_type)
            return lambda bucket_id, writer_id, first: RowBucket(bucket_id, writer_id, settings, first, encode)

        def open_writer(stream: IO[bytes]) -> BulkWriter:
            return format.create_writer(stream, input_type)

        return lambda bucket_id, writer_id, first: BulkBucket(bucket_id, writer_id, settings, first, open_writer)


@dataclass(frozen=True)
class StreamingFileSink(FileSink):
    """The older sink: files are named `<prefix>-<subtask>-<number><suffix>`, and only checkpoints make them visible.

    A job without checkpoints leaves all its files under their hidden names, as in Flink; one with checkpoints takes the
    last of them when its input has ended.
    """

    def _new_writer(self, context: WriterContext, *arguments: Any) -> FileSinkWriter:
        return StreamingFileSinkWriter(context, *arguments)
