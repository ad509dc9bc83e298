"""Flink's state machine of a job, and the history of failures."""

from __future__ import annotations

import pytest

from funke.engine.errors import JobExecutionError
from funke.engine.jobs.job_lifecycle import JobLifecycle
from funke.engine.types.job_status import JobStatus

S = JobStatus


@pytest.mark.parametrize(
    "path",
    [
        [S.RUNNING, S.FINISHED],
        [S.RUNNING, S.FAILING, S.FAILED],
        [S.RUNNING, S.FAILING, S.RESTARTING, S.CREATED, S.RUNNING, S.FINISHED],
        [S.RUNNING, S.CANCELLING, S.CANCELED],
        [S.RUNNING, S.FAILING, S.RESTARTING, S.CANCELLING, S.CANCELED],
        [S.FAILING, S.FAILED],
        [S.RUNNING, S.SUSPENDED],
    ],
    ids=lambda path: "-".join(status.name for status in path),
)
def test_the_ways_of_a_job(path: list[JobStatus]) -> None:
    reports: list[JobStatus] = []
    lifecycle = JobLifecycle(on_change=reports.append)
    assert all(lifecycle.enter(status) for status in path)
    assert reports == path and lifecycle.status is path[-1]
    assert [status for status, _ in lifecycle.history] == [S.CREATED, *path]
    times = [timestamp for _, timestamp in lifecycle.history]
    assert times == sorted(times)


@pytest.mark.parametrize("last", [S.FINISHED, S.FAILED, S.CANCELED, S.SUSPENDED])
def test_nothing_follows_the_end(last: JobStatus) -> None:
    lifecycle = JobLifecycle(last)
    assert not any(lifecycle.enter(status) for status in JobStatus)
    assert lifecycle.status is last and len(lifecycle.history) == 1


def test_a_job_that_is_being_cancelled_does_not_run_or_fail_any_more() -> None:
    lifecycle = JobLifecycle()
    lifecycle.enter(S.RUNNING)
    lifecycle.enter(S.CANCELLING)
    assert not lifecycle.enter(S.RUNNING) and not lifecycle.enter(S.FAILING) and not lifecycle.enter(S.FINISHED)


def test_a_recovered_job_runs_after_it_was_reconciled() -> None:
    lifecycle = JobLifecycle(S.RECONCILING)
    assert lifecycle.enter(S.RUNNING) and not lifecycle.enter(S.CREATED)


def test_failures_are_remembered_newest_first() -> None:
    lifecycle = JobLifecycle()
    for attempt in range(20):
        lifecycle.record(attempt, JobExecutionError("boom", f"map {attempt}"))
    entries = lifecycle.exceptions
    assert len(entries) == 16 and (entries[0].attempt, entries[0].operator) == (19, "map 19")
    assert entries[0].message == "operator 'map 19' failed: boom"
    lifecycle.record(20, ValueError())
    assert (lifecycle.exceptions[0].operator, lifecycle.exceptions[0].message) == (None, "ValueError")
