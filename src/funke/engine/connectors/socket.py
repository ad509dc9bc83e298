"""Reads text from a socket."""

from __future__ import annotations

import codecs
import socket
from typing import Any

from funke.engine.connectors.record_buffer import (
    DEFAULT_CAPACITY,
    BufferEnumerator,
    LiveEnumerator,
    LiveReader,
    RecordBuffer,
)
from funke.engine.connectors.source import Source
from funke.engine.errors import ConfigurationError, SourceError
from funke.engine.types.information.type_catalog import Types

__all__ = ["SocketSource"]

_READ_BYTES = 1 << 16
_WAIT_SECONDS = 0.2


class SocketSource(Source):
    """Splits what comes at a delimiter; ends when the other side closes.

    After a lost or rejected connection it tries again up to `max_retries` times, without end when that is -1. While the
    job is behind, no more than `capacity` lines are buffered; then the socket is not read, and the other side waits.
    """

    fixed_parallelism = 1
    is_bounded = False

    def __init__(
        self,
        host: str,
        port: int,
        delimiter: str = "\n",
        max_retries: int = 0,
        retry_delay_ms: int = 500,
        capacity: int = DEFAULT_CAPACITY,
    ) -> None:
        if not 0 < port < 65536:
            raise ConfigurationError(f"a socket's port lies between 1 and 65535, not {port}")
        if not delimiter:
            raise ConfigurationError("a socket source needs a delimiter of at least one character")
        self._connection = _Connection(host, port, delimiter, max_retries, retry_delay_ms / 1000)
        self._capacity = capacity
        self.produced_type = Types.STRING()

    def create_enumerator(self, parallelism: int, restored: Any = None) -> BufferEnumerator:
        """Start to connect from the driver, for epochs; what an earlier connection has read is gone."""
        return BufferEnumerator("socket", self._connection.read_into, self._capacity)

    def create_live_enumerator(self) -> LiveEnumerator:
        """Let the slot connect."""
        return LiveEnumerator("socket")

    def create_reader(self) -> LiveReader:
        """Return a reader that connects, or takes the lines that were collected."""
        return LiveReader("socket", self._connection.read_into, self._capacity)


class _Connection:
    """Reads from one address, connecting as often as it may."""

    def __init__(self, host: str, port: int, delimiter: str, max_retries: int, retry_delay: float) -> None:
        self._address = (host, port)
        self._delimiter = delimiter
        self._max_retries = max_retries
        self._retry_delay = retry_delay

    def read_into(self, buffer: RecordBuffer) -> None:
        """Read until the server has closed for good or the consumer stops."""
        rest, attempt = "", 0
        error: OSError | None
        while True:
            try:
                rest = self._read_once(buffer, rest)
                error = None
            except OSError as raised:
                rest, error = "", raised
            if attempt == self._max_retries or buffer.wait_closed(self._retry_delay):
                break
            attempt += 1
        if rest and not buffer.is_closed:
            buffer.put([rest])
        if error is not None and not buffer.is_closed:
            host, port = self._address
            raise SourceError(f"cannot read from socket {host}:{port}: {error.strerror or error}") from error

    def _read_once(self, buffer: RecordBuffer, rest: str) -> str:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with socket.create_connection(self._address, timeout=10) as connection:
            # A short wait instead of none at all, to notice that the job has ended.
            connection.settimeout(_WAIT_SECONDS)
            while not buffer.is_closed:
                try:
                    data = connection.recv(_READ_BYTES)
                except TimeoutError:
                    continue
                rest += decoder.decode(data, final=not data)
                if not data:
                    return rest
                *lines, rest = rest.split(self._delimiter)
                if lines:
                    buffer.put(self._without_carriage_returns(lines))
        return rest

    def _without_carriage_returns(self, lines: list[str]) -> list[str]:
        return [line.removesuffix("\r") for line in lines] if self._delimiter == "\n" else lines
