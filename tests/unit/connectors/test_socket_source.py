"""Sockets: lines, delimiters, the end, retries, back-pressure, and nobody listening."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from funke.engine.connectors.socket import SocketSource
from funke.engine.connectors.source import ReadOutcome, SplitEnumerator
from funke.engine.errors import ConfigurationError, SourceError
from tests.unit.connectors.source_draining import drain, run_epoch


@contextmanager
def server(*serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port where each connection is served by the next function."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        for each in serve:
            connection, _ = listener.accept()
            with connection:
                each(connection)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()
        thread.join(timeout=5)


def sending(*pieces: bytes) -> Callable[[socket.socket], None]:
    def send(connection: socket.socket) -> None:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.02)

    return send


def test_lines_come_until_the_other_side_closes() -> None:
    with server(sending(b"one\r\ntw", "o ä".encode()[:-1], "ä".encode()[-1:] + b"\n\nthree")) as port:
        source = SocketSource("127.0.0.1", port)
        assert not source.is_bounded
        assert source.fixed_parallelism == 1
        assert drain(source) == ["one", "two ä", "", "three"]


def test_what_was_read_before_a_restart_does_not_come_again() -> None:
    """A socket cannot be read again, so what came after the checkpoint is lost: at most once."""
    with server(sending(b"1\n2\n"), sending(b"3\n")) as port:
        source = SocketSource("127.0.0.1", port)
        enumerator = source.create_enumerator(1)
        snapshot = enumerator.snapshot()
        lines: list[str] = []
        while not enumerator.is_finished:
            lines += run_epoch(source, enumerator, 10)
        assert lines == ["1", "2"]
        assert drain(source, 1, restored=snapshot) == ["3"]


def test_another_delimiter() -> None:
    with server(sending(b"a||b|", b"|c\r||")) as port:
        assert drain(SocketSource("127.0.0.1", port, "||")) == ["a", "b", "c\r"]


def test_a_lost_connection_is_opened_again() -> None:
    with server(sending(b"a\nb"), sending(b"c\nd")) as port:
        source = SocketSource("127.0.0.1", port, max_retries=1, retry_delay_ms=10)
        assert drain(source) == ["a", "bc", "d"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_nobody_listening_is_one_clear_sentence() -> None:
    port = free_port()
    with pytest.raises(SourceError, match=f"cannot read from socket 127.0.0.1:{port}: Connection refused"):
        drain(SocketSource("127.0.0.1", port))


def test_a_server_that_starts_late_is_found_by_retries() -> None:
    port = free_port()
    enumerator = SocketSource("127.0.0.1", port, max_retries=-1, retry_delay_ms=20).create_enumerator(1)
    time.sleep(0.1)
    assert enumerator.poll(10) == []
    with socket.create_server(("127.0.0.1", port)) as listener:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"late\n")
            assert wait_for_lines(enumerator) == ["late"]
            enumerator.close()


def wait_for_lines(enumerator: SplitEnumerator) -> list[str]:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if splits := enumerator.poll(10):
            return list(splits[0].payload)
        time.sleep(0.01)
    return []


def test_a_full_buffer_makes_the_other_side_wait() -> None:
    sent = 0

    def flood(connection: socket.socket) -> None:
        nonlocal sent
        connection.settimeout(0.5)
        try:
            while sent < 100_000_000:
                sent += connection.send(b"x" * 99 + b"\n")
        except OSError:
            pass

    with server(flood) as port:
        source = SocketSource("127.0.0.1", port, capacity=1000)
        enumerator = source.create_enumerator(1)
        time.sleep(1.0)
        assert sent < 50_000_000
        assert len(run_epoch(source, enumerator, 500)) == 500
        enumerator.close()


def test_closing_ends_the_thread() -> None:
    with server(lambda connection: time.sleep(1)) as port:
        before = threading.active_count()
        enumerator = SocketSource("127.0.0.1", port).create_enumerator(1)
        enumerator.close()
        assert threading.active_count() == before


@pytest.mark.parametrize(("port", "delimiter"), [(0, "\n"), (70_000, "\n"), (9999, "")])
def test_impossible_sockets_are_rejected(port: int, delimiter: str) -> None:
    with pytest.raises(ConfigurationError):
        SocketSource("localhost", port, delimiter)


def test_a_slot_reads_lines_as_they_come() -> None:
    with server(sending(b"1\n2\n", b"3\n")) as port:
        source = SocketSource("127.0.0.1", port)
        enumerator, reader = source.create_live_enumerator(), source.create_reader()
        woken = threading.Event()
        reader.wake = woken.set
        (split,) = enumerator.poll(10)
        assert enumerator.poll(10) == [] and not enumerator.is_finished
        lines: list[str] = []
        for batch, _ in reader.read(split):
            lines += batch
            while not reader.has_more:
                assert woken.wait(5)
                woken.clear()
        enumerator.report(ReadOutcome(split, len(lines)))
        reader.close()
    assert lines == ["1", "2", "3"]
    assert enumerator.is_finished
