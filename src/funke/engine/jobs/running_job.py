"""A submitted job: its thread, its status by Flink's state machine, and its results."""

from __future__ import annotations

import queue
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from funke.engine.connectors.sink import Committer
from funke.engine.errors import FunkeError, JobCancelledError, JobExecutionError, SerializationError
from funke.engine.graph.job_graph import ChainedOperator, JobGraph
from funke.engine.graph.operations import ReadSource, WriteSink
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.coordinator import Coordinator
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.source_feed import SourceFeed
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.segments import Plan, to_plan
from funke.engine.runtime.epoch_runner import EpochRunner
from funke.engine.runtime.spark_session import spark_session
from funke.engine.runtime.worker_setup import JobPackage, pack_code


@dataclass(frozen=True)
class JobOutcome:
    """What remains of a finished job."""

    net_runtime_ms: int
    accumulators: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)


_END = object()


class RunningJob:
    """A job that runs in a thread of the driver."""

    def __init__(self, graph: StreamGraph, settings: JobSettings) -> None:
        self.job_id = secrets.token_hex(16)
        self.settings = settings
        self.job_graph = to_job_graph(graph)
        self._plan = to_plan(self.job_graph)
        self._sources = _sources(self._plan)
        self._package = self._pack()
        self._status = "CREATED"
        self._failure: BaseException | None = None
        self._outcome: JobOutcome | None = None
        self._coordinator: Coordinator | None = None
        self._runner: EpochRunner | None = None
        self._is_cancel_requested = False
        self._collected: dict[str, queue.Queue[Any]] = {}
        self._ended = threading.Event()
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
            python_paths=tuple(path for path in dict.fromkeys((*settings.python_files, *sys.path)) if path),
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
            self._run_attempt()
            self._status = "FINISHED"
        except JobCancelledError as cancelled:
            self._status, self._failure = "CANCELED", cancelled
        except BaseException as failure:
            self._status = "CANCELED" if self._is_cancel_requested else "FAILED"
            self._failure = failure
        finally:
            self._outcome = JobOutcome(int((time.monotonic() - started) * 1000), self.accumulators(), self.metrics())
            self._ended.set()
            with self._lock:
                for waiting in self._collected.values():
                    waiting.put(_END)

    def _run_attempt(self) -> None:
        spark = spark_session(self.settings.configuration)
        feeds = [self._feed(segment_id) for segment_id in self._sources]
        with self._lock:
            self._runner = EpochRunner(spark, self._plan, self._package)
            self._coordinator = Coordinator(
                self._runner, feeds, _committers(self.job_graph), self._on_message, self.settings.buffer_timeout_ms
            )
        try:
            self._runner.deploy()
            self._status = "RUNNING"
            self._coordinator.run()
        finally:
            self._runner.close()

    def _feed(self, segment_id: int) -> SourceFeed:
        segment = self._plan.by_id[segment_id]
        operation = segment.operators[0].operation
        assert isinstance(operation, ReadSource)
        enumerator = operation.source.create_enumerator(segment.parallelism)
        return SourceFeed(segment, operation.source, enumerator, operation.watermarks)

    def _on_message(self, channel: str, payload: Any) -> None:
        kind, _, name = channel.partition(":")
        if kind == "collect":
            self._queue(name).put(payload)

    def _queue(self, name: str) -> queue.Queue[Any]:
        with self._lock:
            if name not in self._collected:
                self._collected[name] = queue.Queue()
                if self._ended.is_set():
                    self._collected[name].put(_END)
            return self._collected[name]

    def status(self) -> str:
        """The name of the job's status (JobStatus)."""
        return self._status

    def cancel(self) -> None:
        """Cancels the job and waits until nothing of it is left."""
        self._is_cancel_requested = True
        with self._lock:
            coordinator, runner = self._coordinator, self._runner
        if not self._ended.is_set():
            self._status = "CANCELLING"
        if coordinator is not None and runner is not None and not self._ended.is_set():
            coordinator.cancel()
            runner.cancel()
        self._ended.wait(30)

    def result(self) -> JobOutcome:
        """Waits for the end; raises what made the job fail."""
        while not self._ended.wait(0.1):  # in steps, so that Ctrl-C gets through
            pass
        if self._failure is not None:
            if isinstance(self._failure, FunkeError):
                raise self._failure
            raise JobExecutionError(f"{type(self._failure).__name__}: {self._failure}") from self._failure
        assert self._outcome is not None
        return self._outcome

    def collected(self, name: str) -> Iterator[list[Any]]:
        """The batches sent to a collect sink, until the job ends; then its failure, if there was one."""
        waiting = self._queue(name)
        while (batch := waiting.get()) is not _END:
            yield batch
        if self._failure is not None and not isinstance(self._failure, JobCancelledError):
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
        }
        names = {op.node_id: op.name for segment in self._plan.segments for op in segment.operators}
        for (_, subtask), report in (*figures.ingests.items(), *figures.subtasks.items()):
            for node_id, measured in report.metrics.items():
                for metric, value in measured.items():
                    values[f"{names[node_id]}.{subtask}.{metric}"] = value
        return values


def submit_job(graph: StreamGraph, settings: JobSettings) -> RunningJob:
    """Plans a job and starts it."""
    return RunningJob(graph, settings).start()


def _sources(plan: Plan) -> list[int]:
    return [segment.id for segment in plan.segments if segment.is_ingest]


def _portable(plan: Plan) -> Plan:
    """The plan as workers get it: readers in place of sources, which stay in the driver."""
    segments = tuple(
        replace(segment, operators=tuple(_portable_operator(op) for op in segment.operators))
        for segment in plan.segments
    )
    return Plan(segments, plan.exchanges, plan.slots, plan.is_batch)


def _portable_operator(operator: ChainedOperator) -> ChainedOperator:
    if isinstance(operator.operation, ReadSource):
        reader = operator.operation.source.create_reader()
        return replace(operator, operation=ReadSource(reader, operator.operation.watermarks))
    return operator


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


def _committers(graph: JobGraph) -> dict[str, Committer]:
    committers: dict[str, Committer] = {}
    for vertex in graph.vertices:
        for operator in vertex.operators:
            if isinstance(operator.operation, WriteSink):
                committer = operator.operation.sink.create_committer()
                if committer is not None:
                    committers[operator.operator_id] = committer
    return committers

