"""A connection that never waits: frames are queued to be sent, and taken as they come."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from funke.engine.trust.tls_socket import TlsSocket

__all__ = [
    "BARRIER",
    "BLOCK",
    "CREDIT",
    "END",
    "MESSAGE",
    "OVERTAKING",
    "PROBE",
    "REST",
    "Connection",
    "Packet",
    "head_of",
    "size_of",
]

# Kind, backlog of the sender (or credit that is granted), channel, size of the payload.
_HEAD = struct.Struct("!BHII")
# A barrier that overtakes concerns all channels of its connection. A rest is what is left of a block, or comes from a
# checkpoint: it is never sent.
BLOCK, BARRIER, END, CREDIT, MESSAGE, PROBE, OVERTAKING, REST = range(8)
_READ_BYTES = 1 << 18
# What one call of the system takes.
_MOST_BUFFERS = 256
_MOST_NUMBER = 0xFFFF
_SOCKET_BUFFER = 1 << 20


class Packet(NamedTuple):
    """What came over a connection; `number` is the sender's backlog, or the credit that it grants."""

    kind: int
    number: int
    channel: int
    payload: bytes


class Connection:
    """One end of a connected socket whose other end has proven who it is."""

    def __init__(self, own: socket.socket, waiting: dict[Connection, None] | None = None) -> None:
        """As long as it is waiting it is in `waiting`: its owner need not look at thousands that are not."""
        own.setblocking(False)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            with contextlib.suppress(OSError):
                own.setsockopt(socket.SOL_SOCKET, option, _SOCKET_BUFFER)
        self._socket = own
        self._tls = None if type(own) is socket.socket else cast("TlsSocket", own)
        # TLS may hold bytes that no poll shows. Polling for room to send returns at once then, and the caller reads.
        self._has_unread = self._tls is not None and self._tls.has_unread
        # What has come of a frame, and how much makes it complete.
        self._pieces: list[bytes] = []
        self._has, self._needs = 0, _HEAD.size
        self._queue: deque[bytes | memoryview] = deque()
        self._waiting = {} if waiting is None else waiting
        if self._has_unread:
            self._waiting[self] = None
        self.bytes_sent = 0

    def fileno(self) -> int:
        """For those who wait for it."""
        return self._socket.fileno()

    @property
    def is_waiting(self) -> bool:
        """Whether something is left to be sent, or must be read though nothing comes."""
        return bool(self._queue) or self._has_unread

    def send(self, kind: int, payload: bytes = b"", channel: int = 0, number: int = 0) -> None:
        """Queues a frame; `flush` sends it."""
        self._queue.append(_HEAD.pack(kind, min(number, _MOST_NUMBER), channel, len(payload)))
        if payload:
            self._queue.append(payload)
        self._waiting[self] = None

    def flush(self) -> bool:
        """Sends what the system takes just now; False when the rest waits until the socket can be written."""
        queue = self._queue
        while queue:
            buffers = [queue.popleft() for _ in range(min(len(queue), _MOST_BUFFERS))]
            try:
                sent = self._socket.sendmsg(buffers)
            except BlockingIOError:
                sent = 0
            self.bytes_sent += sent
            left = _behind(buffers, sent)
            if left:
                queue.extendleft(reversed(left))
                return False
        if self._tls is not None:
            self._has_unread = self._tls.has_unread
        if not self._has_unread:
            self._waiting.pop(self, None)
        return not self._has_unread

    def receive(self) -> Iterator[Packet]:
        """What has come so far; ConnectionError when the other side is gone."""
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        finally:
            if self._tls is not None:
                self._has_unread |= self._tls.has_unread
                if self._has_unread:
                    self._waiting[self] = None
        if not data:
            raise ConnectionError("the other side closed the connection")
        self._pieces.append(data)
        self._has += len(data)
        # Joined once a frame is complete: a long one comes in many pieces.
        if self._has < self._needs:
            return
        if len(self._pieces) > 1:
            data = b"".join(self._pieces)
        start, length, self._needs = 0, len(data), _HEAD.size
        while length - start >= _HEAD.size:
            kind, number, channel, size = _HEAD.unpack_from(data, start)
            begin = start + _HEAD.size
            if length - begin < size:
                self._needs = _HEAD.size + size
                break
            start = begin + size
            yield Packet(kind, number, channel, data[begin:start])
        self._pieces = [data[start:]] if start < length else []
        self._has = length - start

    def shut_down(self) -> None:
        """Shuts the connection down, also for a thread that reads from it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()


def head_of(kind: int, size: int) -> bytes:
    """The head of a frame, for those who send one by themselves."""
    return _HEAD.pack(kind, 0, 0, size)


def size_of(head: bytes) -> int:
    """The size of the payload behind a head."""
    return int(_HEAD.unpack(head)[3])


def _behind(buffers: list[bytes | memoryview], sent: int) -> list[bytes | memoryview]:
    """What is left of pieces of which so many bytes were sent."""
    for number, buffer in enumerate(buffers):
        if sent < len(buffer):
            return [memoryview(buffer)[sent:], *buffers[number + 1 :]]
        sent -= len(buffer)
    return []
