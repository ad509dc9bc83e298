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
    """A source for `from_source`; `engine_source` is what the engine reads."""

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
    """A sink for `sink_to`; `engine_sink` is what the engine writes to."""

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
    """How often a record reaches the outside when the job fails and restarts on its way."""

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
