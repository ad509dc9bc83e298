"""The driver may die: the job goes on from its last checkpoint, in one driver at a time, and not once it has ended."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from funke.engine.errors import JobExecutionError
from funke.engine.jobs.control import ask
from funke.engine.jobs.records.job_record import OwnedRecord, read_records
from funke.engine.jobs.records.recorded_job import recorded_view
from funke.engine.types.job_status import JobStatus
from tests.harness.exact_files import wait_until
from tools import soak_job
from tools.killable_job import KillableJob

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(480),
    pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc"),
]

Launch = Callable[..., KillableJob]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    started: list[KillableJob] = []

    def start(records: int = 1500, per_second: int = 600, **options: str) -> KillableJob:
        flags = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
        flags.setdefault("funke.fault", f"after-commits:1:hold@{tmp_path / 'marks'}")
        job = KillableJob(tmp_path / f"job-{len(started)}", records, f"{per_second}/second", flags)
        started.append(job)
        job.start()
        return job

    yield start
    for job in started:
        job.close()


def has_checkpoint(job: KillableJob) -> bool:
    record = job.record()
    return record is not None and record.state().checkpoint is not None


def test_a_killed_driver_is_followed_by_another_and_then_there_is_nothing_to_recover(launch: Launch) -> None:
    job = launch()  # which waits behind its first commits
    wait_until(lambda: has_checkpoint(job))
    record = job.record()
    assert record is not None and record.state().status is JobStatus.RUNNING
    second = job.command("recover", record.job_id)
    assert second.returncode == 1 and "is run by process" in second.stderr
    job.kill("driver")
    assert job.wait(10) == -signal.SIGKILL
    listed = job.command("list").stdout
    assert re.search(rf"without a Driver[^\n]*\n[^\n]*{record.job_id} : soak \(RUNNING\)", listed)
    job.recover()
    job.run_to_the_end(150)
    assert job.outcome().is_exact
    assert f"Recovering job {record.job_id} (soak) from " in job.log()
    owner = record.owner()
    assert record.state().status is JobStatus.FINISHED and owner is not None and owner.attempt == 1
    again = job.command("recover", record.job_id)
    assert again.returncode == 1 and "has ended (FINISHED)" in again.stderr
    assert not list((job.folder / "checkpoints").rglob("_metadata"))


def test_a_driver_that_was_stopped_and_goes_on_does_no_harm(launch: Launch, tmp_path: Path) -> None:
    job = launch(funke__lease_timeout="1 s")
    wait_until(lambda: has_checkpoint(job))
    stopped = job.process
    assert stopped is not None
    os.kill(stopped.pid, signal.SIGSTOP)
    (tmp_path / "marks" / "go").touch()
    time.sleep(1.5)
    job.recover()
    wait_until(lambda: (owner := job.record().owner()) is not None and owner.attempt > 0)  # type: ignore[union-attr]
    os.kill(stopped.pid, signal.SIGCONT)
    job.run_to_the_end(150)
    assert stopped.wait(30) == 1
    assert "another driver runs the job" in job.log()
    assert job.outcome().is_exact
    assert job.record().state().status is JobStatus.FINISHED  # type: ignore[union-attr]


def test_a_running_job_is_watched_and_commanded_from_outside(launch: Launch, tmp_path: Path) -> None:
    job = launch(records=100_000, funke__fault="")
    wait_until(lambda: has_checkpoint(job))
    record = job.record()
    assert record is not None
    assert f"{record.job_id} : soak (RUNNING)" in job.command("list").stdout
    status = job.command("status", record.job_id[:8]).stdout
    assert "Status: RUNNING" in status and "/chk-" in status
    saved = job.command("savepoint", record.job_id, str(tmp_path / "savepoints"))
    assert saved.returncode == 0, saved.stderr
    path = saved.stdout.split("Path: ")[1].splitlines()[0]
    assert (Path(path.removeprefix("file:")) / "_metadata").is_file()
    stopped = job.command("stop", "-p", str(tmp_path / "stopped"), record.job_id)
    assert stopped.returncode == 0 and "Savepoint completed. Path: " in stopped.stdout, stopped.stderr
    assert job.wait(20) == 0
    assert record.state().status is JobStatus.FINISHED
    assert not job.outcome().duplicated


def test_no_argument_of_a_command_ends_a_job(launch: Launch, tmp_path: Path) -> None:
    job = launch(records=100_000, funke__fault="")
    wait_until(lambda: has_checkpoint(job))
    record = job.record()
    assert record is not None
    saved = job.command("savepoint", record.job_id, "abfs://x")
    assert saved.returncode == 1 and "cannot be written" in saved.stderr, saved.stderr
    targets = ["nosuch://x/y", "/tmp" + "/a" * 6000, "/dev/null/x", "/tmp/a\0b", 5, ["x"]]
    for expected in (*({"folder": target} for target in targets), {"afterwards": "dance"}, {"wrong": 1}):
        with pytest.raises(JobExecutionError):
            ask(record.control_path, "savepoint", **{"folder": str(tmp_path), "afterwards": "go on", **expected})
    stopped = job.command("stop", "--drain", "-p", "/dev/null/x", record.job_id)
    assert stopped.returncode == 1 and "cannot be written" in stopped.stderr, stopped.stderr
    saved = job.command("savepoint", record.job_id, str(tmp_path / "savepoints"))
    assert saved.returncode == 0, saved.stderr
    view = recorded_view(record)
    assert (view.status, view.exceptions, view.attempt) == (JobStatus.RUNNING, (), 0), job.log()
    assert job.command("cancel", record.job_id).returncode == 0


def test_a_job_is_cancelled_from_outside(launch: Launch) -> None:
    job = launch(records=100_000, funke__fault="")
    wait_until(lambda: has_checkpoint(job))
    record = job.record()
    assert record is not None
    cancelled = job.command("cancel", record.job_id)
    assert cancelled.returncode == 0 and f"Cancelled job {record.job_id}." in cancelled.stdout, (
        cancelled.stderr + job.log()
    )
    assert job.wait(20) == 1
    assert record.state().status is JobStatus.CANCELED
    assert job.command("recover", "--all").stdout == "No jobs to recover.\n"
    assert not job.outcome().duplicated


def test_a_job_that_was_stopped_stays_stopped_when_its_driver_dies_before_the_end(
    launch: Launch, tmp_path: Path
) -> None:
    """It has the savepoint and has made one of two commits; the driver after it makes the other, and nothing else."""
    fault = f"between-commits:1:kill@{tmp_path / 'marks'}"
    job = launch(records=100_000, funke__fault=fault, execution__checkpointing__interval="1 h")
    # Windows of a second of event time are due after a hundred records.
    wait_until(lambda: list(job.output.glob("windows/*/.part*")))
    record = job.record()
    assert record is not None
    stopping = job.command("stop", "-p", str(tmp_path / "stopped"), record.job_id)
    assert stopping.returncode == 1 and "ended before it answered" in stopping.stderr, stopping.stderr
    assert job.wait(20) == -signal.SIGKILL
    assert record.state().is_stopped
    before = job.outcome().lines
    job.recover()
    assert job.wait(60) == 0, job.log()
    assert record.state().status is JobStatus.FINISHED
    assert job.outcome().lines > before and not job.outcome().duplicated
    assert job.command("recover", "--all").stdout == "No jobs to recover.\n"


def test_a_job_that_was_being_cancelled_is_cancelled_by_the_driver_that_follows(launch: Launch) -> None:
    job = launch(records=100_000)
    wait_until(lambda: has_checkpoint(job))
    record = job.record()
    assert record is not None
    job.kill("driver")
    assert job.wait(20) == -signal.SIGKILL
    other = OwnedRecord.take(record)
    other.put_status(JobStatus.CANCELLING)
    other.release()
    job.recover()
    assert job.wait(60) == 1
    assert record.state().status is JobStatus.CANCELED
    assert not list((job.folder / "checkpoints").rglob("_metadata"))


def test_a_machine_that_restarts(tmp_path: Path) -> None:
    machine = KillableJob(tmp_path / "machine", 600, "600/second")
    try:
        assert machine.command("start-cluster", *SERVICE).returncode == 0
        folders = [tmp_path / name for name in ("first", "second")]
        with ThreadPoolExecutor() as both:
            job_ids = both.map(partial(hand_over, machine), folders)
        outputs = {job_id: folder / "out" for job_id, folder in zip(job_ids, folders)}
        records = {record.job_id: record for record in read_records(str(machine.home))}
        assert records.keys() == outputs.keys()
        # Both stand behind their first commits.
        wait_until(lambda: all(soak_job.committed(path) for path in outputs.values()), 120)
        before = {job_id: record.state().checkpoint for job_id, record in records.items()}
        assert all(before.values())
        machine.lose_power()
        listed = machine.command("list").stdout
        assert all(f"{job_id} : soak (RUNNING)" in listed for job_id in outputs) and "without a Driver" in listed
        assert machine.command("start-cluster", *SERVICE).returncode == 0
        wait_until(lambda: all(each.state().status is JobStatus.FINISHED for each in records.values()), 150)
        for job_id, path in outputs.items():
            assert soak_job.committed(path) == soak_job.expected(machine.records)
            owner = records[job_id].owner()
            assert owner is not None and owner.attempt == 1
            assert f"continues job {job_id} from {before[job_id]}" in service_log(machine)
        listed = machine.command("list", "-a").stdout
        assert all(f"{job_id} : soak (FINISHED)" in listed for job_id in outputs)
        assert machine.command("stop-cluster").returncode == 0
        assert machine.left_over() == []
    finally:
        machine.close()


def service_log(machine: KillableJob) -> str:
    return "".join(path.read_text() for path in (machine.home / "service").rglob("service*.log"))


SERVICE = ("-Drest.port=0", "-Dfunke.service.warm-driver=false")


def hand_over(machine: KillableJob, folder: Path) -> str:
    """Gives the service a program that waits behind its first commits; the id of its job."""
    options = {
        "parallelism.default": "1",
        "execution.checkpointing.interval": "300 ms",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "funke.fault": f"after-commits:1:hold@{folder / 'marks'}",
    }
    flags = [f"-D{key}={value}" for key, value in options.items()]
    program = [str(machine.program), str(folder / "out"), str(machine.records), machine.pace]
    done = machine.command("run", "-d", *flags, *program, seconds=120)
    match = re.search("JobID ([0-9a-f]{32})", done.stdout)
    assert match is not None, done.stdout + done.stderr
    return match[1]
