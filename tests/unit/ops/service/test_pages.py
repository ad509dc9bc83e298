"""Pages of a program about its own jobs: served by a process that ends with the program."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from funke.engine.config.settings import Settings
from funke.engine.jobs.records.recovery import admit_if_asked
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.submission.own_pages import wants_own_pages
from funke.ops.rest.login import read_token

PROGRAM = """
import sys
from funke.engine.config.settings import Settings
from funke.engine.jobs.submission.own_pages import serve_own_pages
for _ in range(2):
    serve_own_pages(Settings({"rest.bind-port": sys.argv[2], "rest.port": "8081"}), sys.argv[1])
sys.stdin.readline()
"""


def test_they_are_served_as_long_as_the_program_lives(tmp_path: Path) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path), "0"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
    )
    with program:
        assert program.stderr is not None
        url = re.fullmatch(
            r"The job's pages: (http://127.0.0.1:\d+)/login\?code=[\w-]{43}\n", program.stderr.readline()
        )
        assert url is not None
        assert httpx.get(f"{url[1]}/jobs").status_code == 401
        headers = {"authorization": f"Bearer {read_token(str(tmp_path))}"}
        assert httpx.get(f"{url[1]}/jobs", headers=headers).json() == {"jobs": []}
        # No last words: it cannot tell anybody that it is gone.
        program.send_signal(signal.SIGKILL)
    end = time.monotonic() + 30
    while _answers(url[1]):
        assert time.monotonic() < end
        time.sleep(0.05)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz").status_code == 200
    except httpx.HTTPError:
        return False


def test_a_port_that_is_taken_is_reported_and_harms_nobody(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        settings = {"rest.port": str(occupied.getsockname()[1])}
        own_settings = json.dumps({"home": str(tmp_path), "settings": settings}) + "\n"
        ended = subprocess.run(
            [sys.executable, "-m", "funke.ops.service.pages"],
            input=own_settings,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
        )
    assert ended.returncode == 1 and "there are no pages about the job: the interface cannot listen" in ended.stderr


def test_a_program_with_pages_has_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUNKE_HOME", str(tmp_path / "home"))
    assert not wants_own_pages(Settings()) and wants_own_pages(Settings({"rest.port": "8082"}))
    # The service's own programs are on its pages.
    assert not wants_own_pages(Settings({"rest.port": "8082", "funke.slot-pool": "/x"}))
    admitted = admit_if_asked(JobSettings("count", {"rest.port": "8082"}))
    assert isinstance(admitted, JobSettings) and admitted.record is not None
    admitted.record.release()
    plain = JobSettings("count", {})
    assert admit_if_asked(plain) is plain
