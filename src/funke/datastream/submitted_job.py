"""A running job as job clients see it: futures around the engine's blocking calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from funke.engine.types.job_status import JobStatus
from funke.engine.types.job_summary import JobSummary

if TYPE_CHECKING:
    from funke.engine.jobs import RunningJob

__all__ = ["SubmittedJob", "to_summary"]

T = TypeVar("T")


class SubmittedJob:
    """The handle behind a :class:`~funke.common.job_client.JobClient`."""

    def __init__(self, job: RunningJob) -> None:
        self._job = job

    @property
    def job_id(self) -> str:
        """The identity of the job."""
        return self._job.job_id

    @cached_property
    def result_future(self) -> Future[JobSummary]:
        """Ends with the summary of the job, or with the error it failed with."""
        return _in_background(lambda: to_summary(self._job))

    def status(self) -> JobStatus:
        """Return the current state."""
        return JobStatus[self._job.status()]

    def cancel(self) -> Future[None]:
        """Ask the job to stop; the future ends when it has stopped."""
        return _in_background(self._job.cancel)

    def accumulators(self) -> dict[str, Any]:
        """Return the current values of the accumulators."""
        return dict(self._job.accumulators())

    def metrics(self) -> dict[str, Any]:
        """Return the current metrics."""
        return self._job.metrics()


def to_summary(job: RunningJob) -> JobSummary:
    """Wait for the end of a job; raises the error it failed with."""
    outcome = job.result()
    return JobSummary(job.job_id, outcome.net_runtime_ms, dict(outcome.accumulators), dict(outcome.metrics))


def _in_background(action: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = action()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="funke-job-client", daemon=True).start()
    return future
