"""Commands reach a job's driver from another process, and its answers come back."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from funke.engine.errors import JobExecutionError, StateError
from funke.engine.jobs import control
from funke.engine.jobs.control import ControlServer, ask
from tests.harness.stranger import give_away


def savepoint(folder: str | None = None) -> str:
    return f"{folder}/savepoint-1"


def failing() -> None:
    raise ValueError("no")


def refusing() -> None:
    raise StateError("not now")


def exiting() -> None:
    raise SystemExit(3)


@pytest.fixture(params=["short", "long" * 40], ids=["short path", "long path"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / request.param
    folder.mkdir()
    commands = {"savepoint": savepoint, "fail": failing, "refuse": refusing, "exit": exiting, "odd": object}
    server = ControlServer(str(folder / "control"), commands)
    yield str(folder / "control")
    server.close()
    assert not (folder / "control").exists()


def test_a_command_is_answered(path: str) -> None:
    assert ask(path, "savepoint", folder="/tmp/x") == "/tmp/x/savepoint-1"
    assert ask(path, "savepoint") == "None/savepoint-1"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("fail", "ValueError: no"),
        ("refuse", "not now"),
        ("dance", "does not know this command"),
        ("exit", "SystemExit: 3"),
        ("odd", "TypeError: Object of type object is not JSON serializable"),
    ],
)
def test_a_failure_is_an_answer(path: str, command: str, message: str) -> None:
    with pytest.raises(JobExecutionError, match=message):
        ask(path, command)


def test_a_strangers_control_socket_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ControlServer(str(tmp_path / "control"), {"status": lambda: "RUNNING"})
    give_away(tmp_path / "control", monkeypatch)
    with pytest.raises(StateError, match="is not a socket of this user"):
        ask(str(tmp_path / "control"), "status")
    server.close()


def test_a_driver_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="cannot be reached: No such file"):
        ask(str(tmp_path / "control"), "status")
    server = ControlServer(str(tmp_path / "control"), {})
    server.close()
    again = ControlServer(str(tmp_path / "control"), {"status": lambda: "RUNNING"})
    assert ask(str(tmp_path / "control"), "status") == "RUNNING"
    again.close()


def test_a_driver_that_was_replaced_does_not_silence_the_other(tmp_path: Path) -> None:
    path = str(tmp_path / "control")
    first = ControlServer(path, {"status": lambda: "SUSPENDED"})
    second = ControlServer(path, {"status": lambda: "RUNNING"})
    first.close()
    assert ask(path, "status") == "RUNNING"
    second.close()
    assert not (tmp_path / "control").exists()


@pytest.fixture
def lively(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything happens in a fraction of the usual time."""
    monkeypatch.setattr(control, "_ALIVE_S", 0.02)
    monkeypatch.setattr(control, "_LAST_ANSWERS_S", 0.2)


@pytest.mark.usefixtures("lively")
def test_a_driver_that_says_it_is_alive_is_waited_for(tmp_path: Path) -> None:
    done = threading.Event()
    server = ControlServer(str(tmp_path / "control"), {"savepoint": lambda: done.wait(20)}, {"savepoint": 60.0})
    threading.Timer(1.0, done.set).start()
    assert ask(str(tmp_path / "control"), "savepoint", silence_s=0.5) is True
    server.close()


@pytest.mark.usefixtures("lively")
def test_a_command_that_hangs_is_answered_and_holds_nobody_up(tmp_path: Path) -> None:
    never = threading.Event()
    path = str(tmp_path / "control")
    server = ControlServer(path, {"hang": never.wait, "status": lambda: "RUNNING"}, {"hang": 0.3})
    with pytest.raises(JobExecutionError, match="is alive, but did not get it done in time"):
        ask(path, "hang")
    # The job ends, and the command does not.
    server._limits_s = {"hang": 600.0}
    reports: list[str] = []

    def wait_for_it() -> None:
        try:
            ask(path, "hang")
        except JobExecutionError as error:
            reports.append(str(error))

    asking = threading.Thread(target=wait_for_it)
    asking.start()
    assert ask(path, "status") == "RUNNING"
    server.close()
    asking.join(20)
    assert reports == ["the job's driver is alive, but did not get it done in time"]
    never.set()


def test_a_driver_that_is_silent_or_dies_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "control")
    with socket.socket(socket.AF_UNIX) as stopped:
        stopped.bind(path)
        stopped.listen(1)
        with pytest.raises(StateError, match=r"has been silent for 0.2 s"):
            ask(path, "status", silence_s=0.2)
        stopped.accept()[0].close()

        def die() -> None:
            call = stopped.accept()[0]
            call.recv(10)
            call.close()

        threading.Thread(target=die).start()
        with pytest.raises(StateError, match="ended before it answered"):
            ask(path, "status")


def test_a_command_does_not_keep_a_program_alive(tmp_path: Path) -> None:
    program = f"""
import threading
from funke.engine.jobs import control
control._ALIVE_S, control._LAST_ANSWERS_S = 0.05, 0.2
asked = threading.Event()
def hang():
    asked.set()
    threading.Event().wait()
control.ControlServer({str(tmp_path / "control")!r}, {{"hang": hang}}, {{"hang": 600.0}})
print("listens", flush=True)
asked.wait()
"""
    driver = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert driver.stdout is not None and driver.stdout.readline() == b"listens\n"
        with pytest.raises(JobExecutionError, match="did not get it done in time"):
            ask(str(tmp_path / "control"), "hang")
        assert driver.wait(20) == 0
    finally:
        driver.kill()
        driver.communicate()


@pytest.mark.usefixtures("lively")
def test_a_lack_of_descriptors_is_survived(tmp_path: Path) -> None:
    path = str(tmp_path / "control")
    server = ControlServer(path, {"status": lambda: "RUNNING"})
    real = server._listener

    class Exhausted:
        def accept(self) -> None:
            server._listener = real
            raise OSError(24, "Too many open files")

    server._listener = Exhausted()  # type: ignore[assignment]
    assert ask(path, "status") == "RUNNING"  # by the accept that was under way
    assert ask(path, "status") == "RUNNING"
    assert server._listener is real
    server.close()
