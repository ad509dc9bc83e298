"""The partitioner of every edge: the one the program asked for, or the one that the two parallelisms suggest."""

from __future__ import annotations

from dataclasses import replace

from funke.engine.errors import GraphError
from funke.engine.graph.partitioners import Forward, Rebalance
from funke.engine.graph.stream_graph import StreamEdge, StreamGraph


def resolved_edges(graph: StreamGraph) -> list[StreamEdge]:
    """All edges with a partitioner: where none was asked for, forward if the parallelisms agree, else rebalance."""
    return [_resolved(graph, edge) for node in graph.nodes.values() for edge in node.inputs]


def _resolved(graph: StreamGraph, edge: StreamEdge) -> StreamEdge:
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    same = graph.parallelism_of(source) == graph.parallelism_of(target)
    if edge.partitioner is None:
        return replace(edge, partitioner=Forward() if same else Rebalance())
    if isinstance(edge.partitioner, Forward) and not same:
        where = f"\n  in your job: {target.user_line}" if target.user_line else ""
        raise GraphError(
            f"forward() needs equal parallelism, but '{source.title}' has {graph.parallelism_of(source)} and "
            f"'{target.title}' has {graph.parallelism_of(target)}; set the same parallelism or use rebalance(){where}"
        )
    return edge
