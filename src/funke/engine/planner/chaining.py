"""Stream graph to job graph: resolves partitioners and joins nodes into chains by Flink's nine conditions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from funke.engine.errors import GraphError
from funke.engine.graph.job_graph import ChainedOperator, JobEdge, JobGraph, JobVertex
from funke.engine.graph.partitioners import Forward, Rebalance
from funke.engine.graph.resolved_edges import resolved_edges
from funke.engine.graph.stream_graph import ChainingStrategy, StreamEdge, StreamGraph, StreamNode
from funke.engine.planner.python_chains import unchanged_outputs

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation

DEFAULT_SLOT_SHARING_GROUP = "default"
LARGEST_MAX_PARALLELISM = 1 << 15


def to_job_graph(graph: StreamGraph) -> JobGraph:
    """Builds the job graph; raises GraphError where the program asks for something impossible."""
    edges = resolved_edges(graph)
    groups = slot_sharing_groups(graph)
    outgoing: dict[int, list[StreamEdge]] = {node_id: [] for node_id in graph.nodes}
    for edge in edges:
        outgoing[edge.source].append(edge)
    chained = {id(edge) for edge in edges if is_chainable(edge, graph, groups)}
    head_of = _heads(graph, edges, chained)
    operator_ids = _operator_ids(graph)
    unchanged = unchanged_outputs(graph, edges)
    vertices = tuple(
        _vertex(graph, head, outgoing, chained, groups, operator_ids, unchanged)
        for head in graph.nodes
        if head_of[head] == head
    )
    exchanges = tuple(
        JobEdge(
            number,
            head_of[edge.source],
            edge.source,
            head_of[edge.target],
            edge.target,
            edge.partitioner or Rebalance(),
            edge.tag,
            edge.input_index,
            graph.nodes[edge.source].buffer_timeout_ms,
        )
        for number, edge in enumerate(edge for edge in edges if id(edge) not in chained)
    )
    return JobGraph(graph.job_name, vertices, exchanges, graph.is_batch, graph.key_hash)


def is_chainable(edge: StreamEdge, graph: StreamGraph, groups: dict[int, str]) -> bool:
    """Flink's conditions for running both ends of an edge in one task (the exchange mode is never BATCH here)."""
    upstream, downstream = graph.nodes[edge.source], graph.nodes[edge.target]
    return (
        graph.is_chaining_enabled
        and len(downstream.inputs) == 1
        and groups[edge.source] == groups[edge.target]
        and upstream.chaining is not ChainingStrategy.NEVER
        and downstream.chaining is ChainingStrategy.ALWAYS
        and isinstance(edge.partitioner, Forward)
        and graph.parallelism_of(upstream) == graph.parallelism_of(downstream)
        and (
            graph.is_chaining_across_max_parallelism_enabled
            or max_parallelism_of(graph, upstream) == max_parallelism_of(graph, downstream)
        )
    )


def slot_sharing_groups(graph: StreamGraph) -> dict[int, str]:
    """Each node's slot sharing group: its own, or that of its inputs when they agree, or the default."""
    groups: dict[int, str] = {}
    for node in graph.nodes.values():
        inherited = {groups[edge.source] for edge in node.inputs}
        default = inherited.pop() if len(inherited) == 1 else DEFAULT_SLOT_SHARING_GROUP
        groups[node.id] = node.slot_sharing_group or default
    return groups


def max_parallelism_of(graph: StreamGraph, node: StreamNode) -> int:
    """The number of key groups: as set, or Flink's default of at least 128 by parallelism."""
    parallelism = graph.parallelism_of(node)
    if not 1 <= parallelism <= LARGEST_MAX_PARALLELISM:
        raise GraphError(
            f"the parallelism of '{node.name}' must lie between 1 and {LARGEST_MAX_PARALLELISM}, not {parallelism}"
        )
    chosen = node.max_parallelism or graph.default_max_parallelism
    if chosen is None:
        rounded = 1 << (parallelism + parallelism // 2 - 1).bit_length() if parallelism > 1 else 2
        return min(max(rounded, 128), LARGEST_MAX_PARALLELISM)
    if not parallelism <= chosen <= LARGEST_MAX_PARALLELISM:
        raise GraphError(
            f"the maximum parallelism of '{node.name}' is {chosen}; it must lie between its parallelism "
            f"{parallelism} and {LARGEST_MAX_PARALLELISM}"
        )
    return chosen


def _heads(graph: StreamGraph, edges: Iterable[StreamEdge], chained: set[int]) -> dict[int, int]:
    feeder = {edge.target: edge.source for edge in edges if id(edge) in chained}
    heads: dict[int, int] = {}
    for node_id in graph.nodes:
        heads[node_id] = heads[feeder[node_id]] if node_id in feeder else node_id
    return heads


def _vertex(
    graph: StreamGraph,
    head: int,
    outgoing: dict[int, list[StreamEdge]],
    chained: set[int],
    groups: dict[int, str],
    operator_ids: dict[int, str],
    unchanged: frozenset[int],
) -> JobVertex:
    operators: list[ChainedOperator] = []
    waiting: list[tuple[int, StreamEdge | None]] = [(head, None)]
    while waiting:
        node_id, edge = waiting.pop(0)
        node = graph.nodes[node_id]
        operators.append(
            ChainedOperator(
                node_id,
                node.title,
                node.operation,
                node.output_type,
                operator_ids[node_id],
                node.uid is not None,
                node.user_line,
                _input_type(graph, node),
                edge.source if edge else None,
                edge.tag if edge else None,
                node.uid,
                node.has_side_outputs,
                node_id in unchanged,
                node.operation.takes_columns,
            )
        )
        waiting[:0] = [(out.target, out) for out in outgoing[node_id] if id(out) in chained]
    node = graph.nodes[head]
    return JobVertex(head, tuple(operators), graph.parallelism_of(node), max_parallelism_of(graph, node), groups[head])


def _input_type(graph: StreamGraph, node: StreamNode) -> TypeInformation | None:
    """The type of the node's (first) input: what the side output is declared as, or what the sender produces."""
    if not node.inputs:
        return None
    edge = node.inputs[0]
    if edge.tag is not None:
        return edge.tag.type_info
    return graph.nodes[edge.source].output_type


def _operator_ids(graph: StreamGraph) -> dict[int, str]:
    """A name for each node's state that survives changes: from its uid, or from its place in the graph."""
    ids: dict[int, str] = {}
    for position, node in enumerate(graph.nodes.values()):
        if node.uid_hash is not None:
            ids[node.id] = node.uid_hash
            continue
        inputs = ",".join(ids[edge.source] for edge in node.inputs)
        location = f"{position}:{type(node.operation).__name__}:{inputs}"
        ids[node.id] = operator_id_of_uid(node.uid) if node.uid is not None else _digest(location)
    _reject_repeated(graph, ids)
    return ids


def operator_id_of_uid(uid: str) -> str:
    """The id under which the state of an operator with this uid is kept."""
    return _digest(f"uid:{uid}")


def _digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _reject_repeated(graph: StreamGraph, ids: dict[int, str]) -> None:
    first: dict[str, StreamNode] = {}
    for node in graph.nodes.values():
        other = first.setdefault(ids[node.id], node)
        if other is not node:
            raise GraphError(
                f"uid '{node.uid or node.uid_hash}' is used by two operators, '{other.title}' and '{node.title}'; "
                f"give each its own{_lines_of(other, node)}"
            )


def _lines_of(*nodes: StreamNode) -> str:
    return "".join(f"\n  '{node.title}' in your job: {node.user_line}" for node in nodes if node.user_line)
