"""A slot's work: hosts one subtask of every vertex of its slot sharing group, and runs them level by level."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from funke.engine.connectors.source import Split
from funke.engine.errors import JobExecutionError
from funke.engine.graph.job_graph import JobEdge
from funke.engine.operators.block_parts import Part
from funke.engine.operators.source import ReadCommand
from funke.engine.operators.turn import turn
from funke.engine.planner.plan import SOURCE_LEVEL, Plan
from funke.engine.runtime.blocks.block_codec import decode_block, encode, encode_block
from funke.engine.runtime.blocks.frames import RESULT, Frame
from funke.engine.runtime.blocks.row_blocks import arrow_batches
from funke.engine.runtime.epochs.results import to_failure
from funke.engine.runtime.fault_points import reach
from funke.engine.runtime.monitoring.worker_logs import worker_logs
from funke.engine.runtime.slots.subtasks import Subtask, Subtasks
from funke.engine.runtime.slots.worker_setup import JobDeployment
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand, CheckpointNotifications
from funke.engine.types.driver_messages import DriverMessage, LoggedLines

# How long an epoch waits for records of a split that has no end.
_PATIENCE_S = 0.1


@dataclass(frozen=True)
class EpochHeader:
    """What every slot must know about the epoch it takes part in."""

    epoch: int
    is_final: bool = False
    # The checkpoint that this epoch is; None when it is none.
    checkpoint: CheckpointCommand | None = None
    # The input is declared over, but operators stay open for the savepoint that this epoch is.
    is_draining: bool = False
    notifications: CheckpointNotifications = field(default_factory=CheckpointNotifications)


@dataclass(frozen=True)
class Delivery:
    """What a delivery task opens its conversation with; blocks follow.

    At level 0 there may be several for an epoch: one with commands to read splits, and one for each source whose rows
    Spark reads.
    """

    header: EpochHeader
    level: int
    # Encoded: the slot reads them when the user's classes are there.
    commands: bytes = b""
    # The source that this is for, if Spark reads its rows.
    vertex_id: int | None = None

    @property
    def step(self) -> tuple[int, int]:
        """Deliveries follow each other in this order."""
        return self.header.epoch, self.level


class Slot:
    """A slot in epochs: gets, level by level, its commands and its records."""

    def __init__(self, number: int, plan: Plan, deployment: JobDeployment, folder: str = ".") -> None:
        self.number = number
        self._plan = plan
        self._outbox: list[Frame] = []
        self._subtasks = Subtasks(number, plan, deployment, folder, self._carry, self.send_to_driver)
        self.snapshots = self._subtasks.snapshots
        self._by_exchange: dict[int, Subtask] = {}
        self._prepare_s = 0.0

    def open(self) -> None:
        """Builds and opens all subtasks that belong to this slot."""
        self._subtasks.open()
        for subtask in self._subtasks.all:
            for exchange in self._plan.inputs_of(subtask.vertex.id):
                self._by_exchange[exchange.id] = subtask

    def _carry(self, exchange: JobEdge, sender: int, receiver: int, parts: list[Part]) -> int:
        payload = encode_block(parts)
        slot = self._plan.placements[exchange.target_vertex].first_slot + receiver
        self._outbox.append(Frame(slot, exchange.id, sender, payload))
        return len(payload)

    def send_to_driver(self, message: DriverMessage) -> None:
        """Puts a message for the driver among the results of the epoch."""
        self._outbox.append(Frame(0, RESULT, 0, encode(message)))

    def run_level(
        self,
        header: EpochHeader,
        level: int,
        frames: Iterator[Frame],
        send: Callable[[Frame], None],
        commands: tuple[ReadCommand, ...] = (),
    ) -> None:
        """Processes what is delivered at one level, blocks or commands to read, and ends that part of the epoch."""
        vertex_ids = {command.vertex_id for command in commands}
        active = [
            subtask
            for subtask in self._subtasks.all
            if self._plan.placements[subtask.vertex.id].level == level
            and (level > SOURCE_LEVEL or subtask.vertex.id in vertex_ids)
        ]
        before = [subtask.busy_s for subtask in active]
        try:
            if level == SOURCE_LEVEL:
                self.learn(header.notifications)
            for subtask in active:
                self._subtasks.fire_timers(subtask.chain)
            for _ in self._work(active, commands, frames):
                self._empty_outbox(send)
                self._send_logs(send)
            for subtask in active:
                self._end_epoch(subtask, header)
            if level == self._plan.levels and header.checkpoint is not None and not header.is_final:
                self._snapshot(header.checkpoint)
            self._empty_outbox(send)
            self._send_logs(send)
            for subtask, busy_before in zip(active, before):
                send(Frame(0, RESULT, 0, encode(subtask.report((subtask.busy_s - busy_before) * 1000))))
            self.send_acks(send)
        except Exception as error:
            self._outbox.clear()
            self._send_logs(send)
            send(Frame(0, RESULT, 0, encode(to_failure(error, self.number))))
            for _ in frames:  # the sender must not be left waiting
                pass
            raise

    def _work(
        self, active: list[Subtask], commands: tuple[ReadCommand, ...], frames: Iterator[Frame]
    ) -> Iterator[None]:
        """Does the work of a level; yields whenever what came of it may be sent."""
        for command in commands:
            reach("before-reading")
            yield from self._read(next(each for each in active if each.vertex.id == command.vertex_id), command, frames)
            reach("after-reading")
        for frame in frames:
            self._process(frame)
            yield
            reach("between-blocks")

    def _read(self, subtask: Subtask, command: ReadCommand, frames: Iterator[Frame]) -> Iterator[None]:
        """Reads what a command says, as long as it may take; the rows of a Spark source are among the frames."""
        source = subtask.source
        assert source is not None
        if command.has_rows:
            command = replace(command, splits=(Split("spark", arrow_batches(frames), is_last=False),))
        source.take(command)
        subtask.tell_idleness()
        started = time.perf_counter()
        limit_s = math.inf if command.deadline_ms is None else command.deadline_ms / 1000
        if source.has_endless and command.deadline_ms is None:
            limit_s = 0.0
        while (
            subtask.chain.guarded_head(source.read)
            and time.perf_counter() - started < limit_s
            and source.may_read_on(_PATIENCE_S)
        ):
            self._subtasks.fire_timers(subtask.chain)
            yield
        subtask.busy_s += time.perf_counter() - started

    def _process(self, frame: Frame) -> None:
        if self._by_exchange.get(frame.exchange_id) is None:
            raise JobExecutionError(f"slot {self.number} got a block of unknown exchange {frame.exchange_id}")
        subtask = self._by_exchange[frame.exchange_id]
        started = time.perf_counter()
        subtask.gate.receive(frame.exchange_id, frame.upstream, decode_block(frame.payload))
        subtask.busy_s += time.perf_counter() - started

    def _end_epoch(self, subtask: Subtask, header: EpochHeader) -> None:
        started = time.perf_counter()
        if header.is_final or header.is_draining:
            subtask.chain.end_input()
        subtask.chain.end_epoch()
        if header.is_final:
            # The last checkpoint takes the place of those that are being written, which read files of the state.
            self.snapshots.close()
            subtask.chain.close()
        elif header.checkpoint is not None:
            preparing = time.perf_counter()
            subtask.chain.prepare_snapshot(header.checkpoint.checkpoint_id)
            self._prepare_s += time.perf_counter() - preparing
        subtask.flush()
        subtask.busy_s += time.perf_counter() - started

    def _snapshot(self, command: CheckpointCommand) -> None:
        stall_ms, self._prepare_s = self._prepare_s * 1000, 0.0
        self._subtasks.snapshot(command, stall_ms)

    def learn(self, notifications: CheckpointNotifications) -> None:
        """Tells operators what became of checkpoints."""
        self._subtasks.learn(notifications)

    def send_acks(self, send: Callable[[Frame], None]) -> None:
        """Sends what is known about snapshots."""
        for ack in self.snapshots.acks():
            send(Frame(0, RESULT, 0, encode(ack)))

    def _send_logs(self, send: Callable[[Frame], None]) -> None:
        lines = worker_logs.take(f"slot {self.number}")
        if lines:
            send(Frame(0, RESULT, 0, encode(LoggedLines(lines))))

    def _empty_outbox(self, send: Callable[[Frame], None]) -> None:
        for frame in self._outbox:
            send(frame)
        self._outbox.clear()

    def busy_vertex(self) -> int | None:
        """The vertex of the operator whose turn it is."""
        return turn.now().vertex_id

    def close(self) -> None:
        """Closes all operators, whatever happens."""
        self._subtasks.close()
