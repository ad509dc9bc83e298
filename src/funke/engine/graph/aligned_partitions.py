"""`partition_custom()` places records in the subtasks of the operator behind it, so it has that one's parallelism."""

from __future__ import annotations

from dataclasses import replace

from funke.engine.errors import GraphError
from funke.engine.graph.stream_graph import StreamEdge, StreamGraph, StreamNode


def with_aligned_partitions(graph: StreamGraph) -> StreamGraph:
    """The graph with the parallelism of every node that follows its receiver set."""
    aligned = {node.id: _aligned(graph, node) for node in graph.nodes.values() if node.follows_receiver}
    return replace(graph, nodes={**graph.nodes, **aligned}) if aligned else graph


def _aligned(graph: StreamGraph, node: StreamNode) -> StreamNode:
    receivers = [graph.nodes[edge.target] for edge in graph.outputs_of(node.id) if _says_where(graph, edge)]
    by_parallelism = {graph.parallelism_of(receiver): receiver for receiver in receivers}
    if len(by_parallelism) > 1:
        where = f"\n  in your job: {node.user_line}" if node.user_line else ""
        named = " and ".join(f"'{each.title}' with {count}" for count, each in by_parallelism.items())
        raise GraphError(
            f"partition_custom() is followed by operators of different parallelism, {named}; "
            f"give them the same, or call partition_custom() once for each{where}"
        )
    return replace(node, parallelism=next(iter(by_parallelism))) if by_parallelism else node


def _says_where(graph: StreamGraph, edge: StreamEdge) -> bool:
    """Whether the receiver takes the stream as it is; behind a union or another partitioner it is sent anew."""
    same_input = [other for other in graph.nodes[edge.target].inputs if other.input_index == edge.input_index]
    return edge.partitioner is None and edge.tag is None and len(same_input) == 1
