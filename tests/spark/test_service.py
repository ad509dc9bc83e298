"""The service with real jobs: the walk-through of the documentation, run as it stands there, and looked at closer."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from funke.engine.jobs.attempts.slot_pool import SlotPool
from funke.engine.jobs.records.job_record import read_record
from funke.ops.rest.login import read_token
from funke.ops.service.service_folder import ServiceFolder, read_json
from tests.spark.job_running import wait_until

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs" / "walkthrough.md"
_NAME = re.compile(r"<([a-z ]+)>")
_LIMIT_S = 120
# Looking does no harm: these are asked again until they say what the page says.
_LOOKING = ("doctor", "list", "status", "top", "logs")


@dataclass
class Shell:
    """Runs commands of the page in a folder, and learns what its names in angle brackets stand for."""

    folder: Path
    names: dict[str, str] = field(default_factory=dict)

    def run(self, command: str) -> str:
        text = _NAME.sub(lambda actual: self.names[actual[1]], command).replace(
            "funke ", f"{sys.executable} -m funke ", 1
        )
        done = subprocess.run(
            text, shell=True, cwd=self.folder, capture_output=True, text=True, timeout=150, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def follow(self, command: str, expected: list[str]) -> None:
        """Runs a command and looks whether it says what it should."""
        printed = self.run(command)
        end = time.monotonic() + _LIMIT_S
        while not self.says(printed, expected):
            is_hopeful = command.split()[1] in _LOOKING and time.monotonic() < end
            assert is_hopeful, f"{command} should say {expected}, and says\n{printed}"
            time.sleep(0.2)
            printed = self.run(command)

    def says(self, printed: str, expected: list[str]) -> bool:
        """Whether the wanted lines are among those printed; names that are new are learnt from them."""
        return all(any(self._fits(line, each) for line in printed.splitlines()) for each in expected)

    def _fits(self, line: str, expected: str) -> bool:
        pattern = "".join(map(self._pattern, re.split(r"(…|<[a-z ]+>)", expected)))
        match = re.fullmatch(pattern, line.strip())
        if match is not None:
            self.names |= {name.replace("_", " "): text for name, text in match.groupdict().items()}
        return match is not None

    def _pattern(self, part: str) -> str:
        name = _NAME.fullmatch(part)
        if name is not None and name[1] not in self.names:
            return rf"(?P<{name[1].replace(' ', '_')}>\S+)"
        return ".*" if part == "…" else re.escape(self.names[name[1]] if name else part)


def steps(page: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a page, each with the lines that must be among what it prints."""
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *expected = step.splitlines()
            yield command, expected


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").write_text("rest.port: 0\n")
    monkeypatch.setenv("FUNKE_CONF_DIR", str(tmp_path / "conf"))
    monkeypatch.setenv("FUNKE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(each for each in sys.path if each))
    shell = Shell(tmp_path)
    yield shell
    if ServiceFolder(str(tmp_path / "home")).address() is not None:
        shell.run("funke stop-cluster")


def test_the_walk_through(shell: Shell) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (shell.folder / "orders.py").write_text(program)
    for command, expected in steps(page):
        shell.follow(command, expected)
        if command.startswith("funke status"):
            look_closer(shell)


def look_closer(shell: Shell) -> None:
    """What the page does not tell of the job that runs: REST says the same, and who runs it where."""
    home = ServiceFolder(str(shell.folder / "home"))
    address = home.address()
    assert address is not None
    job = f"{address.url}/jobs/{shell.names['job id']}"
    assert httpx.get(job).status_code == 401
    # `funke dashboard` gives a link that lets one browser in.
    link = shell.run("funke dashboard --no-browser").strip()
    browser = httpx.Client()
    half = browser.get(link).headers["location"].removeprefix("/#login=")
    assert link.startswith(address.url) and browser.get(job, headers={"x-funke-page": half}).status_code == 200
    assert httpx.get(link).status_code == 403
    rest = httpx.Client(headers={"authorization": f"Bearer {read_token(home.home)}"})
    answer = rest.get(job).json()["bottleneck"]
    assert '"count' in answer["sentence"] and answer["user-line"] == "orders.py:14 in process_element"
    # A worker tells what its slots hold.
    worker = f"{address.url}/taskmanagers/127.0.0.1-{shell.names['job id'][:12]}"
    assert rest.get(worker).json()["metrics"]["heapUsed"] > 10_000_000
    # The driver was there before the program, whose folder its slots are in.
    (run,) = (read_json(str(path)) for path in Path(home.of("runs")).glob("*.json"))
    assert "warm_driver" in Path(f"/proc/{run['pid']}/cmdline").read_text()
    assert [os.readlink(path.parent / "cwd") for path in slots_of(shell.folder)] == [str(shell.folder)] * 2
    # A checkpoint now.
    begun = rest.post(f"{job}/checkpoints", json={"checkpointType": "FULL"})
    assert begun.status_code == 202, begun.text
    outcome = f"{job}/checkpoints/{begun.json()['request-id']}"
    assert wait_until(lambda: rest.get(outcome).json()["status"]["id"] == "COMPLETED", _LIMIT_S)
    checkpoint_id = rest.get(outcome).json()["operation"]["checkpointId"]
    # Whoever was late for it is known.
    page = f"{job}/checkpoints/details/{checkpoint_id}"
    assert wait_until(lambda: rest.get(page).status_code == 200, _LIMIT_S)  # the view follows the answer
    details = rest.get(page).json()
    assert details["end_to_end_duration"] >= max(each["end_to_end_duration"] for each in details["tasks"].values()) > 0


# Jobs of a moment, one after the other; each takes all slots of the service.
SHORT_JOBS = """
import os, time
from pyflink.datastream import StreamExecutionEnvironment

def pass_gate(number):
    while not os.path.exists("open gate"):
        time.sleep(0.01)
    return number

env = StreamExecutionEnvironment.get_execution_environment()
for job in range(4):
    env.from_collection([1, 2, 3]).map(pass_gate).print()
    env.execute(f"short {job}")
"""

# Writes 0, 1, 2 … and does not start with two subtasks.
NUMBERS = """
from pyflink.common import Encoder, Types, WatermarkStrategy
from pyflink.datastream import MapFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from pyflink.datastream.connectors.file_system import FileSink, RollingPolicy

class Alone(MapFunction):
    def open(self, context):
        if context.get_number_of_parallel_subtasks() > 1:
            raise RuntimeError("there is a licence for one subtask")

    def map(self, number):
        return str(number)

env = StreamExecutionEnvironment.get_execution_environment()
env.enable_checkpointing(300)
source = DataGeneratorSource(int, 10**9, Types.LONG(), rate_limiter_strategy=RateLimiterStrategy.per_second(200))
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
sink = FileSink.for_row_format("written", Encoder.simple_string_encoder())
sink = sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
numbers.map(Alone(), Types.STRING()).sink_to(sink.build())
env.execute("numbers")
"""


@dataclass
class Service:
    """The service of a shell's folder, and who may ask it."""

    shell: Shell

    @property
    def folder(self) -> ServiceFolder:
        return ServiceFolder(str(self.shell.folder / "home"))

    @property
    def url(self) -> str:
        address = self.folder.address()
        assert address is not None
        return address.url

    def ask(self, path: str, method: str = "GET") -> Any:
        headers = {"authorization": f"Bearer {read_token(self.folder.home)}"}
        answer = httpx.request(method, f"{self.url}{path}", headers=headers, timeout=60)
        assert answer.is_success, answer.text
        return answer.json()

    def run(self, program: str, *options: str) -> str:
        """Submits a program; returns the id of its first job."""
        said = self.shell.run(f"funke run -d {' '.join(options)} {program}")
        return said.split("JobID ")[1].split()[0]

    def driver_of(self, job_id: str) -> int:
        owner = read_record(os.path.join(self.folder.home, "jobs", job_id)).owner()
        assert owner is not None and owner.is_alive
        return owner.pid

    def jobs(self) -> list[Any]:
        """What REST says of each job, the oldest first."""
        return [self.ask(f"/jobs/{job['id']}") for job in self.ask("/jobs")["jobs"]]

    def runs(self) -> list[Any]:
        """What is kept of each program."""
        return [read_json(str(path)) for path in Path(self.folder.of("runs")).glob("*.json")]

    def is_writing(self, job_id: str) -> bool:
        """Whether a job runs and has completed a checkpoint of its own."""
        if self.ask(f"/jobs/{job_id}")["state"] != "RUNNING":
            return False
        return bool(self.ask(f"/jobs/{job_id}/checkpoints")["counts"]["completed"])


@pytest.fixture
def service(shell: Shell) -> Service:
    """With two slots, and another one that takes over when it is gone."""
    with open(shell.folder / "conf" / "config.yaml", "a") as configuration:
        configuration.write("taskmanager.numberOfTaskSlots: 2\nfunke.service.warm-driver: false\n")
    (shell.folder / "short_jobs.py").write_text(SHORT_JOBS)
    (shell.folder / "counting.py").write_text(NUMBERS)
    shell.run("funke start-cluster")
    shell.run("funke start-cluster --standby")
    return Service(shell)


@pytest.mark.timeout(600)  # two programs and four drivers of a job, each with a Spark of its own
def test_jobs_share_slots_go_back_to_their_parallelism_and_outlive_the_service(service: Service) -> None:
    look_at_short_jobs(service)
    job_id = service.run("counting.py", "-p 1")
    assert wait_until(lambda: service.is_writing(job_id), _LIMIT_S)
    driver, before = service.driver_of(job_id), service.folder.address()
    assert before is not None
    os.kill(before.pid, signal.SIGKILL)
    assert wait_until(lambda: (now := service.folder.address()) is not None and now.pid != before.pid, _LIMIT_S)
    # The standby has the job, which has noticed nothing.
    assert service.ask(f"/jobs/{job_id}")["state"] == "RUNNING" and service.driver_of(job_id) == driver
    job_id = rescale_in_vain(service, job_id)
    # It looks after it as well.
    os.kill(service.driver_of(job_id), signal.SIGKILL)
    assert wait_until(lambda: service.ask(f"/jobs/{job_id}")["state"] == "SUSPENDED", _LIMIT_S)
    assert wait_until(lambda: service.is_writing(job_id), _LIMIT_S)
    service.shell.run(f"funke stop -p savepoints {job_id}")
    parts = (path for path in (service.shell.folder / "written").rglob("part-*") if path.is_file())
    numbers = sorted(int(line) for part in parts for line in part.read_text().split())
    assert numbers == list(range(len(numbers))) and len(numbers) > 100, "something is lost, or written twice"
    assert wait_until(lambda: not slots_of(service.shell.folder), _LIMIT_S)


def look_at_short_jobs(service: Service) -> None:
    """Eight jobs of two programs want both slots each: one waits for the other, and nothing stays of them."""
    first = service.run("short_jobs.py", "-p 2")
    assert wait_until(lambda: service.ask(f"/jobs/{first}")["state"] == "RUNNING", _LIMIT_S)
    command = [sys.executable, "-m", "funke", "run", "-t", "remote", "-p", "2", "short_jobs.py"]
    with subprocess.Popen(command, cwd=service.shell.folder, stdout=subprocess.PIPE, text=True) as second:
        full = ["", "2 slots: 0 of 2 are free"]
        assert wait_until(lambda: sorted(job["waiting-for"] for job in service.jobs()) == full, _LIMIT_S)
        (service.shell.folder / "open gate").touch()
        said, _ = second.communicate(timeout=_LIMIT_S)
    assert second.returncode == 0 and said.endswith("Program execution finished\n")
    assert wait_until(lambda: [job["state"] for job in service.jobs()] == ["FINISHED"] * 8, _LIMIT_S)
    assert wait_until(lambda: [run["exit_code"] for run in service.runs()] == [0, 0], _LIMIT_S)
    assert SlotPool(service.folder.of("slots")).uses() == [] and slots_of(service.shell.folder) == []
    assert not [path for path in Path(service.folder.home, "jobs").rglob("*") if path.is_socket()]
    assert service.ask("/overview")["slots-available"] == 2


def rescale_in_vain(service: Service, job_id: str) -> str:
    """Asks for a parallelism with which the job does not start; returns the id of the job that goes on."""
    asked = service.ask(f"/jobs/{job_id}/rescaling?parallelism=2", "PATCH")["request-id"]
    outcome = f"/jobs/{job_id}/rescaling/{asked}"
    assert wait_until(lambda: service.ask(outcome)["status"]["id"] == "COMPLETED", 3 * _LIMIT_S)  # two drivers start
    cause = service.ask(outcome)["operation"]["failure-cause"]["stack-trace"]
    assert "no job runs with a parallelism of 2" in cause and "there is a licence for one subtask" in cause
    successor = re.findall(r"job (\w+) continues with the previous parallelism", cause)[0]
    assert service.ask(f"/jobs/{job_id}")["state"] == "FINISHED" and successor != job_id
    assert {vertex["parallelism"] for vertex in service.ask(f"/jobs/{successor}")["vertices"]} == {1}
    assert wait_until(lambda: service.is_writing(successor), _LIMIT_S)
    return str(successor)


def slots_of(folder: Path) -> list[Path]:
    """The slots of jobs that keep their records in a folder."""
    results = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            is_one = (
                path.read_text() == "funke-slot\n" and str(folder).encode() in (path.parent / "environ").read_bytes()
            )
        except OSError:  # gone meanwhile
            continue
        results += [path] if is_one else []
    return results
