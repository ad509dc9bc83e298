"""Jobs of other processes and jobs that have ended are seen and commanded like one's own."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from funke.engine.errors import JobExecutionError, StateError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.checkpoints.savepoints import Afterwards
from funke.engine.jobs.control import serve_commands
from funke.engine.jobs.job import Job, SubmittedJob
from funke.engine.jobs.records.job_record import JobRecord, OwnedRecord
from funke.engine.jobs.records.recorded_job import EndedJob, RemoteJob, recorded_view
from funke.engine.jobs.views.job_view import JobView, MetricsView, OperatorView, SubtaskView, VertexView
from funke.engine.runtime.monitoring.thread_dump import ThreadStack
from funke.engine.types.job_status import JobStatus

VERTEX = VertexView(
    2, "Map", (OperatorView("a1", "Map"),), 1, 128, subtasks=(SubtaskView(0, 3, ExecutionState.FINISHED),)
)
VIEW = JobView(
    "j",
    "job",
    JobStatus.RUNNING,
    vertices=(VERTEX,),
    metrics=MetricsView({"epochs": 4}, {}, {"a1": {0: {"numRecordsIn": 7}}}),
)


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[OwnedRecord]:
    record = JobRecord(str(tmp_path / "j"), "j", "job", "r", 0, ("python",), str(tmp_path), {"b": "1"}, 1_000)
    part = OwnedRecord.create(record)
    yield part
    part.release()


class OwnJob:
    """A job of this process."""

    job_id = "j"

    def __init__(self) -> None:
        self.asked: list[object] = []

    def status(self) -> JobStatus:
        return JobStatus.RUNNING

    def view(self) -> JobView:
        return VIEW

    def cancel(self) -> Future[None]:
        self.asked.append("cancel")
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def savepoint(self, folder: str | None = None, afterwards: Afterwards = "go on") -> Future[str]:
        self.asked.append((folder, afterwards))
        done: Future[str] = Future()
        if folder is None:
            done.set_exception(StateError("no folder for savepoints"))
        else:
            done.set_result(f"{folder}/savepoint-1")
        return done

    def set_log_levels(self, default: str, overrides: Mapping[str, str]) -> None:
        self.asked.append((default, overrides))

    def thread_stacks(self) -> dict[int, tuple[ThreadStack, ...]]:
        return {3: (ThreadStack("MainThread", "job.py:7"),)}


def test_a_job_of_another_process_is_asked_as_ones_own(owned: OwnedRecord) -> None:
    own = OwnJob()
    server = serve_commands(owned.record.control_path, own, 60.0)
    try:
        remote: Job = RemoteJob(owned.record)
        assert (remote.job_id, remote.status(), remote.view()) == ("j", JobStatus.RUNNING, VIEW)
        assert remote.savepoint("/s", "drain and stop").result(20) == "/s/savepoint-1"
        with pytest.raises(JobExecutionError, match="no folder for savepoints"):
            remote.savepoint().result(20)
        remote.set_log_levels("INFO", {"shop": "DEBUG"})
        assert remote.thread_stacks() == own.thread_stacks()
        assert remote.cancel().result(20) is None
    finally:
        server.close()
    assert own.asked == [("/s", "drain and stop"), (None, "go on"), ("INFO", {"shop": "DEBUG"}), "cancel"]
    with pytest.raises(StateError, match="cannot be reached"):
        RemoteJob(owned.record).view()


def test_a_driver_on_another_host_is_named(owned: OwnedRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    own = socket.gethostname()
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    with pytest.raises(StateError, match=f"the job's driver runs on host '{own}', where commands"):
        RemoteJob(owned.record).cancel().result(20)


def test_an_ended_job_shows_what_was_seen_last(owned: OwnedRecord) -> None:
    owned.put_view(VIEW)
    owned.put_status(JobStatus.FINISHED)
    ended: SubmittedJob = EndedJob(owned.record)
    assert (ended.status(), ended.view().status) == (JobStatus.FINISHED, JobStatus.FINISHED)
    assert ended.view().ended_ms is not None and ended.view().vertices == VIEW.vertices
    assert ended.metrics() == {"epochs": 4, "Map.0.numRecordsIn": 7} == ended.result().metrics
    (subtask,) = ended.executions()
    assert (subtask.title, subtask.attempt, subtask.state.name) == ("Map (1/1)", 3, "FINISHED")
    assert ended.cancel().result() is None
    with pytest.raises(StateError, match="has ended"):
        ended.savepoint()
    with pytest.raises(StateError, match="has ended"):
        ended.set_log_levels("INFO", {})
    assert ended.thread_stacks() == {}


def test_a_job_whose_view_was_never_written_shows_what_its_record_knows(owned: OwnedRecord) -> None:
    owned.put_failure(ValueError("first\nwith a second line"))
    owned.put_failure(ValueError("second"))
    owned.put_status(JobStatus.FAILED)
    view = recorded_view(owned.record)
    assert (view.name, view.status, view.started_ms, view.configuration) == ("job", JobStatus.FAILED, 1_000, {"b": "1"})
    assert [failure.message.split()[0] for failure in view.exceptions] == ["second", "first"]


def test_a_driver_that_is_gone_is_seen(owned: OwnedRecord) -> None:
    owned.put_view(replace(VIEW, status=JobStatus.RUNNING))
    owned.put_status(JobStatus.RUNNING)
    assert recorded_view(owned.record).status is JobStatus.RUNNING
    owned.release()
    view = recorded_view(owned.record)
    assert view.status is JobStatus.FAILED and view.exceptions[0].message == "its driver is gone"
