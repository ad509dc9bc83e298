"""A standby takes over three jobs that run, from a service that dies and from one that only seems to be dead."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from funke.engine.config.settings import Settings
from funke.engine.jobs.records.job_record import JobRecord, home_folder, read_record, read_records
from funke.engine.jobs.records.lease import LeaseOwner
from funke.ops.service.service_folder import ServiceAddress, ServiceFolder
from tests.harness.s3_server import S3Server
from tests.spark.job_running import wait_until
from tests.spark.test_service import Service, Shell, shell, slots_of

__all__ = ["shell"]

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

_LIMIT_S = 120
JOBS = ("a", "b", "c")
# Writes 0, 1, 2 … into a folder of its own.
NUMBERS = """
import sys
from pyflink.common import Encoder, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from pyflink.datastream.connectors.file_system import FileSink, RollingPolicy

env = StreamExecutionEnvironment.get_execution_environment()
env.enable_checkpointing(500)
source = DataGeneratorSource(int, 10**9, Types.LONG(), rate_limiter_strategy=RateLimiterStrategy.per_checkpoint(50))
sink = FileSink.for_row_format(sys.argv[1], Encoder.simple_string_encoder())
sink = sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
numbers.map(str, Types.STRING()).sink_to(sink.build())
env.execute(sys.argv[1])
"""


@pytest.fixture
def service(shell: Shell) -> Service:
    """With two others that wait to take over."""
    with open(shell.folder / "conf" / "config.yaml", "a") as configuration:
        configuration.write("taskmanager.numberOfTaskSlots: 3\nfunke.service.warm-driver: false\n")
    (shell.folder / "count_up.py").write_text(NUMBERS)
    shell.run("funke start-cluster")
    for _ in range(2):
        shell.run("funke start-cluster --standby")
    return Service(shell)


def await_another(service: Service, before: ServiceAddress) -> ServiceAddress:
    """Waits until another service leads."""
    folder = service.folder
    assert wait_until(lambda: (now := folder.address()) is not None and now.pid != before.pid, _LIMIT_S)
    leader = folder.address()
    assert leader is not None
    return leader


def run_by(service: Service, job_id: str) -> tuple[int, int]:
    """The attempt of a job, and the process of its driver."""
    owner = read_record(os.path.join(service.folder.home, "jobs", job_id)).owner()
    assert owner is not None and owner.is_alive
    return owner.attempt, owner.pid


def require_exact(folder: Path) -> None:
    parts = (path for path in folder.rglob("part-*") if path.is_file())
    numbers = sorted(int(line) for part in parts for line in part.read_text().split())
    assert numbers == list(range(len(numbers))) and len(numbers) > 100, "something is lost, or written twice"


def test_jobs_are_handed_over_and_none_is_run_twice(service: Service) -> None:
    jobs = [service.run(f"count_up.py {name}", "-p 1") for name in JOBS]
    assert wait_until(lambda: all(map(service.is_writing, jobs)), _LIMIT_S)
    before = [run_by(service, job_id) for job_id in jobs]
    first = service.folder.address()
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    second = await_another(service, first)
    assert [run_by(service, job_id) for job_id in jobs] == before
    assert [service.ask(f"/jobs/{job_id}")["state"] for job_id in jobs] == ["RUNNING"] * 3
    # One that is stopped for longer than its lease knows nothing of its successor.
    os.kill(second.pid, signal.SIGSTOP)
    try:
        await_another(service, second)
        os.kill(before[0][1], signal.SIGKILL)
    finally:
        os.kill(second.pid, signal.SIGCONT)
    assert wait_until(lambda: not Path(f"/proc/{second.pid}").exists(), _LIMIT_S), "it has seen that it is followed"
    assert wait_until(lambda: service.ask(f"/jobs/{jobs[0]}")["state"] == "RUNNING", _LIMIT_S)
    assert wait_until(lambda: service.is_writing(jobs[0]), _LIMIT_S)
    assert run_by(service, jobs[0])[0] == 1, "one driver has followed the one that was killed"
    assert [run_by(service, job_id) for job_id in jobs[1:]] == before[1:]
    assert "another driver runs" in Path(service.folder.of("logs/standby.log")).read_text()
    for job_id in jobs:
        service.shell.run(f"funke stop -p savepoints {job_id}")
    for name in JOBS:
        require_exact(service.shell.folder / name)
    assert wait_until(lambda: not slots_of(service.shell.folder), _LIMIT_S)


@dataclass
class Machine:
    """A machine with a folder of its own, which shares nothing with others but the object store and the program."""

    shell: Shell
    folder: Path

    def run(self, command: str) -> str:
        """Runs a command there."""
        return self.shell.run(f"env FUNKE_HOME={self.folder} {command}")

    @property
    def log(self) -> str:
        """What its services have said."""
        return "".join(path.read_text() for path in self.folder.glob("store-*/service/logs/s*.log"))


@pytest.fixture
def storage(shell: Shell) -> Iterator[ServiceFolder]:
    """An object store, which the configuration names."""
    with S3Server("funke") as server:
        own = {"high-availability.storageDir": f"s3://funke/{shell.folder.name}", "taskmanager.numberOfTaskSlots": "1"}
        settings = {**server.hadoop_settings(), **own, "funke.lease-timeout": "5 s"}
        with open(shell.folder / "conf" / "config.yaml", "a") as configuration:
            configuration.writelines(f"{key}: {value}\n" for key, value in settings.items())
            configuration.write("funke.service.warm-driver: false\n")
        (shell.folder / "count_up.py").write_text(NUMBERS)
        folder = ServiceFolder(home_folder(Settings({**settings, "funke.home": str(shell.folder / "looking")})))
        yield folder
        left = [folder.address(), *(record.owner() for record in read_records(folder.home))]
        for pid in (each.pid for each in left if each is not None):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def leader_after(storage: ServiceFolder, pid: int | None) -> int:
    """The process of the service that leads, when it is another one."""
    assert wait_until(lambda: (now := storage.address()) is not None and now.pid != pid, _LIMIT_S)
    leader = storage.address()
    assert leader is not None
    return leader.pid


def follower_of(record: JobRecord, attempt: int, before: str | None) -> LeaseOwner:
    """The driver of an attempt, or a later one, once it has taken a checkpoint."""

    def follows() -> bool:
        owner = record.owner()
        has_followed = owner is not None and owner.is_alive and owner.attempt >= attempt
        return has_followed and record.state().checkpoint not in (None, before)

    assert wait_until(follows, _LIMIT_S)
    owner = record.owner()
    assert owner is not None
    return owner


def test_machines_that_share_an_object_store_follow_each_other(shell: Shell, storage: ServiceFolder) -> None:
    one, two = (Machine(shell, shell.folder / name) for name in ("one", "two"))
    one.run("funke start-cluster")
    first = leader_after(storage, None)
    two.run("funke start-cluster --standby")
    job_id = one.run("funke run -d -p 1 count_up.py a").split("JobID ")[1].split()[0]
    record = read_record(f"{storage.home}/jobs/{job_id}")
    assert "not to be seen" not in record.command and "not to be seen" not in record.configuration.values()
    driver = follower_of(record, 0, None)
    # The first machine is lost.
    os.kill(first, signal.SIGKILL)
    os.kill(driver.pid, signal.SIGKILL)
    second = leader_after(storage, first)
    driver = follower_of(record, driver.attempt + 1, record.state().checkpoint)
    # The second one stands still for longer than all leases, and goes on.
    one.run("funke start-cluster --standby")
    stopped = (second, driver.pid)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        leader_after(storage, second)
        follower_of(record, driver.attempt + 1, record.state().checkpoint)
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    for pid in stopped:
        assert wait_until(lambda: not Path(f"/proc/{pid}").exists(), _LIMIT_S), "it has seen that it is followed"  # noqa: B023
    assert "another driver runs" in two.log
    one.run(f"funke stop -p {shell.folder}/savepoints {job_id}")
    require_exact(shell.folder / "a")
    one.run("funke stop-cluster")
