"""Both ends of a connection prove who they are; recordings and other users get nowhere."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from funke.engine.errors import UntrustedError
from funke.engine.trust.peers import (
    connect_to_own,
    listen_at,
    prove_to_caller,
    prove_to_listener,
    require_same_user,
)
from tests.harness.stranger import as_root_only, give_away, stranger_doing

SECRET = b"s" * 32


class Recorder:
    """A socket that remembers what it received and sent."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.received = b""
        self.sent = b""

    def recv(self, size: int) -> bytes:
        data = self._connection.recv(size)
        self.received += data
        return data

    def sendall(self, data: bytes) -> None:
        self.sent += data
        self._connection.sendall(data)


def greet(caller: Callable[[socket.socket], object], listener: Callable[[socket.socket], object]) -> list[object]:
    """Lets both sides talk; what each of them raised, or None."""
    ends = socket.socketpair()
    raised: list[object] = [None, None]

    def run(number: int, action: Callable[[socket.socket], object]) -> None:
        try:
            action(ends[number])
        except Exception as error:
            raised[number] = error
        finally:
            ends[number].close()

    for end in ends:
        end.settimeout(5)
    other = threading.Thread(target=run, args=(1, listener))
    other.start()
    run(0, caller)
    other.join()
    return raised


def test_both_sides_know_the_secret() -> None:
    assert greet(lambda c: prove_to_listener(c, SECRET), lambda c: prove_to_caller(c, SECRET)) == [None, None]


def test_the_secret_itself_is_never_sent() -> None:
    recorders: list[Recorder] = []

    def record(connection: socket.socket) -> None:
        recorders.append(Recorder(connection))
        prove_to_listener(recorders[0], SECRET)  # type: ignore[arg-type]

    assert greet(record, lambda c: prove_to_caller(c, SECRET)) == [None, None]
    assert SECRET not in recorders[0].sent + recorders[0].received


def test_a_caller_without_the_secret_is_rejected() -> None:
    _, listener = greet(lambda c: prove_to_listener(c, b"x" * 32), lambda c: prove_to_caller(c, SECRET))
    assert isinstance(listener, UntrustedError)


def test_a_listener_without_the_secret_is_rejected() -> None:
    def pretend(connection: socket.socket) -> None:
        connection.sendall(b"n" * 32)
        connection.recv(64)
        connection.sendall(b"p" * 32)

    caller, _ = greet(lambda c: prove_to_listener(c, SECRET), pretend)
    assert isinstance(caller, UntrustedError)


def test_a_listener_cannot_answer_with_the_callers_own_proof() -> None:
    def reflect(connection: socket.socket) -> None:
        connection.sendall(b"n" * 32)
        connection.sendall(connection.recv(64)[32:])

    caller, _ = greet(lambda c: prove_to_listener(c, SECRET), reflect)
    assert isinstance(caller, UntrustedError)


def test_a_recorded_handshake_is_of_no_use() -> None:
    recorders: list[Recorder] = []

    def record(connection: socket.socket) -> None:
        recorders.append(Recorder(connection))
        prove_to_listener(recorders[0], SECRET)  # type: ignore[arg-type]

    greet(record, lambda c: prove_to_caller(c, SECRET))
    said, heard = recorders[0].sent, recorders[0].received

    def replay_as_caller(connection: socket.socket) -> None:
        connection.recv(32)
        connection.sendall(said)
        connection.recv(32)

    def replay_as_listener(connection: socket.socket) -> None:
        connection.sendall(heard[:32])
        connection.recv(64)
        connection.sendall(heard[32:])

    _, listener = greet(replay_as_caller, lambda c: prove_to_caller(c, SECRET))
    assert isinstance(listener, UntrustedError)
    caller, _ = greet(lambda c: prove_to_listener(c, SECRET), replay_as_listener)
    assert isinstance(caller, UntrustedError)


def test_processes_of_one_user_find_each_other(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 60) / ("b" * 60) / "s"
    path.parent.mkdir(parents=True)
    with listen_at(str(path)) as listener, connect_to_own(str(path), 5) as call:
        answered, _ = listener.accept()
        require_same_user(answered)
        answered.close()
        call.close()


def test_a_strangers_socket_is_not_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s"
    with listen_at(str(path)) as listener:
        give_away(path, monkeypatch)
        with pytest.raises(UntrustedError):
            connect_to_own(str(path), 5)
        listener.settimeout(0.2)
        with pytest.raises(TimeoutError):
            listener.accept()


def test_a_link_to_a_socket_is_not_followed(tmp_path: Path) -> None:
    with listen_at(str(tmp_path / "s")):
        (tmp_path / "link").symlink_to(tmp_path / "s")
        with pytest.raises(UntrustedError):
            connect_to_own(str(tmp_path / "link"), 5)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Where every user can go and write."""
    with tempfile.TemporaryDirectory(prefix="funke-test-", dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)


@as_root_only
def test_another_users_listener_behind_an_own_name_is_seen_through(open_folder: Path) -> None:
    path = open_folder / "s"

    def listen(say: Callable[[str], None]) -> None:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen(1)
        say("ready")
        connection, _ = listener.accept()
        say(str(len(connection.recv(100))))

    with stranger_doing(listen) as said:
        assert said.readline() == "ready\n"
        os.chown(path, 0, 0)  # as only root could, to get past the first check
        with pytest.raises(UntrustedError, match="other end"):
            connect_to_own(str(path), 5)
        assert said.readline() == "0\n", "not a byte was sent"


@as_root_only
def test_another_users_call_is_not_answered(open_folder: Path) -> None:
    path = open_folder / "s"

    def call(say: Callable[[str], None]) -> None:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(path))
        say(str(len(connection.recv(100))))

    with listen_at(str(path)) as listener:
        path.chmod(0o777)  # as if it stood open
        listener.settimeout(10)
        with stranger_doing(call) as said:
            answered, _ = listener.accept()
            with answered, pytest.raises(UntrustedError, match="other end"):
                require_same_user(answered)
            assert said.readline() == "0\n"
