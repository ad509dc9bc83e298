"""Those who call at the same time: all slots of a large job are let in."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from funke.engine.trust import peers
from funke.engine.trust.credentials import Credentials
from funke.engine.trust.greeter import Greeter
from funke.engine.trust.peers import connect_to_own, listen_at, prove_to_listener

SECRET = b"s" * 32
CALLERS = 200


def test_slots_that_call_at_the_same_time_are_all_let_in(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    called = threading.Semaphore(0)
    greeter = Greeter(Credentials(SECRET), lambda call: called.release)
    with listen_at(path) as listener:
        greeter.listen(listener)
        callers = [connect_to_own(path, 60.0) for _ in range(CALLERS)]
        try:
            # All of them are being greeted before the first one proves who it is.
            for caller in callers:
                assert len(caller.recv(1, socket.MSG_PEEK)) == 1
            for caller in callers:
                prove_to_listener(caller, SECRET)
            for _ in callers:
                assert called.acquire(timeout=60)
        finally:
            greeter.close()
            listener.shutdown(socket.SHUT_RDWR)
            for caller in callers:
                caller.close()


def test_a_caller_waits_while_too_many_others_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_MOST_CALLS", 1)
    path = str(tmp_path / "s")
    with listen_at(path) as listener:
        first = [connect_to_own(path, 60.0) for _ in range(2)]
        late: list[socket.socket] = []
        caller = threading.Thread(target=lambda: late.append(connect_to_own(path, 60.0)))
        caller.start()
        accepted = [listener.accept()[0] for _ in range(3)]
        caller.join(60)
        assert len(late) == 1 and len(accepted) == 3
        for connection in (*first, *late, *accepted):
            connection.close()


def test_a_caller_waits_no_longer_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_MOST_CALLS", 1)
    path = str(tmp_path / "s")
    with listen_at(path):
        first = [connect_to_own(path, 60.0) for _ in range(2)]
        with pytest.raises(BlockingIOError):
            connect_to_own(path, 0.01)
        for connection in first:
            connection.close()
