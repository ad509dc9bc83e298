"""Where a stream comes from: outputs of nodes, and how records travel from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from funke.engine.graph.partitioners import Partitioner
from funke.engine.graph.stream_graph import StreamEdge
from funke.engine.types.output_tag import OutputTag


@dataclass(frozen=True)
class Upstream:
    """The main output of a node, or its side output `tag`; a partitioner of None leaves the choice to the graph."""

    node_id: int
    partitioner: Partitioner | None = None
    tag: OutputTag | None = None


def edges_to(target: int, inputs: Sequence[Sequence[Upstream]]) -> tuple[StreamEdge, ...]:
    """The edges from all upstreams of every input of a node."""
    return tuple(
        StreamEdge(upstream.node_id, target, upstream.partitioner, upstream.tag, input_index)
        for input_index, upstreams in enumerate(inputs)
        for upstream in upstreams
    )
