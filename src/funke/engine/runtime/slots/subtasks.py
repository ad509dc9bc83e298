"""The subtasks that a slot hosts: how they are made, restored, written down and closed, in streams and in epochs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from funke.engine.graph.job_graph import JobEdge, JobVertex
from funke.engine.operators.chain import OperatorChain
from funke.engine.operators.factory import create_operator
from funke.engine.operators.input_gate import InputGate
from funke.engine.operators.operator import TaskInfo
from funke.engine.operators.source import SourceOperator
from funke.engine.operators.time.clock import SystemClock
from funke.engine.planner.plan import Plan
from funke.engine.runtime.blocks.exits import Carrier, make_exits
from funke.engine.runtime.blocks.router import Router, senders_to
from funke.engine.runtime.epochs.results import SubtaskReport
from funke.engine.runtime.fault_points import reach
from funke.engine.runtime.monitoring.counter_rates import CounterRates
from funke.engine.runtime.slots.worker_setup import JobDeployment
from funke.engine.runtime.snapshots.chain_snapshot import ChainSnapshot, write_in_flight
from funke.engine.runtime.snapshots.checkpoint_command import (
    AlignmentStatistics,
    CheckpointCommand,
    CheckpointNotifications,
)
from funke.engine.runtime.snapshots.local_copies import LocalCopies
from funke.engine.runtime.snapshots.snapshot_taking import SnapshotTaker, WrittenSnapshots
from funke.engine.runtime.snapshots.state_restore import SubtaskRange, read_in_flight, restore_chain
from funke.engine.state.snapshot.state_sizes import StateSizes
from funke.engine.types.driver_messages import DriverMessage

__all__ = ["InFlight", "Subtask", "Subtasks"]

# What is on its way between subtasks, in the form in which it is written, and how many bytes that is.
InFlight = Callable[[], tuple[Any, int]]


@dataclass
class Subtask:
    """One subtask of a vertex: its operators, its input and its exits."""

    vertex: JobVertex
    index: int
    chain: OperatorChain
    gate: InputGate
    # By the vertex that each leads to.
    routers: list[Router]
    receivers: list[int]
    # By router: how long records may wait for others in a stream; for ever means until a block is full.
    timeouts_s: list[float]
    busy_s: float = 0.0
    # Whether the receivers of a source know that it has no say about event time.
    is_reported_idle: bool = False

    def __post_init__(self) -> None:
        head = self.chain.head
        self.rates = CounterRates()
        self._flushed_at = [0.0] * len(self.routers)
        # The operator that reads, if this is a source.
        self.source = head if isinstance(head, SourceOperator) else None

    @property
    def watermark(self) -> int:
        """How far event time has come here."""
        return self.gate.current_watermark if self.source is None else self.source.output.current_watermark

    def flush(self) -> None:
        """Sends what waits in the routers."""
        for router in self.routers:
            router.flush()

    def flush_idle(self, now: float) -> None:
        """Sends what need not wait, because there is nothing else to do; not what waits until a block is full."""
        for number, router in enumerate(self.routers):
            if self.timeouts_s[number] < math.inf:
                router.flush()
                self._flushed_at[number] = now

    def flush_late(self, now: float) -> bool:
        """Sends what has waited long enough; whether something still waits for that."""
        is_left = False
        for number, router in enumerate(self.routers):
            if now - self._flushed_at[number] >= self.timeouts_s[number]:
                router.flush()
                self._flushed_at[number] = now
            elif self.timeouts_s[number] < math.inf:
                is_left = True
        return is_left

    def tell_idleness(self) -> None:
        """A source that never had anything to read must not hold back event time, nor one whose time never counts."""
        if self.source is not None and self.source.is_idle != self.is_reported_idle:
            self.is_reported_idle = self.source.is_idle
            for router in self.routers:
                router.process_status(self.is_reported_idle)

    def hottest_keys(self) -> dict[str, Any]:
        """The key that most of its records have, and those of what it has sent, by the vertex that it went to.

        An operator without state of keys behind an exchange by keys does not know them.
        """
        hottest = dict(self.chain.head.hottest_key())
        for receiver, router in zip(self.receivers, self.routers):
            hottest |= {f"to.{receiver}.{name}": value for name, value in router.hottest_key().items()}
        return hottest

    def _metrics(self) -> dict[int, dict[str, Any]]:
        by_node = {node_id: operator.metrics() for node_id, operator in self.chain.operators.items()}
        head = self.chain.specs[0].node_id
        return {**by_node, head: {**by_node[head], **self.gate.input_metrics()}}

    def report(self, busy_ms: float) -> SubtaskReport:
        """How it stands."""
        chain = self.chain
        return SubtaskReport(
            self.vertex.id,
            self.index,
            self.gate.records_in,
            sum(output.records_out for output in chain.outputs.values()),
            self.watermark,
            chain.next_wakeup_ms(),
            busy_ms,
            {node_id: self.rates.with_rates(node_id, own_metrics) for node_id, own_metrics in self._metrics().items()},
            chain.has_unfinished,
            None if self.source is None else self.source.report(),
        )


class Subtasks:
    """All subtasks of one slot, alive as long as the job attempt."""

    def __init__(
        self,
        slot: int,
        plan: Plan,
        deployment: JobDeployment,
        folder: str,
        carry: Carrier,
        send_to_driver: Callable[[DriverMessage], None],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._slot = slot
        self._plan = plan
        self._deployment = deployment
        self._folder = folder
        self._carry = carry
        self._send_to_driver = send_to_driver
        self._wake = wake
        self._clock = SystemClock()
        folders = deployment.local_folders
        others = [number for region in plan.regions if slot not in region.slots for number in region.slots]
        self._copies = LocalCopies(folders, deployment.job_id, deployment.attempt, slot, others) if folders else None
        self.snapshots = SnapshotTaker(slot, folder, deployment.restore, self._copies, wake)
        self.all: list[Subtask] = []

    def open(self) -> None:
        """Builds and opens all subtasks that belong to this slot."""
        for vertex in self._plan.graph.vertices:
            index = self._slot - self._plan.placements[vertex.id].first_slot
            if 0 <= index < vertex.parallelism:
                self._add(vertex, index)

    def _add(self, vertex: JobVertex, index: int) -> None:
        routers, exits = make_exits(self._plan, vertex, index, self._carry)
        chain = OperatorChain(vertex.operators, exits, self._task_info(vertex, index), create_operator)
        head = vertex.operators[0]
        inputs = self._plan.inputs_of(vertex.id)
        channels = [
            (exchange.id, sender, exchange.input_index)
            for exchange in inputs
            for sender in senders_to(
                exchange.partitioner,
                index,
                self._plan.by_id[exchange.source_vertex].parallelism,
                vertex.parallelism,
            )
        ]
        types = {exchange.id: self._plan.type_of(exchange) for exchange in inputs}
        gate = InputGate(chain.head, chain.locations[head.node_id], channels, partial(self.fire_timers, chain), types)
        receivers = [exchange.target_vertex for exchange in self._plan.outputs_of(vertex.id)]
        # Before anything fails: it is closed with them.
        timeouts_s = [_timeout_s(exchange, self._deployment) for exchange in self._plan.outputs_of(vertex.id)]
        self.all.append(Subtask(vertex, index, chain, gate, routers, receivers, timeouts_s))
        subtask_range = SubtaskRange(index, vertex.parallelism, vertex.max_parallelism)
        is_restored = restore_chain(
            chain, self._deployment.restore, subtask_range, self._folder, self._copies, self._deployment.state_moves
        )
        chain.open()
        if is_restored:
            for operator in chain.operators.values():
                operator.announce()

    def _task_info(self, vertex: JobVertex, index: int) -> TaskInfo:
        deployment = self._deployment
        return TaskInfo(
            job_id=deployment.job_id,
            job_name=deployment.job_name,
            task_name=vertex.name,
            vertex_id=vertex.id,
            subtask=index,
            parallelism=vertex.parallelism,
            max_parallelism=vertex.max_parallelism,
            key_hash=self._plan.graph.key_hash,
            attempt=deployment.attempt,
            restored_checkpoint_id=deployment.restored_checkpoint_id,
            is_batch=deployment.is_batch,
            has_epochs=deployment.control is None,
            auto_watermark_interval_ms=deployment.auto_watermark_interval_ms,
            job_parameters=dict(deployment.job_parameters),
            cached_files=dict(deployment.cached_paths),
            send_to_driver=self._send_to_driver,
            wake=self._wake,
            staging_folder=deployment.staging_folder,
            backend=deployment.backend.within(self._folder),
        )

    def fire_timers(self, chain: OperatorChain) -> bool:
        """Lets a chain act on the time, if it waits for it; whether it did."""
        # A time is over when its last millisecond is, as in Flink: until then records still belong to it.
        due = chain.next_wakeup_ms()
        if due is None or due >= (now := self._clock.now_ms()):
            return False
        chain.on_processing_time(now - 1)
        return True

    def read_in_flight(self) -> list[Any]:
        """What was on its way here when the checkpoint was taken that this attempt starts from."""
        return read_in_flight(self._deployment.restore, self._slot, self._copies)

    def write(
        self, command: CheckpointCommand, known_files: dict[str, int | None], in_flight: InFlight | None, folder: str
    ) -> WrittenSnapshots:
        """Writes the state of all subtasks into a folder; runs in a process of its own."""
        handles, new_bytes, states = [], 0, StateSizes()
        # Savepoints are not kept where checkpoints are.
        limit = self._deployment.backend.max_state_bytes if command.kind == "checkpoint" else None
        for subtask in self.all:
            vertex = subtask.vertex
            # With the attempt in its name, no other driver or slot ever writes this file.
            name = f"{vertex.id}-{subtask.index}-{self._deployment.attempt}"
            snapshot = ChainSnapshot(command, folder, name, known_files, limit)
            handle = snapshot.write(subtask.chain, subtask.index, vertex.parallelism)
            states.add(snapshot.states.all())
            reach("in-snapshot")
            if handle is not None:
                handles.append(handle)
                new_bytes += snapshot.new_bytes
        content, in_flight_bytes = (None, 0) if in_flight is None else in_flight()
        if content is not None:
            name = f"in-flight-{self._slot}-{self._deployment.attempt}"
            handles.append(write_in_flight(command, folder, name, self._slot, content))
            new_bytes += handles[-1].size
        return WrittenSnapshots(tuple(handles), new_bytes, states.all(), in_flight_bytes)

    def snapshot(
        self,
        command: CheckpointCommand,
        stall_ms: float,
        in_flight: InFlight | None = None,
        alignments: tuple[AlignmentStatistics, ...] = (),
    ) -> None:
        """Writes the state of all subtasks, as it is now, beside what follows."""
        reach("before-snapshot")
        known_files = self.snapshots.known_files(command.folder)
        self.snapshots.start(command, partial(self.write, command, known_files, in_flight), stall_ms, alignments)
        if not self._deployment.backend.is_asynchronous:
            self.snapshots.await_written(command.checkpoint_id)
        reach("after-snapshot")

    def learn(self, notifications: CheckpointNotifications) -> None:
        """Tells operators what became of checkpoints."""
        self.snapshots.learn(notifications)
        for subtask in self.all:
            for checkpoint_id in notifications.completed:
                subtask.chain.notify_checkpoint_complete(checkpoint_id)
            for checkpoint_id in notifications.aborted:
                subtask.chain.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        """Closes all operators, whatever happens."""
        self.snapshots.close()
        for subtask in self.all:
            try:
                subtask.chain.close()
            except Exception:  # the job has failed already, or was cancelled
                continue


def _timeout_s(exchange: JobEdge, deployment: JobDeployment) -> float:
    own = exchange.buffer_timeout_ms
    timeout_ms = deployment.buffer_timeout_ms if own is None else own
    return math.inf if timeout_ms < 0 else timeout_ms / 1000
