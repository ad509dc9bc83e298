"""What people look at from a terminal: logs, top, memory, doctor, and JSON for scripts."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.records.job_record import OwnedRecord
from funke.engine.types.job_status import JobStatus
from funke.ops.cli.doctor import examine, findings
from funke.ops.cli.job_commands import list_jobs, show_status
from funke.ops.cli.logs import show_logs
from funke.ops.cli.main import main
from funke.ops.cli.memory import show_memory
from funke.ops.cli.top import show_top
from funke.ops.service.service_folder import ServiceFolder
from tests.unit.ops.rest.job_samples import driven, sample_view, submit


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FUNKE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "120")
    return str(tmp_path / "home")


@pytest.fixture
def job(home: str) -> Iterator[OwnedRecord]:
    owned = submit(home)
    yield owned
    owned.release()


def test_jobs_as_json(job: OwnedRecord, capsys: pytest.CaptureFixture[str]) -> None:
    list_jobs(["--json"])
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["id"], listed["status"], listed["has_driver"]) == (job.job_id, "RUNNING", True)
    with driven(job, sample_view(job.job_id), []):
        show_status(["--json", job.job_id])
    assert json.loads(capsys.readouterr().out)["vertices"][1]["name"] == "Map -> Sink: out"


def test_status_says_what_holds_a_job_up(job: OwnedRecord, capsys: pytest.CaptureFixture[str]) -> None:
    waiting = sample_view(job.job_id, waiting_for="2 slots: 1 of 4 are free")
    with driven(job, waiting, []):
        show_status([job.job_id])
    out = capsys.readouterr().out
    assert 'Diagnosis: "Map -> Sink: out" is the bottleneck: busy 95%, "Source: orders" waits.' in out
    assert "Waits for: 2 slots: 1 of 4 are free\n" in out


def test_top(job: OwnedRecord, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with driven(job, sample_view(job.job_id), []):
        show_top(["--once"])
    out = capsys.readouterr().out
    assert f"orders {job.job_id[:8]}" in out and "HIGH 80%" in out and "95%" in out
    assert 'orders: "Map -> Sink: out" is the bottleneck' in out
    # On a narrow terminal names are shortened, and metrics are not.
    monkeypatch.setenv("COLUMNS", "64")
    long = sample_view(job.job_id, name="a job [with] a name that is long")
    with driven(job, long, []):
        show_top(["--once"])
    out = capsys.readouterr().out
    assert "a job [with] a " in out and "…" in out and "RUNNING" in out and "HIGH 80%" in out
    job.put_status(JobStatus.FINISHED)
    show_top(["--once"])
    assert capsys.readouterr().out == "No running jobs.\n"


def test_logs(home: str, job: OwnedRecord, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigurationError, match="the service does not run job"):
        show_logs([job.job_id])
    folder = ServiceFolder(home)
    folder.open()
    path = Path(folder.of(f"logs/{job.record.run_id}.log"))
    path.write_text("first\n")
    show_logs([job.job_id])
    assert capsys.readouterr().out == "first\n"

    def go_on() -> None:
        with path.open("a") as file:
            file.write("second\n")
        job.put_status(JobStatus.FINISHED)

    timer = threading.Timer(0.5, go_on)
    timer.start()
    show_logs(["-f", job.job_id])
    timer.join()
    assert capsys.readouterr().out == "first\nsecond\n"


def test_memory(capsys: pytest.CaptureFixture[str]) -> None:
    show_memory(["-Dtaskmanager.memory.process.size=1728m", "-Dtaskmanager.numberOfTaskSlots=4"])
    out = capsys.readouterr().out
    assert "task heap               464.0 mb  ███████████\n" in out and "total process         1,728.0 mb\n" in out
    assert "-Xmx620756981 " in out and "each of 4 slots has 144.000mb" in out
    assert "  and fails when it has more than 432 mb\n" in out
    assert "the memory of the driver is unknown: set jobmanager.memory.flink.size" in out
    show_memory(["--json", "-Djobmanager.memory.process.size=1600m"])
    result = json.loads(capsys.readouterr().out)
    assert result["jobmanager"]["heap"] == 1 << 30 and "is unknown" in result["taskmanager"]["error"]


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    examine(["--json", f"-Drest.port={port}"])
    results = {each["what"]: each["is_well"] for each in json.loads(capsys.readouterr().out)}
    assert set(results) == {"python", "java", "spark", "port", "storage", "disk", "clock", "host"} and all(
        results.values()
    )
    with socket.create_server(("127.0.0.1", 0)) as occupied, pytest.raises(ConfigurationError, match="not everything"):
        examine([f"-Drest.port={occupied.getsockname()[1]}"])
    assert "FAIL  port " in capsys.readouterr().out


def test_doctor_finds_java_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (java,) = [each for each in findings(Settings()) if each.what == "java"]
    assert not java.is_well and "No such file" in java.found
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    (java,) = [each for each in findings(Settings()) if each.what == "java"]
    assert not java.is_well and "there is no Java" in java.found


def test_commands_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "--json"]) == 0
    assert main(["stop-cluster"]) == 1 and "no service runs" in capsys.readouterr().err
    assert main(["run", "-d", "job.py"]) == 1 and "funke start-cluster" in capsys.readouterr().err
