"""One driver at a time: who holds the lease, who may take it over, who finds out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from funke.engine.errors import LeaseLostError
from funke.engine.jobs.records.lease import Lease

OWNER = """
import sys, time
from funke.engine.jobs.records.lease import Lease
lease = Lease.acquire(sys.argv[1], float(sys.argv[2]))
print(lease.attempt, flush=True)
for line in sys.stdin:
    try:
        lease.check()
        print("mine", flush=True)
    except Exception as error:
        print(error, flush=True)
"""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lease of attempt 0."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path), "0.5"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "0\n"
    yield process
    process.kill()
    process.communicate()


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("check\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def test_a_second_driver_learns_who_runs_the_job(tmp_path: Path, owner: subprocess.Popen[str]) -> None:
    time.sleep(2.2)  # longer than the timeout: the holder's heart beats
    with pytest.raises(LeaseLostError, match=rf"already run by process {owner.pid} on .* \(attempt 0\)"):
        Lease.acquire(str(tmp_path), 2)
    assert answer(owner) == "mine"


def test_a_dead_driver_is_followed_at_once(tmp_path: Path, owner: subprocess.Popen[str]) -> None:
    owner.kill()
    owner.wait()
    started = time.monotonic()
    lease = Lease.acquire(str(tmp_path), 3600)
    assert lease.attempt == 1 and time.monotonic() - started < 30
    lease.release()


def test_a_driver_that_was_stopped_and_goes_on_finds_that_it_was_replaced(
    tmp_path: Path, owner: subprocess.Popen[str]
) -> None:
    os.kill(owner.pid, signal.SIGSTOP)
    with pytest.raises(LeaseLostError):
        Lease.acquire(str(tmp_path), 2)
    time.sleep(2.2)
    lease = Lease.acquire(str(tmp_path), 2)
    os.kill(owner.pid, signal.SIGCONT)
    assert answer(owner) == "another driver runs the job (attempt 1, this one is 0)"
    lease.check()
    lease.release()
