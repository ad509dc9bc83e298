"""Accepts connections on listening sockets and authenticates each in its own thread; others are dropped."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from funke.engine.trust.credentials import Credentials
from funke.engine.trust.peers import prepare_for_hosts, prove_to_caller, require_same_user

if TYPE_CHECKING:
    from funke.engine.trust.tls_socket import TlsSocket

__all__ = ["Greeter"]

# How long a caller may take over each step of the handshake, and how many may be greeted at once.
_HANDSHAKE_S = 10.0
_MOST_GREETED = 64
_ACCEPT_AGAIN_S = 0.5


class Greeter:
    """Hands over callers that have proven who they are.

    `on_call` runs in the caller's thread, and is still bound to the limits of the handshake until it returns: an
    exception closes the connection. `on_accept` sees every connection before anything is read from it.
    """

    def __init__(
        self,
        credentials: Credentials,
        on_call: Callable[[socket.socket], Callable[[], None] | None],
        on_accept: Callable[[socket.socket], None] = lambda connection: None,
    ) -> None:
        self._credentials = credentials
        self._on_call = on_call
        self._on_accept = on_accept
        self._greeted: deque[socket.socket] = deque()
        self._is_closed = False

    def listen(self, listener: socket.socket) -> None:
        """Takes calls on a socket until it is closed with `close`."""
        threading.Thread(target=self._accept, args=(listener,), name="funke-greeter", daemon=True).start()

    def close(self) -> None:
        """Accepts no more connections; the owner of the sockets closes them."""
        self._is_closed = True

    def _accept(self, listener: socket.socket) -> None:
        while not self._is_closed:
            try:
                connection, _ = listener.accept()
            except OSError:
                if not self._is_closed:
                    time.sleep(_ACCEPT_AGAIN_S)  # too many open files: some will be closed
                continue
            try:
                connection = self._prepared(connection)
            except Exception:  # it has gone again, or certificates that were there cannot be read any more
                connection.close()
                continue
            self._on_accept(connection)
            # On a Unix socket, strangers are known by their user: there all slots of a large job may call at once.
            if connection.family != socket.AF_UNIX:
                self._greeted.append(connection)
            # The job's own callers authenticate at once: the one that has waited longest is not one of them.
            if len(self._greeted) > _MOST_GREETED:
                with contextlib.suppress(OSError):
                    self._greeted.popleft().shutdown(socket.SHUT_RDWR)
            threading.Thread(target=self._greet, args=(connection,), daemon=True).start()

    def _prepared(self, connection: socket.socket) -> socket.socket:
        if connection.family == socket.AF_UNIX:
            return connection
        prepare_for_hosts(connection)
        tls = self._credentials.tls
        return connection if tls is None else tls.wrap(connection, is_caller=False)

    def _greet(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(_HANDSHAKE_S)
            if connection.family == socket.AF_UNIX:
                require_same_user(connection)
            elif self._credentials.tls is not None:
                cast("TlsSocket", connection).do_handshake()
            prove_to_caller(connection, self._credentials.secret)
            go_on = self._on_call(connection)
            connection.settimeout(None)
        except Exception:  # an unknown caller, or a closed connection
            connection.close()
            return
        finally:
            with contextlib.suppress(ValueError):  # it has waited too long
                self._greeted.remove(connection)
        if go_on is not None:
            go_on()
