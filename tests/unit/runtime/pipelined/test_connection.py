"""Frames over a connection that never waits."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.runtime.pipelined.connection import BLOCK, Connection, Packet


@settings(max_examples=30, deadline=None)
@given(sizes=some.lists(some.sampled_from([0, 1, 10, 5_000, 300_000, 3_000_000]), max_size=12))
def test_frames_of_any_size_arrive_in_order(sizes: list[int]) -> None:
    left, right = map(Connection, socket.socketpair())
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


def test_a_full_socket_keeps_nobody_waiting() -> None:
    left, right = map(Connection, socket.socketpair())
    left.send(BLOCK, b"x" * (64 << 20))
    assert not left.flush() and left.is_waiting
    assert list(right.receive()) == []
