"""Serves the interface: on which address and port, under TLS or not, and with how much patience."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from funke.engine.config import rest_options as options
from funke.engine.config.port_ranges import parse_ports
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.trust.key_stores import KeyStore
from funke.ops.rest.guard import Access, App
from funke.ops.rest.login import read_token

__all__ = ["RestServer", "RestSettings"]

# How long a caller may take until its request begins to be answered, and stay connected without asking.
_HEAD_S = 10.0
_IDLE_S = 30
_MOST_CONNECTIONS = 200
_START_S = 20.0


@dataclass(frozen=True)
class RestSettings:
    """Where the interface is served, and to whom."""

    host: str
    ports: tuple[int, ...]
    access: Access
    key_store: KeyStore | None = None

    @staticmethod
    def of(settings: Settings, home: str) -> RestSettings:
        """Reads the configuration; rejects settings that open the interface to others, unless they are explicit.

        Callers must show a token: the one that is set, or that of the folder of job records."""
        host = str(settings.get(options.REST_BIND_ADDRESS))
        is_local, token = _is_loopback(host), settings.get(options.REST_TOKEN)
        has_tls, is_insecure = settings.get(options.REST_SSL_ENABLED), settings.get(options.REST_INSECURE)
        if not (is_local or is_insecure or has_tls):
            raise ConfigurationError(
                f"{options.REST_BIND_ADDRESS.key} is '{host}': other hosts could read the commands to your jobs. "
                f"Set {options.REST_SSL_ENABLED.key}, or {options.REST_INSECURE.key} if no other host can reach it"
            )
        store = _key_store(settings) if has_tls else None
        needed = token or (None if is_insecure else read_token(home))
        return RestSettings(host, _ports(settings), Access(needed, is_local=is_local), store)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _ports(settings: Settings) -> tuple[int, ...]:
    text = settings.get(options.REST_BIND_PORT)
    if text is None:
        return (settings.get(options.REST_PORT),)
    return parse_ports(options.REST_BIND_PORT.key, str(text))


def _key_store(settings: Settings) -> KeyStore:
    path = settings.get(options.REST_SSL_KEYSTORE)
    if not path:
        raise ConfigurationError(
            f"{options.REST_SSL_ENABLED.key} is true, but {options.REST_SSL_KEYSTORE.key} is not set"
        )
    return KeyStore(
        options.REST_SSL_KEYSTORE.key,
        path,
        settings.get(options.REST_SSL_KEYSTORE_PASSWORD),
        settings.get(options.REST_SSL_KEY_PASSWORD),
    )


class _ImpatientProtocol(H11Protocol):
    """Hangs up on callers that connect and then take for ever to say what they want."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def _watch(self) -> None:
        if self._timer is None and self._is_waiting():
            self._timer = self.loop.call_later(_HEAD_S, self._give_up)

    def _is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _give_up(self) -> None:
        self._timer = None
        if self._is_waiting() and not self.transport.is_closing():
            self.transport.close()


class _Config(uvicorn.Config):
    """Uvicorn's settings with a TLS context of our own: keys need not be in files of their own."""

    def __init__(self, app: App, context: ssl.SSLContext | None) -> None:
        super().__init__(
            app,
            http=_ImpatientProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=True,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=_IDLE_S,
            timeout_graceful_shutdown=3,
            h11_max_incomplete_event_size=64 << 10,
        )
        self._context = context

    def load(self) -> None:
        super().load()
        self.ssl = self._context


class RestServer:
    """The interface, served by a thread."""

    def __init__(self, app: App, settings: RestSettings) -> None:
        self._settings = settings
        self._socket = _bound(settings)
        self.port: int = self._socket.getsockname()[1]
        self._server = uvicorn.Server(_Config(app, _context(settings.key_store)))
        self._thread = threading.Thread(target=self._run, name="funke-rest", daemon=True)

    @property
    def url(self) -> str:
        """Where it can be asked."""
        host = "127.0.0.1" if self._settings.host in ("0.0.0.0", "::", "localhost") else self._settings.host
        name = f"[{host}]" if ":" in host else host
        return f"{'https' if self._settings.key_store is not None else 'http'}://{name}:{self.port}"

    def start(self) -> RestServer:
        """Begins to answer."""
        self._thread.start()
        for _ in _pauses(_START_S):
            if self._server.started or not self._thread.is_alive():
                return self
        return self

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def close(self) -> None:
        """Answers what is under way, and no more."""
        self._server.should_exit = True
        self._thread.join(10)
        with contextlib.suppress(OSError):
            self._socket.close()


def _pauses(limit_s: float, pause_s: float = 0.02) -> Iterator[None]:
    waiting = threading.Event()
    for _ in range(int(limit_s / pause_s)):
        yield
        waiting.wait(pause_s)


def _bound(settings: RestSettings) -> socket.socket:
    """A socket at the first port that is free."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    wrong: OSError | None = None
    for port in settings.ports:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.host, port))
            listener.listen(128)
            return listener
        except OSError as error:
            listener.close()
            wrong = error
    ports = f"{settings.ports[0]}" if len(settings.ports) == 1 else f"{settings.ports[0]} to {settings.ports[-1]}"
    reason = wrong.strerror if wrong is not None else "no port is named"
    raise ConfigurationError(
        f"the interface cannot listen on {settings.host}, port {ports}: {reason}; set rest.port or rest.bind-port"
    )


def _context(store: KeyStore | None) -> ssl.SSLContext | None:
    if store is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    store.show_in(context)
    return context
