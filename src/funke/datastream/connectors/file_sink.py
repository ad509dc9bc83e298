"""Writing files into buckets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from funke.common.serialization import BulkWriterFactory, Encoder, SimpleStringEncoder
from funke.datastream.connectors.base import Sink, StreamTransformer, SupportsPreprocessing
from funke.datastream.connectors.file_sink_settings import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from funke.datastream.functions import SinkFunction
from funke.engine.connectors.file_sink import encoders as engine_encoders
from funke.engine.connectors.file_sink import sink as engine_sinks
from funke.engine.connectors.file_sink.bulk_format import BulkFormat as EngineBulkFormat
from funke.engine.errors import ConfigurationError
from funke.engine.types import TypeInformation

__all__ = ["FileSink", "StreamingFileSink"]

Builder = TypeVar("Builder", bound="_SinkBuilder")
EngineSink = TypeVar("EngineSink", bound=engine_sinks.FileSink)


class _SinkBuilder:
    """What the builders of both sinks share."""

    def __init__(self, base_path: str, engine_format: engine_encoders.Encoder | EngineBulkFormat) -> None:
        self._base_path = base_path
        self._format = engine_format
        self._settings: dict[str, Any] = {}

    def with_bucket_check_interval(self: Builder, interval: int) -> Builder:
        """Set how often, in milliseconds, the ages of files are looked at."""
        self._settings["check_interval_ms"] = interval
        return self

    def with_bucket_assigner(self: Builder, bucket_assigner: BucketAssigner) -> Builder:
        """Set what names the buckets."""
        self._settings["bucket_assigner"] = bucket_assigner
        return self

    def with_output_file_config(self: Builder, output_file_config: OutputFileConfig) -> Builder:
        """Set prefix and suffix of part files."""
        self._settings["file_config"] = output_file_config.engine_config
        return self

    def _with_policy(self: Builder, policy: RollingPolicy) -> Builder:
        self._settings["rolling_policy"] = policy.engine_policy
        return self

    def _build(self, sink_class: type[EngineSink]) -> EngineSink:
        return sink_class(self._base_path, self._format, **self._settings)


class FileSink(Sink, SupportsPreprocessing):
    """Writes part files into buckets below a base path.

    Files are hidden while they are written. They become visible when a checkpoint completes, or without checkpoints
    when the input ends.

    >>> import pathlib, tempfile
    >>> from funke.common.serialization import Encoder
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.file_system import FileSink, OutputFileConfig
    >>> folder = tempfile.TemporaryDirectory()
    >>> named = OutputFileConfig("words", ".txt")
    >>> builder = FileSink.for_row_format(folder.name, Encoder.simple_string_encoder())
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> _ = env.from_collection(["to", "be"]).sink_to(builder.with_output_file_config(named).build())
    >>> _ = env.execute()
    >>> [path.read_text().split() for path in pathlib.Path(folder.name).rglob("words*.txt")]
    [['to', 'be']]
    """

    def __init__(self, engine_sink: engine_sinks.FileSink, transformer: StreamTransformer | None = None) -> None:
        super().__init__(engine_sink)
        self._transformer = transformer

    def get_transformer(self) -> StreamTransformer | None:
        """Return what changes the input first, if anything."""
        return self._transformer

    class BaseBuilder(_SinkBuilder):
        """Collects the settings of a file sink."""

        def enable_compact(self: Builder, strategy: FileCompactStrategy, compactor: FileCompactor) -> Builder:
            """Make small files into larger ones before they become visible, as `compacted-…`."""
            self._settings["compact_strategy"] = strategy.engine_strategy
            self._settings["compactor"] = compactor.to_engine(self._format)
            return self

        def disable_compact(self: Builder) -> Builder:
            """Leave small files as they are, also those that wait since compaction was on; this is the default."""
            self._settings.pop("compact_strategy", None)
            self._settings.pop("compactor", None)
            return self

        def with_rolling_policy(self, rolling_policy: Any) -> Any:
            """Set when files are closed."""
            return self._with_policy(rolling_policy)

        def build(self) -> FileSink:
            """Return the sink."""
            return FileSink(self._build(engine_sinks.FileSink))

    class RowFormatBuilder(BaseBuilder):
        """Builds a sink that writes record by record."""

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> FileSink.RowFormatBuilder:
            """Set when files are closed."""
            return self._with_policy(rolling_policy)

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """Start building a sink that encodes record by record."""
        return FileSink.RowFormatBuilder(base_path, _to_engine_encoder(encoder))

    class BulkFormatBuilder(BaseBuilder):
        """Builds a sink that writes whole files."""

        def with_rolling_policy(self, rolling_policy: OnCheckpointRollingPolicy) -> FileSink.BulkFormatBuilder:
            """Set when files are closed; only checkpoints can close them."""
            return self._with_policy(_require_on_checkpoint(rolling_policy))

        def build(self) -> FileSink:
            """Return the sink."""
            return FileSink(self._build(engine_sinks.FileSink))

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> FileSink.BulkFormatBuilder:
        """Start building a sink that writes whole files, such as Parquet."""
        return FileSink.BulkFormatBuilder(base_path, _to_engine_bulk_format(writer_factory))


class StreamingFileSink(SinkFunction):
    """The older file sink, for `add_sink`: files are named by subtask, and only checkpoints make them visible.

    >>> import warnings
    >>> from funke.common.serialization import Encoder
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors import StreamingFileSink
    >>> with warnings.catch_warnings(action="ignore"):  # it is deprecated: use FileSink
    ...     sink = StreamingFileSink.for_row_format("/tmp/words", Encoder.simple_string_encoder()).build()
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> type(env.from_collection(["to", "be"]).add_sink(sink)).__name__
    'DataStreamSink'
    """

    def __init__(self, engine_sink: engine_sinks.StreamingFileSink) -> None:
        warnings.warn("StreamingFileSink is deprecated, use FileSink", DeprecationWarning, stacklevel=2)
        super().__init__(engine_sink)
        self.engine_sink = engine_sink

    class BaseBuilder(_SinkBuilder):
        """Collects the settings of the older file sink."""

        def with_rolling_policy(self, policy: Any) -> Any:
            """Set when files are closed."""
            return self._with_policy(policy)

        def build(self) -> StreamingFileSink:
            """Return the sink."""
            return StreamingFileSink(self._build(engine_sinks.StreamingFileSink))

    class DefaultRowFormatBuilder(BaseBuilder):
        """Builds a sink that writes record by record."""

        def with_rolling_policy(self, policy: RollingPolicy) -> StreamingFileSink.DefaultRowFormatBuilder:
            """Set when files are closed."""
            return self._with_policy(policy)

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> StreamingFileSink.DefaultRowFormatBuilder:
        """Start building a sink that encodes record by record."""
        return StreamingFileSink.DefaultRowFormatBuilder(base_path, _to_engine_encoder(encoder))

    class DefaultBulkFormatBuilder(BaseBuilder):
        """Builds a sink that writes whole files."""

        def with_rolling_policy(self, policy: OnCheckpointRollingPolicy) -> StreamingFileSink.DefaultBulkFormatBuilder:
            """Set when files are closed; only checkpoints can close them."""
            return self._with_policy(_require_on_checkpoint(policy))

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory
    ) -> StreamingFileSink.DefaultBulkFormatBuilder:
        """Start building a sink that writes whole files, such as Parquet."""
        return StreamingFileSink.DefaultBulkFormatBuilder(base_path, _to_engine_bulk_format(writer_factory))


def _require_on_checkpoint(policy: RollingPolicy) -> RollingPolicy:
    if not isinstance(policy, OnCheckpointRollingPolicy):
        raise ValueError("a bulk format needs RollingPolicy.on_checkpoint_rolling_policy()")
    return policy


def _to_engine_encoder(encoder: Encoder) -> engine_encoders.Encoder:
    # The common encoder has a form that encodes whole batches, four times as fast as line by line.
    if isinstance(encoder, SimpleStringEncoder):
        return engine_encoders.SimpleStringEncoder(encoder._charset)
    if not isinstance(encoder, Encoder):
        raise ConfigurationError(f"a row format needs an Encoder, got {type(encoder).__name__}")
    return _UserEncoder(encoder)


@dataclass(frozen=True)
class _UserEncoder(engine_encoders.Encoder):
    """Encodes with an encoder that a user wrote."""

    encoder: Encoder

    def bind(self, input_type: TypeInformation | None) -> Callable[[list[Any]], bytes]:
        """Joins the bytes of the records."""
        write = self.encoder.to_writer(input_type)
        return lambda values: b"".join(map(write, values))


def _to_engine_bulk_format(writer_factory: BulkWriterFactory) -> EngineBulkFormat:
    bulk_format = getattr(writer_factory, "bulk_format", writer_factory)
    if not isinstance(bulk_format, EngineBulkFormat):
        raise ConfigurationError(
            f"a bulk format needs a writer factory such as ParquetBulkWriters.for_row_type(…), "
            f"got {type(writer_factory).__name__}"
        )
    return bulk_format
