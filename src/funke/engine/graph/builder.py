"""Builds stream graphs: every node of DataStream programs and of SQL plans is added here.

    builder = GraphBuilder(Settings({"parallelism.default": 2}))
    orders = builder.add_source(source, name="orders", type_info=row_type, uid=builder.new_uid("Scan orders"))
    large = builder.add(ColumnOperator(calculate), [orders], name="Calc", type_info=row_type, parallelism=OF_INPUT)
    sums = builder.add(
        ColumnOperator(aggregate, meaning),
        [large.partitioned(Hash(ColumnKey(("customer",))))],
        name="GroupAggregate",
        type_info=sum_type,
        uid=builder.new_uid("GroupAggregate"),
    )
    sink = builder.add_sink(print_sink, sums, name="print", parallelism=builder.parallelism_of(sums))
    graph = builder.graph.with_only_ancestors_of({sink.id})

A `StreamRef` is a stream of the graph: what `add` and `add_source` return and what `add` and `add_sink` take as inputs.
It is a frozen value, and its methods return changed copies without adding a node: `partitioned(partitioner)` says how
its records travel to the next node, `side_output(tag)` takes what a node emits with a tag, `union(*others)` merges
streams into one input. Two inputs (a join) are two elements of `inputs`; a union is one.

`uid` is the id of the node's state, given when the node is added. `new_uid(prefix)` is the first of "prefix 1",
"prefix 2" … that no node of the graph has, so it is asked for right before its node is added.

`parallelism` of a node is a number; or CURRENT, the builder's when the node is added (the default, as in Flink); or
OF_INPUT, that of its first input, so that rows keep their order, unless records are repartitioned on their way; or
None, the job's when it is submitted. `is_parallel=False` makes it one subtask for good: parallelism and maximum
parallelism are 1, and setters reject any other.

What is rarely set (chaining, slot sharing group, description) is set on the node: `builder.node(ref)`.

The builder needs settings only, no environment and no Spark. Settings are read when a node is added, so a program may
change them in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import user_line
from funke.engine.graph.operations import Operation, ReadSource, WriteSink
from funke.engine.graph.partitioners import Partitioner
from funke.engine.graph.stream_graph import StatementText, StreamEdge, StreamGraph, StreamNode
from funke.engine.types.ingestion_time import INGESTION_TIME

if TYPE_CHECKING:
    from funke.engine.connectors.sink import Sink
    from funke.engine.connectors.source import Source
    from funke.engine.types import TypeInformation, WatermarkSpec
    from funke.engine.types.output_tag import OutputTag

__all__ = ["CURRENT", "OF_INPUT", "GraphBuilder", "Parallelism", "StreamRef", "Upstream"]


class Parallelism(Enum):
    """Where a node takes its parallelism from if it has no number; see the module."""

    CURRENT = "the builder's when the node is added"
    OF_INPUT = "that of its first input"


CURRENT, OF_INPUT = Parallelism.CURRENT, Parallelism.OF_INPUT


@dataclass(frozen=True)
class Upstream:
    """The main output of a node, or its side output `tag`; a partitioner of None leaves the choice to the graph."""

    node_id: int
    partitioner: Partitioner | None = None
    tag: OutputTag | None = None


@dataclass(frozen=True)
class StreamRef:
    """A stream of a graph: the outputs that its elements come from, several after a union, and their type."""

    upstreams: tuple[Upstream, ...]
    type_info: TypeInformation | None = None

    def partitioned(self, partitioner: Partitioner | None) -> StreamRef:
        """Return the stream whose records are sent by a partitioner, instead of the one it had."""
        return replace(self, upstreams=tuple(replace(each, partitioner=partitioner) for each in self.upstreams))

    def side_output(self, tag: OutputTag) -> StreamRef:
        """Return the stream of what is emitted with a tag."""
        return StreamRef(tuple(replace(each, tag=tag) for each in self.upstreams), tag.type_info)

    def union(self, *others: StreamRef) -> StreamRef:
        """Return the stream of the elements of all, which are of one type."""
        return replace(self, upstreams=tuple(each for ref in (self, *others) for each in ref.upstreams))


class GraphBuilder:
    """A growing stream graph, and the settings that its nodes take their defaults from."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.graph = StreamGraph()
        # Nodes that the next job is to run; the others were part of a job, or are sources that nothing reads.
        self.pending: set[int] = set()
        self._last_id = 0

    @property
    def parallelism(self) -> int:
        """The parallelism of nodes that do not say otherwise; -1 if the job decides."""
        return int(self.settings.get(options.PARALLELISM))

    def add(
        self,
        operation: Operation,
        inputs: Sequence[StreamRef] = (),
        *,
        name: str,
        type_info: TypeInformation | None = None,
        uid: str | None = None,
        parallelism: int | Parallelism | None = CURRENT,
        max_parallelism: int | None = None,
        is_parallel: bool = True,
    ) -> StreamRef:
        """Add a node that reads the inputs; return the stream of its main output, of elements of the given type."""
        self._last_id += 1
        node = StreamNode(
            self._last_id,
            operation,
            name,
            _edges_to(self._last_id, inputs),
            parallelism=self._resolved(parallelism, inputs) if is_parallel else 1,
            max_parallelism=max_parallelism if is_parallel else 1,
            output_type=type_info,
            uid=uid,
            user_line=user_line(),
            is_parallelism_fixed=not is_parallel,
        )
        self.graph.add(node)
        # A source alone is not a job: it runs with what reads it.
        if not isinstance(operation, ReadSource):
            self.pending.add(node.id)
        return StreamRef((Upstream(node.id),), type_info)

    def add_source(
        self,
        source: Source,
        *,
        name: str,
        type_info: TypeInformation | None,
        watermarks: WatermarkSpec | None = None,
        uid: str | None = None,
    ) -> StreamRef:
        """Add a source; return the stream of what it reads."""
        is_ingestion_time = self.settings.get(options.TIME_CHARACTERISTIC) == "IngestionTime"
        # Ingestion time belongs to Flink 1.x; a strategy that makes watermarks itself goes before it.
        if is_ingestion_time and (watermarks is None or watermarks.kind == "none"):
            watermarks = INGESTION_TIME
        fixed = source.fixed_parallelism
        parallelism = CURRENT if fixed is None else fixed
        operation = ReadSource(source, watermarks)
        added = self.add(operation, name=name, type_info=type_info, uid=uid, parallelism=parallelism)
        self.node(added).is_parallelism_fixed = fixed == 1
        return added

    def add_sink(
        self,
        sink: Sink,
        stream: StreamRef,
        *,
        name: str,
        uid: str | None = None,
        parallelism: int | Parallelism | None = CURRENT,
        statement: StatementText | None = None,
    ) -> StreamNode:
        """Add what writes a stream; return its node."""
        operation = WriteSink(sink)
        added = self.add(operation, [stream], name=name, type_info=stream.type_info, uid=uid, parallelism=parallelism)
        node = self.node(added)
        node.statement = statement
        return node

    def node(self, stream: StreamRef) -> StreamNode:
        """Return the node that emits a stream, which is not a union."""
        (upstream,) = stream.upstreams
        return self.graph.nodes[upstream.node_id]

    def new_uid(self, prefix: str) -> str:
        """Return the first of "prefix 1", "prefix 2" … that is the uid of no node."""
        uids = {node.uid for node in self.graph.nodes.values()}
        return next(uid for uid in (f"{prefix} {number}" for number in count(1)) if uid not in uids)

    def parallelism_of(self, stream: StreamRef) -> int | None:
        """Return the parallelism of what emits a stream, of several nodes the highest; None if the job decides."""
        parallelisms = [self.graph.nodes[each.node_id].parallelism for each in stream.upstreams]
        if len(parallelisms) == 1:
            return parallelisms[0]
        return max(each or self.parallelism for each in parallelisms)

    def sources_of(self, stream: StreamRef) -> list[StreamNode]:
        """Return the nodes without inputs that the elements of a stream come from."""
        waiting = [each.node_id for each in stream.upstreams]
        ancestors: dict[int, StreamNode] = {}
        while waiting:
            node = self.graph.nodes[waiting.pop()]
            if node.id not in ancestors:
                ancestors[node.id] = node
                waiting += [edge.source for edge in node.inputs]
        return [node for node in ancestors.values() if not node.inputs]

    @contextmanager
    def temporary_nodes(self) -> Iterator[None]:
        """Take nodes that are added inside the block out of the graph again."""
        first = self._last_id + 1
        try:
            yield
        finally:
            for node_id in range(first, self._last_id + 1):
                self.graph.nodes.pop(node_id, None)
                self.pending.discard(node_id)

    def _resolved(self, parallelism: int | Parallelism | None, inputs: Sequence[StreamRef]) -> int | None:
        if not isinstance(parallelism, Parallelism):
            return parallelism
        if parallelism is OF_INPUT and any(each.partitioner is None for each in inputs[0].upstreams):
            return self.parallelism_of(inputs[0])
        return self.parallelism if self.parallelism > 0 else None


def _edges_to(target: int, inputs: Sequence[StreamRef]) -> tuple[StreamEdge, ...]:
    return tuple(
        StreamEdge(upstream.node_id, target, upstream.partitioner, upstream.tag, input_index)
        for input_index, stream in enumerate(inputs)
        for upstream in stream.upstreams
    )
