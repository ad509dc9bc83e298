"""Failover regions: the parts of a job between which no records travel, each of which restarts alone."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.graph.job_graph import JobGraph, JobVertex
from funke.engine.graph.operations import ReadSource

__all__ = ["Region", "failover_regions"]

# Each region of a job has a Spark job of its own, and of those embedded Spark has room for 32.
_MOST_REGIONS = 16


@dataclass(frozen=True)
class Region:
    """Vertices that fail and restart together, and the slots that are theirs alone."""

    number: int
    vertices: frozenset[int]
    slots: range


def failover_regions(graph: JobGraph) -> list[list[JobVertex]]:
    """The connected parts of a job whose exchanges are all pipelined, in the order of their first vertices.

    A job with iterations is one region: what circulates passes through the driver, which ends all iterations together.
    """
    if any(_is_feedback(vertex) for vertex in graph.vertices):
        return [list(graph.vertices)]
    part_of = {vertex.id: vertex.id for vertex in graph.vertices}
    for edge in graph.edges:
        joined, gone = sorted((part_of[edge.source_vertex], part_of[edge.target_vertex]))
        part_of = {vertex_id: joined if part == gone else part for vertex_id, part in part_of.items()}
    parts = list(dict.fromkeys(part_of[vertex.id] for vertex in graph.vertices))
    regions: list[list[JobVertex]] = [[] for _ in parts[:_MOST_REGIONS]]
    for vertex in graph.vertices:
        regions[parts.index(part_of[vertex.id]) % _MOST_REGIONS].append(vertex)
    return regions


def _is_feedback(vertex: JobVertex) -> bool:
    head = vertex.operators[0].operation
    return isinstance(head, ReadSource) and head.source.is_feedback
