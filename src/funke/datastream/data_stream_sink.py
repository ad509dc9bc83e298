"""The end of a stream."""

from __future__ import annotations

from funke.datastream.operator_settings import OperatorSettings
from funke.engine.graph.stream_graph import StreamNode

__all__ = ["DataStreamSink"]


class DataStreamSink(OperatorSettings):
    """A sink in the graph, with its settings."""

    def __init__(self, node: StreamNode) -> None:
        self._node = node
