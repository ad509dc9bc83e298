"""The execution plan as JSON in Flink's form, as `get_execution_plan()` returns it and plan visualizers read it."""

from __future__ import annotations

import json
from typing import Any

from funke.engine.graph.operations import ReadSource, WriteSink
from funke.engine.graph.resolved_edges import resolved_edges
from funke.engine.graph.stream_graph import StreamEdge, StreamGraph, StreamNode


def to_plan_json(graph: StreamGraph) -> str:
    """One entry per node, sinks last, each with its predecessors and how records reach it."""
    incoming: dict[int, list[StreamEdge]] = {node_id: [] for node_id in graph.nodes}
    for edge in resolved_edges(graph):
        incoming[edge.target].append(edge)
    ordered = sorted(graph.nodes.values(), key=lambda node: (isinstance(node.operation, WriteSink), node.id))
    return json.dumps({"nodes": [_entry(graph, node, incoming[node.id]) for node in ordered]}, indent=2)


def _entry(graph: StreamGraph, node: StreamNode, incoming: list[StreamEdge]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": node.id,
        "type": node.title,
        "pact": _pact(node),
        "contents": node.description or node.title,
        "parallelism": graph.parallelism_of(node),
    }
    if incoming:
        # Flink names every side of a streaming plan "second".
        entry["predecessors"] = [
            {"id": edge.source, "ship_strategy": edge.partitioner.label, "side": "second"}
            for edge in incoming
            if edge.partitioner is not None
        ]
    return entry


def _pact(node: StreamNode) -> str:
    if isinstance(node.operation, ReadSource):
        return "Data Source"
    return "Data Sink" if isinstance(node.operation, WriteSink) else "Operator"
