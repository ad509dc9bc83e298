"""Watches and commands one running job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from funke.common.completable_future import CompletableFuture
from funke.common.job_execution_result import JobExecutionResult
from funke.common.job_id import JobID
from funke.passed_on_names import pass_on_names

if TYPE_CHECKING:
    from funke.engine.jobs.job import SubmittedJob

__all__ = ["JobClient"]

pass_on_names(__name__)


class JobClient:
    """A client of one job.

    >>> from funke.common import JobClient
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> _ = env.from_collection([1, 2, 3]).filter(lambda number: False).print()
    >>> client: JobClient = env.execute_async("Nothing to print")  # returns at once
    >>> result = client.get_job_execution_result().result()  # waits for the end
    >>> client.get_job_status().result().name, result.get_job_id() == client.get_job_id()
    ('FINISHED', True)
    """

    def __init__(self, job: SubmittedJob) -> None:
        self._job = job

    def get_job_id(self) -> JobID:
        """Return the identity of the job."""
        return JobID(self._job.job_id)

    def get_job_status(self) -> CompletableFuture:
        """Return a future of the :class:`JobStatus`."""
        return CompletableFuture.completed(self._job.status())

    def cancel(self) -> CompletableFuture:
        """Cancel the job; the future ends when it has stopped."""
        return CompletableFuture(self._job.cancel())

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        """Take a savepoint and end the job with it; the future ends with the path of the savepoint.

        With ``advance_to_end_of_event_time`` the maximum watermark is sent before, so that all windows and event-time
        timers fire. That is meant for jobs which will not be continued.
        """
        afterwards: Literal["stop", "drain and stop"] = "drain and stop" if advance_to_end_of_event_time else "stop"
        return CompletableFuture(self._job.savepoint(savepoint_directory, afterwards))

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        """Take a savepoint while the job goes on; the future ends with its path."""
        return CompletableFuture(self._job.savepoint(savepoint_directory, "go on"))

    def cancel_with_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        """Take a savepoint and cancel the job; the future ends with the path of the savepoint (Flink 1.x)."""
        return CompletableFuture(self._job.savepoint(savepoint_directory, "cancel"))

    def get_exceptions(self) -> list[Any]:
        """Return the failures of the job, newest first, each with its time and attempt (beyond PyFlink)."""
        return list(self._job.exceptions())

    def get_executions(self) -> list[Any]:
        """Return every subtask with its title, attempt and state (beyond PyFlink)."""
        return list(self._job.executions())

    def get_accumulators(self) -> CompletableFuture:
        """Return a future of the accumulators by name; it may be asked while the job runs."""
        return CompletableFuture.completed(dict(self._job.accumulators()))

    def get_metrics(self) -> dict[str, Any]:
        """Return the current metrics of the job (beyond PyFlink)."""
        return dict(self._job.metrics())

    def get_job_execution_result(self) -> CompletableFuture:
        """Return a future of the :class:`JobExecutionResult`."""
        return CompletableFuture(self._job.result_future, JobExecutionResult)
