"""Stands in for the engine: takes jobs, and ends them at once with results that a test chose."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from funke.engine.errors import JobExecutionError
from funke.engine.graph.operations import WriteSink
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.settings import JobSettings
from funke.engine.types.job_status import JobStatus
from funke.engine.types.job_summary import JobSummary


class FakeJob:
    """A job that has ended when it begins, unless it is told to run on."""

    job_id = "0" * 32

    def __init__(self, elements: list[Any], failure: Exception | None, runs_on: bool = False) -> None:
        self._elements = elements
        self.is_cancelled = False
        self._failure = failure
        self.result_future: Future[JobSummary] = Future()
        if not runs_on:
            self.end()

    def end(self) -> None:
        if self._failure is None:
            self.result_future.set_result(JobSummary(self.job_id, 42))
        else:
            self.result_future.set_exception(self._failure)

    def status(self) -> JobStatus:
        return JobStatus.FINISHED

    def cancel(self) -> Future[None]:
        self.is_cancelled = True
        if not self.result_future.done():
            self.end()
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def result(self) -> JobSummary:
        return self.result_future.result()

    def collected(self, name: str) -> Iterator[list[Any]]:
        yield self._elements[:1]
        yield self._elements[1:]

    def accumulators(self) -> dict[str, Any]:
        return {}

    def metrics(self) -> dict[str, Any]:
        return {}


class FakeEngine:
    """A submitter that keeps what it was given."""

    def __init__(self, elements: list[Any] | None = None, failure: JobExecutionError | None = None) -> None:
        self.elements = elements or []
        self.failure = failure
        self.runs_on = False
        self.graphs: list[StreamGraph] = []
        self.settings: list[JobSettings] = []
        self.jobs: list[FakeJob] = []

    def __call__(self, graph: StreamGraph, settings: JobSettings) -> Any:
        self.graphs.append(graph)
        self.settings.append(settings)
        self.jobs.append(FakeJob(self.elements, self.failure, self.runs_on))
        return self.jobs[-1]

    def titles(self, number: int = -1) -> list[str]:
        """The nodes of a job."""
        return [node.title for node in self.graphs[number].nodes.values()]

    def sinks(self, number: int = -1) -> list[Any]:
        """The sinks of a job."""
        nodes = self.graphs[number].nodes.values()
        return [node.operation.sink for node in nodes if isinstance(node.operation, WriteSink)]
