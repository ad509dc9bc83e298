"""The attempts of a job: each begins at the last completed checkpoint, and the restart strategy asks for the next."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial

from funke.engine.config import flink_options as options
from funke.engine.config.log_levels import LogLevels
from funke.engine.errors import (
    ConfigurationError,
    GraphError,
    JobCancelledError,
    LeaseLostError,
    SerializationError,
    SparkUnavailableError,
    StateError,
    StorageUnavailableError,
    UnsupportedFeatureError,
)
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.attempts.attempt import Attempt, JobStatistics
from funke.engine.jobs.attempts.attempt_session import probed_deployment, session_of
from funke.engine.jobs.attempts.attempt_start import find_start
from funke.engine.jobs.attempts.job_executions import JobExecutions
from funke.engine.jobs.attempts.job_failure import DamagedCheckpointError, is_worker_loss, to_job_error
from funke.engine.jobs.attempts.job_sinks import FrameWrites, JobCommits
from funke.engine.jobs.attempts.region_failover import RegionRestart, RegionRestarts
from funke.engine.jobs.attempts.result_queues import ResultQueues
from funke.engine.jobs.attempts.runners import Coordinator, Runner, driven_by
from funke.engine.jobs.attempts.slot_commands import log_from
from funke.engine.jobs.attempts.slot_pool import SlotPool, request_timeout_s
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint
from funke.engine.jobs.checkpoints.start_point import state_moves
from funke.engine.jobs.job_lifecycle import JobLifecycle
from funke.engine.jobs.notices import notice
from funke.engine.jobs.sources.job_sources import JobSources
from funke.engine.jobs.sources.source_coordinator import SourceCoordinator
from funke.engine.jobs.submission.job_planning import PlannedJob
from funke.engine.runtime.spark.spark_session import JobSpark, spark_session
from funke.engine.types.job_status import JobStatus

__all__ = ["JobAttempts", "SuspendedError"]

_CANCEL_GRACE_S = 1.0
# Trying again would end the same way.
_FINAL_FAILURES = (
    ConfigurationError,
    GraphError,
    JobCancelledError,
    LeaseLostError,
    SerializationError,
    StateError,
    UnsupportedFeatureError,
)


class SuspendedError(StateError):
    """This driver cannot go on; another one may."""


class JobAttempts:
    """Runs a planned job until it has finished, has failed for good or is cancelled."""

    def __init__(self, planned: PlannedJob, lifecycle: JobLifecycle) -> None:
        self._planned = planned
        self._checkpoint_coordinator = planned.checkpoint_coordinator
        self._record = planned.settings.record
        self._lifecycle = lifecycle
        self.results = ResultQueues()
        self.executions = JobExecutions(planned.graph, planned.plan)
        self.deployment = planned.deployment
        session = partial(spark_session, planned.settings.configuration)
        self._commits = JobCommits(planned.graph, session, planned.configured.get(options.COMMITTER_RETRIES))
        self._frame_writes = FrameWrites(planned.graph, session)
        self._coordinator: Coordinator | None = None
        # That of the latest attempt.
        self.runner: Runner | None = None
        self.has_run = False
        # What it waits for before it can begin; views are notified of changes.
        self.waiting_for = ""
        self.on_wait: Callable[[], None] = lambda: None
        self._cancelling = threading.Event()
        # Held where a job that is cancelled and one that begins to run, or ends, could miss each other.
        self.lock = threading.Lock()

    @property
    def is_cancelling(self) -> bool:
        """Whether the job was asked to end."""
        return self._cancelling.is_set()

    @property
    def statistics(self) -> JobStatistics | None:
        """What the latest attempt has counted, once there is one."""
        return self._coordinator.statistics if self._coordinator is not None else None

    @property
    def hosts(self) -> dict[int, str]:
        """Where slots are."""
        return self.runner.hosts if self.runner is not None else {}

    def set_log_levels(self, levels: LogLevels) -> None:
        """From which level on functions log, in all slots and in those of later attempts; waits for it."""
        with self.lock:
            self.deployment = replace(self.deployment, log_levels=levels)
            runner = self.runner
        if runner is not None:
            log_from(runner, levels)

    def cancel(self) -> None:
        """Lets no attempt begin; the lock is held."""
        self._cancelling.set()
        self._lifecycle.enter(JobStatus.CANCELLING)

    def give_up(self, thread: threading.Thread) -> None:
        """Ends the attempt that a thread runs: an epoch that is about to end may do so, a long one is given up."""
        coordinator, runner = self._coordinator, self.runner
        if coordinator is None or runner is None:
            return
        coordinator.cancel()
        if thread is not threading.current_thread():
            thread.join(_CANCEL_GRACE_S)
        if thread.is_alive():
            with contextlib.suppress(Exception):  # Spark may be gone, and its epoch with it
                runner.cancel()

    def run(self) -> None:
        """Runs the job, again after failures as long as the restart strategy says so."""
        if self._record is not None and self._record.restored.status is JobStatus.CANCELLING:
            self._cancelling.set()
        with ExitStack() as held:
            try:
                held.enter_context(self._slots())
            except Exception as failure:
                if not self._cancelling.is_set():
                    self._remember(failure)
                raise
            self._run()

    def _slots(self) -> AbstractContextManager[None]:
        """The job's slots, if it shares them with others; they stay its own from attempt to attempt."""
        configured = self._planned.configured
        pool = SlotPool.of(configured)
        if pool is None:
            return contextlib.nullcontext()
        slots, timeout_s = self._planned.plan.slots, request_timeout_s(configured)
        return pool.slots(self._planned.job_id, slots, timeout_s, self._wait_for, self._cancelling.is_set)

    def _wait_for(self, what: str) -> None:
        if what != self.waiting_for:
            if what and not self.waiting_for:
                notice(f"the job waits for {what}")
            self.waiting_for = what
            self.on_wait()

    def _run(self) -> None:
        while True:
            try:
                self.run_once()
                return
            except Exception as failure:
                self._checkpoint_coordinator.end_attempt(to_job_error(failure))
                self.executions.fail(failure)
                if not self._is_restarting_after(failure):
                    raise
                attempt = self._next_attempt(failure)
            with self.lock:
                renewed = self.deployment.credentials.renewed()
                self.deployment = replace(self.deployment, attempt=attempt, credentials=renewed)
            self._lifecycle.enter(JobStatus.CREATED)

    def _next_attempt(self, failure: Exception) -> int:
        if self._record is None:
            return self.deployment.attempt + 1
        try:
            return self._record.advance()
        except (StateError, OSError) as error:
            raise SuspendedError(f"the job cannot be restarted: {error}; it had failed with: {failure}") from error

    def _is_restarting_after(self, failure: Exception) -> bool:
        """Waits as long as the restart strategy says; False when the job is to fail."""
        if isinstance(failure, JobCancelledError):
            self._cancelling.set()
        if self._cancelling.is_set():
            self._lifecycle.enter(JobStatus.CANCELLING)
            return False
        self._lifecycle.enter(JobStatus.FAILING)
        self._remember(failure)
        if isinstance(failure, DamagedCheckpointError):
            self._checkpoint_coordinator.store.discard(failure)
            delay_ms: int | None = 0
        elif not self._may_restart_after(failure):
            return False
        else:
            delay_ms = self._planned.restart.next_delay_ms()
        if delay_ms is None:
            return False
        self._lifecycle.enter(JobStatus.RESTARTING)
        notice(f"restarting the job in {delay_ms} ms after: {_first_line(failure)}")
        return not self._cancelling.wait(delay_ms / 1000)

    def _may_restart_after(self, failure: Exception) -> bool:
        """Whether another attempt could end otherwise: what fails before the job ever ran mostly fails again."""
        has_run = self.has_run or self._planned.is_recovered
        if isinstance(failure, (SparkUnavailableError, StorageUnavailableError)):
            return has_run
        return not isinstance(failure, _FINAL_FAILURES) and (has_run or is_worker_loss(failure))

    def _remember(self, failure: Exception) -> None:
        self._lifecycle.record(self.deployment.attempt, failure)
        if self._record is not None:
            self._record.put_failure(failure)

    def run_once(self) -> None:
        """Runs one attempt."""
        self._raise_if_cancelled()
        start = find_start(self._checkpoint_coordinator, self._commits, self._planned.configured)
        if start is not None:
            self._commits.recover(start)
            if start.is_final or start is self._checkpoint_coordinator.last_savepoint:
                return
            self._restore_from(start)
        self._checkpoint_coordinator.attempt = self.deployment.attempt
        self.executions.begin(self.deployment.attempt)
        with ExitStack() as cleaning:
            spark = session_of(self._planned, self.has_run)
            sources = JobSources(self._create_sources(spark, start))
            cleaning.callback(sources.close)
            probes = cleaning.enter_context(ExitStack())
            self.deployment = probes.enter_context(probed_deployment(self._planned, spark, self.deployment))
            runner, coordinator = self._prepare(spark, sources, start)
            cleaning.callback(runner.close)
            self.executions.enter(ExecutionState.DEPLOYING)
            runner.deploy()
            probes.close()
            self.executions.enter(ExecutionState.INITIALIZING)
            with self.lock:
                self._raise_if_cancelled()
                self._lifecycle.enter(JobStatus.RUNNING)
            self.has_run = True
            coordinator.run()
            self.executions.enter(ExecutionState.FINISHED)

    def _restore_from(self, start: Checkpoint) -> None:
        self.deployment = replace(
            self.deployment,
            restore=start.located(),
            restored_checkpoint_id=start.checkpoint_id,
            state_moves=state_moves(start, self._checkpoint_coordinator.job.operators),
        )
        self._checkpoint_coordinator.note_restored(start)

    def _create_sources(
        self, spark: JobSpark, start: Checkpoint | None, vertices: Collection[int] | None = None
    ) -> list[SourceCoordinator]:
        plan, is_streaming = self._planned.plan, self._planned.mode.is_pipelined
        with ExitStack() as undoing:
            coordinators = []
            for coordinator in JobSources.of_plan(plan, spark, start, is_streaming, vertices):
                coordinators.append(coordinator)
                undoing.callback(coordinator.enumerator.close)
            undoing.pop_all()
        return coordinators

    def _restart_region(self, failure: Exception) -> RegionRestart:
        """How a region begins anew after its failure; raises that when all of the job has to, or must end."""
        store = self._checkpoint_coordinator.store
        is_for_region = not self._cancelling.is_set() and self._may_restart_after(failure)
        if not is_for_region or isinstance(failure, DamagedCheckpointError):
            raise failure
        # Where a checkpoint is damaged, a user may have to decide, and regions must not go back differently far.
        try:
            start = store.latest()
        except StateError:
            raise failure from None
        delay_ms = None if store.losses else self._planned.restart.next_delay_ms()
        if delay_ms is None:
            raise failure
        self._remember(failure)
        attempt = self._next_attempt(failure)
        self.deployment = replace(self.deployment, attempt=attempt, credentials=self.deployment.credentials.renewed())
        self._checkpoint_coordinator.attempt = attempt
        if start is not None:
            self._restore_from(start)
        self._lifecycle.enter(JobStatus.RESTARTING)
        notice(f"restarting a region of the job in {delay_ms} ms after: {_first_line(failure)}")
        return RegionRestart(self.deployment, start, delay_ms)

    def _raise_if_cancelled(self) -> None:
        if self._cancelling.is_set():
            raise JobCancelledError("the job was cancelled")

    def _prepare(self, spark: JobSpark, sources: JobSources, start: Checkpoint | None) -> tuple[Runner, Coordinator]:
        attempt = Attempt(
            self._planned.plan,
            sources,
            self._checkpoint_coordinator,
            self._commits.commit,
            self.results.put,
            self.executions,
            start.epoch if start is not None else 0,
        )
        write_frames = self._frame_writes.run
        restarts = RegionRestarts(
            self._restart_region,
            lambda start, vertices: self._create_sources(spark, start, vertices),
            lambda deployment: probed_deployment(self._planned, spark, deployment),
            lambda: self._lifecycle.enter(JobStatus.RUNNING),
        )
        runner, coordinator = driven_by(
            attempt, spark, self._planned, self.deployment, self._wanted_hosts, write_frames, restarts
        )
        with self.lock:
            self.runner, self._coordinator = runner, coordinator
        return runner, coordinator

    @property
    def _wanted_hosts(self) -> dict[int, str] | None:
        # Where local copies of the state are, it need not be fetched.
        return self.hosts if self.runner is not None and self.deployment.local_folders else None


def _first_line(failure: Exception) -> str:
    return str(to_job_error(failure)).splitlines()[0] if str(failure) else type(failure).__name__
