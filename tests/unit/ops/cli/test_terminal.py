"""Commands in a real terminal: colours, tables and progress there, plain lines and JSON elsewhere."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from funke.engine.jobs.control import ControlServer
from funke.engine.jobs.records.job_record import OwnedRecord
from funke.ops.cli.main import main
from funke.ops.cli.snapshot_commands import take_savepoint
from tests.unit.ops.rest.job_samples import submit

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


@pytest.fixture
def job(home: str) -> Iterator[OwnedRecord]:
    owned = submit(home)
    yield owned
    owned.release()


def environment(home: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    return {**kept, "FUNKE_HOME": home, "TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path)}


def in_terminal(home: str, *arguments: str) -> tuple[str, int]:
    """What a terminal of 120 columns gets to see of a command, and how the command ended."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    command = [sys.executable, "-m", "funke", *arguments]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(home), close_fds=True
    )
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # so Linux tells that the other end is closed
        while part := os.read(ours, 65_536):
            seen += part
    os.close(ours)
    return seen.decode().replace("\r\n", "\n"), process.wait(60)


def test_jobs_are_a_table(home: str, job: OwnedRecord) -> None:
    seen, code = in_terminal(home, "list")
    assert code == 0 and "\x1b[" in seen
    plain = _COLOUR.sub("", seen)
    assert "Running/Restarting Jobs" in plain and re.search(rf"{job.job_id} +orders +RUNNING", plain)


def test_progress_is_shown_while_a_savepoint_is_written_and_scraped_lines_stay(
    home: str, job: OwnedRecord, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def savepoint(folder: str | None, afterwards: str) -> str:
        asked.append(folder)
        return f"{folder}/savepoint-1"

    server = ControlServer(job.record.control_path, {"savepoint": savepoint})
    try:
        seen, code = in_terminal(home, "savepoint", job.job_id, "/s")
        assert code == 0 and "writing the savepoint" in seen
        lines = [_COLOUR.sub("", line).strip() for line in re.split(r"[\r\n]+", seen)]
        assert "Savepoint completed. Path: /s/savepoint-1" in lines
        monkeypatch.setenv("FUNKE_HOME", home)
        take_savepoint(["--json", job.job_id, "/s"])
        assert json.loads(capsys.readouterr().out) == {"id": job.job_id, "path": "/s/savepoint-1"}
    finally:
        server.close()
    assert asked == ["/s", "/s"]


def test_help_has_colours_in_a_terminal_alone(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    seen, code = in_terminal(home, "--help")
    assert code == 0 and "\x1b[1musage:" in seen
    assert main(["--help"]) == 0
    assert _COLOUR.sub("", seen) == capsys.readouterr().out


def test_scripts_do_not_wait_for_what_draws(home: str) -> None:
    program = "import sys; from funke.ops.cli.main import main; main(['list']); print('rich' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(home), capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.endswith("False\n")
