"""The client of a job speaks to a handle of the engine."""

from __future__ import annotations

from concurrent.futures import CancelledError, Future
from typing import Any

import pytest

from funke.common import CompletableFuture, JobClient, JobExecutionResult, JobID, JobStatus
from funke.engine.errors import JobExecutionError
from funke.engine.types.job_summary import JobSummary


class FakeJob:
    job_id = "0" * 32

    def __init__(self) -> None:
        self.result_future: Future[JobSummary] = Future()
        self.current = JobStatus.RUNNING

    def status(self) -> JobStatus:
        return self.current

    def cancel(self) -> Future[None]:
        self.current = JobStatus.CANCELED
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def savepoint(self, folder: str | None, afterwards: str) -> Future[str]:
        done: Future[str] = Future()
        done.set_result(f"{folder}: {afterwards}")
        return done

    def exceptions(self) -> list[Any]:
        return ["boom"]

    def accumulators(self) -> dict[str, Any]:
        return {"rows": 3}

    def metrics(self) -> dict[str, Any]:
        return {"numRecordsIn": 3}


def test_a_running_job() -> None:
    job = FakeJob()
    client = JobClient(job)
    assert client.get_job_id() == JobID("0" * 32) and str(client.get_job_id()) == "0" * 32
    assert client.get_job_status().result() is JobStatus.RUNNING
    assert client.get_accumulators().result() == {"rows": 3} and client.get_metrics() == {"numRecordsIn": 3}
    result = client.get_job_execution_result()
    assert not result.done() and result.exception() is None
    assert client.cancel().result() is None
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert client.get_exceptions() == ["boom"]


def test_savepoints() -> None:
    job = FakeJob()
    client = JobClient(job)
    assert client.trigger_savepoint("/tmp").result() == "/tmp: go on"
    assert client.stop_with_savepoint(True, "/tmp").result() == "/tmp: drain and stop"
    assert client.stop_with_savepoint(False).result() == "None: stop"
    assert client.cancel_with_savepoint().result() == "None: cancel"


def test_a_finished_job() -> None:
    job = FakeJob()
    future = JobClient(job).get_job_execution_result()
    job.result_future.set_result(JobSummary(job.job_id, 12, {"rows": 3}))
    result = future.result()
    assert isinstance(result, JobExecutionResult) and future.done() and not future.cancelled()
    assert (result.get_net_runtime(), result.get_accumulator_result("rows")) == (12, 3)
    assert result.get_accumulator_result("none") is None and result.get_all_accumulator_results() == {"rows": 3}
    assert f"Job with JobID {job.job_id} has finished.\nJob Runtime: 12 ms\n" in str(result)


def test_a_failed_job() -> None:
    job = FakeJob()
    future = JobClient(job).get_job_execution_result()
    job.result_future.set_exception(JobExecutionError("boom", "map"))
    assert isinstance(future.exception(), JobExecutionError)
    with pytest.raises(JobExecutionError, match="operator 'map' failed: boom"):
        future.result()


def test_futures() -> None:
    pending = CompletableFuture(Future())
    assert pending.cancel() and pending.cancelled() and isinstance(pending.exception(), CancelledError)
    assert CompletableFuture.completed(5).result() == 5
    assert len(str(JobID())) == 32 and JobID() != JobID()


def test_terminal_states() -> None:
    terminal = {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED}
    assert {status for status in JobStatus if status.is_globally_terminal_state()} == terminal
    assert {status for status in JobStatus if status.is_terminal_state()} == terminal | {JobStatus.SUSPENDED}
