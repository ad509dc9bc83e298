"""The coordinator of a job that streams: hands out splits, orders checkpoints, hears what slots have to say."""

from __future__ import annotations

import threading
import time
from typing import Any

from funke.engine.errors import JobCancelledError, JobExecutionError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.attempts.attempt import Attempt, JobStatistics, raise_failure
from funke.engine.jobs.attempts.held_slots import HeldSlots
from funke.engine.jobs.attempts.job_failure import failure_of
from funke.engine.jobs.attempts.message_delivery import MessageDelivery
from funke.engine.jobs.attempts.progress import ProgressLine
from funke.engine.jobs.attempts.region_failover import FailedRegion, RegionFailover, StartedRegion
from funke.engine.jobs.checkpoints.savepoints import SavepointRequest
from funke.engine.jobs.sources.circulation import Circulation
from funke.engine.jobs.sources.job_sources import JobSources
from funke.engine.planner.regions import Region
from funke.engine.runtime.epochs.epoch_blockers import subtasks_at
from funke.engine.runtime.epochs.results import Failure
from funke.engine.runtime.fault_points import reach
from funke.engine.runtime.pipelined.messages import (
    Captured,
    Cut,
    Finish,
    Finished,
    GoOn,
    Notify,
    Passed,
    Prepared,
    Probe,
    ReadCommands,
    Reports,
    SplitsRead,
    TakeCheckpoint,
)
from funke.engine.runtime.pipelined.region_runners import RegionRunners
from funke.engine.runtime.pipelined.stream_runner import StreamRunner
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand, SnapshotAck
from funke.engine.types.driver_messages import DriverMessage, FeedbackRecords

__all__ = ["StreamCoordinator"]

_LONGEST_WAIT_S = 1.0
# Slots report every second.
_SILENCE_S = 1.5
# Subtasks are given so many records at first, and then as many as take them about so long.
_FIRST_RECORDS = 1 << 16
_MOST_RECORDS = 1 << 20
_SHORT_S, _LONG_S = 0.3, 2.0
# A slot that fails because another failed may report first.
_OTHER_FAILURES_S = 0.5


