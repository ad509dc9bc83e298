"""Metrics in the form of StatsD, sent as UDP packets, without waiting for a receiver."""

from __future__ import annotations

import contextlib
import math
import socket
from collections.abc import Iterable
from typing import Any

from funke.engine.errors import ConfigurationError

__all__ = ["StatsdSender"]

# Fits into one packet of Ethernet, with the heads of IP and UDP.
_PACKET_BYTES = 1_400


class StatsdSender:
    """Sends gauges."""

    def __init__(self, host: str, port: str) -> None:
        if not port.isdecimal() or not 0 < int(port) < 65_536:
            raise ConfigurationError(f"the port of StatsD must be a number, got '{port}'")
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, int(port), type=socket.SOCK_DGRAM)[0]
        except OSError as error:
            raise ConfigurationError(f"the host of StatsD is not known: {host} ({error})") from error
        self._address: Any = address
        self._socket = socket.socket(family, kind, protocol)

    def send(self, metrics: Iterable[tuple[str, Any]]) -> None:
        """Sends the metrics that are numbers, several in a packet."""
        packet: list[bytes] = []
        size = 0
        for line in (line for name, value in metrics for line in _lines(name, value)):
            if size + len(line) + 1 > _PACKET_BYTES and packet:
                self._put(packet)
                packet, size = [], 0
            packet.append(line)
            size += len(line) + 1
        if packet:
            self._put(packet)

    def _put(self, lines: list[bytes]) -> None:
        with contextlib.suppress(OSError):  # no receiver at the moment
            self._socket.sendto(b"\n".join(lines), self._address)

    def close(self) -> None:
        """Sends no more."""
        self._socket.close()


def _lines(name: str, value: Any) -> list[bytes]:
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return []
    # What separates parts of a line cannot stand in a name.
    own = name.replace(":", "-").replace("|", "-").replace("\n", " ").encode()
    number = repr(float(value) if isinstance(value, float) else int(value)).encode()
    # A sign before the number would change the gauge by so much: it is set to nothing before.
    return [*([own + b":0|g"] if value < 0 else []), own + b":" + number + b"|g"]
