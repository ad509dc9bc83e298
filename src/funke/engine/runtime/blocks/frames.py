"""Length-prefixed frames on a socket: what delivery tasks and slots say to each other."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

_HEAD = struct.Struct("!iiiq")
_SIZE = struct.Struct("!q")

# In the exchange field of a frame: a result for the driver, the end of the conversation, or rows that Spark has read.
RESULT = -1
END = -2
ROWS = -3


class Frame(NamedTuple):
    """A block on its way to a slot: payload of exchange `exchange_id`, sent by subtask `upstream`."""

    slot: int
    exchange_id: int
    upstream: int
    payload: bytes


class FrameSocket:
    """Sends and receives frames and plain messages over a connected socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._reader = connection.makefile("rb", 1 << 18)

    def send(self, frame: Frame) -> None:
        """Sends one frame; large payloads are not copied."""
        head = _HEAD.pack(frame.slot, frame.exchange_id, frame.upstream, len(frame.payload))
        if len(frame.payload) < 1 << 14:
            self.connection.sendall(head + frame.payload)
        else:
            self.connection.sendall(head)
            self.connection.sendall(frame.payload)

    def send_end(self) -> None:
        """Says that no frame follows."""
        self.send(Frame(0, END, 0, b""))

    def receive(self) -> Frame | None:
        """The next frame, or None at the end; ConnectionError when the other side is gone."""
        slot, exchange_id, upstream, size = _HEAD.unpack(self._read(_HEAD.size))
        if exchange_id == END:
            return None
        return Frame(slot, exchange_id, upstream, self._read(size))

    def send_message(self, message: bytes) -> None:
        """Sends an opaque message."""
        self.connection.sendall(_SIZE.pack(len(message)) + message)

    def receive_message(self) -> bytes:
        """The next opaque message."""
        (size,) = _SIZE.unpack(self._read(_SIZE.size))
        return self._read(size)

    def _read(self, size: int) -> bytes:
        data: bytes = self._reader.read(size)
        if len(data) < size:
            raise ConnectionError("the other side closed the connection")
        return data

    def close(self) -> None:
        """Closes the socket."""
        self._reader.close()
        self.connection.close()
