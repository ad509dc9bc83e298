"""The service with real jobs: the walk-through of the documentation, run as it stands there, and looked at closer."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

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
    known: dict[str, str] = field(default_factory=dict)

    def run(self, command: str) -> str:
        text = _NAME.sub(lambda found: self.known[found[1]], command).replace(
            "funke ", f"{sys.executable} -m funke ", 1
        )
        done = subprocess.run(
            text, shell=True, cwd=self.folder, capture_output=True, text=True, timeout=150, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def follow(self, command: str, wanted: list[str]) -> None:
        """Runs a command and looks whether it says what it should."""
        printed = self.run(command)
        end = time.monotonic() + _LIMIT_S
        while not self.says(printed, wanted):
            is_hopeful = command.split()[1] in _LOOKING and time.monotonic() < end
            assert is_hopeful, f"{command} should say {wanted}, and says\n{printed}"
            time.sleep(0.2)
            printed = self.run(command)

    def says(self, printed: str, wanted: list[str]) -> bool:
        """Whether the wanted lines are among those printed; names that are new are learnt from them."""
        return all(any(self._fits(line, each) for line in printed.splitlines()) for each in wanted)

    def _fits(self, line: str, wanted: str) -> bool:
        pattern = "".join(map(self._pattern, re.split(r"(…|<[a-z ]+>)", wanted)))
        found = re.fullmatch(pattern, line.strip())
        if found is not None:
            self.known |= {name.replace("_", " "): text for name, text in found.groupdict().items()}
        return found is not None

    def _pattern(self, part: str) -> str:
        name = _NAME.fullmatch(part)
        if name is not None and name[1] not in self.known:
            return rf"(?P<{name[1].replace(' ', '_')}>\S+)"
        return ".*" if part == "…" else re.escape(self.known[name[1]] if name else part)


def steps(page: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a page, each with the lines that must be among what it prints."""
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *wanted = step.splitlines()
            yield command, wanted


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
    for command, wanted in steps(page):
        shell.follow(command, wanted)
        if command.startswith("funke status"):
            look_closer(shell)


def look_closer(shell: Shell) -> None:
    """What the page does not tell of the job that runs: REST says the same, and who runs it where."""
    home = ServiceFolder(str(shell.folder / "home"))
    address = home.address()
    assert address is not None
    job = f"{address.url}/jobs/{shell.known['job id']}"
    assert httpx.get(job).status_code == 401
    rest = httpx.Client(headers={"authorization": f"Bearer {read_token(home.home)}"})
    found = rest.get(job).json()["bottleneck"]
    assert '"count' in found["sentence"] and found["user-line"] == "orders.py:14 in process_element"
    # A worker tells what its slots hold.
    worker = f"{address.url}/taskmanagers/127.0.0.1-{shell.known['job id'][:12]}"
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
    taken = rest.get(outcome).json()["operation"]["checkpointId"]
    # Whoever was late for it is known.
    page = f"{job}/checkpoints/details/{taken}"
    assert wait_until(lambda: rest.get(page).status_code == 200, _LIMIT_S)  # the view follows the answer
    details = rest.get(page).json()
    assert details["end_to_end_duration"] >= max(each["end_to_end_duration"] for each in details["tasks"].values()) > 0


def slots_of(folder: Path) -> list[Path]:
    """The slots of jobs that keep their records in a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            is_one = (
                path.read_text() == "funke-slot\n" and str(folder).encode() in (path.parent / "environ").read_bytes()
            )
        except OSError:  # gone meanwhile
            continue
        found += [path] if is_one else []
    return found
