"""The service with a real job: submitted to a driver that waits, watched, explained, written down and stopped."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from funke.ops.cli.main import main
from funke.ops.service.service_folder import ServiceFolder, read_json

pytestmark = pytest.mark.spark

PROGRAM = """
import os
import time
from pyflink.common import WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

env = StreamExecutionEnvironment.get_execution_environment()
env.enable_checkpointing(500)

here = os.getcwd()

def slow(number):
    time.sleep(0.002)
    assert os.getcwd() == here, "slots run where the program does"
    return number

numbers = env.from_source(NumberSequenceSource(0, 10_000_000), WatermarkStrategy.no_watermarks(), "numbers")
numbers.key_by(lambda number: number % 10).map(slow).name("slow one").filter(lambda _: False).print()
env.execute("numbers")
"""


# A barrier need not wait for long behind records that take their time.
NETWORK = "-Dtaskmanager.network.memory"
SMALL_BUFFERS = (
    "-Dtaskmanager.memory.segment-size=256b",
    f"{NETWORK}.buffer-debloat.enabled=true",  # without it a block may be longer than a buffer
    f"{NETWORK}.buffers-per-channel=1",
    f"{NETWORK}.floating-buffers-per-gate=1",
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServiceFolder]:
    monkeypatch.setenv("FUNKE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(each for each in sys.path if each))
    (tmp_path / "job.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    folder = ServiceFolder(str(tmp_path / "home"))
    yield folder
    if folder.address() is not None:
        assert main(["stop-cluster"]) == 0


def url_of(folder: ServiceFolder) -> str:
    address = folder.address()
    assert address is not None
    return address.url


def eventually(what: Callable[[], Any], limit_s: float = 150) -> Any:
    end = time.monotonic() + limit_s
    while not (found := what()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)
    return found


def completed(folder: ServiceFolder, job: str, what: str, body: dict[str, Any], path: str = "") -> Any:
    """Asks for something that takes a while, and waits for its outcome."""
    begun = httpx.post(f"{url_of(folder)}{job}/{what}", json=body)
    assert begun.status_code == 202, begun.text
    outcome = f"{url_of(folder)}{job}/{path or what}/{begun.json()['request-id']}"
    eventually(lambda: httpx.get(outcome).json()["status"]["id"] == "COMPLETED")
    return httpx.get(outcome).json()["operation"]


def test_a_job_is_submitted_and_explained(
    home: ServiceFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["start-cluster", "-Drest.port=0"]) == 0
    assert main(["run", "-d", "-p", "2", *SMALL_BUFFERS, "job.py"]) == 0
    job_id = capsys.readouterr().out.partition("submitted with JobID ")[2].split()[0]
    job = f"/jobs/{job_id}"
    eventually(lambda: httpx.get(url_of(home) + job + "/status").json()["status"] == "RUNNING")

    # What holds it up is named, with the line.
    def explained() -> Any:
        found = httpx.get(url_of(home) + job).json()["bottleneck"]
        return found if found is not None and found["user-line"] else None

    found = eventually(explained)
    assert '"slow one' in found["sentence"] and found["user-line"].startswith("job.py:14 in slow")

    # The driver was there before the program.
    (run,) = (read_json(str(path)) for path in Path(home.of("runs")).glob("*.json"))
    assert "warm_driver" in Path(f"/proc/{run['pid']}/cmdline").read_text()

    # A checkpoint now, then a savepoint to end with.
    assert completed(home, job, "checkpoints", {"checkpointType": "FULL"})["checkpointId"] > 0
    stopped = completed(home, job, "stop", {"targetDirectory": str(tmp_path / "savepoints")}, "savepoints")
    assert os.path.exists(f"{stopped['location']}/_metadata")
    eventually(lambda: httpx.get(url_of(home) + job + "/status").json()["status"] == "FINISHED")
