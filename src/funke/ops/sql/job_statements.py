"""SHOW JOBS, DESCRIBE JOB and STOP JOB: on the jobs of a session, and on those that have a record."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable

from funke.engine.flink_exceptions import ValidationException
from funke.engine.jobs.checkpoints.savepoints import Afterwards
from funke.engine.jobs.job import Job, SubmittedJob
from funke.engine.jobs.views.job_view import JobView
from funke.engine.sql.statements.outcome import OK, Outcome, listing
from funke.engine.sql.syntax import statements as syntax
from funke.engine.types.logical.data_types import DataTypes
from funke.ops.rest.job_directory import JobDirectory

__all__ = ["SessionJobs", "is_job_statement"]

_COLUMNS = ("job id", "job name", "status", ("start time", DataTypes.TIMESTAMP_LTZ(3)))
# Ended jobs of a session that are still listed.
_MOST_ENDED = 100


def is_job_statement(statement: syntax.Statement) -> bool:
    """Whether a statement is about jobs."""
    is_list = isinstance(statement, syntax.Show) and statement.what == "jobs"
    return is_list or isinstance(statement, syntax.DescribeJob | syntax.StopJob)


class SessionJobs:
    """The jobs that a session knows: its own, and those in the folder of job records."""

    def __init__(self, directory: Callable[[], JobDirectory]) -> None:
        self._directory = directory
        self._own: dict[str, SubmittedJob] = {}

    def add(self, job: SubmittedJob) -> None:
        """Remember a job of the session."""
        self._own[job.job_id] = job
        ended = [job_id for job_id, each in self._own.items() if each.result_future.done()]
        for job_id in ended[: max(0, len(ended) - _MOST_ENDED)]:
            del self._own[job_id]

    def has_any(self) -> bool:
        """Whether the session has had a job."""
        return bool(self._own)

    def own(self, job_id: str) -> SubmittedJob:
        """A job of the session."""
        return self._own[job_id]

    def running(self) -> list[SubmittedJob]:
        """The session's own jobs that have not ended."""
        return [each for each in self._own.values() if not each.result_future.done()]

    def execute(self, statement: syntax.Statement) -> Outcome:
        """Do what a statement about jobs says."""
        if isinstance(statement, syntax.StopJob):
            return self._stop(statement)
        if isinstance(statement, syntax.DescribeJob):
            return _listing([self._view(statement.job_id)])
        return _listing(self._views())

    def _views(self) -> list[JobView]:
        recorded = [each.seen for each in self._directory().all() if each.job_id not in self._own]
        own = [each.view() for each in self._own.values()]
        return sorted([*recorded, *own], key=lambda view: view.started_ms)

    def _view(self, job_id: str) -> JobView:
        if job_id in self._own:
            return self._own[job_id].view()
        job = self._directory().find(job_id)
        if job is None:
            raise _unknown(job_id)
        return job.view()

    def _commanded(self, job_id: str) -> Job:
        if job_id in self._own:
            return self._own[job_id]
        job = self._directory().find(job_id)
        if job is None:
            raise _unknown(job_id)
        return job.commanded()

    def _stop(self, statement: syntax.StopJob) -> Outcome:
        if statement.is_drained and not statement.has_savepoint:
            raise ValidationException("WITH DRAIN could only be used after WITH SAVEPOINT.")
        view = self._view(statement.job_id)
        if view.status.is_globally_terminal_state():
            raise ValidationException(f"Job {statement.job_id} has ended: {view.status.name}")
        job = self._commanded(statement.job_id)
        if not statement.has_savepoint:
            job.cancel().result()
            return OK
        afterwards: Afterwards = "drain and stop" if statement.is_drained else "stop"
        return listing([(job.savepoint(None, afterwards).result(),)], "savepoint path")


def _unknown(job_id: str) -> ValidationException:
    return ValidationException(f"Job ID {job_id} is not known. SHOW JOBS lists the jobs.")


def _listing(views: Iterable[JobView]) -> Outcome:
    rows = [
        (
            each.job_id,
            each.name,
            each.status.name,
            datetime.datetime.fromtimestamp(each.started_ms / 1000, datetime.UTC),
        )
        for each in views
    ]
    return listing(rows, *_COLUMNS)
