"""A submitted job: its thread, its attempts, its commands and its results."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, cast

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
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
from funke.engine.graph.execution_graph import ExecutionState, ExecutionVertex
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.checkpoint_keeper import CheckpointKeeper
from funke.engine.jobs.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoint_store import CheckpointStore
from funke.engine.jobs.checkpoints import Checkpoint, read_checkpoint, verify_files
from funke.engine.jobs.control import serve_commands
from funke.engine.jobs.coordinator import Coordinator
from funke.engine.jobs.epoch_watch import EpochWatch
from funke.engine.jobs.ignored_settings import warn_of_ignored, warn_of_other_session
from funke.engine.jobs.job_code import pack_job
from funke.engine.jobs.job_executions import JobExecutions
from funke.engine.jobs.job_failure import DamagedCheckpointError, is_worker_loss, to_job_error
from funke.engine.jobs.job_lifecycle import ExceptionEntry, JobLifecycle
from funke.engine.jobs.job_metrics import checkpoint_metrics, job_metrics
from funke.engine.jobs.job_sinks import JobCommits, epoch_writers
from funke.engine.jobs.job_sources import JobSources
from funke.engine.jobs.notices import notice
from funke.engine.jobs.recovery import EndedJob, admit_if_asked
from funke.engine.jobs.restart import restart_strategy
from funke.engine.jobs.result_queues import ResultQueues
from funke.engine.jobs.savepoints import Afterwards, SavepointRequest, savepoint_folder
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.slot_limit import require_slots
from funke.engine.jobs.source_feed import SourceFeed
from funke.engine.jobs.start_point import matched_graph, operator_entries
from funke.engine.jobs.stream_coordinator import StreamCoordinator
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.exchange_mode import exchange_mode
from funke.engine.planner.segments import to_plan
from funke.engine.runtime.dependencies import distribute, stage
from funke.engine.runtime.epoch_holders import epoch_holders
from funke.engine.runtime.epoch_runner import EpochRunner
from funke.engine.runtime.fault_points import arm
from funke.engine.runtime.local_copies import remove_copies
from funke.engine.runtime.pipelined.stream_runner import StreamRunner
from funke.engine.runtime.snapshot_files import join_path
from funke.engine.runtime.spark_session import (
    JobSpark,
    is_embedded,
    session_settings,
    spark_session,
    use_storage_settings,
)
from funke.engine.types.job_status import JobStatus
from funke.engine.types.job_summary import JobSummary

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


class _SuspendedError(StateError):
    """This driver cannot go on; another one may."""


class RunningJob:
    """A job that runs in a thread of the driver."""

    def __init__(self, graph: StreamGraph, settings: JobSettings) -> None:
        record = settings.record
        self.job_id = record.job_id if record is not None else secrets.token_hex(16)
        self.settings = settings
        self._record = record
        configured = Settings(settings.configuration)
        use_storage_settings(settings.configuration)
        with ExitStack() as undoing:
            self._plan_job(graph, configured, undoing)
            warn_of_ignored(configured)
            self._restart = restart_strategy(configured, self._keeper.is_periodic)
            undoing.pop_all()
        self._commits = JobCommits(
            self.job_graph, partial(spark_session, settings.configuration), configured.get(options.COMMITTER_RETRIES)
        )
        self._is_recovered = record is not None and record.checkpoint is not None
        first = JobStatus.RECONCILING if self._is_recovered else JobStatus.CREATED
        self._lifecycle = JobLifecycle(first, self._put_status)
        self._executions = JobExecutions(self.job_graph, self._plan)
        self.result_future: Future[JobSummary] = Future()
        # Called when the job has ended.
        self.closing: list[Callable[[], None]] = []
        self._coordinator: Coordinator | StreamCoordinator | None = None
        self._runner: EpochRunner | StreamRunner | None = None
        self._cancelling = threading.Event()
        if record is not None and record.restored.status is JobStatus.CANCELLING:
            self._cancelling.set()
        self._has_run = False
        self._results = ResultQueues()
        self._has_ended = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"funke-job-{self.job_id[:8]}", daemon=True)

    def _plan_job(self, graph: StreamGraph, configured: Settings, undoing: ExitStack) -> None:
        settings = self.settings
        self.job_graph = to_job_graph(graph)
        self._keeper = self._create_keeper(configured)
        undoing.callback(self._keeper.remove_temporary)
        start = self._start_point(configured)
        if start is not None:
            is_unclaimed_allowed = configured.get(options.IGNORE_UNCLAIMED_STATE)
            self.job_graph = matched_graph(self.job_graph, graph, start, is_unclaimed_allowed)
        self._keeper.operators = operator_entries(self.job_graph)
        self._plan = to_plan(self.job_graph)
        self._mode = exchange_mode(self.job_graph, configured.get(options.EXCHANGE))
        self._dependencies = stage(
            settings.python_files, settings.python_archives, settings.python_requirements, settings.cached_files
        )
        undoing.callback(self._dependencies.remove)
        self._package = pack_job(self.job_id, settings, self._plan, self._dependencies, self._keeper)

    def _create_keeper(self, configured: Settings) -> CheckpointKeeper:
        own_folder = join_path(self._record.record.folder, "checkpoints") if self._record is not None else None
        settings = CheckpointSettings.of(configured, own_folder)
        if self.job_graph.is_batch:
            settings = replace(settings, interval_ms=None)
        store = CheckpointStore(join_path(settings.folder, self.job_id), settings.retained)
        if self._record is not None and self._record.checkpoint is not None:
            store.find(self._record.checkpoint)
        if settings.interval_ms is not None:
            store.make_folders()
        keeper = CheckpointKeeper(self.job_id, settings, store, guard=self._record)
        if self._record is not None and self._record.checkpoint is not None and self._record.is_stopped:
            keeper.last_savepoint = read_checkpoint(self._record.checkpoint)
        return keeper

    def _start_point(self, configured: Settings) -> Checkpoint | None:
        """What the job begins with: its own last checkpoint, if another driver has run it, or what the user names."""
        path = configured.get(options.STATE_RECOVERY_PATH)
        if path and not self._keeper.store.completed:
            self._keeper.store.origin = read_checkpoint(path)
            verify_files(self._keeper.store.origin)
            self._keeper.store.is_origin_claimed = configured.get(options.STATE_CLAIM_MODE) == "CLAIM"
        return self._keeper.store.latest()

    def start(self) -> RunningJob:
        """Starts the job."""
        arm(self._package.fault)
        self._thread.start()
        return self

    def _run(self) -> None:
        started = time.monotonic()
        try:
            with ExitStack() as cleaning:
                cleaning.callback(self._dependencies.remove)
                self._run_attempts()
            runtime_ms = int((time.monotonic() - started) * 1000)
            summary = JobSummary(self.job_id, runtime_ms, self.accumulators(), self.metrics())
        except BaseException as failure:
            self._end(self._final_status(failure), failure)
        else:
            self._end(JobStatus.FINISHED, summary)

    def abandon(self, failure: BaseException) -> None:
        """The job could not be started; one that has run before may be tried again."""
        self._dependencies.remove()
        self._end(JobStatus.SUSPENDED if self._is_recovered else JobStatus.FAILED, failure)

    def _final_status(self, failure: BaseException) -> JobStatus:
        if isinstance(failure, (LeaseLostError, _SuspendedError)):
            return JobStatus.SUSPENDED
        return JobStatus.CANCELED if self._cancelling.is_set() else JobStatus.FAILED

    def _run_attempts(self) -> None:
        """Runs the job, again after failures as long as the restart strategy says so."""
        while True:
            try:
                self._run_attempt()
                return
            except Exception as failure:
                self._keeper.end_attempt(to_job_error(failure))
                self._executions.fail(failure)
                if not self._is_restarting_after(failure):
                    raise
                attempt = self._next_attempt(failure)
            self._package = replace(self._package, attempt=attempt, secret=secrets.token_bytes(32))
            self._lifecycle.enter(JobStatus.CREATED)

    def _next_attempt(self, failure: Exception) -> int:
        if self._record is None:
            return self._package.attempt + 1
        try:
            return self._record.advance()
        except (StateError, OSError) as error:
            raise _SuspendedError(f"the job cannot be restarted: {error}; it had failed with: {failure}") from error

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
            self._keeper.store.discard(failure)
            delay_ms: int | None = 0
        elif not self._may_restart_after(failure):
            return False
        else:
            delay_ms = self._restart.next_delay_ms()
        if delay_ms is None:
            return False
        self._lifecycle.enter(JobStatus.RESTARTING)
        first_line = str(to_job_error(failure)).splitlines()[0] if str(failure) else type(failure).__name__
        notice(f"restarting the job in {delay_ms} ms after: {first_line}")
        return not self._cancelling.wait(delay_ms / 1000)

    def _may_restart_after(self, failure: Exception) -> bool:
        """Whether another attempt could end otherwise: what fails before the job ever ran mostly fails again."""
        has_run = self._has_run or self._is_recovered
        if isinstance(failure, (SparkUnavailableError, StorageUnavailableError)):
            return has_run
        return not isinstance(failure, _FINAL_FAILURES) and (has_run or is_worker_loss(failure))

    def _remember(self, failure: Exception) -> None:
        self._lifecycle.record(self._package.attempt, failure)
        if self._record is not None:
            self._record.put_failure(failure)

    def _end(self, status: JobStatus, result: JobSummary | BaseException) -> None:
        """Whatever goes wrong here too: the lease is given back, and everybody who waits hears of the job's end."""
        with self._lock:
            try:
                self._enter_last(status)
            except Exception as error:
                # What the record does not say has not happened for whoever reads it: they may go on with the job.
                status, result = JobStatus.SUSPENDED, _ended_by(error, result)
                self._enter_last(status)
            self._has_ended = True
        _do_all(
            self._keeper.answer_requests,
            # After the status: a driver that dies in between must not look for what is gone.
            partial(self._remove_unneeded, status),
            self._record.release if self._record is not None else None,
            # Before the result: whoever waits for it may end the process.
            *self.closing,
            partial(self._set_result, status, result),
            self._results.end,
        )

    def _remove_unneeded(self, status: JobStatus) -> None:
        if status is not JobStatus.SUSPENDED:
            self._keeper.remove_unneeded(status is JobStatus.CANCELED, status is JobStatus.FAILED)
            remove_copies(self._package.local_folders, self.job_id, self._plan.slots)

    def _set_result(self, status: JobStatus, result: JobSummary | BaseException) -> None:
        if isinstance(result, JobSummary):
            self.result_future.set_result(result)
        elif status is JobStatus.CANCELED:
            self.result_future.set_exception(JobCancelledError("the job was cancelled"))
        else:
            self.result_future.set_exception(to_job_error(result))

    def _enter_last(self, status: JobStatus) -> None:
        before = {JobStatus.CANCELED: JobStatus.CANCELLING, JobStatus.FAILED: JobStatus.FAILING}.get(status)
        if before is not None:
            self._lifecycle.enter(before)
        self._lifecycle.enter(status)

    def _put_status(self, status: JobStatus) -> None:
        """Writes down how the job stands; that it has ended must be written, the rest is for those who look."""
        try:
            if self._record is not None:
                self._record.put_status(status)
        except (StateError, OSError) as error:
            if status.is_globally_terminal_state():
                raise StateError(str(error)) from error
            notice(f"warning: {error}")

    def _run_attempt(self) -> None:
        self._raise_if_cancelled()
        start = self._keeper.last_savepoint or self._keeper.store.latest()
        if start is not None:
            self._commits.recover(start)
            if start.is_final or start is self._keeper.last_savepoint:
                return
            self._package = replace(self._package, restore=start.located(), restored_checkpoint_id=start.checkpoint_id)
        self._keeper.attempt = self._package.attempt
        self._executions.begin(self._package.attempt)
        with ExitStack() as cleaning:
            spark = JobSpark(self.settings.configuration)
            self._check_against(spark)
            distribute(spark, self._dependencies, self.settings.jars)
            feeds: list[SourceFeed] = []
            for feed in JobSources.of_plan(self._plan, spark, start):
                feeds.append(feed)
                cleaning.callback(feed.enumerator.close)
            runner, coordinator = self._prepare(spark, JobSources(feeds), start)
            cleaning.callback(runner.close)
            self._executions.enter(ExecutionState.DEPLOYING)
            runner.deploy()
            self._executions.enter(ExecutionState.INITIALIZING)
            with self._lock:
                self._raise_if_cancelled()
                self._lifecycle.enter(JobStatus.RUNNING)
            self._has_run = True
            coordinator.run()
            self._executions.enter(ExecutionState.FINISHED)

    def _check_against(self, spark: JobSpark) -> None:
        """What the job asks for, and what Spark's session allows."""
        configured = Settings(self.settings.configuration)
        require_slots(self._plan.slots, configured, is_embedded(spark))
        if not self._has_run:
            warn_of_other_session(configured, session_settings(spark))

    def _raise_if_cancelled(self) -> None:
        if self._cancelling.is_set():
            raise JobCancelledError("the job was cancelled")

    def _prepare(
        self, spark: JobSpark, sources: JobSources, start: Checkpoint | None
    ) -> tuple[EpochRunner | StreamRunner, Coordinator | StreamCoordinator]:
        prepare = self._prepare_stream if self._mode.is_pipelined else self._prepare_epochs
        runner, coordinator = prepare(spark, sources, start)
        with self._lock:
            self._runner, self._coordinator = runner, coordinator
        return runner, coordinator

    def _prepare_stream(
        self, spark: JobSpark, sources: JobSources, start: Checkpoint | None
    ) -> tuple[StreamRunner, StreamCoordinator]:
        hosts = self._runner.hosts if self._runner is not None and self._package.local_folders else None
        runner = StreamRunner(spark, self._plan, self._package, hosts)
        coordinator = StreamCoordinator(
            runner,
            sources,
            self._keeper,
            self._commits.commit,
            self._results.put,
            self._executions,
            self._plan.slots,
        )
        coordinator.figures.epochs = start.epoch if start is not None else 0
        return runner, coordinator

    def _prepare_epochs(
        self, spark: JobSpark, sources: JobSources, start: Checkpoint | None
    ) -> tuple[EpochRunner, Coordinator]:
        # Where local copies of the state are, it need not be fetched.
        hosts = self._runner.hosts if self._runner is not None and self._package.local_folders else None
        runner = EpochRunner(spark, self._plan, self._package, hosts)
        holders = partial(epoch_holders, spark, self._plan, self._package.key)
        coordinator = Coordinator(
            runner,
            {segment.id: segment.level for segment in self._plan.segments},
            sources,
            self._commits.commit,
            epoch_writers(self.job_graph, spark),
            self._results.put,
            self.settings.buffer_timeout_ms,
            self._keeper,
            self._plan.slots,
            self._executions,
            EpochWatch(partial(self._keeper.expire, holders), runner.cancel, self._keeper.settings.timeout_ms),
            start.epoch if start is not None else 0,
        )
        return runner, coordinator

    def status(self) -> JobStatus:
        """Where the job stands."""
        return self._lifecycle.status

    def status_history(self) -> list[tuple[JobStatus, int]]:
        """Every status the job has had, with the time in milliseconds at which it was entered."""
        return list(self._lifecycle.history)

    def exceptions(self) -> list[ExceptionEntry]:
        """The last failures of the job, newest first."""
        return self._lifecycle.exceptions

    def executions(self) -> list[ExecutionVertex]:
        """Every subtask with its attempt and state."""
        return self._executions.current

    def prior_executions(self, vertex_id: int, subtask: int) -> list[ExecutionVertex]:
        """The runs of a subtask in earlier attempts, oldest first."""
        return self._executions.prior(vertex_id, subtask)

    def savepoint(self, folder: str | None = None, afterwards: Afterwards = "go on") -> Future[str]:
        """Asks for a savepoint; the future ends with its path, and the job goes on or ends as `afterwards` says."""
        if self._plan.is_batch:
            raise StateError("a job in batch mode has no savepoints: it starts anew after a failure")
        target = savepoint_folder(self.job_id, folder, self._keeper.settings.savepoint_folder)
        return self._keeper.requests.ask(SavepointRequest(target, afterwards))

    @property
    def savepoint_limit_s(self) -> float:
        """After how long a savepoint has failed: so long it may wait to be begun, and as long again to be complete."""
        return 2 * self._keeper.settings.timeout_ms / 1000

    def checkpoints(self) -> dict[str, Any]:
        """How many checkpoints were completed, have failed and are under way; and what was wrong with the last one."""
        figures = self._keeper.figures
        numbers = {
            "completed": figures.completed,
            "failed": figures.failed,
            "in progress": int(self._keeper.has_pending),
        }
        return {**numbers, "last failure": figures.last_failure}

    def cancel(self) -> Future[None]:
        """Cancels the job; the future ends when nothing of it is left."""
        with self._lock:
            has_ended, coordinator, runner = self._has_ended, self._coordinator, self._runner
            if not has_ended:
                self._cancelling.set()
                self._lifecycle.enter(JobStatus.CANCELLING)
        if not has_ended and coordinator is not None and runner is not None:
            coordinator.cancel()
            # An epoch that is about to end may do so; a long one is given up.
            if self._thread is not threading.current_thread():
                self._thread.join(_CANCEL_GRACE_S)
            if self._thread.is_alive():
                with contextlib.suppress(Exception):  # Spark may be gone, and its epoch with it
                    runner.cancel()
        stopped: Future[None] = Future()
        self.result_future.add_done_callback(lambda _: stopped.set_result(None))
        return stopped

    def result(self) -> JobSummary:
        """Waits for the end; raises what made the job fail."""
        return self.result_future.result()

    def collected(self, name: str) -> Iterator[list[Any]]:
        """The batches sent to a collect sink, until the job ends; then its failure, if there was one."""
        yield from self._results.batches(name)
        if self._lifecycle.status in (JobStatus.FAILED, JobStatus.SUSPENDED):
            self.result()

    def accumulators(self) -> dict[str, Any]:
        """Named values that functions have accumulated (Python functions have none but their metrics)."""
        return {}

    def metrics(self) -> dict[str, Any]:
        """What the job and its operators report; see `job_metrics`."""
        coordinator = self._coordinator
        if coordinator is None:
            return {}
        restarts = sum(status is JobStatus.RESTARTING for status, _ in self._lifecycle.history)
        measured = job_metrics(coordinator.figures, self._plan)
        return {**measured, **checkpoint_metrics(self._keeper), "numRestarts": restarts}


def submit_job(graph: StreamGraph, settings: JobSettings) -> RunningJob:
    """Plans a job and starts it, unless a driver before this one has seen it to its end."""
    admitted = admit_if_asked(settings)
    if isinstance(admitted, EndedJob):
        return cast(RunningJob, admitted)  # it offers what callers use of a job
    record = admitted.record
    try:
        job = RunningJob(graph, admitted)
    except BaseException as failure:
        if record is not None:
            record.give_up(failure)
        raise
    try:
        if record is not None:
            job.closing.append(serve_commands(record.record.control_path, job).close)
        return job.start()
    except BaseException as failure:
        job.abandon(failure)
        raise


def _ended_by(error: Exception, result: JobSummary | BaseException) -> Exception:
    """What a job ends with whose end could not be written down; the failure it had before is told too."""
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
