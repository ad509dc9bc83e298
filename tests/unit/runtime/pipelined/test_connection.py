"""Frames over a connection that never waits."""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.runtime.pipelined.connection import BLOCK, Connection, Packet
from tests.harness.certificates import own_tls, tls_pair

Pair = Callable[[], tuple[socket.socket, socket.socket]]


@pytest.fixture(scope="module", params=["unix", "TLSv1.2", "TLSv1.3"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Makes two ends of a connection."""
    if request.param == "unix":
        return socket.socketpair
    tls = own_tls(tmp_path_factory.mktemp("tls"), request.param)
    return lambda: tls_pair(tls)


@settings(max_examples=30)
@given(sizes=some.lists(some.sampled_from([0, 1, 10, 5_000, 16_373, 16_384, 300_000, 3_000_000]), max_size=12))
def test_frames_of_any_size_arrive_in_order(pair: Pair, sizes: list[int]) -> None:
    left, right = map(Connection, pair())
    sent = [Packet(BLOCK, number, number * 7, bytes([number]) * size) for number, size in enumerate(sizes)]
    for packet in sent:
        left.send(packet.kind, packet.payload, packet.channel, packet.number)
    received: list[Packet] = []
    while len(received) < len(sent):
        left.flush()
        received += right.receive()
    assert received == sent
    assert left.flush() and not left.is_waiting
    left.close()
    with pytest.raises(ConnectionError):
        list(right.receive())


def test_a_full_socket_keeps_nobody_waiting(pair: Pair) -> None:
    left, right = map(Connection, pair())
    left.send(BLOCK, b"x" * (64 << 20))
    assert not left.flush() and left.is_waiting
    assert list(right.receive()) == []
    # What comes in between neither disturbs what is half sent, nor overtakes it.
    left.send(BLOCK, b"y")
    right.send(BLOCK, b"z")
    right.flush()
    assert [packet.payload for packet in receive(left, right, 1)] == [b"z"]
    assert [len(packet.payload) for packet in receive(right, left, 2)] == [64 << 20, 1]
    left.close()
    right.close()


def receive(end: Connection, other: Connection, number: int) -> list[Packet]:
    received: list[Packet] = []
    while len(received) < number:
        other.flush()
        received += end.receive()
    return received


@pytest.fixture
def tls_ends(tmp_path: Path) -> tuple[socket.socket, socket.socket]:
    return tls_pair(own_tls(tmp_path))


def test_what_tls_has_read_already_is_not_left_lying(tls_ends: tuple[socket.socket, socket.socket]) -> None:
    """One record holds a handshake and the first frame: the system has nothing left to tell of."""
    sender = Connection(tls_ends[0])
    sender._queue.append(b"a greeting")
    sender.send(BLOCK, b"a block")
    assert sender.flush()
    assert tls_ends[1].recv(10) == b"a greeting"
    receiver = Connection(tls_ends[1])
    poll = select.poll()
    poll.register(receiver.fileno(), select.POLLIN)
    assert poll.poll(100) == []
    assert receiver.is_waiting and not receiver.flush()
    poll.modify(receiver.fileno(), select.POLLIN | select.POLLOUT)
    assert poll.poll(10_000)
    assert [packet.payload for packet in receiver.receive()] == [b"a block"]
    assert receiver.flush() and not receiver.is_waiting
    sender.close()
    receiver.close()


def test_reading_that_waits_to_write_and_writing_that_waits_to_read(
    tls_ends: tuple[socket.socket, socket.socket],
) -> None:
    """TLS may have to answer before it can go on reading, and to hear an answer before it can go on writing."""
    connection, other = map(Connection, tls_ends)
    real = tls_ends[0]._sslobj  # type: ignore[attr-defined]
    tls_ends[0]._sslobj = Hindered(real)  # type: ignore[attr-defined]
    other.send(BLOCK, b"in")
    other.flush()
    connection.send(BLOCK, b"out")
    assert not connection.flush() and connection.is_waiting
    assert list(connection.receive()) == []
    tls_ends[0]._sslobj = real  # type: ignore[attr-defined]
    assert not connection.flush(), "there may be something to be read, of which no poll tells"
    assert [packet.payload for packet in connection.receive()] == [b"in"]
    assert connection.flush() and not connection.is_waiting
    assert [packet.payload for packet in receive(other, connection, 1)] == [b"out"]
    connection.close()
    other.close()


class Hindered:
    """A TLS object whose reading waits to write, and whose writing waits to read."""

    def __init__(self, real: ssl.SSLObject) -> None:
        self.pending = real.pending

    def read(self, size: int) -> bytes:
        raise ssl.SSLWantWriteError(ssl.SSL_ERROR_WANT_WRITE, "cannot answer yet")

    def write(self, data: bytes) -> int:
        raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "no answer yet")
