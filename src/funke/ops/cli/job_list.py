"""Keeps the jobs that a program has started, to wait for them or cancel them when the program ends."""

from __future__ import annotations

from concurrent.futures import wait
from typing import TYPE_CHECKING

from funke.datastream.job_submission import submit_to_engine as submit_job
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.graph.operations import WriteSink
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.records.recorded_job import EndedJob
from funke.engine.jobs.records.recovery import ProgramRun
from funke.engine.jobs.settings import JobSettings

if TYPE_CHECKING:
    from funke.engine.jobs.job import SubmittedJob

__all__ = ["JobList"]

_CANCEL_TIMEOUT_S = 30


class JobList:
    """A submitter that remembers its jobs."""

    def __init__(self, program_run: ProgramRun) -> None:
        self._program_run = program_run
        self._jobs: list[tuple[SubmittedJob, bool]] = []

    def __call__(self, graph: StreamGraph, settings: JobSettings) -> SubmittedJob:
        admitted = self._program_run.admit(settings)
        if isinstance(admitted, EndedJob):
            return admitted
        job = submit_job(graph, admitted)
        self._jobs.append((job, _is_collecting(graph)))
        return job

    def wait(self) -> None:
        """Wait for jobs that still run; those whose results are not read any more are cancelled."""
        for job, is_collecting in self._running():
            if is_collecting:
                wait([job.cancel()], _CANCEL_TIMEOUT_S)
            else:
                job.result()

    def cancel(self) -> None:
        """Cancel all jobs that still run."""
        wait([job.cancel() for job, _ in self._running()], _CANCEL_TIMEOUT_S)

    def _running(self) -> list[tuple[SubmittedJob, bool]]:
        return [(job, is_collecting) for job, is_collecting in self._jobs if not job.result_future.done()]


def _is_collecting(graph: StreamGraph) -> bool:
    sinks = [node.operation.sink for node in graph.nodes.values() if isinstance(node.operation, WriteSink)]
    return any(isinstance(sink, CollectSink) for sink in sinks)
