"""A TLS connection that behaves like the plain sockets in whose place it stands."""

from __future__ import annotations

import errno
import hashlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from funke.engine.errors import UntrustedError

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import Buffer

__all__ = ["TlsSocket", "require_fingerprint"]

# The most that one record of TLS holds.
_RECORD_BYTES = 1 << 14
# What OpenSSL is given at once; it takes all of it or none.
_MOST_AT_ONCE = 1 << 16

T = TypeVar("T")


class TlsSocket(ssl.SSLSocket):
    """Waits, or does not, as `settimeout` says; one thread may read from it while another one writes.

    OpenSSL must not be entered by two threads at once, and a slot's answers are read while blocks are sent to it. So
    the system's socket never blocks, and callers wait outside of the lock.
    """

    _lock: threading.Lock
    _limit_s: float | None = None
    _wants_to_write = False
    # What OpenSSL has begun to send, and must be given again until it is through.
    _begun: bytes | None = None
    # SHA-1 of the certificates that the other side may show; any one that is trusted if there are none.
    fingerprints: frozenset[bytes] = frozenset()

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        connection = super().__new__(cls, *arguments, **named)
        connection._lock = threading.Lock()
        return connection

    def settimeout(self, value: float | None) -> None:
        self._limit_s = value
        super().settimeout(0.0)

    def setblocking(self, flag: bool) -> None:
        self.settimeout(None if flag else 0.0)

    def gettimeout(self) -> float | None:
        return self._limit_s

    def do_handshake(self, block: bool = False) -> None:
        """Lets both sides show their certificates, within the limit of time for all of it."""
        self._finish(super().do_handshake)
        require_fingerprint(self.getpeercert(True), self.fingerprints)

    @property
    def has_unread(self) -> bool:
        """Whether something may be left to be read that no poll shows."""
        return self._wants_to_write or self.pending() > 0

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        if self._limit_s != 0:
            return self._finish(partial(super().recv, buflen, flags))
        parts: list[bytes] = []
        self._wants_to_write = False
        try:
            # Record by record. What is left of one that was read in part, no poll would show.
            while not parts or (parts[-1] and buflen >= _RECORD_BYTES):
                with self._lock:
                    parts.append(super().recv(buflen, flags))
                buflen -= len(parts[-1])
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
            self._wants_to_write = isinstance(error, ssl.SSLWantWriteError)
            if not parts:
                raise BlockingIOError(errno.EAGAIN, "the receive timed out") from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def recv_into(self, buffer: Buffer, nbytes: int | None = None, flags: int = 0) -> int:
        return self._finish(partial(super().recv_into, buffer, nbytes, flags))

    def send(self, data: Buffer, flags: int = 0) -> int:
        return self._finish(partial(super().send, data, flags))

    def sendmsg(self, buffers: Iterable[bytes | memoryview]) -> int:  # type: ignore[override]
        """Sends what the system takes just now; what it does not take must come first the next time."""
        sent = 0
        try:
            for chunk in (self._begun,) if self._begun is not None else _chunks(buffers):
                self._begun = chunk
                with self._lock:
                    sent += super().send(chunk)
                self._begun = None
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            if not sent:
                raise BlockingIOError(errno.EAGAIN, "the send timed out") from None
        return sent

    def _finish(self, action: Callable[[], T]) -> T:
        """Repeats an action until it is through; waits in between, as long as may be."""
        end = None if self._limit_s is None else time.monotonic() + self._limit_s
        while True:
            try:
                with self._lock:
                    return action()
            except ssl.SSLWantReadError:
                event = select.POLLIN
            except ssl.SSLWantWriteError:
                event = select.POLLOUT
            self._await(event, end)

    def _await(self, event: int, end: float | None) -> None:
        if self._limit_s == 0:
            raise BlockingIOError(errno.EAGAIN, "it would have to wait")
        poll = select.poll()
        poll.register(self.fileno(), event)
        if not poll.poll(None if end is None else max(0.0, end - time.monotonic()) * 1000):
            raise TimeoutError("timed out")

    def shutdown(self, how: int) -> None:
        """Shuts the connection down, also for a thread that reads from it."""
        # That of SSLSocket drops TLS first: a reader would then take unencrypted bytes from any sender for the peer's.
        socket.socket.shutdown(self, how)


def require_fingerprint(certificate: bytes | None, fingerprints: frozenset[bytes]) -> None:
    """Raises UntrustedError unless a certificate is one of those that are expected, if any are."""
    if fingerprints and hashlib.sha1(certificate or b"", usedforsecurity=False).digest() not in fingerprints:
        raise UntrustedError("a certificate has another fingerprint than security.ssl.internal.cert.fingerprint")


def _chunks(parts: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """Pieces in portions: short ones together, so that not each of them is a record of its own."""
    gathered: list[bytes | memoryview] = []
    size = 0
    for part in parts:
        for start in range(0, len(part), _MOST_AT_ONCE):
            gathered.append(memoryview(part)[start : start + _MOST_AT_ONCE])
            size += len(gathered[-1])
            if size >= _RECORD_BYTES:
                yield b"".join(gathered)
                gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)
