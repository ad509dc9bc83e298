"""Streams that are computed once: the first job that contains one keeps its elements, later jobs read them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.connectors.collection import CollectionSource
from funke.engine.errors import FunkeError, GraphError, at_user_line
from funke.engine.graph.operations import ReadSource, WriteSink
from funke.engine.graph.stream_graph import StreamEdge, StreamGraph, StreamNode

if TYPE_CHECKING:
    from funke.engine.jobs.job import SubmittedJob


class CachedResults:
    """The cached streams of one environment, by the node that computes them."""

    def __init__(self) -> None:
        self._node_ids: set[int] = set()
        self._elements: dict[int, list[Any]] = {}
        self._filling: list[threading.Thread] = []

    def add(self, node: StreamNode, ancestors: StreamGraph) -> None:
        """Let the next job that computes a node keep its elements; its input must be bounded."""
        for ancestor in ancestors.nodes.values():
            if isinstance(ancestor.operation, ReadSource) and not ancestor.operation.source.is_bounded:
                raise GraphError(at_user_line(f"cache() needs bounded input, but '{ancestor.title}' never ends"))
        self._node_ids.add(node.id)

    def forget(self, node: StreamNode) -> None:
        """Let the next job compute a node again."""
        self._wait()
        self._elements.pop(node.id, None)

    def clear(self) -> None:
        """Forget all elements."""
        self._wait()
        self._elements.clear()

    def with_cached_sources(self, graph: StreamGraph) -> StreamGraph:
        """The graph with a source in place of every node whose elements are known."""
        self._wait()
        nodes = {
            node_id: _reading(node, self._elements[node_id]) if node_id in self._elements else node
            for node_id, node in graph.nodes.items()
        }
        return replace(graph, nodes=nodes)

    def with_collecting_sinks(self, graph: StreamGraph) -> StreamGraph:
        """The graph with a sink behind every node whose elements are to be kept."""
        nodes = dict(graph.nodes)
        last = max(nodes, default=0)
        for number, node_id in enumerate(self._unfilled(graph), start=1):
            nodes[last + number] = _keeping(last + number, nodes[node_id])
        return replace(graph, nodes=nodes)

    def fill_from(self, job: SubmittedJob, graph: StreamGraph) -> None:
        """Keep what a job collects, once it has ended well."""
        for node_id in self._unfilled(graph):
            thread = threading.Thread(target=self._fill, args=(job, node_id), name="funke-cache", daemon=True)
            self._filling.append(thread)
            thread.start()

    def _fill(self, job: SubmittedJob, node_id: int) -> None:
        try:
            elements = list(chain.from_iterable(job.collected(_channel(node_id))))
            job.result()
        except FunkeError:  # the program learns of it from the job itself
            return
        self._elements[node_id] = elements

    def _unfilled(self, graph: StreamGraph) -> Iterator[int]:
        return (node_id for node_id in sorted(self._node_ids & graph.nodes.keys()) if node_id not in self._elements)

    def _wait(self) -> None:
        for thread in self._filling:
            thread.join()
        self._filling.clear()


def _channel(node_id: int) -> str:
    return f"cache-{node_id}"


def _reading(node: StreamNode, elements: list[Any]) -> StreamNode:
    source = CollectionSource(elements, node.output_type)
    return replace(node, operation=ReadSource(source), inputs=(), parallelism=1, is_parallelism_fixed=True)


def _keeping(sink_id: int, node: StreamNode) -> StreamNode:
    return StreamNode(
        sink_id,
        WriteSink(CollectSink(_channel(node.id))),
        f"Cache of {node.name}",
        (StreamEdge(node.id, sink_id),),
        parallelism=node.parallelism,
        output_type=node.output_type,
        user_line=node.user_line,
    )
