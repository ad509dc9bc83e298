"""Commands for jobs of other processes: what they print, whom they reach, what they reject."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from funke.engine.errors import ConfigurationError, JobExecutionError, StateError, UnsupportedFeatureError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.control import ControlServer
from funke.engine.jobs.records.job_record import OwnedRecord
from funke.engine.jobs.records.recovery import RUN_VARIABLE, ProgramRun
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.views.back_pressure import Diagnosis, PressureStatus, PressureView
from funke.engine.jobs.views.job_view import (
    CheckpointsView,
    CheckpointView,
    ExceptionView,
    JobView,
    OperatorView,
    SubtaskView,
    VertexView,
)
from funke.engine.types.job_status import JobStatus
from funke.engine.types.json_form import to_json
from funke.ops.cli.job_commands import cancel_job, list_jobs, show_status
from funke.ops.cli.recover import recover, watch
from funke.ops.cli.snapshot_commands import stop_job, take_checkpoint, take_savepoint

SETTINGS = JobSettings("orders", {"execution.checkpointing.interval": "1 s"})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUNKE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def submit(*command: str) -> OwnedRecord:
    admitted = ProgramRun(command, os.getcwd()).admit(SETTINGS)
    assert isinstance(admitted, JobSettings) and admitted.record is not None
    admitted.record.put_status(JobStatus.RUNNING)
    return admitted.record


@pytest.fixture
def running() -> Iterator[OwnedRecord]:
    owned = submit("python", "job.py")
    yield owned
    owned.release()


def test_list_shows_running_lost_and_ended_jobs(running: OwnedRecord, capsys: pytest.CaptureFixture[str]) -> None:
    lost, ended = submit("x"), submit("y")
    lost.release()
    ended.put_status(JobStatus.CANCELED)
    ended.release()
    list_jobs([])
    out = capsys.readouterr().out
    first, second = out.split(" Jobs without a Driver (funke recover) ")
    assert f" : {running.job_id} : orders (RUNNING)\n" in first and "-- Running/Restarting Jobs --" in first
    assert f" : {lost.job_id} : orders (RUNNING)\n" in second and ended.job_id not in out
    list_jobs(["-a"])
    assert f" : {ended.job_id} : orders (CANCELED)\n" in capsys.readouterr().out.split("Terminated Jobs")[1]
    list_jobs(["-r"])
    assert lost.job_id not in capsys.readouterr().out
    # One that has not begun to run.
    running.put_status(JobStatus.CREATED)
    list_jobs(["-s"])
    out = capsys.readouterr().out
    assert "-- Scheduled/Created Jobs --" in out and f" : {running.job_id} : orders (CREATED)\n" in out
    list_jobs(["-r", "-s", "-a"])
    out = capsys.readouterr().out
    assert "No running jobs.\n" in out and ended.job_id in out


def test_list_without_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    list_jobs(["-a"])
    assert capsys.readouterr().out == "No running jobs.\nNo scheduled jobs.\nNo terminated jobs.\n"


def test_status_shows_driver_checkpoint_and_failures(running: OwnedRecord, capsys: pytest.CaptureFixture[str]) -> None:
    running.put_checkpoint("/checkpoints/chk-9")
    running.put_failure(ValueError("bad row\nTraceback"))
    running.put_status(JobStatus.RESTARTING)
    show_status([running.job_id[:6]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"Job: {running.job_id} : orders", "Status: RESTARTING"]
    assert lines[2].startswith(f"Driver: process {os.getpid()} on ") and lines[2].endswith(", attempt 0, runs")
    assert lines[3].startswith("Tasks: unknown, the job's driver cannot be reached")
    assert lines[4:] == ["Last checkpoint: /checkpoints/chk-9", "Failure: bad row"]
    view = seen(running.job_id, JobStatus.RUNNING)
    show_status_of(running, view)
    out = capsys.readouterr().out
    assert "Tasks: 3 RUNNING, 1 FINISHED\nCheckpoints: 2 completed, 1 failed, 0 in progress\n" in out
    assert "Last failed checkpoint: too slow\n" in out
    slow = PressureView(PressureStatus.LOW, 0.25, 0.7, 1.0, 0.0, False, Diagnosis.ROOT)
    view = replace(view, vertices=(replace(view.vertices[0], pressure=slow),))
    show_status_of(running, view)
    assert (
        "Map: busy 70%, backpressure LOW (25%), input buffers 100%, output buffers 0%: probably the root\n"
        in capsys.readouterr().out
    )
    # The driver is there, but cannot be asked.
    running.put_view(view)
    show_status([running.job_id])
    out = capsys.readouterr().out
    assert "s ago, the job's driver cannot be reached" in out and "Tasks: 3 RUNNING, 1 FINISHED\n" in out


def test_status_of_an_ended_job_shows_what_was_seen_last(capsys: pytest.CaptureFixture[str]) -> None:
    ended = submit("x")
    ended.put_view(seen(ended.job_id, JobStatus.RUNNING))
    ended.put_status(JobStatus.CANCELED)
    ended.release()
    show_status([ended.job_id])
    out = capsys.readouterr().out
    assert "Status: CANCELED\n" in out
    assert "Tasks: 3 RUNNING, 1 FINISHED\nCheckpoints: 2 completed, 1 failed, 0 in progress\n" in out
    assert "Failure: it broke (job.py:9)\n" in out


def show_status_of(running: OwnedRecord, view: JobView) -> None:
    server = ControlServer(running.record.control_path, {"view": lambda: to_json(view)})
    show_status([running.job_id])
    server.close()


def seen(job_id: str, status: JobStatus) -> JobView:
    states = [ExecutionState.RUNNING] * 3 + [ExecutionState.FINISHED]
    subtasks = tuple(SubtaskView(number, 0, state) for number, state in enumerate(states))
    vertex = VertexView(1, "Map", (OperatorView("a", "Map"),), 4, 128, subtasks=subtasks)
    failed = CheckpointView(3, "checkpoint", "FAILED", 0, failure="too slow")
    checkpoints = CheckpointsView(completed=2, failed=1, last_failed=failed)
    stack = 'Traceback\n  File "job.py", line 9, in price\n  File "/usr/lib/python3.11/decimal.py", line 1, in f'
    failure = ExceptionView(5, 0, "it broke\n  in your job: job.py:3", traceback=stack)
    return JobView(job_id, "orders", status, vertices=(vertex,), checkpoints=checkpoints, exceptions=(failure,))


def test_commands_reach_the_driver(running: OwnedRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[tuple[object, ...]] = []

    def savepoint(folder: str | None, afterwards: str) -> str:
        asked.append((afterwards, folder))
        return f"/s/{len(asked)}"

    def checkpoint(is_full: bool) -> int:
        asked.append(("checkpoint", is_full))
        return 7

    commands = {"cancel": lambda: asked.append(("cancel",)), "savepoint": savepoint, "checkpoint": checkpoint}
    server = ControlServer(running.record.control_path, commands)
    take_savepoint([running.job_id, "relative"])
    stop_job(["--drain", "-p", "file:///s", running.job_id])
    take_checkpoint(["-full", running.job_id])
    cancel_job(["-s", "/t", running.job_id])
    # As Flink reads it: what follows -s is the job if there is nothing else.
    cancel_job(["-s", running.job_id])
    cancel_job([running.job_id])
    server.close()
    assert asked == [
        ("go on", f"{os.getcwd()}/relative"),
        ("drain and stop", "file:///s"),
        ("checkpoint", True),
        ("cancel", "/t"),
        ("cancel", None),
        ("cancel",),
    ]
    out = capsys.readouterr().out
    assert "Savepoint completed. Path: /s/1\n" in out and "Savepoint completed. Path: /s/2\n" in out
    assert f'Suspending job "{running.job_id}" with a CANONICAL savepoint.\n' in out
    assert f"Checkpoint(FULL) 7 for job {running.job_id} completed.\n" in out
    assert f"Cancelled job {running.job_id}. Savepoint stored in /s/4.\n" in out
    assert out.endswith(f"Cancelling job {running.job_id}.\nCancelled job {running.job_id}.\n")


def test_a_savepoint_that_nobody_waits_for(
    running: OwnedRecord, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("funke.ops.cli.snapshot_commands._BEGUN_S", 0.05)
    may_end = threading.Event()

    def savepoint(folder: str | None, afterwards: str) -> str:
        may_end.wait(30)
        return "/s/1"

    server = ControlServer(running.record.control_path, {"savepoint": savepoint})
    stop_job(["-detached", running.job_id])
    assert "It goes on in the background" in capsys.readouterr().out
    may_end.set()
    monkeypatch.setattr("funke.ops.cli.snapshot_commands._BEGUN_S", 30)
    take_savepoint(["-detached", running.job_id])
    assert "Savepoint completed. Path: /s/1\n" in capsys.readouterr().out
    server.close()
    # What is wrong is told at once.
    with pytest.raises(StateError, match="cannot be reached"):
        take_savepoint(["-detached", running.job_id])


def test_only_savepoints_are_removed(tmp_path: Path) -> None:
    (tmp_path / "_metadata").write_text("something else")
    with pytest.raises(StateError, match="is not a checkpoint"):
        take_savepoint(["-d", str(tmp_path)])


def test_what_cannot_be_commanded_is_rejected(running: OwnedRecord) -> None:
    with pytest.raises(ConfigurationError, match="no job 'zz' is known"):
        cancel_job(["zz"])
    with pytest.raises(UnsupportedFeatureError, match="native"):
        take_savepoint(["-type", "native", running.job_id])
    with pytest.raises(ConfigurationError, match="is run by process"):
        recover([running.job_id])
    running.release()
    with pytest.raises(ConfigurationError, match=f"`funke recover {running.job_id}` goes on"):
        cancel_job([running.job_id])
    ended = submit("y")
    ended.put_status(JobStatus.FINISHED)
    ended.release()
    for command in (cancel_job, recover):
        with pytest.raises(ConfigurationError, match=r"has ended.*FINISHED"):
            command([ended.job_id])
    with pytest.raises(ConfigurationError, match="name a job, or give --all"):
        recover([])


def test_recover_all_runs_the_programs_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recover(["--all"])
    assert capsys.readouterr().out == "No jobs to recover.\n"
    program = f"import os; open({str(tmp_path / 'seen')!r}, 'a').write(os.environ[{RUN_VARIABLE!r}] + ' ')"
    records = [submit(sys.executable, "-c", program) for _ in range(2)]
    for owned in records:
        owned.release()
    recover(["--all"])
    assert sorted((tmp_path / "seen").read_text().split()) == sorted(owned.record.run_id for owned in records)
    submit(sys.executable, "-c", "raise SystemExit(3)").release()
    with pytest.raises(JobExecutionError, match="not all programs ended well"):
        recover(["--all"])


def test_a_standby_goes_on_with_jobs_that_lose_their_driver(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("funke.ops.cli.recover._WATCH_S", 0.05)
    seen = tmp_path / "seen"
    program = f"import os; open({str(seen)!r}, 'a').write(os.environ[{RUN_VARIABLE!r}] + ' ')"
    stop = threading.Event()
    standby = threading.Thread(target=watch, args=(str(home), stop))
    standby.start()
    owned = submit(sys.executable, "-c", program)
    time.sleep(0.3)  # it has looked a few times
    assert not seen.exists()
    owned.release()
    end = time.monotonic() + 60
    while not (seen.exists() and seen.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.3)
    stop.set()
    standby.join()
    assert seen.read_text().split() == [owned.record.run_id]
