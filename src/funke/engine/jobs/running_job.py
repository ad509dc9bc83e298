"""A submitted job: its thread, its status by Flink's state machine, and its results."""

from __future__ import annotations

import queue
import secrets
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from funke.engine.config.settings import Settings
from funke.engine.connectors.spark.sink import SparkSink
from funke.engine.errors import (
    ConfigurationError,
    GraphError,
    JobCancelledError,
    SerializationError,
    UnsupportedFeatureError,
)
from funke.engine.graph.job_graph import ChainedOperator, JobGraph
from funke.engine.graph.operations import Operation, ReadSource, WriteSink
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.checkpoints import Checkpoint, CheckpointKeeper
from funke.engine.jobs.coordinator import Commit, Coordinator, EpochWriter
from funke.engine.jobs.ignored_settings import warn_of_ignored
from funke.engine.jobs.job_failure import named, to_job_error
from funke.engine.jobs.restart import restart_strategy
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.source_feed import SourceFeed
from funke.engine.jobs.spark_feed import SparkFeed
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.segments import Plan, to_plan
from funke.engine.runtime.dependencies import distribute, stage
from funke.engine.runtime.epoch_runner import EpochRunner
from funke.engine.runtime.spark_input import SparkBatchEnumerator, SparkStreamEnumerator
from funke.engine.runtime.spark_session import spark_session
from funke.engine.runtime.worker_setup import JobPackage, pack_code
from funke.engine.types.job_status import JobStatus
from funke.engine.types.job_summary import JobSummary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_END = object()
_CANCEL_GRACE_S = 1.0
# Trying again would end the same way.
_FINAL_FAILURES = (ConfigurationError, GraphError, SerializationError, UnsupportedFeatureError, JobCancelledError)


