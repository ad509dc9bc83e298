"""The graphs as text: short, readable, and the same for the same program."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from funke.engine.graph.execution_graph import ExecutionGraph, ExecutionJobVertex, IntermediateResult
from funke.engine.graph.job_graph import JobEdge, JobGraph, JobVertex
from funke.engine.graph.resolved_edges import resolved_edges
from funke.engine.graph.stream_graph import ChainingStrategy, StreamEdge, StreamGraph, StreamNode


@singledispatch
def to_text(graph: Any) -> str:
    """The text form of a stream graph, a job graph or an execution graph."""
    raise TypeError(f"a {type(graph).__name__} has no text form")


@to_text.register
def _(graph: StreamGraph) -> str:
    mode = "batch" if graph.is_batch else "streaming"
    edges = resolved_edges(graph)
    lines = [f"StreamGraph '{graph.job_name}' ({mode}): {_count(len(graph.nodes), 'node')}"]
    for node in graph.nodes.values():
        lines.append(f"  {node.id} {node.title}  [{', '.join(_node_settings(graph, node))}]")
        lines.extend(f"    <- {_edge_text(edge)}" for edge in edges if edge.target == node.id)
    return "\n".join(lines)


@to_text.register
def _(graph: JobGraph) -> str:
    lines = [f"JobGraph '{graph.name}': {_count(len(graph.vertices), 'vertex')}"]
    for vertex in graph.vertices:
        lines.append(f"  vertex {vertex.id}: {vertex.name}  [{_vertex_settings(vertex)}]")
        lines.extend(f"    <- {_job_edge_text(edge)}" for edge in graph.edges if edge.target_vertex == vertex.id)
    return "\n".join(lines)


@to_text.register
def _(graph: ExecutionGraph) -> str:
    lines = [f"ExecutionGraph '{graph.name}': {_count(graph.tasks, 'task')}, {_count(graph.slots, 'slot')}"]
    for vertex in graph.vertices:
        lines.extend(_execution_lines(vertex, graph.results))
    return "\n".join(lines)


def _node_settings(graph: StreamGraph, node: StreamNode) -> list[str]:
    settings = [f"parallelism {graph.parallelism_of(node)}"]
    if node.output_type is not None:
        settings.append(str(node.output_type))
    if node.uid is not None:
        settings.append(f"uid '{node.uid}'")
    if node.slot_sharing_group is not None:
        settings.append(f"slot group '{node.slot_sharing_group}'")
    if node.chaining is not ChainingStrategy.ALWAYS:
        settings.append(f"chaining {node.chaining.value}")
    return settings


def _edge_text(edge: StreamEdge) -> str:
    side = f" side output '{edge.tag.tag_id}'" if edge.tag is not None else ""
    label = edge.partitioner.label if edge.partitioner is not None else ""
    return f"{edge.source}{side} {label}{_input_text(edge.input_index)}"


def _vertex_settings(vertex: JobVertex) -> str:
    return (
        f"parallelism {vertex.parallelism}, max parallelism {vertex.max_parallelism}, "
        f"slot group '{vertex.slot_sharing_group}'"
    )


def _job_edge_text(edge: JobEdge) -> str:
    side = f" side output '{edge.tag.tag_id}'" if edge.tag is not None else ""
    return f"vertex {edge.source_vertex}{side} {edge.partitioner.label}{_input_text(edge.input_index)}"


def _input_text(input_index: int) -> str:
    return f" (input {input_index + 1})" if input_index else ""


def _execution_lines(vertex: ExecutionJobVertex, results: tuple[IntermediateResult, ...]) -> list[str]:
    lines = [f"  vertex {vertex.vertex.id}: {vertex.vertex.name}"]
    lines.extend(f"    {subtask.title} {subtask.state.value}" for subtask in vertex.subtasks)
    lines.extend(
        f"    -> result {result.id} to vertex {result.consumer}, {result.partitioner.label}, "
        f"{_count(result.partitions, 'partition')} of {result.subpartitions}"
        for result in results
        if result.id in vertex.outputs
    )
    return lines


def _count(number: int, noun: str) -> str:
    plural = "vertices" if noun == "vertex" else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
