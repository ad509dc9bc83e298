"""Packets of the protocol: a length of three bytes, a number, and the content, which may go on in the next packet."""

from __future__ import annotations

__all__ = ["Packets", "error_of"]

_LONGEST = 0xFFFFFF


class Packets:
    """Takes bytes as they come, and gives whole packets."""

    def __init__(self) -> None:
        self._buffer, self._at = b"", 0
        self._begun: list[bytes] = []

    def add(self, data: bytes) -> None:
        self._buffer, self._at = self._buffer[self._at :] + data, 0

    def take(self) -> bytes | None:
        """The content of the next packet; None if it has not come yet."""
        while True:
            buffer, at = self._buffer, self._at
            if len(buffer) - at < 4:
                return None
            size = buffer[at] | buffer[at + 1] << 8 | buffer[at + 2] << 16
            end = at + 4 + size
            if len(buffer) < end:
                return None
            self._at = end
            if size < _LONGEST and not self._begun:
                return buffer[at + 4 : end]
            self._begun.append(buffer[at + 4 : end])
            if size < _LONGEST:
                whole, self._begun = b"".join(self._begun), []
                return whole


def error_of(packet: bytes) -> tuple[int, str]:
    """The number and the text of an error."""
    message = packet[3:].decode("utf-8", "replace")
    return int.from_bytes(packet[1:3], "little"), message[6:] if message.startswith("#") else message
