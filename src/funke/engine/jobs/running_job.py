"""A submitted job in the driver that runs it: its thread, its commands, its view, its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.config.log_levels import LogLevels
from funke.engine.config.settings import Settings
from funke.engine.errors import JobCancelledError, LeaseLostError, RecoveryRejectedError, StateError
from funke.engine.graph.execution_graph import ExecutionVertex
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.attempts.job_attempts import JobAttempts, SuspendedError
from funke.engine.jobs.attempts.job_failure import to_job_error
from funke.engine.jobs.checkpoints.savepoints import (
    Afterwards,
    CheckpointRequest,
    begin_savepoint,
)
from funke.engine.jobs.job_lifecycle import JobLifecycle
from funke.engine.jobs.notices import notice
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.submission.job_planning import plan_job
from funke.engine.jobs.views.flame_graph import TERMINATED, FlameGraph, FlameKind
from funke.engine.jobs.views.job_view import ExceptionView, JobView
from funke.engine.jobs.views.running_view import RunningJobView
from funke.engine.jobs.views.view_writer import ViewWriter
from funke.engine.runtime.fault_points import arm
from funke.engine.runtime.monitoring.thread_dump import ThreadStack
from funke.engine.runtime.monitoring.worker_logs import driver_log
from funke.engine.runtime.snapshots.local_copies import remove_copies
from funke.engine.runtime.spark.spark_session import use_storage_settings
from funke.engine.runtime.starting.background import note_success
from funke.engine.types.job_status import JobStatus
from funke.engine.types.job_summary import JobSummary

__all__ = ["RunningJob"]


class RunningJob:
    """A job that runs in a thread of the driver."""

    def __init__(self, graph: StreamGraph, settings: JobSettings) -> None:
        record = settings.record
        use_storage_settings(settings.configuration)
        driver_log.use(Settings(settings.configuration).get(options.LOG_FORMAT))
        planned = plan_job(graph, settings)
        self.job_id = planned.job_id
        self._record = record
        self._planned = planned
        self._checkpoint_coordinator = planned.checkpoint_coordinator
        self._view_writer = ViewWriter(self.view, self._write_view)
        self._checkpoint_coordinator.on_change = self._view_writer.tell
        first = JobStatus.RECONCILING if planned.is_recovered else JobStatus.CREATED
        self._lifecycle = JobLifecycle(first, self._put_status, record.record.view() if record is not None else None)
        self._attempts = JobAttempts(planned, self._lifecycle)
        self._attempts.on_wait = self._attempts.executions.on_change = self._view_writer.tell
        self._view = RunningJobView(graph, planned, self._attempts, self._lifecycle)
        self.result_future: Future[JobSummary] = Future()
        # Called when the job has ended.
        self.closing: list[Callable[[], None]] = []
        self._has_ended = False
        self._thread = threading.Thread(target=self._run, name=f"funke-job-{self.job_id[:8]}", daemon=True)

    def start(self) -> RunningJob:
        """Starts the job."""
        arm(self._planned.deployment.fault)
        if self._record is not None:
            self._view_writer.start()
        self._thread.start()
        return self

    def _run(self) -> None:
        started = time.monotonic()
        try:
            try:
                self._attempts.run()
            finally:
                self._planned.dependencies.remove()
            runtime_ms = int((time.monotonic() - started) * 1000)
            summary = JobSummary(self.job_id, runtime_ms, self.accumulators(), self.metrics())
        except BaseException as failure:
            self._end(self._final_status(failure), failure)
        else:
            note_success()
            self._end(JobStatus.FINISHED, summary)

    # The end, and what is written down

    def abandon(self, failure: BaseException) -> None:
        """The job could not be started; one that has run before may be tried again."""
        self._planned.dependencies.remove()
        self._end(JobStatus.SUSPENDED if self._planned.is_recovered else JobStatus.FAILED, failure)

    def _final_status(self, failure: BaseException) -> JobStatus:
        if isinstance(failure, (LeaseLostError, RecoveryRejectedError, SuspendedError)):
            return JobStatus.SUSPENDED
        return JobStatus.CANCELED if self._attempts.is_cancelling else JobStatus.FAILED

    def _end(self, status: JobStatus, result: JobSummary | BaseException) -> None:
        """Whatever goes wrong here too: the lease is given back, and all waiting callers get the job's end."""
        with self._attempts.lock:
            try:
                self._enter_last(status)
            except Exception as error:
                # For readers, what the record does not say has not happened: they may take over the job.
                status, result = JobStatus.SUSPENDED, _ended_by(error, result)
                self._enter_last(status)
            self._has_ended = True
        _do_all(
            self._checkpoint_coordinator.answer_requests,
            # After the status: a driver that dies in between must not look for what is gone.
            partial(self._remove_unneeded, status),
            self._view_writer.close,
            self._record.release if self._record is not None else None,
            # Before the result: a caller that waits for it may end the process.
            *self.closing,
            partial(self._set_result, status, result),
            self._attempts.results.end,
        )

    def _enter_last(self, status: JobStatus) -> None:
        before = {JobStatus.CANCELED: JobStatus.CANCELLING, JobStatus.FAILED: JobStatus.FAILING}.get(status)
        if before is not None:
            self._lifecycle.enter(before)
        self._lifecycle.enter(status)

    def _remove_unneeded(self, status: JobStatus) -> None:
        if status is not JobStatus.SUSPENDED:
            self._checkpoint_coordinator.remove_unneeded(status is JobStatus.CANCELED, status is JobStatus.FAILED)
            remove_copies(self._planned.deployment.local_folders, self.job_id, self._planned.plan.slots)

    def _set_result(self, status: JobStatus, result: JobSummary | BaseException) -> None:
        if isinstance(result, JobSummary):
            self.result_future.set_result(result)
        elif status is JobStatus.CANCELED:
            self.result_future.set_exception(JobCancelledError("the job was cancelled"))
        else:
            self.result_future.set_exception(to_job_error(result))

    def _put_status(self, status: JobStatus) -> None:
        """Writes down how the job stands; that it has ended must be written, the rest is for those who look."""
        try:
            if self._record is not None:
                self._record.put_status(status)
        except (StateError, OSError) as error:
            if status.is_globally_terminal_state():
                raise StateError(str(error)) from error
            notice(f"warning: {error}")
        self._view_writer.tell()

    def _write_view(self, view: JobView) -> None:
        if self._record is not None:
            self._record.put_view(view)

    # Views

    def status(self) -> JobStatus:
        """Where the job stands."""
        return self._lifecycle.status

    def status_history(self) -> list[tuple[JobStatus, int]]:
        """The last statuses, each with the time in milliseconds at which it was entered."""
        return self._lifecycle.history

    def view(self) -> JobView:
        """All there is to see of the job at this moment."""
        return self._view.look()

    def flame_graph(self, vertex_id: int, kind: FlameKind = "FULL", subtask: int | None = None) -> FlameGraph:
        """Which functions take the time of a vertex, or of one of its subtasks."""
        return TERMINATED if self._has_ended else self._view.flame_graph(vertex_id, kind, subtask)

    def thread_stacks(self) -> dict[int, tuple[ThreadStack, ...]]:
        """What the threads of each slot do."""
        return {} if self._has_ended else self._view.thread_stacks()

    def exceptions(self) -> list[ExceptionView]:
        """The last failures of the job, newest first."""
        return self._lifecycle.exceptions

    def executions(self) -> list[ExecutionVertex]:
        """Every subtask with its attempt and state."""
        return self._attempts.executions.current

    def prior_executions(self, vertex_id: int, subtask: int) -> list[ExecutionVertex]:
        """The runs of a subtask in earlier attempts, oldest first."""
        return self._attempts.executions.prior(vertex_id, subtask)

    def accumulators(self) -> dict[str, Any]:
        """Named values that functions have accumulated (Python functions have none but their metrics)."""
        return {}

    def metrics(self) -> dict[str, Any]:
        """What the job and its operators report; see `metrics_by_name`."""
        return self._view.metrics()

    # What can be asked of it

    def savepoint(self, folder: str | None = None, afterwards: Afterwards = "go on") -> Future[str]:
        """Asks for a savepoint; the future ends with its path, and the job goes on or ends as `afterwards` says."""
        if self._planned.graph.is_batch:
            raise StateError("a job in batch mode has no savepoints: it starts anew after a failure")
        configured = self._checkpoint_coordinator.settings.savepoint_folder
        return self._checkpoint_coordinator.requests.ask(begin_savepoint(self.job_id, folder, configured, afterwards))

    def checkpoint(self, is_full: bool = False) -> Future[int]:
        """Asks for a checkpoint now; the future ends with its number."""
        if self._planned.graph.is_batch:
            raise StateError("a job in batch mode has no checkpoints: it starts anew after a failure")
        return self._checkpoint_coordinator.ask_checkpoint(CheckpointRequest(is_full))

    def set_log_levels(self, default: str, overrides: Mapping[str, str]) -> None:
        """From which level on functions log from now on; shown in the job's configuration."""
        LogLevels.require(default, overrides)
        named = ",".join(f"{name}:{level}" for name, level in overrides.items())
        changed = {options.PYTHON_LOG_LEVEL.key: default, **({options.PYTHON_LOG_LEVELS.key: named} if named else {})}
        self._attempts.set_log_levels(LogLevels.of(Settings(changed)))
        self._view.configure(changed, without=options.PYTHON_LOG_LEVELS.key)

    @property
    def savepoint_limit_s(self) -> float:
        """After how long a savepoint has failed: so long it may wait to be begun, and as long again to be complete."""
        return 2 * self._checkpoint_coordinator.settings.timeout_ms / 1000

    def cancel(self) -> Future[None]:
        """Cancels the job; the future ends when nothing of it is left."""
        with self._attempts.lock:
            has_ended = self._has_ended
            if not has_ended:
                self._attempts.cancel()
        if not has_ended:
            self._attempts.give_up(self._thread)
        stopped: Future[None] = Future()
        self.result_future.add_done_callback(lambda _: stopped.set_result(None))
        return stopped

    def result(self) -> JobSummary:
        """Waits for the end; raises what made the job fail."""
        return self.result_future.result()

    def collected(self, name: str) -> Iterator[list[Any]]:
        """The batches sent to a collect sink, until the job ends; then its failure, if there was one."""
        yield from self._attempts.results.batches(name)
        if self._lifecycle.status in (JobStatus.FAILED, JobStatus.SUSPENDED):
            self.result()


def _ended_by(error: Exception, result: JobSummary | BaseException) -> Exception:
    """What a job ends with whose end could not be written down; includes the earlier failure."""
    if isinstance(result, JobSummary) or isinstance(error, LeaseLostError):
        return error
    return StateError(f"{error}; the job had failed with: {to_job_error(result)}")


def _do_all(*steps: Callable[[], None] | None) -> None:
    """Takes every step, also when one before it has failed."""
    for step in steps:
        try:
            if step is not None:
                step()
        except Exception as error:
            notice(f"warning: at the end of the job: {type(error).__name__}: {error}")