class RunningJob:
    """A job that runs in a thread of the driver."""

    def __init__(self, graph: StreamGraph, settings: JobSettings) -> None:
        self.job_id = secrets.token_hex(16)
        self.settings = settings
        self.job_graph = to_job_graph(graph)
        self._plan = to_plan(self.job_graph, functions_need_slots=_has_own_files(settings))
        self._sources = _sources(self._plan)
        self._dependencies = stage(settings.python_files, settings.python_archives, settings.python_requirements)
        try:
            self._package = self._pack()
        except BaseException:
            self._dependencies.remove()
            raise
        self._status = JobStatus.CREATED
        self.result_future: Future[JobSummary] = Future()
        self._coordinator: Coordinator | None = None
        self._runner: EpochRunner | None = None
        self._cancelling = threading.Event()
        self._has_run = False
        self.failures: list[Exception] = []
        configured = Settings(settings.configuration)
        self._keeper = None if self._plan.is_batch else CheckpointKeeper.from_settings(self.job_id, configured)
        warn_of_ignored(configured)
        self._restart = restart_strategy(configured, self._keeper is not None)
        self._collected: dict[str, queue.Queue[Any]] = {}
        self._has_ended = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"funke-job-{self.job_id[:8]}", daemon=True)

    def _pack(self) -> JobPackage:
        settings = self.settings
        return JobPackage(
            job_id=self.job_id,
            job_name=settings.job_name,
            attempt=0,
            secret=secrets.token_bytes(32),
            code=_pack_code(_portable(self._plan)),
            startup=settings.startup,
            python_paths=tuple(path for path in dict.fromkeys((*self._dependencies.python_paths, *sys.path)) if path),
            archives=self._dependencies.archives,
            python_executable=settings.python_executable,
            job_parameters=tuple(settings.job_parameters.items()),
            auto_watermark_interval_ms=settings.auto_watermark_interval_ms,
            is_batch=self._plan.is_batch,
        )

    def start(self) -> RunningJob:
        """Starts the job."""
        self._thread.start()
        return self

    def _run(self) -> None:
        started = time.monotonic()
        try:
            with ExitStack() as cleaning:
                cleaning.callback(self._dependencies.remove)
                self._run_attempts()
        except BaseException as failure:
            self._end(JobStatus.CANCELED if self._cancelling.is_set() else JobStatus.FAILED, failure)
        else:
            runtime_ms = int((time.monotonic() - started) * 1000)
            self._end(JobStatus.FINISHED, JobSummary(self.job_id, runtime_ms, self.accumulators(), self.metrics()))

    def _run_attempts(self) -> None:
        """Runs the job, again after failures as long as the restart strategy says so."""
        while True:
            try:
                self._run_attempt()
                return
            except Exception as failure:
                self.failures.append(failure)
                if not self._is_restarting_after(failure):
                    raise
            latest = self._latest_checkpoint
            self._package = replace(
                self._package,
                attempt=self._package.attempt + 1,
                secret=secrets.token_bytes(32),
                restore=latest.snapshots if latest is not None else (),
            )

    def _is_restarting_after(self, failure: Exception) -> bool:
        """Waits as long as the restart strategy says; False when the job is to fail."""
        if self._cancelling.is_set() or isinstance(failure, _FINAL_FAILURES) or not self._has_run:
            return False
        delay_ms = self._restart.next_delay_ms()
        if delay_ms is None:
            return False
        with self._lock:
            self._status = JobStatus.RESTARTING
        first_line = str(failure).splitlines()[0] if str(failure) else type(failure).__name__
        sys.stderr.write(f"restarting the job in {delay_ms} ms after: {first_line}\n")
        return not self._cancelling.wait(delay_ms / 1000)

    def _end(self, status: JobStatus, result: JobSummary | BaseException) -> None:
        if self._keeper is not None:
            self._keeper.end(status is JobStatus.CANCELED, status is JobStatus.FAILED)
        with self._lock:
            self._status = status
            self._has_ended = True
            collecting = list(self._collected.values())
        if isinstance(result, JobSummary):
            self.result_future.set_result(result)
        elif status is JobStatus.CANCELED:
            self.result_future.set_exception(JobCancelledError("the job was cancelled"))
        else:
            self.result_future.set_exception(to_job_error(result))
        for waiting in collecting:
            waiting.put(_END)

    def _run_attempt(self) -> None:
        with ExitStack() as cleaning:
            if self._has_only_to_commit():
                return
            spark = spark_session(self.settings.configuration)
            distribute(spark, self._dependencies, self.settings.jars)
            feeds = []
            for segment_id in self._sources:
                feeds.append(self._feed(segment_id, spark))
                cleaning.callback(feeds[-1].enumerator.close)
            runner, coordinator = self._prepare(spark, feeds)
            cleaning.callback(runner.close)
            runner.deploy()
            with self._lock:
                if self._cancelling.is_set():
                    raise JobCancelledError("the job was cancelled")
                self._status = JobStatus.RUNNING
            self._has_run = True
            coordinator.run()

    @property
    def _latest_checkpoint(self) -> Checkpoint | None:
        return self._keeper.latest if self._keeper is not None else None

    def _has_only_to_commit(self) -> bool:
        """Commits again what the last checkpoint had prepared; True if that was all the job had left to do."""
        latest = self._latest_checkpoint
        if latest is None:
            return False
        commits = _commits(self.job_graph)
        for operator_id, items in latest.committables.items():
            commits[operator_id](items)
        return latest.is_final

    def _prepare(self, spark: SparkSession, feeds: list[SourceFeed]) -> tuple[EpochRunner, Coordinator]:
        runner = EpochRunner(spark, self._plan, self._package)
        coordinator = Coordinator(
            runner,
            {segment.id: segment.level for segment in self._plan.segments},
            feeds,
            _commits(self.job_graph),
            _epoch_writers(self.job_graph, spark),
            self._on_message,
            self.settings.buffer_timeout_ms,
            self._keeper,
        )
        with self._lock:
            self._runner, self._coordinator = runner, coordinator
        return runner, coordinator

    def _feed(self, segment_id: int, spark: SparkSession) -> SourceFeed:
        segment = self._plan.by_id[segment_id]
        head = segment.operators[0]
        operation = head.operation
        assert isinstance(operation, ReadSource)
        source, watermarks = operation.source, operation.watermarks
        if getattr(source, "is_spark", False):
            enumerate_frames = SparkBatchEnumerator if source.is_bounded else SparkStreamEnumerator
            return SparkFeed(segment, source, named(head, enumerate_frames)(source, spark), watermarks)
        position, unfinished = self._restored_source(head.operator_id)
        enumerator = named(head, source.create_enumerator)(segment.parallelism, position)
        feed = SourceFeed(segment, source, enumerator, watermarks)
        feed.restore_unfinished(unfinished)
        return feed

    def _restored_source(self, operator_id: str) -> tuple[Any, dict[int, Any]]:
        latest = self._latest_checkpoint
        position, unfinished = latest.sources[operator_id] if latest is not None else (None, {})
        return position, unfinished

    def _on_message(self, channel: str, payload: Any) -> None:
        kind, _, name = channel.partition(":")
        if kind == "collect":
            self._queue(name).put(payload)

    def _queue(self, name: str) -> queue.Queue[Any]:
        with self._lock:
            if name not in self._collected:
                self._collected[name] = queue.Queue()
                if self._has_ended:
                    self._collected[name].put(_END)
            return self._collected[name]

    def status(self) -> JobStatus:
        """Where the job stands."""
        return self._status

    def cancel(self) -> Future[None]:
        """Cancels the job; the future ends when nothing of it is left."""
        with self._lock:
            has_ended, coordinator, runner = self._has_ended, self._coordinator, self._runner
            if not has_ended:
                self._cancelling.set()
                self._status = JobStatus.CANCELLING
        if not has_ended and coordinator is not None and runner is not None:
            coordinator.cancel()
            # An epoch that is about to end may do so; a long one is given up.
            if self._thread is not threading.current_thread():
                self._thread.join(_CANCEL_GRACE_S)
            if self._thread.is_alive():
                runner.cancel()
        stopped: Future[None] = Future()
        self.result_future.add_done_callback(lambda _: stopped.set_result(None))
        return stopped

    def result(self) -> JobSummary:
        """Waits for the end; raises what made the job fail."""
        return self.result_future.result()

    def collected(self, name: str) -> Iterator[list[Any]]:
        """The batches sent to a collect sink, until the job ends; then its failure, if there was one."""
        waiting = self._queue(name)
        while (batch := waiting.get()) is not _END:
            yield batch
        if self._status is JobStatus.FAILED:
            self.result()

    def accumulators(self) -> dict[str, Any]:
        """Named values that functions have accumulated (Python functions have none but their metrics)."""
        return {}

    def metrics(self) -> dict[str, Any]:
        """What operators and functions report, by `<operator>.<subtask>.<metric>`."""
        coordinator = self._coordinator
        if coordinator is None:
            return {}
        figures = coordinator.figures
        values: dict[str, Any] = {
            "records_read": figures.records_read,
            "epochs": figures.epochs,
            "watermark": figures.watermark,
            "epoch_ms_median": statistics.median(figures.epoch_ms) if figures.epoch_ms else 0.0,
        }
        names = {op.node_id: op.name for segment in self._plan.segments for op in segment.operators}
        for report in figures.reports():
            for node_id, measured in report.metrics.items():
                for metric, value in measured.items():
                    values[f"{names[node_id]}.{report.subtask}.{metric}"] = value
        return values


