"""The interface of a job, whether this process runs it, another one does, or it has ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from funke.engine.graph.execution_graph import ExecutionVertex
from funke.engine.jobs.checkpoints.savepoints import Afterwards
from funke.engine.jobs.views.flame_graph import FlameGraph, FlameKind
from funke.engine.jobs.views.job_view import ExceptionView, JobView
from funke.engine.runtime.monitoring.thread_dump import ThreadStack
from funke.engine.types.job_status import JobStatus
from funke.engine.types.job_summary import JobSummary

__all__ = ["Job", "SubmittedJob"]


class Job(Protocol):
    """A job as callers see and command it; also served over the control socket."""

    @property
    def job_id(self) -> str:
        """The identity of the job, the same in all its attempts."""

    def status(self) -> JobStatus:
        """Where the job stands."""

    def view(self) -> JobView:
        """All there is to see of it."""

    def flame_graph(self, vertex_id: int, kind: FlameKind = "FULL", subtask: int | None = None) -> FlameGraph:
        """Which functions take the time of a vertex, or of one of its subtasks."""

    def thread_stacks(self) -> dict[int, tuple[ThreadStack, ...]]:
        """What the threads of each slot do."""

    def cancel(self) -> Future[None]:
        """Asks the job to end; the future ends when it has."""

    def savepoint(self, folder: str | None = None, afterwards: Afterwards = "go on") -> Future[str]:
        """Asks for a savepoint, with which the job goes on or ends; the future ends with its path."""

    def checkpoint(self, is_full: bool = False) -> Future[int]:
        """Asks for a checkpoint before the next one is due; the future ends with its number."""

    def set_log_levels(self, default: str, overrides: Mapping[str, str]) -> None:
        """From which level on functions log: all of them, and those of named loggers."""


class SubmittedJob(Job, Protocol):
    """A job in the hands of the program that has submitted it: its results too."""

    @property
    def result_future(self) -> Future[JobSummary]:
        """Ends with the summary of the job, or with the error it failed with."""

    def result(self) -> JobSummary:
        """Waits for the end; raises what made the job fail."""

    def collected(self, name: str) -> Iterator[list[Any]]:
        """The batches sent to a collect sink, until the job ends; then its failure, if there was one."""

    def exceptions(self) -> Sequence[ExceptionView]:
        """The last failures of the job, newest first."""

    def executions(self) -> Sequence[ExecutionVertex]:
        """Every subtask with its attempt and state."""

    def accumulators(self) -> dict[str, Any]:
        """Named values that functions have accumulated."""

    def metrics(self) -> dict[str, Any]:
        """What the job and its operators report, by name; see `metrics_by_name`."""
