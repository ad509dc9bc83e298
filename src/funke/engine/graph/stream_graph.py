"""The stream graph: what the program wrote, one node per operation, before chaining."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from funke.engine.graph.operations import Operation, ReadSource, WriteSink
from funke.engine.graph.partitioners import Partitioner
from funke.engine.types.keys.key_groups import NEWEST_KEY_HASH

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation
    from funke.engine.types.output_tag import OutputTag


class ChainingStrategy(Enum):
    """Whether a node may be chained to its neighbours."""

    ALWAYS = "ALWAYS"
    HEAD = "HEAD"
    NEVER = "NEVER"


@dataclass(frozen=True)
class StreamEdge:
    """Records flow from `source` (its main output, or the side output `tag`) to input `input_index` of `target`.

    A partitioner of None means that the program set none: forward when the parallelisms are equal, else rebalance.
    """

    source: int
    target: int
    partitioner: Partitioner | None = None
    tag: OutputTag | None = None
    input_index: int = 0


@dataclass(frozen=True)
class StatementText:
    """What a part of the graph was made from: SQL without secrets (empty for calls of the Table API), and its plan."""

    sql: str
    plan: str


@dataclass
class StreamNode:
    """One operation of the program with its settings; the API's setters change it until the job is submitted."""

    id: int
    operation: Operation
    name: str
    inputs: tuple[StreamEdge, ...] = ()
    parallelism: int | None = None
    max_parallelism: int | None = None
    output_type: TypeInformation | None = None
    uid: str | None = None
    uid_hash: str | None = None
    description: str | None = None
    chaining: ChainingStrategy = ChainingStrategy.ALWAYS
    slot_sharing_group: str | None = None
    buffer_timeout_ms: int | None = None
    user_line: str | None = None
    is_parallelism_fixed: bool = False
    has_side_outputs: bool = False
    # Its parallelism is that of the operator behind it, if there is one that says so.
    follows_receiver: bool = False
    # Of a sink: the statement that it and what it reads was made from.
    statement: StatementText | None = None

    @property
    def title(self) -> str:
        """The name with Flink's prefix for sources and sinks, as plans and task names show it."""
        if isinstance(self.operation, ReadSource):
            return f"Source: {self.name}"
        return f"Sink: {self.name}" if isinstance(self.operation, WriteSink) else self.name


@dataclass
class StreamGraph:
    """The nodes of one job in the order in which the program made them."""

    job_name: str = "Flink Streaming Job"
    default_parallelism: int = 1
    default_max_parallelism: int | None = None
    is_chaining_enabled: bool = True
    is_chaining_across_max_parallelism_enabled: bool = True
    is_python_chaining_enabled: bool = True
    is_batch: bool = False
    # See `KeyGroups`; another for a job that makes state to go with old state.
    key_hash: int = NEWEST_KEY_HASH
    nodes: dict[int, StreamNode] = field(default_factory=dict)

    def add(self, node: StreamNode) -> StreamNode:
        """Appends a node."""
        self.nodes[node.id] = node
        return node

    def parallelism_of(self, node: StreamNode) -> int:
        """The node's own parallelism, or the job's."""
        return node.parallelism if node.parallelism is not None else self.default_parallelism

    def outputs_of(self, node_id: int) -> list[StreamEdge]:
        """The edges that leave a node."""
        return [edge for node in self.nodes.values() for edge in node.inputs if edge.source == node_id]

    def with_only_ancestors_of(self, sinks: set[int]) -> StreamGraph:
        """The part of the graph that the given nodes need, for a job over some of the program's streams."""
        needed: set[int] = set()
        waiting = list(sinks)
        while waiting:
            node_id = waiting.pop()
            if node_id not in needed:
                needed.add(node_id)
                waiting.extend(edge.source for edge in self.nodes[node_id].inputs)
                waiting.extend(self._feedback_into(node_id))
        nodes = {node_id: node for node_id, node in self.nodes.items() if node_id in needed}
        return replace(self, nodes=nodes)

    def _feedback_into(self, node_id: int) -> list[int]:
        """The sinks that feed an iteration's head, if the node is one."""
        feedback_id = _feedback_id(self.nodes[node_id], "source")
        if feedback_id is None:
            return []
        return [node.id for node in self.nodes.values() if _feedback_id(node, "sink") == feedback_id]


def _feedback_id(node: StreamNode, end: str) -> str | None:
    return getattr(getattr(node.operation, end, None), "feedback_id", None)
