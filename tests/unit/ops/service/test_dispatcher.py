"""The service without Spark: programs are processes of their own, which outlive it and are looked after."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, JobExecutionError, LeaseLostError, StateError
from funke.engine.jobs.records.lease import Lease
from funke.engine.jobs.records.recovery import RecoveryTries
from funke.engine.types.job_status import JobStatus
from funke.ops.cli.arguments import parse_program_call
from funke.ops.cli.cluster_commands import run_in_service, start_cluster, stop_cluster
from funke.ops.rest.job_directory import JobDirectory
from funke.ops.rest.login import read_token
from funke.ops.service.dispatcher import Dispatcher, slots_of
from funke.ops.service.free_cores import FreeCores
from funke.ops.service.service_folder import ServiceFolder
from funke.ops.service.warm_driver import IdleDriver

FAKE = Path(__file__).with_name("fake_driver.py")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    home = tmp_path / "home"
    monkeypatch.setenv("FUNKE_HOME", str(home))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(each for each in sys.path if each))
    # What the service starts as Python is a program that needs no Spark.
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nFAKE_PYTHON="$0" exec {sys.executable} {FAKE} "$@"\n')
    python.chmod(0o700)
    (tmp_path / "job.py").write_text("")
    return str(home)


@pytest.fixture
def dispatcher(home: str) -> Iterator[Dispatcher]:
    dispatcher = opened(home)
    yield dispatcher
    dispatcher.close()


def opened(home: str, **options: str) -> Dispatcher:
    folder = ServiceFolder(home)
    folder.open()
    return Dispatcher(folder, Settings({"taskmanager.numberOfTaskSlots": "2", **options}), JobDirectory(home))


def eventually(what: Callable[[], Any], limit_s: float = 60) -> Any:
    end = time.monotonic() + limit_s
    while not (result := what()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return result


def start(dispatcher: Dispatcher, tmp_path: Path, *arguments: str) -> str:
    return dispatcher.start([*arguments, "job.py"], str(tmp_path), str(tmp_path / "python"))


def is_running(dispatcher: Dispatcher, job_id: str) -> bool:
    job = dispatcher.jobs.find(job_id)
    return job is not None and job.is_driven and job.seen.status is JobStatus.RUNNING


def running_of(dispatcher: Dispatcher, job_ids: set[str]) -> set[str]:
    return {job_id for job_id in job_ids if is_running(dispatcher, job_id)}


def test_a_program_runs_and_is_found_again_by_another_service(home: str, tmp_path: Path) -> None:
    first = opened(home)
    run_id = start(first, tmp_path, "-Dsecret.password=x")
    job_id = first.first_job(run_id)
    eventually(lambda: is_running(first, job_id))
    assert first.count().free == 1 and "password" not in " ".join(first.runs.all()[0].command)
    # The first one is gone; nothing was in its memory alone.
    second = opened(home)
    second.look()
    assert is_running(second, job_id) and second.runs.is_alive(run_id)
    assert second.runs.all()[0].ended_ms is None
    second.close()
    eventually(lambda: not second.runs.is_alive(run_id))
    second.look()
    assert second.runs.all()[0].ended_ms is not None
    assert "the program runs" in second.runs.log_end(run_id)
    first.runs.note_ends()


def test_a_service_that_is_followed_starts_nothing(home: str, tmp_path: Path) -> None:
    followed = opened(home)
    leases = [Lease.acquire(followed.service.path, 60)]
    followed.guard = followed.runs._guard = leases[0].check
    run_id = start(followed, tmp_path)
    eventually(lambda: is_running(followed, followed.first_job(run_id)))
    # It stands still for long, and another one takes over.
    leases[0].release()
    leases.append(Lease.acquire(followed.service.path, 60))
    with pytest.raises(LeaseLostError, match="another driver runs"):
        start(followed, tmp_path)
    os.kill(followed.runs.all()[0].pid, signal.SIGKILL)
    eventually(lambda: not followed.runs.is_alive(run_id))
    with pytest.raises(LeaseLostError):
        followed.look()
    assert len(followed.runs.all()) == 1 and not followed.runs.is_alive(run_id)
    leases[1].release()


def test_a_program_is_not_started_beside_itself(dispatcher: Dispatcher, tmp_path: Path) -> None:
    run_id = start(dispatcher, tmp_path)
    eventually(lambda: is_running(dispatcher, dispatcher.first_job(run_id)))
    (run,) = dispatcher.runs.all()
    with pytest.raises(StateError, match=f"the program of run {run_id} runs already"):
        dispatcher.runs.start_again(run, run.command)


def test_a_job_that_loses_its_driver_goes_on(dispatcher: Dispatcher, tmp_path: Path) -> None:
    run_id = start(dispatcher, tmp_path)
    job_id = dispatcher.first_job(run_id)
    eventually(lambda: is_running(dispatcher, job_id))
    before = dispatcher.runs.all()[0].pid
    os.kill(before, signal.SIGKILL)
    eventually(lambda: not dispatcher.runs.is_alive(run_id))
    dispatcher.look()
    eventually(lambda: is_running(dispatcher, job_id))
    assert dispatcher.runs.all()[0].pid != before and len(dispatcher.jobs.all()) == 1


def test_a_job_that_rejects_to_go_on_is_tried_once(dispatcher: Dispatcher, tmp_path: Path) -> None:
    run_id = start(dispatcher, tmp_path)
    job_id = dispatcher.first_job(run_id)
    eventually(lambda: is_running(dispatcher, job_id))
    (tmp_path / "damaged").touch()
    os.kill(dispatcher.runs.all()[0].pid, signal.SIGKILL)
    eventually(lambda: not dispatcher.runs.is_alive(run_id))
    now = [1000.0]
    dispatcher._tries = RecoveryTries(lambda: now[0])
    dispatcher.look()
    eventually(lambda: not dispatcher.runs.is_alive(run_id) and dispatcher.runs.log_end(run_id).count("runs") == 2)
    now[0] += 1e6
    dispatcher.look()
    assert not dispatcher.runs.is_alive(run_id) and dispatcher.runs.log_end(run_id).count("the program runs") == 2
    # It is there to be decided about.
    job = dispatcher.jobs.find(job_id)
    assert job is not None and job.seen.status is JobStatus.SUSPENDED and job.record.observed_state().is_refused


def test_jobs_wait_for_slots(dispatcher: Dispatcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SLOTS", "2")
    first = dispatcher.first_job(start(dispatcher, tmp_path))
    eventually(lambda: is_running(dispatcher, first))
    run_id = start(dispatcher, tmp_path)
    second = dispatcher.first_job(run_id)
    eventually(lambda: "2 slots: 0 of 2 are free" in dispatcher.runs.log_end(run_id))
    assert not is_running(dispatcher, second)
    dispatcher.jobs.find(first).commanded().cancel().result(30)  # type: ignore[union-attr]
    eventually(lambda: is_running(dispatcher, second))


@pytest.mark.parametrize("is_configured", [True, False])
def test_a_job_goes_on_with_another_parallelism(home: str, tmp_path: Path, is_configured: bool) -> None:
    dispatcher = opened(home, **{"taskmanager.numberOfTaskSlots": "4"})
    location = ["-Dexecution.checkpointing.savepoint-dir=/configured"] if is_configured else []
    job_id = dispatcher.first_job(start(dispatcher, tmp_path, "-p", "2", "-Dmy.key=a b", *location))
    eventually(lambda: is_running(dispatcher, job_id))
    other = dispatcher.jobs.find(dispatcher.rescale(job_id, 3))
    assert other is not None and other.job_id != job_id
    configuration = other.record.configuration
    assert configuration["parallelism.default"] == "3" and configuration["my.key"] == "a b"
    # Without a place of its own the savepoint stands in the service's folder, and belongs to the new job.
    folder = "/configured" if is_configured else dispatcher.service.of("savepoints")
    assert configuration["execution.state-recovery.path"] == f"{folder}/savepoint-1"
    assert configuration.get("execution.state-recovery.claim-mode") == (None if is_configured else "CLAIM")
    (kept,) = dispatcher.rescales.of(other.job_id)
    assert (kept.job_id, kept.successor, kept.parallelism) == (job_id, other.job_id, 3)
    assert [each.state for each in kept.phases] == ["StopWithSavepoint", "CreatingExecutionGraph"]
    dispatcher.close()


def test_a_job_that_could_not_be_started_again_is_not_stopped(dispatcher: Dispatcher, tmp_path: Path) -> None:
    job_id = dispatcher.first_job(start(dispatcher, tmp_path, "-p", "2"))
    eventually(lambda: is_running(dispatcher, job_id))
    with pytest.raises(ConfigurationError, match=r"a parallelism of 100 needs as many slots, and there are 2 for"):
        dispatcher.rescale(job_id, 100)
    assert is_running(dispatcher, job_id) and dispatcher.rescales.of(job_id) == []


def test_a_job_goes_back_to_its_parallelism_when_it_does_not_start_with_another(
    dispatcher: Dispatcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_UNSTARTABLE", "2")
    job_id = dispatcher.first_job(start(dispatcher, tmp_path, "-p", "1"))
    eventually(lambda: is_running(dispatcher, job_id))
    with pytest.raises(
        JobExecutionError, match=r"parallelism of 2: it does not start; job \w+ continues with the previous paral"
    ):
        dispatcher.rescale(job_id, 2)
    (kept,) = dispatcher.rescales.of(job_id)
    assert kept.has_failed and kept.successor is not None and is_running(dispatcher, kept.successor)
    goes_on = dispatcher.jobs.find(kept.successor)
    assert goes_on is not None and goes_on.record.configuration["parallelism.default"] == "1"
    assert goes_on.record.configuration["execution.state-recovery.path"].endswith("/savepoint-1")
    assert kept.phases[-1].failure is not None and "it does not start" in kept.phases[-1].failure


def test_a_job_whose_driver_dies_with_another_parallelism_is_not_gone_on_with(
    dispatcher: Dispatcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_UNSTARTABLE", "2")
    monkeypatch.setenv("FAKE_DEATH", "1")
    job_id = dispatcher.first_job(start(dispatcher, tmp_path, "-p", "1"))
    eventually(lambda: is_running(dispatcher, job_id))
    with pytest.raises(JobExecutionError, match=r"parallelism of 2: its program ended"):
        dispatcher.rescale(job_id, 2)
    # Else two of them would write the same.
    dispatcher.look()
    (goes_on,) = (job for job in dispatcher.jobs.all() if not job.seen.status.is_globally_terminal_state())
    assert is_running(dispatcher, goes_on.job_id) and goes_on.record.configuration["parallelism.default"] == "1"


def test_many_short_jobs_leave_nothing_behind(dispatcher: Dispatcher, tmp_path: Path) -> None:
    runs = [start(dispatcher, tmp_path) for _ in range(6)]
    waiting = {dispatcher.first_job(run_id) for run_id in runs}
    while waiting:
        # Two slots: they run two at a time, in the order in which their processes, not their programs, came for slots.
        running = eventually(partial(running_of, dispatcher, waiting))
        assert len(running) <= 2
        for job_id in running:
            dispatcher.jobs.find(job_id).commanded().cancel().result(30)  # type: ignore[union-attr]
        waiting -= running
    eventually(lambda: not any(map(dispatcher.runs.is_alive, runs)))
    # Processes may not be gone yet, though they have given their locks back.
    eventually(lambda: (dispatcher.look(), all(run.ended_ms is not None for run in dispatcher.runs.all()))[1])
    assert dispatcher.count().free == 2 and dispatcher.pool.uses() == []
    assert not [path for path in Path(dispatcher.service.home).rglob("*") if path.is_socket()]


def test_what_cannot_run(dispatcher: Dispatcher, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no file 'nothing.py'"):
        dispatcher.start(["nothing.py"], str(tmp_path))
    with pytest.raises(ConfigurationError, match="name the program"):
        dispatcher.start([], str(tmp_path))
    run_id = dispatcher.start(["job.py", "fail"], str(tmp_path), str(tmp_path / "python"))
    with pytest.raises(JobExecutionError, match=r"ended without a job:\nthe program runs fail"):
        dispatcher.first_job(run_id)
    # Its process may not be gone yet, though it has given its lock back.
    eventually(lambda: (dispatcher.look(), dispatcher.runs.all()[0].exit_code == 3)[1])


FOLDER = """
import os, sys
print("in", os.getcwd(), "with", sys.argv[1:], "as", os.getpid(), os.environ.get("FUNKE_RECOVERED_RUN"), sys.path[:2])
"""


def with_idle_driver(dispatcher: Dispatcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IdleDriver:
    """A driver that waits for its program; Spark is elsewhere, and not started."""
    monkeypatch.setenv("FUNKE_SPARK_MASTER", "spark://127.0.0.1:1")
    # With an archive, the driver of a cluster's job would start Spark's process early.
    monkeypatch.setenv("FUNKE_CLASS_ARCHIVE", "off")
    (tmp_path / "place.py").write_text(FOLDER)
    dispatcher._idle = dispatcher.runs.prepare([sys.executable, "-m", "funke.ops.service.warm_driver"])
    return dispatcher._idle


def test_a_driver_that_waits_runs_the_next_program(
    dispatcher: Dispatcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = with_idle_driver(dispatcher, tmp_path, monkeypatch)
    eventually(idle.is_ready)
    run_id = dispatcher.start(["-Dsecret.password=x", "place.py", "a b"], str(tmp_path))
    assert run_id == idle.run_id and dispatcher.runs.all()[0].pid == idle.process.pid
    eventually(lambda: (dispatcher.look(), dispatcher.runs.all()[0].exit_code is not None)[1])
    assert dispatcher.runs.all()[0].exit_code == 0 and dispatcher._idle is None
    # As if Python had been started for it there.
    location = str(tmp_path)
    expected = f"in {location} with ['a b'] as {idle.process.pid} None ['{location}', '{location}']\n"
    assert dispatcher.runs.log_end(run_id) == expected
    assert "password" not in " ".join(dispatcher.runs.all()[0].command)


def test_a_program_whose_driver_died_while_it_waited_runs_all_the_same(
    dispatcher: Dispatcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = with_idle_driver(dispatcher, tmp_path, monkeypatch)
    os.kill(idle.process.pid, signal.SIGSTOP)
    run_id = dispatcher.start(["place.py"], str(tmp_path))
    idle.process.kill()
    eventually(lambda: (dispatcher.look(), dispatcher.runs.all()[0].exit_code is not None)[1])
    assert run_id == idle.run_id and f"in {tmp_path} with []" in dispatcher.runs.log_end(run_id)
    assert dispatcher.runs.all()[0].pid != idle.process.pid


def test_which_programs_need_a_driver_of_their_own(
    dispatcher: Dispatcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = with_idle_driver(dispatcher, tmp_path, monkeypatch)
    other = dispatcher.start(["-Dspark.executor.cores=2", "job.py", "fail"], str(tmp_path), str(tmp_path / "python"))
    assert other != idle.run_id and dispatcher._idle is idle
    assert dispatcher._idle_for(parse_program_call(["-Dspark.master=local[2]", "job.py"]), sys.executable) is None
    assert dispatcher._idle_for(parse_program_call(["job.py"]), "/another/python") is None
    # It ends with the service, and nothing is left of it.
    alive, log = (
        Path(dispatcher.service.of(name)) for name in (f"runs/{idle.run_id}.alive", f"logs/{idle.run_id}.log")
    )
    assert alive.exists() and log.exists()
    dispatcher.close()
    assert idle.process.poll() is not None and not alive.exists() and not log.exists()


def test_what_a_service_before_has_left_of_a_driver_that_waited(home: str) -> None:
    folder = ServiceFolder(home)
    folder.open()
    left = Path(folder.of("runs/0123456789abcdef.alive"))
    left.touch()
    opened(home)
    assert not left.exists()


@pytest.mark.parametrize(
    "options", [{"funke.service.warm-driver": "false"}, {"spark.master": "spark://127.0.0.1:1"}], ids=["off", "cluster"]
)
def test_no_driver_waits_where_none_is_wanted(home: str, options: dict[str, str]) -> None:
    dispatcher = opened(home, **options)
    dispatcher.keep_warm()
    assert dispatcher._idle is None


class Cores:
    """Says how many are free."""

    free = 0.0

    def since_last_look(self) -> float:
        return self.free


def test_the_next_driver_waits_until_jobs_leave_it_a_core(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dispatcher, cores = opened(home), Cores()
    prepared: list[object] = []
    monkeypatch.setattr(dispatcher.runs, "prepare", prepared.append)
    monkeypatch.setattr(dispatcher, "_free_cores", cores)

    def is_started(*, after_s: float, looks: int = 1) -> bool:
        prepared.clear()
        dispatcher._last_start = time.monotonic() - after_s
        for _ in range(looks):
            dispatcher.keep_warm()
        return bool(prepared)

    # A machine that has been idle until now tells nothing: what counts is what is free beside the job.
    assert not is_started(after_s=60, looks=10)
    cores.free = 1.5
    assert not is_started(after_s=60, looks=2), "free for a moment only"
    assert is_started(after_s=60)
    assert not is_started(after_s=2), "a program has just begun"
    cores.free = 0.2
    assert not is_started(after_s=60)
    assert is_started(after_s=301), "nothing is ever free"


def test_free_cores(tmp_path: Path) -> None:
    stat, now, ticks = tmp_path / "stat", [100.0], os.sysconf("SC_CLK_TCK")

    def write(idle: float, waiting: float) -> None:
        stat.write_text(f"cpu  1 2 3 {int(idle * ticks)} {int(waiting * ticks)} 6 7 8 9 10\ncpu0 1 2\n")

    write(1000, 50)
    cores = FreeCores(lambda: now[0], str(stat))
    now[0] += 2
    write(1002, 51)
    assert cores.since_last_look() == pytest.approx(1.5)
    now[0] += 1
    assert cores.since_last_look() == 0.0
    assert 0 <= FreeCores(path=str(tmp_path / "nothing")).since_last_look() <= (os.cpu_count() or 1)


def test_how_many_slots() -> None:
    assert slots_of(Settings({"taskmanager.numberOfTaskSlots": "5"})) == 5
    assert slots_of(Settings()) >= 16


def test_the_service_is_killed_and_followed_by_a_standby(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", sys.executable)
    ports = ["-D", "rest.port=0", "-D", "funke.service.warm-driver=false"]
    start_cluster(ports)
    folder = ServiceFolder(home)
    first = folder.address()
    assert first is not None
    try:
        with pytest.raises(ConfigurationError, match="the service runs already"):
            start_cluster(ports)
        start_cluster([*ports, "--standby"])
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
        for _ in range(3):
            run_in_service(parse_program_call(["-d", "job.py"]))
        monkeypatch.undo()
        monkeypatch.setenv("FUNKE_HOME", home)
        headers = {"authorization": f"Bearer {read_token(home)}"}
        jobs = [each["id"] for each in httpx.get(f"{first.url}/jobs", headers=headers).json()["jobs"]]
        out = capsys.readouterr().out
        assert len(jobs) == 3 and all(f"Job has been submitted with JobID {each}\n" in out for each in jobs)
        drivers = drivers_of(home, jobs)
        os.kill(first.pid, signal.SIGKILL)
        second = eventually(lambda: (result := folder.address()) is not None and result.pid != first.pid and result)
        # All of them are there, and run in the processes that they ran in.
        listed = httpx.get(f"{second.url}/v1/jobs", headers=headers).json()["jobs"]
        assert listed == [{"id": each, "status": "RUNNING"} for each in jobs]
        assert drivers_of(home, jobs) == drivers and len(set(drivers)) == 3
    finally:
        monkeypatch.setenv("FUNKE_HOME", home)
        stop_cluster([])
    assert folder.address() is None
    ended = [each.seen.status for each in JobDirectory(home).all()]
    assert ended == [JobStatus.CANCELED] * 3


def drivers_of(home: str, jobs: list[str]) -> list[int]:
    """The processes that run jobs."""
    owners = {each.job_id: each.record.owner() for each in JobDirectory(home).all()}
    return [owner.pid for each in jobs if (owner := owners[each]) is not None and owner.is_alive]
