"""Builds stream graphs by hand, for tests that look at graphs only."""

from __future__ import annotations

from typing import Any

from funke.engine.connectors.collection import CollectionSource
from funke.engine.connectors.print_sink import PrintSink
from funke.engine.graph.operations import Map, Operation, Process, ReadSource, Reduce, WriteSink
from funke.engine.graph.partitioners import Hash, Partitioner
from funke.engine.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from funke.engine.types.output_tag import OutputTag


def first_field(value: Any) -> Any:
    return value[0]


class GraphBuilder:
    """Appends nodes one after the other; each method returns the new node."""

    def __init__(self, parallelism: int = 2, **settings: Any) -> None:
        self.graph = StreamGraph("test job", default_parallelism=parallelism, **settings)

    def source(self, name: str = "numbers", **settings: Any) -> StreamNode:
        return self._add(ReadSource(CollectionSource([1, 2])), name, [], **settings)

    def map(self, upstream: StreamNode, name: str = "Map", function: Any = str, **settings: Any) -> StreamNode:
        return self._add(Map(function), name, [upstream], **settings)

    def process(self, upstream: StreamNode, name: str = "PROCESS", **settings: Any) -> StreamNode:
        return self._add(Process(object()), name, [upstream], **settings)

    def reduce(self, upstream: StreamNode, name: str = "Reduce", **settings: Any) -> StreamNode:
        return self._add(Reduce(max, first_field), name, [upstream], partitioner=Hash(first_field), **settings)

    def sink(self, upstream: StreamNode, name: str = "out", **settings: Any) -> StreamNode:
        return self._add(WriteSink(PrintSink()), name, [upstream], **settings)

    def union_map(self, *upstreams: StreamNode, name: str = "Map", **settings: Any) -> StreamNode:
        return self._add(Map(str), name, list(upstreams), **settings)

    def _add(
        self,
        operation: Operation,
        name: str,
        upstreams: list[StreamNode],
        partitioner: Partitioner | None = None,
        tag: OutputTag | None = None,
        **settings: Any,
    ) -> StreamNode:
        node_id = len(self.graph.nodes) + 1
        edges = tuple(StreamEdge(upstream.id, node_id, partitioner, tag) for upstream in upstreams)
        return self.graph.add(StreamNode(node_id, operation, name, edges, **settings))
