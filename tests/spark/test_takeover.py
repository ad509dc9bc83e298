"""A standby takes over three jobs that run, from a service that dies and from one that only seems to be dead."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from funke.engine.jobs.records.job_record import read_record
from funke.ops.service.service_folder import ServiceAddress
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
