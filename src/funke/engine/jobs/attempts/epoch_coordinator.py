"""The coordinator of a job attempt: asks sources for splits, runs epochs, hands on what comes of them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from funke.engine.errors import JobCancelledError, JobExecutionError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.attempts.attempt import Attempt, JobStatistics, raise_failure
from funke.engine.jobs.attempts.epoch_sizer import EpochSizer
from funke.engine.jobs.attempts.epoch_watch import EpochWatch
from funke.engine.jobs.attempts.message_delivery import EpochWriter, MessageDelivery
from funke.engine.jobs.attempts.progress import ProgressLine
from funke.engine.jobs.checkpoints.savepoints import SavepointRequest
from funke.engine.jobs.sources.job_sources import Polled
from funke.engine.operators.source import ReadCommand
from funke.engine.runtime.epochs.epoch_runner import EpochRunner
from funke.engine.runtime.epochs.results import Failure, SubtaskReport
from funke.engine.runtime.fault_points import reach
from funke.engine.runtime.slots.slot import EpochHeader
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand, CheckpointNotifications, SnapshotAck

_BOUNDED_EPOCH_MS = 8_000
_UNBOUNDED_EPOCH_MS = 1_000
# Slots end when the driver stops calling; an idle job calls often enough.
_KEEP_ALIVE_S = 30.0

# While a checkpoint waits for slots and no input comes, they are asked this often.
_ASK_SLOTS_S = 0.1


class EpochCoordinator:
    """Drives a job from its first epoch to its last."""

    def __init__(
        self,
        attempt: Attempt,
        runner: EpochRunner,
        epoch_writers: dict[str, EpochWriter],
        min_epoch_interval_ms: int,
        epoch_watch: EpochWatch,
        write_frames: Callable[[], None],
    ) -> None:
        self._checkpoint_coordinator = attempt.checkpoint_coordinator
        self._watch = epoch_watch
        self._write_frames = write_frames
        self._plan = attempt.plan
        self._runner = runner
        self._executions = attempt.executions
        self._sources = attempt.sources
        self._commit = attempt.commit
        self._interval_s = max(0, min_epoch_interval_ms) / 1000
        self._cancelled = threading.Event()
        self._sizer = EpochSizer(self._epoch_ms())
        self._progress = ProgressLine()
        self._messages = MessageDelivery(attempt.collect, self._sources.take_feedback, epoch_writers, self._progress)
        self._wakeup_ms: int | None = None
        self._last_epoch = 0.0
        self._last_asked = 0.0
        self.statistics = JobStatistics(
            epochs=attempt.first_epoch,
            records_read=self._sources.records,
            source_watermarks=self._sources.watermarks,
        )

    def _epoch_ms(self) -> int:
        """How long an epoch should take: a checkpoint is only ever taken at the end of one."""
        interval_ms = self._checkpoint_coordinator.settings.interval_ms
        if not self._sources.is_bounded:
            return _UNBOUNDED_EPOCH_MS
        return _BOUNDED_EPOCH_MS if interval_ms is None else min(_BOUNDED_EPOCH_MS, max(1_000, interval_ms))

    def cancel(self) -> None:
        """Asks the job to end; the epoch that is running is given up."""
        self._cancelled.set()

    def run(self) -> None:
        """Runs epochs until all input is read and processed."""
        try:
            while not self._run_next_epoch():
                pass
        finally:
            self._progress.clear()

    def _run_next_epoch(self) -> bool:
        """Waits for something to do, does it, and says whether that was the end."""
        polled = self._poll()
        while not self._is_due(polled):
            self._wait()
            polled = self._poll()
        self._keep_interval()
        is_final = self._is_last(polled)
        if is_final:
            # What the sources have just handed out is not lost: it is read by the next epoch.
            self._finish_savepoints()
        command, request = self._checkpoint_coordinator.next_command(is_final) or (None, None)
        is_draining = request is not None and request.is_draining
        deadline_ms = None if is_final or is_draining else self._sizer.deadline_ms
        commands = self._sources.commands(polled, deadline_ms)
        records_before = self.statistics.records_read
        started = time.monotonic()
        header = EpochHeader(self.statistics.epochs + 1, is_final, command, is_draining, self._take_notifications())
        self._run_epoch(header, commands)
        reach("after-epoch")
        self._sources.end_epoch()
        self._last_epoch = time.monotonic()
        duration_ms = (self._last_epoch - started) * 1000
        self.statistics.epoch_ms.append(duration_ms)
        was_cut = self._sources.has_unfinished
        self._sizer.observe(self.statistics.records_read - records_before, self._busy_ms(), was_cut)
        if self._progress.is_due:
            self._progress.show(self.statistics.records_read, self.statistics.epochs, self.statistics.watermark)
        return is_final or (request is not None and request.ends_job and self._ends_with(request))

    def _finish_savepoints(self) -> None:
        """Before the slots end, savepoints that were begun must be written."""
        while self._checkpoint_coordinator.has_pending and self._checkpoint_coordinator.has_savepoints:
            self._ask_slots()
            self._pause()

    def _ends_with(self, request: SavepointRequest) -> bool:
        """Waits for the savepoint that the job is to end with; False if it failed and the job can go on."""
        while self._checkpoint_coordinator.last_savepoint is None and not request.future.done():
            self._ask_slots()
            self._pause()
        if self._checkpoint_coordinator.last_savepoint is not None:
            if request.afterwards == "cancel":
                raise JobCancelledError("the job was cancelled with a savepoint")
            self._send_notifications()
            return True
        if request.is_draining:
            raise JobExecutionError(f"the job was drained, but {request.future.exception()}")
        return False

    def _take_notifications(self) -> CheckpointNotifications:
        """What became of checkpoints, for the slots; sources hear it here."""
        notifications = self._checkpoint_coordinator.take_notifications()
        self._sources.learn(notifications)
        return notifications

    def _ask_slots(self) -> None:
        """Asks slots for acknowledgements, and tells them what became of checkpoints."""
        self._last_asked = time.monotonic()
        self._take_acks(self._send_notifications())

    def _send_notifications(self) -> list[Any]:
        notifications = self._take_notifications()
        with self._watch.watching():
            return self._runner.send_notifications(notifications)

    def _pause(self) -> None:
        self._cancelled.wait(_ASK_SLOTS_S / 2)
        self._raise_if_cancelled()

    def _take_acks(self, results: list[Any]) -> None:
        raise_failure(results)
        self._checkpoint_coordinator.take(result for result in results if isinstance(result, SnapshotAck))
        self._checkpoint_coordinator.advance(self._commit)

    def _poll(self) -> Polled:
        self._raise_if_cancelled()
        self._checkpoint_coordinator.is_in_backlog = self._sources.is_processing_backlog
        return self._sources.poll(self._sizer.max_records)

    def _is_last(self, polled: Polled) -> bool:
        """Whether the epoch ends the job: it must read all that is left, and be sure to get there in time."""
        if not self._sources.is_over or self._checkpoint_coordinator.requests or self.statistics.has_unfinished:
            return False
        return self._sizer.is_speed_known or not any(splits for _, splits in polled)

    def _is_due(self, polled: Polled) -> bool:
        has_input = any(splits for _, splits in polled)
        if has_input or self._sources.has_unfinished or self._sources.has_end_to_tell:
            return True
        is_over = self._sources.is_exhausted and not self.statistics.has_unfinished
        if is_over or self._checkpoint_coordinator.is_due():
            return True
        now_ms = time.time() * 1000
        is_timer_due = self._wakeup_ms is not None and self._wakeup_ms <= now_ms
        return is_timer_due or (self._last_epoch > 0 and time.monotonic() - self._last_epoch > _KEEP_ALIVE_S)

    def _wait(self) -> None:
        delay_s = self._sources.next_poll_ms() / 1000
        if self._wakeup_ms is not None:
            delay_s = min(delay_s, max(0.0, self._wakeup_ms / 1000 - time.time()))
        until_due_ms = self._checkpoint_coordinator.ms_until_due()
        if until_due_ms is not None:
            delay_s = min(delay_s, until_due_ms / 1000)
        self._cancelled.wait(max(0.001, delay_s))
        self._raise_if_cancelled()
        if (
            self._checkpoint_coordinator.has_pending or self._checkpoint_coordinator.has_notifications
        ) and time.monotonic() - self._last_asked >= _ASK_SLOTS_S:
            self._ask_slots()

    def _busy_ms(self) -> float:
        """How long the slowest subtask of every level worked in the last epoch, one level after the other."""
        slowest: dict[int, float] = {}
        for report in self.statistics.subtasks.values():
            level = self._plan.placements[report.vertex_id].level
            slowest[level] = max(slowest.get(level, 0.0), report.busy_ms)
        return sum(slowest.values())

    def _keep_interval(self) -> None:
        """An unbounded job lets at least the buffer timeout pass between two epochs."""
        if not self._sources.is_bounded:
            self._cancelled.wait(max(0.0, self._last_epoch + self._interval_s - time.monotonic()))

    def _raise_if_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise JobCancelledError("the job was cancelled")

    def _run_epoch(self, header: EpochHeader, commands: list[ReadCommand]) -> None:
        is_first = self._last_epoch == 0
        try:
            # Until their first epoch has run, slots start and restore their state, which may take any time.
            with contextlib.nullcontext() if is_first else self._watch.watching():
                results = self._runner.run_epoch(header, commands, self._sources.frames())
        except Exception:
            self._raise_if_cancelled()
            raise
        self.statistics.epochs += 1
        if any(isinstance(result, Failure) for result in results):
            self._deliver_messages(results, is_complete=False)
            raise_failure(results)
        self._accept_reports(results)
        self._note_executions()
        if is_first:
            self._checkpoint_coordinator.slots_are_ready()
        self._checkpoint_coordinator.prepared(header.checkpoint, self._deliver_messages(results))
        if header.checkpoint is not None:
            self._begin_checkpoint(header.checkpoint)
        self._take_acks(results)
        if header.is_final:
            self._write_with_spark()
            self._checkpoint_coordinator.commit_rest(self.statistics.epochs, self._commit)
            self._take_notifications()

    def _write_with_spark(self) -> None:
        """Before sinks commit: if it fails, nothing of them is seen either."""
        try:
            self._write_frames()
        except Exception:
            self._raise_if_cancelled()
            raise

    def _note_executions(self) -> None:
        """Subtasks run once an epoch has; those of a source that has been read to its end have finished."""
        self._executions.enter(ExecutionState.RUNNING)
        over = self._sources.ended_vertices
        if over and not self.statistics.has_unfinished:
            self._executions.enter(ExecutionState.FINISHED, lambda each: each.vertex_id in over)

    def _begin_checkpoint(self, command: CheckpointCommand) -> None:
        positions = self._sources.snapshot(command.checkpoint_id)
        self._checkpoint_coordinator.begin(command, self.statistics.epochs, positions, range(self._plan.slots))

    def _accept_reports(self, results: list[Any]) -> None:
        statistics = self.statistics
        for result in results:
            if isinstance(result, SubtaskReport):
                statistics.subtasks[result.vertex_id, result.subtask] = result
                if result.reading is not None:
                    self._sources.accept(result.vertex_id, result.subtask, result.reading)
        statistics.records_read = self._sources.records
        reports = statistics.subtasks.values()
        wakeups = [report.next_wakeup_ms for report in reports if report.next_wakeup_ms is not None]
        self._wakeup_ms = min(wakeups, default=None)

    def _deliver_messages(self, results: list[Any], is_complete: bool = True) -> dict[str, list[Any]]:
        return self._messages.deliver(results, self.statistics.epochs, is_complete)
