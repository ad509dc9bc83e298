"""A slot's work: hosts one subtask of every segment of its slot sharing group, and runs them level by level."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from funke.engine.operators.chain import OperatorChain
from funke.engine.operators.clock import SystemClock
from funke.engine.operators.factory import create_operator
from funke.engine.operators.input_gate import InputGate
from funke.engine.operators.operator import OperatorFailure, TaskInfo
from funke.engine.planner.segments import Plan, Segment
from funke.engine.runtime.block_codec import decode, encode
from funke.engine.runtime.chain_snapshot import ChainSnapshot
from funke.engine.runtime.checkpoint_order import CheckpointNews, CheckpointOrder
from funke.engine.runtime.fault_points import reach
from funke.engine.runtime.frames import RESULT, Frame
from funke.engine.runtime.ingest import announce_event_time, make_exits, operator_metrics
from funke.engine.runtime.local_copies import LocalCopies
from funke.engine.runtime.results import DriverMessage, SubtaskReport, to_failure
from funke.engine.runtime.router import Router, senders_to
from funke.engine.runtime.snapshot_taking import SnapshotTaker, WrittenSnapshots
from funke.engine.runtime.state_restore import Place, restore_chain
from funke.engine.runtime.worker_logs import LOG_CHANNEL, worker_logs
from funke.engine.runtime.worker_setup import JobPackage

_SNAPSHOT_POLL_S = 0.001


@dataclass(frozen=True)
class EpochHeader:
    """What every slot must know about the epoch it takes part in."""

    epoch: int
    is_final: bool = False
    # The checkpoint that this epoch is; None when it is none.
    checkpoint: CheckpointOrder | None = None
    # The input is declared over, but operators stay open for the savepoint that this epoch is.
    is_draining: bool = False
    news: CheckpointNews = field(default_factory=CheckpointNews)


@dataclass
class _Subtask:
    """One subtask of a segment: its operators, its input and its exits."""

    segment: Segment
    index: int
    chain: OperatorChain
    gate: InputGate
    routers: list[Router]
    busy_s: float = 0.0


@dataclass
class Slot:
    """The operators of one slot, alive as long as the job attempt."""

    number: int
    plan: Plan
    package: JobPackage
    # A folder of the slot's own, for what is on its way elsewhere.
    folder: str = "."
    subtasks: list[_Subtask] = field(default_factory=list)
    _outbox: list[Frame] = field(default_factory=list)
    _by_exchange: dict[int, _Subtask] = field(default_factory=dict)
    _clock: SystemClock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        package, folders = self.package, self.package.local_folders
        self._copies = LocalCopies(folders, package.job_id, package.attempt, self.number) if folders else None
        self.snapshots = SnapshotTaker(self.number, self.folder, package.restore, self._copies)
        self._prepare_s = 0.0

    def open(self) -> None:
        """Builds and opens all subtasks that belong to this slot."""
        for segment in self.plan.segments:
            index = self.number - segment.first_slot
            if not segment.is_ingest and 0 <= index < segment.parallelism:
                self._add(segment, index)

    def _add(self, segment: Segment, index: int) -> None:
        routers, exits = make_exits(self.plan, segment, index, self._outbox)
        chain = OperatorChain(segment.operators, exits, self._task_info(segment, index), create_operator)
        head = segment.operators[0]
        inputs = self.plan.inputs_of(segment.id)
        channels = [
            (exchange.id, sender, exchange.input_index)
            for exchange in inputs
            for sender in senders_to(
                exchange.partitioner,
                index,
                self.plan.by_id[exchange.source_segment].parallelism,
                segment.parallelism,
            )
        ]
        fire_timers = partial(self._fire_processing_timers, chain)
        types = {exchange.id: self.plan.type_of(exchange) for exchange in inputs}
        gate = InputGate(chain.head, head.name, head.user_line, channels, fire_timers, types)
        subtask = _Subtask(segment, index, chain, gate, routers)
        place = Place(index, segment.parallelism, segment.max_parallelism)
        self.subtasks.append(subtask)  # before anything fails: what it has on disk is removed with it
        is_restored = restore_chain(chain, self.package.restore, place, self.folder, self._copies)
        chain.open()
        if is_restored:
            announce_event_time(chain)
        for exchange in inputs:
            self._by_exchange[exchange.id] = subtask

    def _task_info(self, segment: Segment, index: int) -> TaskInfo:
        def send_to_driver(channel: str, payload: Any) -> None:
            self.send_to_driver(channel, index, payload)

        return TaskInfo(
            job_id=self.package.job_id,
            job_name=self.package.job_name,
            task_name=segment.name,
            subtask=index,
            parallelism=segment.parallelism,
            max_parallelism=segment.max_parallelism,
            attempt=self.package.attempt,
            restored_checkpoint_id=self.package.restored_checkpoint_id,
            is_batch=self.package.is_batch,
            auto_watermark_interval_ms=self.package.auto_watermark_interval_ms,
            job_parameters=dict(self.package.job_parameters),
            cached_files=dict(self.package.cached_paths),
            send_to_driver=send_to_driver,
            staging_folder=self.package.staging_folder,
            backend=self.package.backend.within(self.folder),
        )

    def send_to_driver(self, channel: str, subtask: int, payload: Any) -> None:
        """Puts a message for the driver among the results of the epoch."""
        self._outbox.append(Frame(0, RESULT, 0, encode(DriverMessage(channel, subtask, payload))))

    def run_level(
        self, header: EpochHeader, level: int, frames: Iterator[Frame], send: Callable[[Frame], None]
    ) -> None:
        """Processes the blocks of one level and ends the level's part of the epoch."""
        active = [subtask for subtask in self.subtasks if subtask.segment.level == level]
        before = [subtask.busy_s for subtask in active]
        try:
            if level == 1:
                self.learn(header.news)
            for subtask in active:
                self._fire_processing_timers(subtask.chain)
            for frame in frames:
                self._process(frame)
                self._empty_outbox(send)
                self._send_logs(send)
                reach("between-blocks")
            for subtask in active:
                self._end_epoch(subtask, header)
            if level == self.plan.levels and header.checkpoint is not None and not header.is_final:
                self._snapshot(header.checkpoint)
            self._empty_outbox(send)
            self._send_logs(send)
            for subtask, busy_before in zip(active, before):
                send(Frame(0, RESULT, 0, encode(self._report(subtask, subtask.busy_s - busy_before))))
            self.send_acks(send)
        except Exception as error:
            self._outbox.clear()
            self._send_logs(send)
            send(Frame(0, RESULT, 0, encode(to_failure(error, self.number))))
            for _ in frames:  # the sender must not be left waiting
                pass
            raise

    def _process(self, frame: Frame) -> None:
        if self._by_exchange.get(frame.exchange_id) is None:
            raise OperatorFailure(f"slot {self.number} got a block of unknown exchange {frame.exchange_id}", None)
        subtask = self._by_exchange[frame.exchange_id]
        started = time.perf_counter()
        subtask.gate.receive(frame.exchange_id, frame.upstream, decode(frame.payload))
        subtask.busy_s += time.perf_counter() - started

    def _fire_processing_timers(self, chain: OperatorChain) -> None:
        # A time is over when its last millisecond is, as in Flink: until then records still belong to it.
        due = chain.next_wakeup_ms()
        if due is not None and due < (now := self._clock.now_ms()):
            chain.on_processing_time(now - 1)

    def _end_epoch(self, subtask: _Subtask, header: EpochHeader) -> None:
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
        for router in subtask.routers:
            router.flush()
        subtask.busy_s += time.perf_counter() - started

    def _snapshot(self, order: CheckpointOrder) -> None:
        """Writes the state of all subtasks, as it is now, beside what follows."""
        reach("before-snapshot")
        stall_ms, self._prepare_s = self._prepare_s * 1000, 0.0
        known = self.snapshots.known_files(order.folder)
        self.snapshots.start(order, partial(self._write, order, known), stall_ms)
        if not self.package.backend.is_asynchronous:
            self._await_snapshot(order.checkpoint_id)
        reach("after-snapshot")

    def _await_snapshot(self, checkpoint_id: int) -> None:
        """Lets processing stand still until a snapshot is written."""
        while (ack := next((a for a in self.snapshots.acks() if a.checkpoint_id == checkpoint_id), None)) is None:
            time.sleep(_SNAPSHOT_POLL_S)
        self.snapshots.acknowledge(replace(ack, stall_ms=ack.stall_ms + ack.write_ms))

    def _write(self, order: CheckpointOrder, known: dict[str, int | None], folder: str) -> WrittenSnapshots:
        handles, new_bytes = [], 0
        # Savepoints are not kept where checkpoints are.
        limit = self.package.backend.max_state_bytes if order.kind == "checkpoint" else None
        for subtask in self.subtasks:
            segment = subtask.segment
            # With the attempt in its name, no other driver or slot ever writes this file.
            name = f"{segment.id}-{subtask.index}-{self.package.attempt}"
            snapshot = ChainSnapshot(order, folder, name, known, limit)
            handle = snapshot.write(subtask.chain, subtask.index, segment.parallelism)
            reach("in-snapshot")
            if handle is not None:
                handles.append(handle)
                new_bytes += snapshot.new_bytes
        return tuple(handles), new_bytes

    def learn(self, news: CheckpointNews) -> None:
        """Tells operators what became of checkpoints."""
        self.snapshots.learn(news)
        for subtask in self.subtasks:
            for checkpoint_id in news.completed:
                subtask.chain.notify_checkpoint_complete(checkpoint_id)
            for checkpoint_id in news.aborted:
                subtask.chain.notify_checkpoint_aborted(checkpoint_id)

    def send_acks(self, send: Callable[[Frame], None]) -> None:
        """Sends what is known about snapshots."""
        for ack in self.snapshots.acks():
            send(Frame(0, RESULT, 0, encode(ack)))

    def _send_logs(self, send: Callable[[Frame], None]) -> None:
        lines = worker_logs.take(f"slot {self.number}")
        if lines:
            send(Frame(0, RESULT, 0, encode(DriverMessage(LOG_CHANNEL, self.number, lines))))

    def _empty_outbox(self, send: Callable[[Frame], None]) -> None:
        for frame in self._outbox:
            send(frame)
        self._outbox.clear()

    @staticmethod
    def _report(subtask: _Subtask, busy_s: float) -> SubtaskReport:
        chain = subtask.chain
        return SubtaskReport(
            subtask.segment.id,
            subtask.index,
            subtask.gate.records_in,
            sum(output.records_out for output in chain.outputs.values()),
            subtask.gate.current_watermark,
            chain.next_wakeup_ms(),
            busy_s * 1000,
            {node_id: operator_metrics(operator) for node_id, operator in chain.operators.items()},
            chain.has_unfinished,
        )

    def close(self) -> None:
        """Closes all operators, whatever happens."""
        self.snapshots.close()
        for subtask in self.subtasks:
            try:
                subtask.chain.close()
            except Exception:  # the job has failed already, or was cancelled
                continue
