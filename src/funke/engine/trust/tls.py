"""TLS between hosts: both sides show a certificate, and each must be trusted by the other side's trust store.

It comes before the handshake, which goes on inside it. Host names are not looked at, as in Flink between its own
processes: a holder of a certificate that the trust store trusts belongs to the cluster.
"""

from __future__ import annotations

import functools
import socket
import ssl
from dataclasses import dataclass

from funke.engine.errors import ConfigurationError, UntrustedError
from funke.engine.trust.key_stores import KeyStore
from funke.engine.trust.tls_socket import TlsSocket, require_fingerprint

__all__ = ["TlsSettings"]

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True)
class TlsSettings:
    """How connections between hosts are secured."""

    key_store: KeyStore
    trust_store: KeyStore
    # The lowest and the highest version, by Java's names.
    versions: tuple[str, str] = ("TLSv1.2", "TLSv1.2")
    # In OpenSSL's words; its own choice if None. They concern TLS 1.2 only.
    ciphers: str | None = None
    # SHA-1 of the certificates that may be shown; any that is trusted if there are none.
    fingerprints: frozenset[bytes] = frozenset()

    def check(self) -> None:
        """Raises ConfigurationError unless two processes on this host would believe each other."""
        to_caller, to_listener = ssl.MemoryBIO(), ssl.MemoryBIO()
        caller = self._context(is_caller=True).wrap_bio(to_caller, to_listener)
        listener = self._context(is_caller=False).wrap_bio(to_listener, to_caller, server_side=True)
        try:
            waiting = [caller, listener]
            while waiting:
                waiting = [end for end in waiting if not _is_through(end)]
            require_fingerprint(listener.getpeercert(True), self.fingerprints)
        except (ssl.SSLError, UntrustedError) as error:
            raise ConfigurationError(
                f"TLS between two processes of the job would fail on host '{socket.gethostname()}': {error}; the "
                f"certificate in '{self.key_store.path}' ({self.key_store.option}) must be one that "
                f"'{self.trust_store.path}' ({self.trust_store.option}) trusts"
            ) from error

    def wrap(self, connection: socket.socket, is_caller: bool) -> TlsSocket:
        """The connection under TLS, in place of the plain one; nothing is sent before its `do_handshake`."""
        wrapped = self._context(is_caller).wrap_socket(
            connection, server_side=not is_caller, do_handshake_on_connect=False
        )
        assert isinstance(wrapped, TlsSocket)
        wrapped.fingerprints = self.fingerprints
        return wrapped

    def _context(self, is_caller: bool) -> ssl.SSLContext:
        return _context(self, is_caller, (self.key_store.version(), self.trust_store.version()))


def _is_through(end: ssl.SSLObject) -> bool:
    """Takes the next step of a handshake; whether it was the last one."""
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


# Certificates are renewed now and then: what was made of older files is not used for new connections.
@functools.lru_cache(maxsize=8)
def _context(settings: TlsSettings, is_caller: bool, versions: tuple[tuple[int, ...], ...]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if is_caller else ssl.PROTOCOL_TLS_SERVER)
    context.sslsocket_class = TlsSocket
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    # As in Java, a certificate in the trust store needs no issuer there.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    # No new keys in mid-conversation, and no tickets for later ones: a connection has one handshake.
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET
    if not is_caller:
        context.num_tickets = 0
    context.minimum_version, context.maximum_version = (_VERSIONS[version] for version in settings.versions)
    if settings.ciphers is not None:
        context.set_ciphers(settings.ciphers)
    settings.key_store.show_in(context)
    settings.trust_store.trust_in(context)
    return context
