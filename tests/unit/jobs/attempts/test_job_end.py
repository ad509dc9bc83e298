"""The end of a job whose record cannot be written: everybody who waits hears of it, and the lease is given back."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from funke.engine.errors import ConfigurationError, JobExecutionError, StateError
from funke.engine.jobs import running_job
from funke.engine.jobs.attempts.job_attempts import JobAttempts
from funke.engine.jobs.attempts.slot_pool import SlotPool
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from funke.engine.jobs.records import job_record
from funke.engine.jobs.records.job_record import JobRecord, OwnedRecord, read_records
from funke.engine.jobs.records.recorded_job import recorded_view
from funke.engine.jobs.records.recovery import ProgramRun
from funke.engine.jobs.running_job import RunningJob
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.submission import submission
from funke.engine.jobs.submission.submission import submit_job
from funke.engine.types.job_status import JobStatus
from tests.unit.graph.sample_graphs import GraphBuilder


class Disk:
    """Has room for records, or has not."""

    def __init__(self, write: Callable[[str, dict[str, Any]], None]) -> None:
        self.is_full = False
        self._write = write

    def write(self, path: str, content: dict[str, Any]) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._write(path, content)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    full_disk = Disk(job_record._write_json)
    monkeypatch.setattr(job_record, "_write_json", full_disk.write)
    return full_disk


@pytest.fixture
def settings(tmp_path: Path) -> JobSettings:
    configuration = {
        "funke.home": str(tmp_path),
        "execution.checkpointing.interval": "1 s",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    admitted = ProgramRun(["program"], str(tmp_path)).admit(JobSettings(configuration=configuration))
    assert isinstance(admitted, JobSettings)
    return admitted


def graph() -> Any:
    builder = GraphBuilder(1)
    builder.reduce(builder.map(builder.source()))
    return builder.graph


def run(settings: JobSettings, monkeypatch: pytest.MonkeyPatch, attempt: Callable[[JobAttempts], None]) -> Any:
    """Runs a job whose attempts do what a test wants."""
    monkeypatch.setattr(JobAttempts, "run_once", attempt)
    return submit_job(graph(), settings)


def owner_is_alive(record: JobRecord) -> bool:
    owner = record.owner()
    return owner is not None and owner.is_alive


def the_record(tmp_path: Path) -> JobRecord:
    (record,) = read_records(str(tmp_path))
    return record


def test_a_failure_while_the_disk_is_full(
    tmp_path: Path,
    settings: JobSettings,
    disk: Disk,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(attempts: JobAttempts) -> None:
        attempts.has_run = True
        disk.is_full = True
        raise JobExecutionError("the function failed")

    job = run(settings, monkeypatch, fail)
    waiting = job.savepoint(str(tmp_path / "savepoints"))
    with pytest.raises(StateError, match=r"cannot be written: No space left on device; .*the function failed"):
        job.result_future.result(20)
    with pytest.raises(JobExecutionError, match="the job has ended"):
        waiting.result(5)
    with pytest.raises(StateError):
        list(job.collected("results"))
    assert job.status() is JobStatus.SUSPENDED and not owner_is_alive(the_record(tmp_path))
    assert job.cancel().result(5) is None
    disk.is_full = False
    assert not the_record(tmp_path).state().status.is_globally_terminal_state(), "another driver may go on"
    assert OwnedRecord.take(the_record(tmp_path)).attempt >= 1


def test_an_end_that_cannot_be_written_down_is_no_success(
    tmp_path: Path, settings: JobSettings, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finish(attempts: JobAttempts) -> None:
        disk.is_full = True

    job = run(settings, monkeypatch, finish)
    with pytest.raises(StateError, match=r"state-0.json' cannot be written: No space left on device"):
        job.result_future.result(20)
    assert job.status() is JobStatus.SUSPENDED and not owner_is_alive(the_record(tmp_path))


def test_a_disk_that_is_full_only_for_a_while_is_survived(
    tmp_path: Path, settings: JobSettings, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finish(attempts: JobAttempts) -> None:
        disk.is_full = True
        attempts._lifecycle.enter(JobStatus.RUNNING)
        disk.is_full = False

    assert run(settings, monkeypatch, finish).result_future.result(20) is not None
    assert the_record(tmp_path).state().status is JobStatus.FINISHED


def test_an_ended_job_is_seen_as_it_was_last(
    tmp_path: Path, settings: JobSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(attempts: JobAttempts) -> None:
        attempts.has_run = True
        attempts.executions.begin(attempts.deployment.attempt)
        attempts._lifecycle.enter(JobStatus.RUNNING)
        raise JobExecutionError("the function failed", "Map")

    with pytest.raises(JobExecutionError):
        run(settings, monkeypatch, fail).result_future.result(20)
    view = recorded_view(the_record(tmp_path))
    assert (view.status, view.restarts, view.attempt, len(view.exceptions)) == (JobStatus.FAILED, 3, 3, 4)
    assert [entry.status.name for entry in view.status_history][-3:] == ["RUNNING", "FAILING", "FAILED"]
    assert view.ended_ms is not None and view.ended_ms >= view.started_ms > 0
    assert [vertex.name for vertex in view.vertices] == ["Source: numbers -> Map", "Reduce"]
    assert {each.state.name for vertex in view.vertices for each in vertex.subtasks} == {"CANCELED"}
    assert len(view.vertices[0].prior) == 3 and view.configuration["funke.home"] == str(tmp_path)


def test_a_view_that_cannot_be_written_fails_no_job(
    tmp_path: Path, settings: JobSettings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(record: OwnedRecord, view: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(OwnedRecord, "put_view", full)
    assert run(settings, monkeypatch, lambda _: None).result_future.result(20) is not None
    view = recorded_view(the_record(tmp_path))
    assert view.status is JobStatus.FINISHED and view.vertices == ()
    assert capsys.readouterr().err.count("warning: the job's view cannot be written down: ") == 1


def test_nobody_listens_any_more_when_the_result_is_there(
    tmp_path: Path, settings: JobSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = Path(the_record(tmp_path).control_path)
    may_end = threading.Event()
    job = run(settings, monkeypatch, lambda _: may_end.wait(20) and None)
    seen: list[bool] = [control.is_socket()]
    job.result_future.add_done_callback(lambda _: seen.append(control.exists()))
    may_end.set()
    job.result_future.result(20)
    job._thread.join(20)
    assert seen == [True, False], "a program that has its result may end at once"


@pytest.mark.parametrize("part", ["remove_unneeded", "answer_requests", "metrics"])
def test_whatever_fails_at_the_end_everybody_is_notified(
    tmp_path: Path,
    settings: JobSettings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    part: str,
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("this is broken")

    owner = RunningJob if part == "metrics" else CheckpointCoordinator
    monkeypatch.setattr(owner, part, broken)
    job = run(settings, monkeypatch, lambda _: None)
    if part == "metrics":
        with pytest.raises(JobExecutionError, match="this is broken"):
            job.result_future.result(20)
        assert job.status() is JobStatus.FAILED
    else:
        assert job.result_future.result(20) is not None
        assert list(job.collected("results")) == [] and list(job.collected("results")) == []
        job._thread.join(20)
        assert "warning: at the end of the job: RuntimeError: this is broken" in capsys.readouterr().err
    assert not owner_is_alive(the_record(tmp_path))


@pytest.mark.parametrize("broken", ["serve_commands", "arm", "RunningJob"])
def test_a_job_that_cannot_be_started_gives_its_lease_back(
    tmp_path: Path, settings: JobSettings, disk: Disk, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*_: Any) -> None:
        disk.is_full = True
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(running_job if broken == "arm" else submission, broken, fail)
    with pytest.raises(OSError, match="No space left"):
        submit_job(graph(), settings)
    assert not owner_is_alive(the_record(tmp_path))


def test_a_record_that_cannot_be_made_leaves_nothing(tmp_path: Path, disk: Disk) -> None:
    disk.is_full = True
    settings = JobSettings(configuration={"funke.home": str(tmp_path)})
    assert ProgramRun(["program"], str(tmp_path)).admit(settings) is settings, "it runs without one"
    assert not list((tmp_path / "jobs").iterdir())
    asking = JobSettings(configuration={"funke.home": str(tmp_path), "execution.checkpointing.interval": "1 s"})
    with pytest.raises(OSError, match="No space left"):
        ProgramRun(["program"], str(tmp_path)).admit(asking)
    assert not list((tmp_path / "jobs").iterdir())


def test_a_job_that_the_service_has_no_slots_for_says_so(
    tmp_path: Path, settings: JobSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = SlotPool(str(tmp_path / "slots"))
    pool.open(0)
    configured = {**settings.configuration, "funke.slot-pool": str(tmp_path / "slots")}
    job = run(replace(settings, configuration=configured), monkeypatch, lambda attempts: None)
    with pytest.raises(ConfigurationError, match="and the service has 0"):
        job.result_future.result(20)
    (failure,) = recorded_view(the_record(tmp_path)).exceptions
    assert "needs 1 slots, and the service has 0" in failure.message
    assert job.status() is JobStatus.FAILED
