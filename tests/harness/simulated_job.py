"""Runs the driver's side of a streaming job, all of it real but Spark, against slots that are simulated."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from funke.engine.connectors.discard import DiscardSink
from funke.engine.connectors.source import Batch, Source, Split, SplitEnumerator, SplitReader
from funke.engine.graph.operations import ReadSource, Reduce, WriteSink
from funke.engine.graph.partitioners import Hash
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.attempts import attempt_session, runners
from funke.engine.jobs.control import serve_commands
from funke.engine.jobs.records.recovery import ProgramRun
from funke.engine.jobs.running_job import RunningJob
from funke.engine.jobs.settings import JobSettings
from funke.engine.runtime.pipelined.stream_runner import StreamRunner
from funke.engine.types.job_status import JobStatus
from tests.harness.simulated_slots import run_slots
from tests.unit.graph.sample_graphs import GraphBuilder, first_field

__all__ = ["SimulatedJob", "job_settings", "keyed_graph", "running"]

# Partitions of a topic, say.
_SPLITS_PER_SUBTASK = 2
_LIMIT_S = 600.0


class _Partitions(Source):
    """Every subtask reads some splits that never end."""

    is_bounded = False

    def create_enumerator(self, parallelism: int, restored: Any = None) -> SplitEnumerator:
        return _PartitionEnumerator(parallelism * _SPLITS_PER_SUBTASK)

    def create_reader(self) -> SplitReader:
        return _PartitionReader()


class _PartitionEnumerator(SplitEnumerator):
    is_finished = False

    def __init__(self, count: int) -> None:
        self._left = [Split(f"topic-{number}", 0, is_last=False, is_endless=True) for number in range(count)]

    def poll(self, max_records: int) -> list[Split]:
        splits, self._left = self._left, []
        return splits

    def next_poll_ms(self) -> int:
        return 1000


class _PartitionReader(SplitReader):
    def read(self, split: Split) -> Generator[Batch, None, Any]:
        yield [(key, 1) for key in range(4)], None


def keyed_graph(slots: int, vertices: int) -> StreamGraph:
    """A source, keyed operators and a sink: so many vertices, each with as many subtasks as there are slots."""
    builder = GraphBuilder(slots, default_max_parallelism=max(128, 2 * slots))
    last = builder._add(ReadSource(_Partitions()), "Source: partitions", [])
    for number in range(1, vertices):
        last = builder._add(Reduce(max, first_field), f"Reduce {number}", [last], Hash(first_field))
    builder._add(WriteSink(DiscardSink()), "Sink: nowhere", [last])
    return builder.graph


def job_settings(
    home: str, slots: int, vertices: int, interval: str = "1 h", further: Mapping[str, str] | None = None
) -> JobSettings:
    """Settings of a job with a record, and with buffers for all its channels."""
    channels = slots * vertices
    configuration = {
        **(further or {}),
        "funke.home": home,
        "execution.checkpointing.interval": interval,
        "restart-strategy.type": "none",
        "slotmanager.number-of-slots.max": str(slots),
        "taskmanager.memory.network.min": f"{channels + 64} mb",
        "taskmanager.memory.network.max": f"{channels + 64} mb",
    }
    settings = ProgramRun([sys.executable], os.getcwd()).admit(JobSettings("simulated", configuration))
    assert isinstance(settings, JobSettings)
    return settings


class _NoSpark:
    """What of Spark the driver's side of a streaming job asks for."""

    master = "simulated"
    _funke_is_shipped = True

    def __init__(self, *arguments: Any) -> None:
        self.sparkContext = self
        self._funke_settings = {"spark.driver.host": "127.0.0.1"}

    def broadcast(self, value: Any) -> Any:
        return SimpleNamespace(value=value, unpersist=lambda: None)

    def cancelJobGroup(self, group: str) -> None:
        """Its processes have ended with their connections."""


@dataclass
class SimulatedJob:
    """A job that runs, and what was measured while it started."""

    job: RunningJob
    began: float
    # Until all slots were there, and until all were ready.
    connected_s: float = 0.0
    ready_s: float = 0.0
    sent_bytes: int = 0
    deployment_bytes: int = 0
    # What slots have said since.
    messages: int = 0
    processes: list[Any] = field(default_factory=list)


@contextlib.contextmanager
def running(graph: StreamGraph, settings: JobSettings, processes: int = 1) -> Iterator[SimulatedJob]:
    """A job whose slots are all ready; cancelled at the end."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    simulated: SimulatedJob

    class Runner(StreamRunner):
        """The real one, but for the Spark job that starts the slots."""

        def deploy(self) -> None:
            super().deploy()
            simulated.ready_s = time.monotonic() - simulated.began
            simulated.sent_bytes = sum(each.bytes_sent for each in self._connections.values())

        def receive(self, wait_s: float) -> Iterator[tuple[int, Any]]:
            for each in super().receive(wait_s):
                simulated.messages += 1
                yield each

        def _has_all_slots(self) -> bool:
            is_complete = super()._has_all_slots()
            if is_complete and not simulated.connected_s:
                simulated.connected_s = time.monotonic() - simulated.began
            return is_complete

        def _do_tasks_run(self) -> bool:
            return True

        def _run_spark_job(self) -> None:
            deployment = self._deployment.value
            simulated.deployment_bytes = len(deployment.code)
            starting = multiprocessing.get_context("spawn")
            shares = [self._slots[number::processes] for number in range(processes)]
            simulated.processes = [starting.Process(target=run_slots, args=(share, deployment)) for share in shares]
            for process in simulated.processes:
                process.start()
            for process in simulated.processes:
                process.join()
            self.wake()

    try:
        with patch.object(attempt_session, "JobSpark", _NoSpark), patch.object(runners, "StreamRunner", Runner):
            job = RunningJob(graph, settings)
            assert settings.record is not None
            server = serve_commands(settings.record.record.control_path, job, _LIMIT_S)
            job.closing.append(server.close)
            simulated = SimulatedJob(job, time.monotonic())
            job.start()
            try:
                while job.status() is not JobStatus.RUNNING and not job.result_future.done():
                    time.sleep(0.01)
                if job.result_future.done():
                    job.result()
                yield simulated
            finally:
                with contextlib.suppress(Exception):
                    job.cancel().result(_LIMIT_S)
                for process in simulated.processes:
                    process.join(10)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
