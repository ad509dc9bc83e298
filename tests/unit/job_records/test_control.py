"""Commands reach a job's driver from another process, and its answers come back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from funke.engine.errors import JobExecutionError, StateError
from funke.engine.jobs.control import ControlServer, ask
from tests.harness.stranger import give_away


def savepoint(folder: str | None = None) -> str:
    return f"{folder}/savepoint-1"


def failing() -> None:
    raise ValueError("no")


def refusing() -> None:
    raise StateError("not now")


@pytest.fixture(params=["short", "long" * 40], ids=["short path", "long path"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / request.param
    folder.mkdir()
    server = ControlServer(str(folder / "control"), {"savepoint": savepoint, "fail": failing, "refuse": refusing})
    yield str(folder / "control")
    server.close()
    assert not (folder / "control").exists()


def test_a_command_is_answered(path: str) -> None:
    assert ask(path, "savepoint", folder="/tmp/x") == "/tmp/x/savepoint-1"
    assert ask(path, "savepoint") == "None/savepoint-1"


@pytest.mark.parametrize(
    ("command", "message"),
    [("fail", "ValueError: no"), ("refuse", "not now"), ("dance", "does not know this command")],
)
def test_a_failure_is_an_answer(path: str, command: str, message: str) -> None:
    with pytest.raises(JobExecutionError, match=message):
        ask(path, command)


def test_a_strangers_control_socket_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ControlServer(str(tmp_path / "control"), {"status": lambda: "RUNNING"})
    give_away(tmp_path / "control", monkeypatch)
    with pytest.raises(StateError, match="no socket of this user's"):
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
