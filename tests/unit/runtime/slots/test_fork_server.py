"""The fork server: there for the slots of embedded Spark, gone with the driver, deaf to strangers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from funke.engine.runtime.slots.fork_server import fork_slot, open_fork_server
from funke.engine.runtime.slots.worker_setup import DriverHost
from tests.harness.stranger import as_root_only, stranger_doing

DRIVER = """
import sys
from funke.engine.runtime.slots.fork_server import open_fork_server
host = open_fork_server()
assert open_fork_server() == host
print(host.run_folder, host.fork_server_path, host.interpreter, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def driver() -> Iterator[subprocess.Popen[str]]:
    """A process that stands in for a driver and has a fork server."""
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def host_of(driver: subprocess.Popen[str]) -> DriverHost:
    assert driver.stdout is not None
    return DriverHost(*driver.stdout.readline().split())


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_without_a_fork_server_nothing_is_forked(tmp_path: Path) -> None:
    assert fork_slot(DriverHost(str(tmp_path), str(tmp_path / "s"), sys.executable), "nowhere", ()) is None


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_fork_server_serves_its_driver_and_ends_with_it(driver: subprocess.Popen[str], is_killed: bool) -> None:
    host = host_of(driver)
    assert fork_slot(replace(host, interpreter="/another/python"), "nowhere", ()) is None
    forked = fork_slot(host, "no such birth file", ())
    assert forked is not None, "it answers with the process it made, which fails for want of a launch message"
    assert wait_until(lambda: is_gone(forked))
    if is_killed:
        driver.kill()
    else:
        assert driver.stdin is not None
        driver.stdin.write("\n")
        driver.stdin.flush()
    driver.wait()
    assert wait_until(lambda: not os.path.exists(host.run_folder)), "nothing is left of the run"
    assert fork_slot(host, "nowhere", ()) is None


def test_a_slot_that_cannot_end_is_ended_when_its_driver_is_gone(driver: subprocess.Popen[str], tmp_path: Path) -> None:
    host = host_of(driver)
    os.mkfifo(tmp_path / "launch")  # a launch message that never comes: the slot waits for it in the system
    forked = fork_slot(host, str(tmp_path / "launch"), ())
    assert forked is not None
    os.kill(forked, signal.SIGSTOP)
    driver.kill()
    driver.wait()
    assert wait_until(lambda: is_gone(forked))
    assert wait_until(lambda: not os.path.exists(host.run_folder))


def test_an_interpreter_is_known_however_its_path_is_written() -> None:
    folder, name = os.path.split(sys.executable)
    answered = []
    for python in (sys.executable, f"{folder}/../{os.path.basename(folder)}/{name}"):
        driver = subprocess.run([python, "-c", DRIVER], input="\n", capture_output=True, text=True, check=True)
        answered.append(driver.stdout.split()[2])
    assert answered[0] == answered[1]


def test_slots_share_what_the_driver_has_loaded(driver: subprocess.Popen[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "launch")
    host = replace(host_of(driver), libraries=("pyarrow", "no_such_library"))
    forked = fork_slot(host, str(tmp_path / "launch"), ())
    assert "libarrow" in Path(f"/proc/{forked}/maps").read_text()


@as_root_only
def test_a_strangers_call_forks_nothing() -> None:
    """Even if it could get to the socket."""
    host = open_fork_server()
    folders = [host.run_folder, os.path.dirname(host.fork_server_path)]
    for folder in folders:
        os.chmod(folder, 0o755)
    os.chmod(host.fork_server_path, 0o777)

    def call(say: Callable[[str], None]) -> None:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(host.fork_server_path)
        connection.settimeout(20)
        try:
            connection.send(b"/tmp/launch")
            say(f"answered {connection.recv(32)!r}")
        except OSError as error:
            say(type(error).__name__)

    try:
        with stranger_doing(call) as said:
            assert said.readline() in ("ConnectionResetError\n", "BrokenPipeError\n", "answered b''\n")
    finally:
        for folder in folders:
            os.chmod(folder, 0o700)
        os.chmod(host.fork_server_path, 0o600)
