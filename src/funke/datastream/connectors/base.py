"""What all sources and sinks share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any

from funke.engine.connectors import sink as engine_sinks
from funke.engine.connectors import source as engine_sources
from funke.engine.connectors.discard import DiscardSink
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["BatchedSource", "DeliveryGuarantee", "Sink", "Source", "StreamTransformer", "SupportsPreprocessing"]

# PyFlink has no class for discarding records; its programs name Flink's Java class.
_DISCARDING_SINKS = (
    "org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink",
    "org.apache.flink.streaming.api.functions.sink.DiscardingSink",
)


class Source:
    """A source for `from_source`; `engine_source` is what the engine reads.

    >>> from funke.common import WatermarkStrategy
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors import NumberSequenceSource, Source
    >>> def read(env: StreamExecutionEnvironment, source: Source):
    ...     return env.from_source(source, WatermarkStrategy.no_watermarks(), "input")
    >>> read(StreamExecutionEnvironment.get_execution_environment(), NumberSequenceSource(1, 4)).get_name()
    'input'
    """

    def __init__(self, source: Any) -> None:
        if isinstance(source, str):
            raise UnsupportedFeatureError(f"the Java source {source}", "sources are written in Python here")
        if not isinstance(source, engine_sources.Source):
            raise ConfigurationError(f"a source of the engine is needed, got {type(source).__name__}")
        self.engine_source = source


class BatchedSource(Source):
    """A source whose records are batches of rows, which are unpacked right behind it."""

    def __init__(self, source: engine_sources.Source, row_type: TypeInformation) -> None:
        super().__init__(source)
        self.row_type = row_type


class Sink:
    """A sink for `sink_to`; `engine_sink` is what the engine writes to.

    >>> from funke.common.serialization import Encoder
    >>> from funke.datastream import DataStream, StreamExecutionEnvironment
    >>> from funke.datastream.connectors import FileSink, Sink
    >>> def write(stream: DataStream, sink: Sink):
    ...     return stream.sink_to(sink).name("output")
    >>> words = StreamExecutionEnvironment.get_execution_environment().from_collection(["to", "be"])
    >>> files = FileSink.for_row_format("/tmp/words", Encoder.simple_string_encoder()).build()
    >>> type(write(words, files)).__name__
    'DataStreamSink'
    """

    engine_sink: engine_sinks.Sink

    def __init__(self, sink: Any) -> None:
        if isinstance(sink, str):
            sink = _find_java_sink(sink)
        if not isinstance(sink, engine_sinks.Sink):
            raise ConfigurationError(f"a sink of the engine is needed, got {type(sink).__name__}")
        self.engine_sink = sink


def _find_java_sink(class_name: str) -> engine_sinks.Sink:
    if class_name in _DISCARDING_SINKS:
        return DiscardSink()
    raise UnsupportedFeatureError(f"the Java sink {class_name}", "sinks are written in Python here")


class DeliveryGuarantee(Enum):
    """How often a record reaches the outside when the job fails and restarts on its way.

    >>> from funke.common import SimpleStringSchema
    >>> from funke.datastream.connectors import DeliveryGuarantee
    >>> from funke.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
    >>> words = KafkaRecordSerializationSchema.builder().set_topic("words")
    >>> sink = (
    ...     KafkaSink.builder()
    ...     .set_bootstrap_servers("localhost:9092")
    ...     .set_record_serializer(words.set_value_serialization_schema(SimpleStringSchema()).build())
    ...     .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    ...     .set_transactional_id_prefix("words")
    ...     .build()
    ... )
    >>> type(sink).__name__
    'KafkaSink'
    """

    # The tuples are PyFlink's own values.
    EXACTLY_ONCE = (0,)
    AT_LEAST_ONCE = (1,)
    NONE = 2


class StreamTransformer(ABC):
    """Changes a stream before it is written."""

    @abstractmethod
    def apply(self, ds: DataStream) -> DataStream:
        """Return the stream to write instead of `ds`."""


class SupportsPreprocessing(ABC):
    """A sink that wants its input changed first."""

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """Return what changes the input, None when nothing does."""