class StreamCoordinator:
    """Drives a job from its first record to its last."""

    def __init__(self, attempt: Attempt, runner: StreamRunner | RegionRunners) -> None:
        self._runner = runner
        self._sources = attempt.sources
        self._checkpoint_coordinator = attempt.checkpoint_coordinator
        self._commit = attempt.commit
        self._executions = attempt.executions
        self._plan = attempt.plan
        self._slots = range(attempt.plan.slots)
        self._cancelled = threading.Event()
        self._progress = ProgressLine()
        # What Spark writes comes in epochs: no message here is for it.
        self._messages = MessageDelivery(attempt.collect, self._sources.take_feedback, {}, self._progress)
        self._circulation = Circulation(self._sources.coordinators, self._slots)
        self._records = _FIRST_RECORDS
        self._handed_out_at = 0.0
        # The checkpoint whose barriers are on their way through the sources.
        self._cutting: CheckpointCommand | None = None
        # Where the sources stand in it, once all of them have cut.
        self._positions: dict[str, bytes] = {}
        self._early_acks: list[SnapshotAck] = []
        self._ending: SavepointRequest | None = None
        self._is_finishing = False
        self._held_slots = HeldSlots(attempt.plan, runner.sample)
        self._finished: set[int] = set()
        self._failover = attempt.failover
        # The sources that have ended, as far as executions know.
        self._ended_sources: set[int] = set()
        self.statistics = JobStatistics(
            epochs=attempt.first_epoch,
            records_read=self._sources.records,
            source_watermarks=self._sources.watermarks,
        )

    def cancel(self) -> None:
        """Asks the job to end."""
        self._cancelled.set()
        self._runner.wake()

    def run(self) -> None:
        """Runs until all input is read and processed, or the job is asked to end."""
        try:
            self._checkpoint_coordinator.slots_begin()
            self._sources.wake_with(self._runner.wake)
            self._checkpoint_coordinator.wake_with(self._runner.wake)
            self._checkpoint_coordinator.tell = self._send_notifications
            # A slot whose functions could not be opened has said so by now: its subtasks never ran, and others may not
            # even be connected.
            self._listen(0.0)
            self._hand_out(is_first=True)
            self._executions.enter(ExecutionState.RUNNING)
            while not self._run_on():
                pass
        finally:
            self._progress.clear()
            if self._failover is not None:
                self._failover.close()

    def _run_on(self) -> bool:
        """Goes on a little; whether that was the end."""
        if self._cancelled.is_set():
            raise JobCancelledError("the job was cancelled")
        self._hand_out()
        self._send_probe()
        self._command_checkpoint()
        self._listen(self._wait_s())
        self._settle_checkpoints()
        if self._progress.is_due:
            self._progress.show(self.statistics.records_read, self.statistics.epochs, self.statistics.watermark)
        if self._ending is not None:
            return self._ends_with(self._ending)
        if self._is_restarting:
            return False
        if self._sources.is_over and not self._checkpoint_coordinator.requests and self._cutting is None:
            if self._checkpoint_coordinator.has_pending and self._checkpoint_coordinator.has_savepoints:
                return False
            self._finish()
            return True
        return False

    # Sources

    def _hand_out(self, is_first: bool = False) -> None:
        """Gives sources that have little left to read more splits."""
        if self._ending is not None:
            return
        self._checkpoint_coordinator.is_in_backlog = self._sources.is_processing_backlog
        polled = self._sources.poll_hungry(self._records)
        # What goes round comes in pieces as small as it likes.
        if not is_first and any(not source_coordinator.source.is_feedback for source_coordinator, _ in polled):
            self._pace()
        by_slot: dict[int, list[Any]] = {}
        for slot, command in self._sources.new_commands(polled, is_first):
            by_slot.setdefault(slot, []).append(command)
        for slot, commands in by_slot.items():
            self._runner.send(slot, ReadCommands(tuple(commands)))

    def _pace(self) -> None:
        """Splits that are read in no time are too small, and those that take long are unfair to other subtasks."""
        now = time.monotonic()
        took_s, self._handed_out_at = now - self._handed_out_at, now
        if took_s < _SHORT_S:
            self._records = min(self._records * 2, _MOST_RECORDS)
        elif took_s > _LONG_S:
            self._records = max(self._records // 2, 1)

    def _send_probe(self) -> None:
        """When all other input is read, the job is over unless something still comes back from an iteration."""
        if self._ending is None and self._sources.is_input_over and self._circulation.begin_probe():
            self._runner.send_all(Probe())

    def _wait_s(self) -> float:
        wait_s = _LONGEST_WAIT_S
        poll_ms = self._sources.ms_until_poll()
        if poll_ms is not None and self._ending is None:
            wait_s = min(wait_s, poll_ms / 1000)
        if self._failover is not None and self._failover.wait_s is not None:
            wait_s = min(wait_s, self._failover.wait_s)
        can_begin = self._cutting is None and not self._is_restarting
        due_ms = self._checkpoint_coordinator.ms_until_due() if can_begin else None
        for ms in (due_ms, self._checkpoint_coordinator.ms_until_overtaking()):
            if ms is not None:
                wait_s = min(wait_s, ms / 1000)
        return max(0.0, wait_s)

    # What slots say

    def _listen(self, wait_s: float) -> None:
        has_reports = False
        for slot, message in self._runner.receive(wait_s):
            self._held_slots.hear(slot)
            self._hear(slot, message)
            has_reports = has_reports or isinstance(message, (Reports, SplitsRead))
        if has_reports:
            self._sum_up()
        self.statistics.held = self._held_slots.look()
        if self._failover is not None:
            self._fail_over(self._failover)

    def _hear(self, slot: int, message: Any) -> None:
        if isinstance(message, Reports):
            self._take_reports(message)
        elif isinstance(message, SplitsRead):
            self._sources.accept(message.vertex_id, message.subtask, message.report)
        elif isinstance(message, FeedbackRecords):
            self._circulation.take(slot, message)
        elif isinstance(message, DriverMessage):
            self._pass_on(message)
        elif isinstance(message, SnapshotAck):
            self._take_ack(message)
        elif isinstance(message, Cut):
            self._take_cut(message)
        elif isinstance(message, Captured):
            self._take_captured(slot, message)
        elif isinstance(message, Passed):
            self._circulation.end_probe(slot)
        elif isinstance(message, Prepared):
            self._checkpoint_coordinator.prepared_with(message.checkpoint_id, message.operator_id, message.committables)
        elif isinstance(message, Finished):
            self._finished.add(slot)
            self._held_slots.end(slot)
        elif isinstance(message, Failure):
            self._fail(message)
        else:
            raise JobExecutionError(f"unknown message from a slot: {type(message).__name__}")

    def _fail(self, first: Failure) -> None:
        if self._failover is not None and first.slot is not None and self._ending is None and not self._is_finishing:
            self._give_up_checkpoints(self._failover.note(first.slot, first), failure_of([first]))
            return
        failures = [first]
        end = time.monotonic() + _OTHER_FAILURES_S
        # What Spark has to say about it is raised by itself.
        while failures[-1].is_slot_lost and time.monotonic() < end:
            for _, message in self._runner.receive(_OTHER_FAILURES_S / 10):
                if isinstance(message, Failure):
                    failures.append(message)
                elif isinstance(message, DriverMessage):
                    self._pass_on(message)
        raise_failure(failures)

    def _take_reports(self, message: Reports) -> None:
        for report in message.reports:
            self.statistics.subtasks[report.vertex_id, report.subtask] = report
            if report.reading is not None:
                self._sources.accept(report.vertex_id, report.subtask, report.reading)

    def _sum_up(self) -> None:
        """What follows from all reports together, which takes longer the more subtasks there are."""
        for slot, command in self._sources.new_limits():
            self._runner.send(slot, ReadCommands((command,)))
        self.statistics.records_read = self._sources.records
        ended = self._sources.ended_vertices
        if ended != self._ended_sources:
            self._ended_sources = ended
            self._executions.enter(ExecutionState.FINISHED, lambda each: each.vertex_id in ended)

    def _pass_on(self, message: DriverMessage) -> None:
        self._messages.deliver((message,), self.statistics.epochs)

    # Regions

    @property
    def _is_restarting(self) -> bool:
        """Whether a part of the job does not run: no checkpoint begins, as in Flink, and the job does not end."""
        return self._failover is not None and self._failover.is_restarting

    def _fail_over(self, failover: RegionFailover) -> None:
        for ended in failover.ended():
            if isinstance(ended, FailedRegion):
                self._restart(failover, ended)
            else:
                self._go_on(failover, ended)
        for failed in failover.failed():
            self._restart(failover, failed)

    def _restart(self, failover: RegionFailover, failed: FailedRegion) -> None:
        """A region begins anew; the others notice nothing."""
        region = failed.region
        restart = failover.decide(failed)
        failover.begin(failed, restart, self._sources.leave(region.vertices))
        for slot in region.slots:
            self._held_slots.end(slot)
        self._ended_sources -= region.vertices
        for vertex_subtask in [each for each in self.statistics.subtasks if each[0] in region.vertices]:
            del self.statistics.subtasks[vertex_subtask]

    def _give_up_checkpoints(self, region: Region, error: JobExecutionError) -> None:
        """No checkpoint that was begun with a region can be completed.

        That is so at once, not when the region restarts: sources of other regions wait for the cut.
        """
        vertices = [self._plan.by_id[vertex_id] for vertex_id in region.vertices]
        operators = {operator.operator_id for vertex in vertices for operator in vertex.operators}
        self._checkpoint_coordinator.end_region(operators, error)
        if self._cutting is not None:
            self._end_cut()

    def _go_on(self, failover: RegionFailover, started: StartedRegion) -> None:
        """The slots of a region have restored their state: their sources go on where they were."""
        failover.go_on(started)
        self._held_slots.begin(started.region.slots)
        sources = JobSources(started.sources)
        sources.wake_with(self._runner.wake)
        for slot, command in sources.new_commands([], is_first=True):
            self._runner.send(slot, ReadCommands((command,)))
        self._sources.join(started.sources)

    # Checkpoints

    def _command_checkpoint(self) -> None:
        if self._cutting is not None or self._ending is not None or self._is_restarting:
            return
        if not self._checkpoint_coordinator.is_due():
            return
        due = self._checkpoint_coordinator.next_command()
        if due is None:
            return
        command, request = due
        self._cutting = command
        is_last = request is not None and request.ends_job
        self._ending = request if is_last else None
        is_draining = request is not None and request.is_draining
        self._sources.begin_cut()
        self._runner.send_all(TakeCheckpoint(command, is_draining, is_last))

    def _take_cut(self, cut: Cut) -> None:
        command = self._cutting
        if command is None or cut.checkpoint_id != command.checkpoint_id:
            self._sources.accept(cut.vertex_id, cut.subtask, cut.report)
            return
        if self._sources.cut(cut.vertex_id, cut.subtask, cut.report):
            reach("after-barriers")
            self._positions = self._sources.snapshot(command.checkpoint_id)
            self._circulation.write_down()
            self._sources.end_cut()
            self._begin_checkpoint(command)

    def _take_captured(self, slot: int, message: Captured) -> None:
        self._checkpoint_coordinator.capture(message.checkpoint_id, slot)
        command = self._cutting
        if command is not None and message.checkpoint_id == command.checkpoint_id:
            self._circulation.capture(slot)
            self._begin_checkpoint(command)

    def _begin_checkpoint(self, command: CheckpointCommand) -> None:
        """Once it is known where the sources stand in it, and what goes round, slots are waited for."""
        if self._circulation.is_written:
            self.statistics.epochs += 1
            positions = {**self._positions, **self._circulation.snapshot()}
            self._checkpoint_coordinator.begin(command, self.statistics.epochs, positions, self._slots)
            self._end_cut()

    def _take_ack(self, ack: SnapshotAck) -> None:
        if self._cutting is not None and ack.checkpoint_id == self._cutting.checkpoint_id:
            self._early_acks.append(ack)
        elif not self._is_finishing:
            self._checkpoint_coordinator.take([ack])

    def _end_cut(self) -> None:
        self._cutting = None
        self._sources.end_cut()
        self._circulation.end_cut()
        self.statistics.records_read = self._sources.records
        self._checkpoint_coordinator.take(self._early_acks)
        self._early_acks.clear()

    def _settle_checkpoints(self) -> None:
        self._checkpoint_coordinator.advance(self._commit, self._held)
        if self._cutting is not None and not self._checkpoint_coordinator.is_pending(self._cutting):
            self._end_cut()
        self._send_notifications()

    def _send_notifications(self) -> None:
        if self._checkpoint_coordinator.has_notifications:
            notifications = self._checkpoint_coordinator.take_notifications()
            self._runner.send_all(Notify(notifications))
            self._runner.flush()
            self._sources.learn(notifications)

    def _held(self) -> str:
        """Who has not said anything for a while: a slot whose function takes long hears no order."""
        silent = self._held_slots.silent(_SILENCE_S)
        levels = range(self._plan.levels, -1, -1)
        names = [name for slot in silent for level in levels for name in subtasks_at(self._plan, level, slot)]
        lines = ", ".join(each.user_line for each in self.statistics.held if each.user_line)
        at = f", at {lines}" if lines else ""
        return f"; it waits for {', '.join(names)}{at}" if names else "; its barriers have not come through"

    def _ends_with(self, request: SavepointRequest) -> bool:
        """Whether the savepoint that the job is to end with is there; if it failed, the job goes on."""
        if self._checkpoint_coordinator.last_savepoint is not None:
            if request.afterwards == "cancel":
                raise JobCancelledError("the job was cancelled with a savepoint")
            return True
        if not request.future.done():
            return False
        if request.is_draining:
            raise JobExecutionError(f"the job was drained, but {request.future.exception()}")
        self._ending = None
        self._runner.send_all(GoOn())
        return False

    def _finish(self) -> None:
        """All input is read: all slots end, then the rest is committed."""
        command, _ = self._checkpoint_coordinator.next_command(is_final=True) or (None, None)
        self._is_finishing = True
        self._runner.send_all(Finish())
        while len(self._finished) < len(self._slots):
            if self._cancelled.is_set():
                raise JobCancelledError("the job was cancelled")
            self._listen(_LONGEST_WAIT_S)
        self.statistics.epochs += 1
        if command is not None:
            positions = self._sources.snapshot(command.checkpoint_id)
            self._checkpoint_coordinator.begin(command, self.statistics.epochs, positions, self._slots)
        self._checkpoint_coordinator.advance(self._commit)
        self._checkpoint_coordinator.commit_rest(self.statistics.epochs, self._commit)
