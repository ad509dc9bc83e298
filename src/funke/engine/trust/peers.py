"""Authenticates the other end of a socket: the same user, and knowledge of the job's secret.

Both sides prove that they know the secret without sending it, before either of them reads anything else:

    listener → caller    a random number
    caller → listener    another one, and a proof over both
    listener → caller    a proof over both

All three have fixed lengths. Numbers are never used twice, so what was recorded is of no use later.
"""

from __future__ import annotations

import contextlib
import hmac
import math
import os
import secrets
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterator

from funke.engine.errors import UntrustedError

__all__ = [
    "connect_to_own",
    "limit_silence",
    "listen_at",
    "prepare_for_hosts",
    "prove_to_caller",
    "prove_to_listener",
    "require_same_user",
]

# As long as slots may be silent by default.
_SILENCE_MS = 50_000
_NUMBER_BYTES = _PROOF_BYTES = 32
# One label for each side, so that a challenge cannot be answered with the other side's own proof.
_CALLER, _LISTENER = b"funke caller", b"funke listener"
# On macOS: the level and name of the option that names the peer, and the head of its answer (version, user).
_LOCAL_LEVEL, _LOCAL_PEERCRED = 0, 1
_XUCRED = struct.Struct("=II")
# What the system takes as the address of a Unix socket.
_LONGEST_ADDRESS = 100
# Calls that may wait to be taken: all slots of a job call each other at the same time. The system allows fewer or more.
_MOST_CALLS = 1024
_CALL_AGAIN_S = 0.05


def listen_at(path: str) -> socket.socket:
    """A new Unix socket that takes calls of this user's processes; who calls is to be checked with each call."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        with _short(path) as address:
            listener.bind(address)
        os.chmod(path, 0o600)
        listener.listen(_MOST_CALLS)
    except BaseException:
        listener.close()
        raise
    return listener


@contextlib.contextmanager
def _short(path: str) -> Iterator[str]:
    """An address that leads to the path and is short enough for the system."""
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        yield path
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    finally:
        os.close(folder)


def connect_to_own(path: str, timeout_s: float | None) -> socket.socket:
    """Connects to a Unix socket on which a process of the same user listens."""
    status = os.lstat(path)
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        raise UntrustedError(f"'{path}' is not a socket of this user")
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(timeout_s)
        with _short(path) as address:
            _call(connection, address, timeout_s)
        require_same_user(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _call(connection: socket.socket, address: str, timeout_s: float | None) -> None:
    """Waits also where too many calls wait already, which the system does not do for a socket with a time limit."""
    end = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while True:
        try:
            connection.connect(address)
            return
        except BlockingIOError:
            if time.monotonic() >= end:
                raise
            time.sleep(_CALL_AGAIN_S)


def require_same_user(connection: socket.socket) -> None:
    """Raises UntrustedError unless the process at the other end of a Unix socket is this user's, or root's."""
    uid = _peer_uid(connection)
    if uid not in (os.geteuid(), 0):
        raise UntrustedError(f"the process at the other end of the socket belongs to user {uid}")


def _peer_uid(connection: socket.socket) -> int:
    if sys.platform == "darwin":
        answer = connection.getsockopt(_LOCAL_LEVEL, _LOCAL_PEERCRED, 128)
        return int(_XUCRED.unpack(answer[: _XUCRED.size])[1])
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return int(uid)


def prepare_for_hosts(connection: socket.socket) -> None:
    """At both ends of a connection between hosts: what is sent leaves at once, and a host that is gone is noticed.

    Otherwise the system keeps short messages back for up to 40 ms, and each exchange would take that long.
    """
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    limit_silence(connection, _SILENCE_MS)


def limit_silence(connection: socket.socket, limit_ms: int) -> None:
    """Between hosts, the connection breaks when the other side's system has not answered for so long."""
    if connection.family == socket.AF_UNIX:
        return
    step_s = max(1, limit_ms // 1000 // 5)
    limits = {"TCP_KEEPIDLE": step_s, "TCP_KEEPINTVL": step_s, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": limit_ms}
    for name, value in limits.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def prove_to_caller(connection: socket.socket, secret: bytes) -> None:
    """The listener's part of the handshake; UntrustedError when the caller does not know the secret."""
    own = secrets.token_bytes(_NUMBER_BYTES)
    connection.sendall(own)
    answer = _receive(connection, _NUMBER_BYTES + _PROOF_BYTES)
    number, proof = answer[:_NUMBER_BYTES], answer[_NUMBER_BYTES:]
    if not hmac.compare_digest(proof, _proof(secret, _CALLER, own, number)):
        raise UntrustedError("a caller does not know the job's secret")
    connection.sendall(_proof(secret, _LISTENER, own, number))


def prove_to_listener(connection: socket.socket, secret: bytes) -> None:
    """The caller's part of the handshake; UntrustedError when the listener does not know the secret."""
    number = _receive(connection, _NUMBER_BYTES)
    own = secrets.token_bytes(_NUMBER_BYTES)
    connection.sendall(own + _proof(secret, _CALLER, number, own))
    if not hmac.compare_digest(_receive(connection, _PROOF_BYTES), _proof(secret, _LISTENER, number, own)):
        raise UntrustedError("the process that listens there does not know the job's secret")


def _proof(secret: bytes, role: bytes, listener_number: bytes, caller_number: bytes) -> bytes:
    return hmac.digest(secret, role + listener_number + caller_number, "sha256")


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionError("the other side closed the connection")
        data += more
    return data
