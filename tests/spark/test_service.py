"""The service with a real job: submitted, watched, and what holds it up explained."""

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
from funke.ops.service.service_folder import ServiceFolder

pytestmark = pytest.mark.spark

PROGRAM = """
import time
from pyflink.common import WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

env = StreamExecutionEnvironment.get_execution_environment()
env.enable_checkpointing(500)

def slow(number):
    time.sleep(0.002)
    return number

numbers = env.from_source(NumberSequenceSource(0, 10_000_000), WatermarkStrategy.no_watermarks(), "numbers")
numbers.key_by(lambda number: number % 10).map(slow).name("slow one").filter(lambda _: False).print()
env.execute("numbers")
"""


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


def test_a_job_is_submitted_and_explained(home: ServiceFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start-cluster", "-Drest.port=0"]) == 0
    assert main(["run", "-d", "-p", "2", "job.py"]) == 0
    job_id = capsys.readouterr().out.partition("submitted with JobID ")[2].split()[0]
    job = f"/jobs/{job_id}"
    eventually(lambda: httpx.get(url_of(home) + job + "/status").json()["status"] == "RUNNING")

    # What holds it up is named, with the line.
    def explained() -> Any:
        found = httpx.get(url_of(home) + job).json()["bottleneck"]
        return found if found is not None and found["user-line"] else None

    found = eventually(explained)
    assert '"slow one' in found["sentence"] and found["user-line"].startswith("job.py:11 in slow")
