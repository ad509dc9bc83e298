"""Frames and messages on a socket: any size, in order, and an end that is told from a loss."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from funke.engine.runtime.blocks.frames import RESULT, Frame, FrameSocket


@pytest.fixture
def ends() -> Iterator[tuple[FrameSocket, FrameSocket]]:
    left, right = socket.socketpair()
    pair = FrameSocket(left), FrameSocket(right)
    yield pair
    for end in pair:
        end.close()


def test_frames_of_any_size_arrive_in_order(ends: tuple[FrameSocket, FrameSocket]) -> None:
    frames = [
        Frame(0, 1, 2, b""),
        Frame(3, RESULT, 0, b"small"),
        Frame(1, 5, 1, bytes(1 << 14)),
        Frame(2, 6, 0, b"x" * 3_000_000),
    ]

    def send() -> None:
        for frame in frames:
            ends[0].send(frame)
        ends[0].send_end()

    thread = threading.Thread(target=send)
    thread.start()
    received = []
    while (frame := ends[1].receive()) is not None:
        received.append(frame)
    thread.join()
    assert received == frames


def test_messages(ends: tuple[FrameSocket, FrameSocket]) -> None:
    ends[0].send_message(b"secret")
    ends[0].send_message(b"")
    assert [ends[1].receive_message(), ends[1].receive_message()] == [b"secret", b""]


def test_a_closed_connection_is_no_end(ends: tuple[FrameSocket, FrameSocket]) -> None:
    ends[0].send(Frame(0, 1, 0, b"whole"))
    ends[0].close()
    assert ends[1].receive() == Frame(0, 1, 0, b"whole")
    with pytest.raises(ConnectionError):
        ends[1].receive()


def test_a_frame_that_breaks_off() -> None:
    left, right = socket.socketpair()
    left.sendall(b"\x00" * 10)
    left.close()
    with pytest.raises(ConnectionError):
        FrameSocket(right).receive()
    right.close()