def submit_job(graph: StreamGraph, settings: JobSettings) -> RunningJob:
    """Plans a job and starts it."""
    return RunningJob(graph, settings).start()


def _has_own_files(settings: JobSettings) -> bool:
    """Whether functions rely on files of this job alone: Spark's workers serve many jobs, slots only one."""
    files = (settings.python_files, settings.python_archives, settings.python_requirements)
    return any(files) or settings.python_executable is not None


def _sources(plan: Plan) -> list[int]:
    return [segment.id for segment in plan.segments if segment.is_ingest]


def _portable(plan: Plan) -> Plan:
    """The plan as workers get it: readers in place of sources, which stay in the driver."""
    return plan.with_operations(_portable_operation)


def _portable_operation(operator: ChainedOperator) -> Operation:
    if isinstance(operator.operation, ReadSource):
        source = operator.operation.source
        reader = None if getattr(source, "is_spark", False) else source.create_reader()
        return ReadSource(reader, operator.operation.watermarks)
    return operator.operation


def _pack_code(plan: Plan) -> bytes:
    try:
        return pack_code(plan)
    except Exception as error:
        culprit = _unserialisable(plan)
        raise SerializationError(
            f"{culprit} cannot be sent to the workers: {type(error).__name__}: {error}; "
            "create connections, locks and the like in open()"
        ) from error


def _unserialisable(plan: Plan) -> str:
    import cloudpickle

    for segment in plan.segments:
        for operator in segment.operators:
            try:
                cloudpickle.dumps(operator.operation)
            except Exception:
                where = f"\n  in your job: {operator.user_line}" if operator.user_line else ""
                return f"the function of operator '{operator.name}'{where}"
    return "the job"


def _sinks(graph: JobGraph) -> Iterator[tuple[ChainedOperator, Any]]:
    """Operator and sink of every sink of the job."""
    for vertex in graph.vertices:
        for operator in vertex.operators:
            if isinstance(operator.operation, WriteSink):
                yield operator, operator.operation.sink


def _commits(graph: JobGraph) -> dict[str, Commit]:
    found = [(operator, sink.create_committer()) for operator, sink in _sinks(graph)]
    return {op.operator_id: named(op, committer.commit) for op, committer in found if committer is not None}


def _epoch_writers(graph: JobGraph, spark: SparkSession) -> dict[str, EpochWriter]:
    return {
        sink.sink_id: named(operator, partial(sink.write_epoch, spark))
        for operator, sink in _sinks(graph)
        if isinstance(sink, SparkSink)
    }
