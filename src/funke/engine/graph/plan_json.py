"""The execution plan as JSON in Flink's form, as `get_execution_plan()` returns it and plan visualizers read it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from funke.engine.graph.operations import AssignTimestamps, ReadSource, WriteSink
from funke.engine.graph.partitioners import Hash
from funke.engine.graph.resolved_edges import resolved_edges
from funke.engine.graph.stream_graph import ChainingStrategy, StreamEdge, StreamGraph, StreamNode

__all__ = ["to_plan_json"]

# PyFlink computes keys in an operator of its own, and takes them off again before a sink. Here the routing does that;
# the plan shows these operators all the same, since people and programs look for them.
KEY_OPERATOR = "_stream_key_by_map_operator"
VALUES_OPERATOR = "_keyed_stream_values_operator"


def to_plan_json(graph: StreamGraph) -> str:
    """One entry per operator, sinks last, each with its predecessors and how records reach it."""
    plan = _Plan(graph)
    plan.add_key_operators()
    nodes = sorted(plan.nodes, key=lambda node: node.pact == "Data Sink")
    return json.dumps({"nodes": [node.to_entry() for node in nodes]}, indent=2)


@dataclass
class _PlanNode:
    """An operator of the plan; `inputs` are the ids of operators before it, with the way records come from there."""

    id: int
    title: str
    parallelism: int
    inputs: list[tuple[int, str]]
    pact: str = "Operator"
    description: str | None = None
    chains_with_keys: bool = False

    def to_entry(self) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "id": self.id,
            "type": self.title,
            "pact": self.pact,
            "contents": self.description or self.title,
            "parallelism": self.parallelism,
        }
        if self.inputs:
            # Flink names every side of a streaming plan "second".
            entry["predecessors"] = [
                {"id": source, "ship_strategy": label, "side": "second"} for source, label in self.inputs
            ]
        return entry


@dataclass
class _Plan:
    """The operators of a plan in the order of their making."""

    graph: StreamGraph
    nodes: list[_PlanNode] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._edges = resolved_edges(self.graph)
        self._new_ids = count(max(self.graph.nodes, default=0) + 1)
        self._key_operators: dict[Any, int] = {}
        self.nodes = [self._plan_node(self.graph.nodes[node_id]) for node_id in sorted(self.graph.nodes)]

    def _plan_node(self, node: StreamNode) -> _PlanNode:
        return _PlanNode(
            node.id,
            node.title,
            self.graph.parallelism_of(node),
            [(edge.source, edge.partitioner.label) for edge in self._edges_to(node.id) if edge.partitioner],
            _pact(node),
            node.description,
            _is_of_python(node) and node.chaining is not ChainingStrategy.NEVER,
        )

    def _edges_to(self, node_id: int) -> list[StreamEdge]:
        return [edge for edge in self._edges if edge.target == node_id]

    def add_key_operators(self) -> None:
        """Put the operators that compute keys between the nodes of the graph."""
        for target in [*self.nodes]:
            edges = self._edges_to(target.id)
            if not any(isinstance(edge.partitioner, Hash) for edge in edges):
                continue
            target.inputs = []
            for input_index in sorted({edge.input_index for edge in edges}):
                target.inputs += self._inputs([edge for edge in edges if edge.input_index == input_index], target)
            if target.pact == "Data Sink":
                values = self._insert(VALUES_OPERATOR, target.parallelism, target.inputs, target)
                target.inputs = [(values, "FORWARD")]

    def _inputs(self, edges: list[StreamEdge], target: _PlanNode) -> Iterable[tuple[int, str]]:
        """One input of a node: its key operator, which all streams of a union share, or its streams as they are."""
        partitioner = edges[0].partitioner
        if not isinstance(partitioner, Hash):
            return [(edge.source, edge.partitioner.label) for edge in edges if edge.partitioner]
        key = (id(partitioner.key_selector), *((edge.source, edge.tag and edge.tag.tag_id) for edge in edges))
        if key not in self._key_operators:
            self._key_operators[key] = self._key_operator(edges, partitioner, target)
        return [(self._key_operators[key], partitioner.label)]

    def _key_operator(self, edges: list[StreamEdge], partitioner: Hash, target: _PlanNode) -> int:
        sources = [node for node in self.nodes if node.id in {edge.source for edge in edges}]
        first = sources[0]
        if self.graph.nodes[first.id].name == KEY_OPERATOR:
            return first.id
        # As PyFlink chains: what one Python operator sends goes to this one only.
        is_only_receiver = all(edge.partitioner == partitioner for edge in self._edges if edge.source == first.id)
        if len(edges) == 1 and first.chains_with_keys and is_only_receiver:
            first.title += f", {KEY_OPERATOR}"
            return first.id
        parallelism = max(node.parallelism for node in sources)
        return self._insert(KEY_OPERATOR, parallelism, [(node.id, "FORWARD") for node in sources], target)

    def _insert(self, title: str, parallelism: int, inputs: list[tuple[int, str]], before: _PlanNode) -> int:
        new = _PlanNode(next(self._new_ids), title, parallelism, inputs)
        self.nodes.insert(self.nodes.index(before), new)
        return new.id


def _is_of_python(node: StreamNode) -> bool:
    return not isinstance(node.operation, ReadSource | AssignTimestamps)


def _pact(node: StreamNode) -> str:
    if isinstance(node.operation, ReadSource):
        return "Data Source"
    return "Data Sink" if isinstance(node.operation, WriteSink) else "Operator"
