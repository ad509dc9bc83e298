"""The execution graph: every vertex of the job graph as its parallel subtasks, and the results they exchange."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum

from funke.engine.graph.job_graph import JobEdge, JobGraph, JobVertex
from funke.engine.graph.partitioners import Partitioner


class ExecutionState(Enum):
    """Where a subtask is in its life."""

    CREATED = "CREATED"
    SCHEDULED = "SCHEDULED"
    DEPLOYING = "DEPLOYING"
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELING = "CANCELING"
    CANCELED = "CANCELED"
    FAILED = "FAILED"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing comes after it."""
        return self in (ExecutionState.FINISHED, ExecutionState.CANCELED, ExecutionState.FAILED)


@dataclass(frozen=True)
class ExecutionVertex:
    """One subtask of a vertex."""

    vertex_id: int
    name: str
    subtask: int
    parallelism: int
    attempt: int = 0
    state: ExecutionState = ExecutionState.CREATED
    # When it came to each state that it has been in, in milliseconds.
    entered_ms: tuple[tuple[ExecutionState, int], ...] = ()

    @property
    def title(self) -> str:
        """Flink's name of a subtask, e.g. `Map -> Filter (2/4)`."""
        return f"{self.name} ({self.subtask + 1}/{self.parallelism})"


@dataclass(frozen=True)
class IntermediateResult:
    """What one vertex produces for another: a partition per producing subtask, cut into parts per receiver."""

    id: int
    producer: int
    consumer: int
    partitioner: Partitioner
    partitions: int
    subpartitions: int


@dataclass(frozen=True)
class ExecutionJobVertex:
    """A vertex of the job graph with its subtasks and the results it reads and writes."""

    vertex: JobVertex
    subtasks: tuple[ExecutionVertex, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class ExecutionGraph:
    """The job graph in parallel."""

    name: str
    vertices: tuple[ExecutionJobVertex, ...]
    results: tuple[IntermediateResult, ...]

    @property
    def tasks(self) -> int:
        """The number of subtasks of all vertices."""
        return sum(len(vertex.subtasks) for vertex in self.vertices)

    @property
    def slots(self) -> int:
        """The slots needed: per slot sharing group its highest parallelism."""
        return slots_needed([vertex.vertex for vertex in self.vertices])


def to_execution_graph(graph: JobGraph) -> ExecutionGraph:
    """Spreads every vertex into its subtasks."""
    results = tuple(_result(graph, edge) for edge in graph.edges)
    vertices = tuple(
        ExecutionJobVertex(
            vertex,
            _subtasks(vertex),
            tuple(result.id for result in results if result.consumer == vertex.id),
            tuple(result.id for result in results if result.producer == vertex.id),
        )
        for vertex in graph.vertices
    )
    return ExecutionGraph(graph.name, vertices, results)


def slots_needed(vertices: list[JobVertex]) -> int:
    """How many slots a job takes: subtasks of one vertex never share a slot, those of different ones in a group do."""
    widest: dict[str, int] = defaultdict(int)
    for vertex in vertices:
        widest[vertex.slot_sharing_group] = max(widest[vertex.slot_sharing_group], vertex.parallelism)
    return sum(widest.values())


def _subtasks(vertex: JobVertex) -> tuple[ExecutionVertex, ...]:
    return tuple(
        ExecutionVertex(vertex.id, vertex.name, subtask, vertex.parallelism) for subtask in range(vertex.parallelism)
    )


def _result(graph: JobGraph, edge: JobEdge) -> IntermediateResult:
    producer, consumer = graph.vertex(edge.source_vertex), graph.vertex(edge.target_vertex)
    return IntermediateResult(
        edge.id, producer.id, consumer.id, edge.partitioner, producer.parallelism, consumer.parallelism
    )
