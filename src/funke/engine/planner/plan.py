"""The plan of a job: its job graph, and where each vertex runs: at which level, and in which slots."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from funke.engine.graph.job_graph import ChainedOperator, JobEdge, JobGraph, JobVertex
from funke.engine.graph.operations import ReadSource
from funke.engine.planner.regions import Region, failover_regions

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation

SOURCE_LEVEL = 0


@dataclass(frozen=True)
class Placement:
    """Where a vertex runs: its subtasks take as many slots as they are, from the first one on."""

    level: int
    first_slot: int

    @property
    def is_source(self) -> bool:
        """Whether the vertex reads splits rather than blocks."""
        return self.level == SOURCE_LEVEL


@dataclass(frozen=True)
class Plan:
    """All that slots need to know about a job."""

    graph: JobGraph
    # By the id of the vertex.
    placements: dict[int, Placement]
    slots: int
    # The highest level: an epoch ends with it.
    levels: int
    # The parts that restart alone, in the order of their slots.
    regions: tuple[Region, ...]
    by_id: dict[int, JobVertex] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.by_id.update({vertex.id: vertex for vertex in self.graph.vertices})

    def with_operations(self, convert: Callable[[ChainedOperator], Any]) -> Plan:
        """The same plan with all operations replaced."""
        vertices = tuple(
            replace(vertex, operators=tuple(replace(op, operation=convert(op)) for op in vertex.operators))
            for vertex in self.graph.vertices
        )
        return replace(self, graph=replace(self.graph, vertices=vertices))

    def type_of(self, edge: JobEdge) -> TypeInformation | None:
        """The type of the records that travel over an edge, if it was declared."""
        if edge.tag is not None:
            return edge.tag.type_info
        senders = self.by_id[edge.source_vertex].operators
        return next(sender.output_type for sender in senders if sender.node_id == edge.source_node)

    @property
    def fingerprint(self) -> str:
        """The same for plans with the same channels between the same operators; checkpoints hold it."""
        shapes = [
            (
                vertex.id,
                vertex.parallelism,
                self.placements[vertex.id].first_slot,
                [each.operator_id for each in vertex.operators],
            )
            for vertex in self.graph.vertices
        ]
        edges = [
            (each.id, each.source_vertex, each.target_vertex, each.input_index, type(each.partitioner).__name__)
            for each in self.graph.edges
        ]
        return hashlib.sha256(repr((shapes, edges)).encode()).hexdigest()

    def inputs_of(self, vertex_id: int) -> list[JobEdge]:
        """The edges that arrive at a vertex."""
        return [edge for edge in self.graph.edges if edge.target_vertex == vertex_id]

    def outputs_of(self, vertex_id: int) -> list[JobEdge]:
        """The edges that leave a vertex."""
        return [edge for edge in self.graph.edges if edge.source_vertex == vertex_id]

    def downstream_of(self, vertex_id: int) -> set[int]:
        """All vertices that records of a vertex come to, by however many edges."""
        reached: set[int] = set()
        last = {vertex_id}
        while last:
            last = {edge.target_vertex for each in last for edge in self.outputs_of(each)} - reached
            reached |= last
        return reached - {vertex_id}


def to_plan(graph: JobGraph, has_regions: bool = False) -> Plan:
    """Gives every vertex its level and slots; with regions, each of them has slots of its own."""
    levels = _levels(graph)
    parts = failover_regions(graph) if has_regions else [list(graph.vertices)]
    placements: dict[int, Placement] = {}
    regions: list[Region] = []
    slots = 0
    for number, vertices in enumerate(parts):
        first_slot, count = _slot_offsets(vertices)
        regions.append(Region(number, frozenset(vertex.id for vertex in vertices), range(slots, slots + count)))
        for vertex in vertices:
            placements[vertex.id] = Placement(levels[vertex.id], slots + first_slot[vertex.slot_sharing_group])
        slots += count
    # Rows that Spark reads reach level 0 beside the commands: a slot has all of them only at a later level.
    last_level = max(*levels.values(), SOURCE_LEVEL + any(map(_is_read_by_spark, graph.vertices)))
    return Plan(graph, placements, slots, last_level, tuple(regions))


def _is_read_by_spark(vertex: JobVertex) -> bool:
    head = vertex.operators[0].operation
    return isinstance(head, ReadSource) and bool(head.source.is_spark)


def _levels(graph: JobGraph) -> dict[int, int]:
    """Longest path from the sources, counted in exchanges."""
    levels = {vertex.id: SOURCE_LEVEL for vertex in graph.vertices}
    for _ in graph.vertices:
        before = dict(levels)
        for edge in graph.edges:
            levels[edge.target_vertex] = max(levels[edge.target_vertex], levels[edge.source_vertex] + 1)
        if levels == before:
            break
    return levels


def _slot_offsets(vertices: Sequence[JobVertex]) -> tuple[dict[str, int], int]:
    """Where each slot sharing group's slots begin, and how many slots there are."""
    sizes: dict[str, int] = {}
    for vertex in vertices:
        sizes[vertex.slot_sharing_group] = max(sizes.get(vertex.slot_sharing_group, 0), vertex.parallelism)
    offsets: dict[str, int] = {}
    total = 0
    for group, size in sizes.items():
        offsets[group] = total
        total += size
    return offsets, total
