"""The job graph: operator chains as vertices, exchanges as edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from funke.engine.graph.operations import Operation
from funke.engine.graph.partitioners import Partitioner
from funke.engine.types.keys.key_groups import NEWEST_KEY_HASH
from funke.engine.types.operator_location import OperatorLocation

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation
    from funke.engine.types.output_tag import OutputTag


@dataclass(frozen=True)
class ChainedOperator:
    """An operator inside a chain: its node, and the chain-internal operator that feeds it (None for the head)."""

    node_id: int
    name: str
    operation: Operation
    output_type: TypeInformation | None
    operator_id: str
    has_user_uid: bool
    user_line: str | None
    input_type: TypeInformation | None = None
    fed_by: int | None = None
    fed_by_tag: OutputTag | None = None
    uid: str | None = None
    has_side_outputs: bool = False
    # The next function gets results as they are, whatever type is declared.
    passes_unchanged: bool = False
    # Batches reach it in the form of columns; known where its operation is still packed.
    takes_columns: bool = False

    def location(self, vertex_id: int | None = None, subtask: int | None = None) -> OperatorLocation:
        """The operator as something that can fail: in a subtask, or in the driver."""
        return OperatorLocation(self.name, self.user_line, self.operator_id, vertex_id, subtask)


@dataclass(frozen=True)
class JobEdge:
    """An exchange between two vertices, from one operator of the sender to one input of the receiver's head."""

    id: int
    source_vertex: int
    source_node: int
    target_vertex: int
    target_node: int
    partitioner: Partitioner
    tag: OutputTag | None
    input_index: int
    # That of the sender; None is that of the job.
    buffer_timeout_ms: int | None = None


@dataclass(frozen=True)
class JobVertex:
    """A chain of operators that always run together; its id is the node id of its head."""

    id: int
    operators: tuple[ChainedOperator, ...]
    parallelism: int
    max_parallelism: int
    slot_sharing_group: str

    @property
    def name(self) -> str:
        """Flink's name of a chain, e.g. `Source: numbers -> Map -> (Filter, Sink: out)`."""
        return _chain_name(self.operators, self.operators[0].node_id)


@dataclass(frozen=True)
class JobGraph:
    """Vertices in topological order, and the edges between them."""

    name: str
    vertices: tuple[JobVertex, ...]
    edges: tuple[JobEdge, ...]
    is_batch: bool = False
    # See `KeyGroups`.
    key_hash: int = NEWEST_KEY_HASH

    def vertex(self, vertex_id: int) -> JobVertex:
        """The vertex with this id."""
        return next(vertex for vertex in self.vertices if vertex.id == vertex_id)


def _chain_name(operators: tuple[ChainedOperator, ...], node_id: int) -> str:
    by_id = {operator.node_id: operator for operator in operators}
    followers = [op.node_id for op in operators if op.fed_by == node_id]
    name = by_id[node_id].name
    if not followers:
        return name
    parts = [_chain_name(operators, follower) for follower in followers]
    return f"{name} -> {parts[0]}" if len(parts) == 1 else f"{name} -> ({', '.join(parts)})"
