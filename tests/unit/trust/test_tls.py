"""Between hosts only those are heard that show a certificate of the cluster's, and in no more time than others have."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from funke.engine.errors import ConfigurationError, UntrustedError
from funke.engine.runtime.blocks.frames import Frame, FrameSocket
from funke.engine.runtime.slots.slot_calls import reach_host
from funke.engine.trust import greeter
from funke.engine.trust.credentials import Credentials
from funke.engine.trust.greeter import Greeter
from funke.engine.trust.peers import prove_to_listener
from funke.engine.trust.tls import TlsSettings
from funke.engine.trust.tls_socket import TlsSocket
from tests.harness.certificates import Authority, Identity, key_store, own_tls, tls_pair, trust_store

SECRET = b"s" * 32
AUTHORITY = Authority()


def settings_for(folder: Path, identity: Identity, trusted: bytes = AUTHORITY.to_pem()) -> TlsSettings:
    folder.mkdir(exist_ok=True)
    return TlsSettings(key_store(folder / "k", identity.to_pem()), trust_store(folder / "t", trusted))


class Listening:
    """A greeter on loopback, and whom it has let in."""

    def __init__(self, settings: TlsSettings) -> None:
        self.let_in: queue.Queue[socket.socket] = queue.Queue()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = int(self._listener.getsockname()[1])
        self._accepted: list[socket.socket] = []
        self._greeter = Greeter(Credentials(SECRET, settings), self._take, self._accepted.append)
        self._greeter.listen(self._listener)

    def _take(self, connection: socket.socket) -> None:
        self.let_in.put(connection)

    def call(self, settings: TlsSettings | None) -> socket.socket:
        connection = reach_host("127.0.0.1", self.port, settings, 10)
        prove_to_listener(connection, SECRET)
        return connection

    def close(self) -> None:
        self._greeter.close()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._accepted:
            connection.close()


@pytest.fixture
def own(tmp_path: Path) -> TlsSettings:
    return settings_for(tmp_path / "own", AUTHORITY.issue())


@pytest.fixture
def listening(own: TlsSettings) -> Iterator[Listening]:
    opened = Listening(own)
    yield opened
    opened.close()


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_two_of_one_cluster_talk_in_cipher(own: TlsSettings, version: str) -> None:
    both = Listening(replace(own, versions=("TLSv1.2", "TLSv1.3")))
    with both.call(replace(own, versions=(version, version))) as call:
        assert isinstance(call, TlsSocket) and call.version() == version
        other = both.let_in.get(timeout=10)
        call.sendall(b"a word")
        assert other.recv(100) == b"a word"
        other.sendall(b"another")
        assert call.recv(100) == b"another"
    both.close()


def test_on_the_wire_nothing_can_be_read(own: TlsSettings) -> None:
    left, right = tls_pair(own)
    with left, right:
        left.sendall(b"in the clear")
        with wire_of(right) as wire:
            seen = wire.recv(1 << 16)
    assert seen and b"in the clear" not in seen


def wire_of(connection: socket.socket) -> socket.socket:
    """What is under TLS."""
    wire = socket.socket(fileno=os.dup(connection.fileno()))
    wire.settimeout(10)
    return wire


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("who", ["nobody", "a stranger", "one of yesterday", "one without tls", "one without a secret"])
def test_others_are_rejected(own: TlsSettings, tmp_path: Path, who: str, version: str) -> None:
    own = replace(own, versions=(version, version))
    listening = Listening(own)
    foreign = Authority()
    caller: TlsSettings | None = {
        "a stranger": settings_for(tmp_path / "foreign", foreign.issue()),
        "one of yesterday": settings_for(tmp_path / "old", AUTHORITY.issue(ends_in_days=-1)),
        "one without a secret": own,
    }.get(who)
    started = time.monotonic()
    with pytest.raises(OSError):
        if who == "nobody":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with (
                socket.create_connection(("127.0.0.1", listening.port), 10) as plain,
                context.wrap_socket(plain) as call,
            ):
                prove_to_listener(call, SECRET)
        elif who == "one without a secret":
            with reach_host("127.0.0.1", listening.port, caller, 10) as connection:
                prove_to_listener(connection, b"x" * 32)
        elif who == "one without tls":
            with reach_host("127.0.0.1", listening.port, None, 10) as connection:
                connection.sendall(b"x" * 64)
                prove_to_listener(connection, SECRET)
        else:
            assert caller is not None
            listening.call(replace(caller, versions=(version, version))).close()
    assert time.monotonic() - started < 9
    assert listening.let_in.empty()
    # Those who belong there get in as before.
    with listening.call(own):
        listening.let_in.get(timeout=10)
    listening.close()


@pytest.mark.parametrize("who", ["a stranger", "one of yesterday"])
def test_a_caller_does_not_believe_just_anybody(own: TlsSettings, tmp_path: Path, who: str) -> None:
    identity = Authority().issue() if who == "a stranger" else AUTHORITY.issue(ends_in_days=-1)
    listening = Listening(settings_for(tmp_path / "other", identity))
    with pytest.raises(ssl.SSLCertVerificationError):
        listening.call(own)
    listening.close()


def test_only_the_named_certificate_will_do(own: TlsSettings, tmp_path: Path) -> None:
    identity = AUTHORITY.issue()
    named = replace(settings_for(tmp_path / "named", identity), fingerprints=frozenset({identity.fingerprint}))
    named.check()
    listening = Listening(named)
    with pytest.raises(OSError):
        listening.call(own)
    with listening.call(named):
        listening.let_in.get(timeout=10)
    listening.close()
    other = Listening(own)
    with pytest.raises(UntrustedError, match="fingerprint"):
        other.call(named)
    other.close()


def test_those_who_say_nothing_are_let_go_in_time(own: TlsSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeter, "_HANDSHAKE_S", 0.5)
    listening = Listening(own)
    with socket.create_connection(("127.0.0.1", listening.port), 10) as silent:
        assert silent.recv(1) == b""
    with socket.create_connection(("127.0.0.1", listening.port), 10) as slow:
        # A record of 80 bytes, one byte at a time: the limit is for the whole handshake.
        slow.sendall(b"\x16\x03\x01\x00\x50")
        with pytest.raises(OSError):
            for _ in range(80):
                slow.sendall(b"\0")
                time.sleep(0.1)
    listening.close()


def test_however_many_say_nothing_a_caller_is_heard(own: TlsSettings, listening: Listening) -> None:
    strangers = [socket.create_connection(("127.0.0.1", listening.port), 10) for _ in range(100)]
    started = time.monotonic()
    with listening.call(own):
        listening.let_in.get(timeout=10)
    assert time.monotonic() - started < 8
    # The first of them have been let go, to have no more than so many at once.
    strangers[0].settimeout(8)
    assert strangers[0].recv(1) == b""
    for stranger in strangers:
        stranger.close()


def test_a_renewed_certificate_is_shown_from_then_on(own: TlsSettings, listening: Listening) -> None:
    def presented_certificate() -> bytes | None:
        with listening.call(own) as call:
            assert isinstance(call, TlsSocket)
            return call.getpeercert(True)

    before = presented_certificate()
    assert presented_certificate() == before
    key_store(Path(own.key_store.path), AUTHORITY.issue("another").to_pem())
    assert presented_certificate() != before


def test_certificates_that_cannot_work_are_named_at_once(tmp_path: Path) -> None:
    settings_for(tmp_path / "good", AUTHORITY.issue()).check()
    with pytest.raises(ConfigurationError, match=r"expired.*security\.ssl\.internal\.keystore"):
        settings_for(tmp_path / "old", AUTHORITY.issue(ends_in_days=-1)).check()
    with pytest.raises(ConfigurationError, match=r"verify failed.*must be one that .*truststore\) trusts"):
        settings_for(tmp_path / "foreign", Authority().issue()).check()
    named = replace(settings_for(tmp_path / "good", AUTHORITY.issue()), fingerprints=frozenset({b"x" * 20}))
    with pytest.raises(ConfigurationError, match="fingerprint"):
        named.check()


def test_as_in_java_a_trusted_certificate_needs_no_issuer(tmp_path: Path) -> None:
    identity = AUTHORITY.issue()
    settings_for(tmp_path / "itself", identity, trusted=identity.to_pem()).check()
    with pytest.raises(ConfigurationError, match="verify failed"):
        settings_for(tmp_path / "sister", AUTHORITY.issue(), trusted=identity.to_pem()).check()


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_one_thread_may_read_while_another_one_writes(tmp_path: Path, version: str) -> None:
    """As a delivery does; without buffers in between, both would wait for ever."""
    ends = [FrameSocket(end) for end in tls_pair(own_tls(tmp_path, version))]
    sent = [Frame(number, 1, 2, bytes([number]) * (number * 40_000)) for number in range(60)]
    received: list[list[Frame]] = [[], []]

    def write(end: FrameSocket) -> None:
        for frame in sent:
            end.send(frame)
        end.send_end()

    def read(number: int) -> None:
        while (frame := ends[number].receive()) is not None:
            received[number].append(frame)

    threads = [threading.Thread(target=write, args=(end,), daemon=True) for end in ends]
    threads += [threading.Thread(target=read, args=(number,), daemon=True) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert received == [sent, sent]
    for end in ends:
        end.close()


def test_what_comes_after_the_end_of_a_conversation_is_nobodys(own: TlsSettings) -> None:
    """Python's own shutdown would drop TLS, and go on in plain text."""
    left, right = tls_pair(own)
    with left, right, wire_of(right) as wire:
        wire.sendall(b"in plain text")
        left.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(ssl.SSLError):
            assert left.recv(100) == b""
        with pytest.raises(OSError):
            left.send(b"in plain text")
