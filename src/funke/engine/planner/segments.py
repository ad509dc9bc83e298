"""Job graph to plan: at which level every vertex runs, and in which slots."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from funke.engine.graph.job_graph import ChainedOperator, JobGraph, JobVertex
from funke.engine.graph.operations import ReadSource
from funke.engine.graph.partitioners import Partitioner
from funke.engine.types.key_groups import NEWEST_KEY_HASH

if TYPE_CHECKING:
    from funke.engine.types.output_tag import OutputTag
    from funke.engine.types.type_information import TypeInformation

SOURCE_LEVEL = 0


@dataclass(frozen=True)
class Segment:
    """A vertex in the plan: its chain of operators, its level and its slots."""

    id: int
    name: str
    level: int
    parallelism: int
    max_parallelism: int
    first_slot: int
    operators: tuple[ChainedOperator, ...]

    @property
    def is_source(self) -> bool:
        """Whether it reads splits rather than blocks."""
        return self.level == SOURCE_LEVEL


@dataclass(frozen=True)
class Exchange:
    """Blocks from an operator of one segment to the head of another."""

    id: int
    source_segment: int
    source_node: int
    tag: OutputTag | None
    partitioner: Partitioner
    target_segment: int
    input_index: int


@dataclass(frozen=True)
class Plan:
    """All that slots need to know about a job."""

    segments: tuple[Segment, ...]
    exchanges: tuple[Exchange, ...]
    slots: int
    # The highest level: an epoch ends with it.
    levels: int
    is_batch: bool = False
    # See `KeyGroups`.
    key_hash: int = NEWEST_KEY_HASH
    by_id: dict[int, Segment] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.by_id.update({segment.id: segment for segment in self.segments})

    def with_operations(self, convert: Callable[[ChainedOperator], Any]) -> Plan:
        """The same plan with all operations replaced."""
        segments = tuple(
            replace(segment, operators=tuple(replace(op, operation=convert(op)) for op in segment.operators))
            for segment in self.segments
        )
        return replace(self, segments=segments)

    def type_of(self, exchange: Exchange) -> TypeInformation | None:
        """The type of the records that travel over an exchange, if it was declared."""
        if exchange.tag is not None:
            return exchange.tag.type_info
        senders = self.by_id[exchange.source_segment].operators
        return next(sender.output_type for sender in senders if sender.node_id == exchange.source_node)

    @property
    def fingerprint(self) -> str:
        """The same for plans with the same channels between the same operators."""
        shapes = [
            (segment.id, segment.parallelism, segment.first_slot, [each.operator_id for each in segment.operators])
            for segment in self.segments
        ]
        exchanges = [
            (each.id, each.source_segment, each.target_segment, each.input_index, type(each.partitioner).__name__)
            for each in self.exchanges
        ]
        return hashlib.sha256(repr((shapes, exchanges)).encode()).hexdigest()

    def inputs_of(self, segment_id: int) -> list[Exchange]:
        """The exchanges that arrive at a segment."""
        return [exchange for exchange in self.exchanges if exchange.target_segment == segment_id]

    def outputs_of(self, segment_id: int) -> list[Exchange]:
        """The exchanges that leave a segment."""
        return [exchange for exchange in self.exchanges if exchange.source_segment == segment_id]


def to_plan(graph: JobGraph) -> Plan:
    """Gives every vertex its level and slots."""
    levels = _levels(graph)
    first_slot, slots = _slot_offsets(graph.vertices)
    segments = tuple(
        Segment(
            vertex.id,
            vertex.name,
            levels[vertex.id],
            vertex.parallelism,
            vertex.max_parallelism,
            first_slot[vertex.slot_sharing_group],
            vertex.operators,
        )
        for vertex in graph.vertices
    )
    exchanges = tuple(
        Exchange(
            edge.id,
            edge.source_vertex,
            edge.source_node,
            edge.tag,
            edge.partitioner,
            edge.target_vertex,
            edge.input_index,
        )
        for edge in graph.edges
    )
    # Rows that Spark reads come to level 0 beside the orders: only at a further level is a slot sure to have it all.
    last_level = max(*levels.values(), SOURCE_LEVEL + any(map(_is_read_by_spark, graph.vertices)))
    return Plan(segments, exchanges, slots, last_level, graph.is_batch, graph.key_hash)


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


def _slot_offsets(vertices: tuple[JobVertex, ...]) -> tuple[dict[str, int], int]:
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
