"""Job graph to plan: which part of a vertex runs in the ingest task, which in slots, and at which level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from funke.engine.graph.job_graph import ChainedOperator, JobEdge, JobGraph, JobVertex
from funke.engine.graph.operations import (
    AssignTimestamps,
    Filter,
    FlatMap,
    Map,
    ProjectColumns,
    ReadSource,
    WriteSink,
)
from funke.engine.graph.partitioners import Forward, Partitioner
from funke.engine.planner.purity import is_pure

if TYPE_CHECKING:
    from funke.engine.types.output_tag import OutputTag
    from funke.engine.types.type_information import TypeInformation

INGEST_LEVEL = 0


@dataclass(frozen=True)
class Segment:
    """The part of a vertex that runs in one place: in ingest tasks (level 0) or in slots (level 1 and up)."""

    id: int
    vertex_id: int
    name: str
    level: int
    parallelism: int
    max_parallelism: int
    first_slot: int
    operators: tuple[ChainedOperator, ...]

    @property
    def is_ingest(self) -> bool:
        """Whether Spark tasks run it rather than slots."""
        return self.level == INGEST_LEVEL


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
    """All that ingest tasks and slots need to know about a job."""

    segments: tuple[Segment, ...]
    exchanges: tuple[Exchange, ...]
    slots: int
    is_batch: bool = False
    by_id: dict[int, Segment] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.by_id.update({segment.id: segment for segment in self.segments})

    @property
    def levels(self) -> int:
        """The highest level: the number of delivery stages in an epoch."""
        return max((segment.level for segment in self.segments), default=0)

    def with_operations(
        self, convert: Callable[[ChainedOperator], Any], applies_to: Callable[[Segment], bool] = lambda segment: True
    ) -> Plan:
        """The same plan with the operations of some segments replaced."""
        segments = tuple(
            replace(segment, operators=tuple(replace(op, operation=convert(op)) for op in segment.operators))
            if applies_to(segment)
            else segment
            for segment in self.segments
        )
        return Plan(segments, self.exchanges, self.slots, self.is_batch)

    def type_of(self, exchange: Exchange) -> TypeInformation | None:
        """The type of the records that travel over an exchange, if it was declared."""
        if exchange.tag is not None:
            return exchange.tag.type_info
        senders = self.by_id[exchange.source_segment].operators
        return next(sender.output_type for sender in senders if sender.node_id == exchange.source_node)

    def inputs_of(self, segment_id: int) -> list[Exchange]:
        """The exchanges that arrive at a segment."""
        return [exchange for exchange in self.exchanges if exchange.target_segment == segment_id]

    def outputs_of(self, segment_id: int) -> list[Exchange]:
        """The exchanges that leave a segment."""
        return [exchange for exchange in self.exchanges if exchange.source_segment == segment_id]


@dataclass
class _Draft:
    vertex: JobVertex
    operators: tuple[ChainedOperator, ...]
    is_ingest: bool


def to_plan(graph: JobGraph, *, functions_need_slots: bool = False) -> Plan:
    """Cuts source vertices into an ingest part and a slot part, and gives every segment its level and slots.

    Functions that rely on files of their job alone (Python files, archives) all run in slots.
    """
    drafts, cuts = _drafts(graph, functions_need_slots)
    holder = {operator.node_id: number for number, draft in enumerate(drafts) for operator in draft.operators}
    exchanges = [_exchange(edge, holder) for edge in graph.edges]
    for source_node, target_node, tag in cuts:
        exchanges.append(
            Exchange(len(exchanges), holder[source_node], source_node, tag, Forward(), holder[target_node], 0)
        )
    levels = _levels(drafts, exchanges)
    first_slot, slots = _slot_offsets(drafts)
    segments = tuple(
        Segment(
            number,
            draft.vertex.id,
            draft.vertex.name,
            levels[number],
            draft.vertex.parallelism,
            draft.vertex.max_parallelism,
            first_slot[draft.vertex.slot_sharing_group],
            draft.operators,
        )
        for number, draft in enumerate(drafts)
    )
    return Plan(segments, tuple(exchanges), slots, graph.is_batch)


def _exchange(edge: JobEdge, holder: dict[int, int]) -> Exchange:
    return Exchange(
        edge.id,
        holder[edge.source_node],
        edge.source_node,
        edge.tag,
        edge.partitioner,
        holder[edge.target_node],
        edge.input_index,
    )


def _drafts(
    graph: JobGraph, functions_need_slots: bool
) -> tuple[list[_Draft], list[tuple[int, int, OutputTag | None]]]:
    drafts: list[_Draft] = []
    cuts: list[tuple[int, int, OutputTag | None]] = []
    for vertex in graph.vertices:
        if not isinstance(vertex.operators[0].operation, ReadSource):
            drafts.append(_Draft(vertex, vertex.operators, is_ingest=False))
            continue
        ingested = {vertex.operators[0].node_id} if functions_need_slots else _ingest_part(vertex)
        drafts.append(_Draft(vertex, tuple(op for op in vertex.operators if op.node_id in ingested), is_ingest=True))
        for operator in vertex.operators:
            if operator.node_id not in ingested and operator.fed_by in ingested:
                rest = _subtree(vertex, operator.node_id)
                cuts.append((operator.fed_by, operator.node_id, operator.fed_by_tag))
                rest = (replace(rest[0], fed_by=None, fed_by_tag=None), *rest[1:])
                drafts.append(_Draft(vertex, rest, is_ingest=False))
    return drafts, cuts


def _ingest_part(vertex: JobVertex) -> set[int]:
    """The operators from the source on that may run in an ingest task."""
    ingested = {vertex.operators[0].node_id}
    for operator in vertex.operators[1:]:
        if operator.fed_by in ingested and runs_in_ingest(operator):
            ingested.add(operator.node_id)
    return ingested


def runs_in_ingest(operator: ChainedOperator) -> bool:
    """Whether an operator needs no slot: pure functions, timestamps, and sinks that keep nothing."""
    operation = operator.operation
    if isinstance(operation, (Map, FlatMap, Filter)):
        return operation.key_selector is None and is_pure(operation.function)
    if isinstance(operation, WriteSink):
        return bool(getattr(operation.sink, "runs_in_ingest", False))
    return isinstance(operation, (AssignTimestamps, ProjectColumns))


def _subtree(vertex: JobVertex, root: int) -> tuple[ChainedOperator, ...]:
    inside = {root}
    for operator in vertex.operators:
        if operator.fed_by in inside:
            inside.add(operator.node_id)
    return tuple(operator for operator in vertex.operators if operator.node_id in inside)


def _levels(drafts: list[_Draft], exchanges: list[Exchange]) -> list[int]:
    """Longest path from the sources, counted in exchanges."""
    levels = [INGEST_LEVEL if draft.is_ingest else 1 for draft in drafts]
    for _ in drafts:
        changed = False
        for exchange in exchanges:
            needed = levels[exchange.source_segment] + 1
            if levels[exchange.target_segment] < needed:
                levels[exchange.target_segment] = needed
                changed = True
        if not changed:
            break
    return levels


def _slot_offsets(drafts: list[_Draft]) -> tuple[dict[str, int], int]:
    """Where each slot sharing group's slots begin, and how many slots there are."""
    sizes: dict[str, int] = {}
    for draft in drafts:
        group = draft.vertex.slot_sharing_group
        needed = 0 if draft.is_ingest else draft.vertex.parallelism
        sizes[group] = max(sizes.get(group, 0), needed)
    offsets: dict[str, int] = {}
    total = 0
    for group, size in sizes.items():
        offsets[group] = total
        total += size
    return offsets, total
