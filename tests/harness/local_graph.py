"""Runs the graph of a job in this process, without Spark: real operators, gates and routers, one record loop.

Whatever is sent is processed before the next input comes, in the order in which it was sent, so a run is repeatable.
"""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from funke.engine.graph.operations import ReadSource
from funke.engine.graph.partitioners import Forward
from funke.engine.graph.resolved_edges import resolved_edges
from funke.engine.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from funke.engine.operators.factory import create_operator
from funke.engine.operators.input_gate import InputGate
from funke.engine.operators.operator import MAX_WATERMARK, Operator, OperatorContext, Output, TaskInfo
from funke.engine.operators.time.clock import ManualClock
from funke.engine.runtime.blocks.router import Router, create_router, senders_to
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.state.operator_state import share_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.edge_forms import EdgeForms
from funke.engine.types.operator_location import OperatorLocation

__all__ = ["LocalJob"]

_Subtask = tuple[int, int]
# The state of each subtask of each node: keyed state, other state.
_States = Mapping[_Subtask, tuple[list[Any], Any]]
_MAX_PARALLELISM = 128


class LocalJob:
    """A job whose sources are fed by a test, by the name of the source's node."""

    def __init__(
        self, graph: StreamGraph, backend: BackendChoice, clock: ManualClock, restored: bytes | None = None
    ) -> None:
        self.collected: list[Any] = []
        self._graph = graph
        self._backend = backend
        self._clock = clock
        self._edges = resolved_edges(graph)
        self._queue: deque[tuple[int, _Subtask, int, list[Any]]] = deque()
        self._outputs: dict[_Subtask, Output] = {}
        self._routers: list[Router] = []
        self._operators: dict[_Subtask, Operator] = {}
        self._gates: dict[_Subtask, InputGate] = {}
        self._order = sorted(graph.nodes)
        for node_id in self._order:
            self._create(graph.nodes[node_id])
        for number, edge in enumerate(self._edges):
            self._connect(number, edge)
        for node_subtask, operator in self._operators.items():
            self._gates[node_subtask] = self._gate(node_subtask, operator)
        if restored is not None:
            self._restore(pickle.loads(restored))
        for operator in reversed(self._operators.values()):
            operator.open()
        for node in self._sources():
            # Rows come to the first subtask alone; event time does not wait for the others.
            for subtask in range(1, graph.parallelism_of(node)):
                self._outputs[node.id, subtask].emit_status(True)
        self._run()

    def read_sources(self, fed: Iterable[str]) -> None:
        """Reads the sources that bring their own rows."""
        for node in self._sources():
            if node.name not in fed:
                self._read(node)

    def feed(self, source: str, batch: ColumnBatch) -> None:
        """Rows of a source; `source` is the name of its node."""
        for node in self._sources():
            if node.name == source:
                names = node.output_type.get_field_names()  # type: ignore[union-attr]
                own = ColumnBatch(batch.data.select(names), batch.timestamps, batch.kinds)
                self._outputs[node.id, 0].emit_columns(own)
        self._run()

    def advance(self, now_ms: int) -> None:
        """Moves processing time, timer by timer."""
        while True:
            times = [time for each in self._operators.values() if (time := each.next_wakeup_ms()) is not None]
            due_ms = min(times, default=now_ms + 1)
            if due_ms > now_ms:
                break
            self._clock.set(max(due_ms, self._clock.now_ms()))
            for operator in self._operators.values():
                time = operator.next_wakeup_ms()
                if time is not None and time <= due_ms:
                    operator.on_processing_time(due_ms)
            self._run()
        self._clock.set(now_ms)

    def end(self) -> None:
        """The end of all input: the last watermark, then the end of each operator."""
        for node in self._sources():
            for subtask in range(self._graph.parallelism_of(node)):
                self._outputs[node.id, subtask].emit_watermark(MAX_WATERMARK)
        self._run()
        for operator in self._operators.values():
            operator.end_input()
            self._run()

    def snapshot(self) -> bytes:
        """The state of all operators, as a checkpoint has it."""
        # As barriers travel: an operator has what those before it have sent when its turn comes.
        for operator in self._operators.values():
            operator.prepare_snapshot(1)
            self._run()
        part = {
            node_subtask: (list(operator.snapshot_keyed()), operator.snapshot())
            for node_subtask, operator in self._operators.items()
        }
        return pickle.dumps(part)

    def close(self) -> None:
        """Closes all operators."""
        for operator in self._operators.values():
            operator.close()

    def _sources(self) -> list[StreamNode]:
        return [node for node in self._graph.nodes.values() if isinstance(node.operation, ReadSource)]

    def _create(self, node: StreamNode) -> None:
        for subtask in range(self._graph.parallelism_of(node)):
            output = self._outputs[node.id, subtask] = Output(node.has_side_outputs)
            if isinstance(node.operation, ReadSource):
                continue
            task = TaskInfo(
                task_name=node.name,
                subtask=subtask,
                parallelism=self._graph.parallelism_of(node),
                max_parallelism=_MAX_PARALLELISM,
                is_batch=self._graph.is_batch,
                has_epochs=False,
                backend=self._backend,
                clock=self._clock,
                send_to_driver=self.collected.append,
            )
            operator = self._operators[node.id, subtask] = create_operator(node.operation, task)
            input_type = self._graph.nodes[node.inputs[0].source].output_type if node.inputs else None
            operator.setup(OperatorContext(task, node.name, node.uid or str(node.id), output, input_type))

    def _connect(self, number: int, edge: StreamEdge) -> None:
        source, target = self._graph.nodes[edge.source], self._graph.nodes[edge.target]
        senders, receivers = self._graph.parallelism_of(source), self._graph.parallelism_of(target)
        takes_columns = not self._operators[target.id, 0].takes_rows
        for subtask in range(senders):

            def send(to: int, parts: list[Any], sender: _Subtask = (source.id, subtask)) -> int:
                self._queue.append((number, sender, to, parts))
                return 0

            groups = TaskInfo(max_parallelism=_MAX_PARALLELISM, key_hash=self._graph.key_hash).key_groups
            forms = EdgeForms(source.output_type, takes_columns)
            partitioner = edge.partitioner or Forward()
            router = create_router(partitioner, subtask, senders, receivers, groups, send, forms)
            self._routers.append(router)
            tag_id = None if edge.tag is None else edge.tag.tag_id
            self._outputs[source.id, subtask].connect(router, OperatorLocation(target.name), tag_id, source.output_type)

    def _gate(self, node_subtask: _Subtask, operator: Operator) -> InputGate:
        node_id, subtask = node_subtask
        own = [(number, edge) for number, edge in enumerate(self._edges) if edge.target == node_id]
        channels = [
            (number, sender, edge.input_index)
            for number, edge in own
            for sender in senders_to(
                edge.partitioner or Forward(),
                subtask,
                self._graph.parallelism_of(self._graph.nodes[edge.source]),
                self._graph.parallelism_of(self._graph.nodes[node_id]),
            )
        ]
        types = {number: self._graph.nodes[edge.source].output_type for number, edge in own}
        return InputGate(operator, OperatorLocation(self._graph.nodes[node_id].name), channels, edge_types=types)

    def _run(self) -> None:
        """Processes what was sent, and what is sent for it, until nothing is left."""
        self._flush()
        while self._queue:
            number, sender, to, parts = self._queue.popleft()
            self._gates[self._edges[number].target, to].receive(number, sender[1], parts)
            self._flush()

    def _flush(self) -> None:
        for router in self._routers:
            router.flush()

    def _read(self, node: StreamNode) -> None:
        source: Any = node.operation.source  # type: ignore[attr-defined]
        enumerator, reader, output = source.create_enumerator(1), source.create_reader(), self._outputs[node.id, 0]
        while not enumerator.is_finished:
            for split in enumerator.poll(sys.maxsize):
                for values, timestamps in reader.read(split):
                    output.emit(values, timestamps)
        self._run()

    def _restore(self, states: _States) -> None:
        for (node_id, subtask), operator in self._operators.items():
            parallelism = self._graph.parallelism_of(self._graph.nodes[node_id])
            own = {node_subtask[1]: state for node_subtask, state in states.items() if node_subtask[0] == node_id}
            for keyed, _ in own.values():
                operator.restore_keyed(part for part in keyed if part[0] * parallelism // _MAX_PARALLELISM == subtask)
            others = {node_subtask: other for node_subtask, (_, other) in own.items() if other is not None}
            share = share_of(others, len(own), subtask, parallelism) if others else None
            if share is not None:
                operator.restore(share)
