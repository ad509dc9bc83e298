"""Certificates and key stores, made for a test."""

from __future__ import annotations

import contextlib
import datetime
import socket
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

from funke.engine.trust.key_stores import KeyStore
from funke.engine.trust.tls import TlsSettings
from funke.engine.trust.tls_socket import TlsSocket

__all__ = ["PASSWORD", "Authority", "Identity", "key_store", "own_tls", "tls_pair", "trust_store"]

PASSWORD = "not to be seen"
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True)
class Identity:
    """A key, and the certificates that go with it, its own first."""

    key: Key
    chain: tuple[x509.Certificate, ...]

    def to_pem(self, password: str | None = None) -> bytes:
        how = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        key = self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)
        return key + b"".join(one.public_bytes(serialization.Encoding.PEM) for one in self.chain)

    def to_pkcs12(self, password: str = PASSWORD) -> bytes:
        how = serialization.BestAvailableEncryption(password.encode())
        return pkcs12.serialize_key_and_certificates(b"slot", self.key, self.chain[0], self.chain[1:], how)

    @property
    def fingerprint(self) -> bytes:
        return self.chain[0].fingerprint(hashes.SHA1())


class Authority:
    """Signs certificates; `ends_in_days` may be in the past."""

    def __init__(self, name: str = "authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._sign(self._name, self._key, 10, is_authority=True)

    def issue(self, name: str = "slot", ends_in_days: int = 10, key: Key | None = None) -> Identity:
        key = key or ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return Identity(key, (self._sign(subject, key, ends_in_days, is_authority=False),))

    def _sign(self, subject: x509.Name, key: Key, ends_in_days: int, is_authority: bool) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=20))
            .not_valid_after(now + datetime.timedelta(days=ends_in_days))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def to_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def to_pkcs12(self, password: str = PASSWORD) -> bytes:
        how = serialization.BestAvailableEncryption(password.encode())
        return pkcs12.serialize_key_and_certificates(None, None, None, [self.certificate], how)


def key_store(path: Path, content: bytes, password: str | None = None, key_password: str | None = None) -> KeyStore:
    path.write_bytes(content)
    return KeyStore("security.ssl.internal.keystore", str(path), password, key_password)


def trust_store(path: Path, content: bytes, password: str | None = None) -> KeyStore:
    path.write_bytes(content)
    return KeyStore("security.ssl.internal.truststore", str(path), password)


def own_tls(folder: Path, version: str = "TLSv1.2") -> TlsSettings:
    """What the processes of a job have that trust one authority."""
    authority = Authority()
    own = key_store(folder / "key.pem", authority.issue().to_pem())
    settings = TlsSettings(own, trust_store(folder / "trust.pem", authority.to_pem()))
    return replace(settings, versions=(version, version))


def tls_pair(settings: TlsSettings) -> tuple[TlsSocket, TlsSocket]:
    """Two ends of a TCP connection on loopback, the caller's first; both have shown their certificates."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        calling = socket.create_connection(listener.getsockname())
        answering, _ = listener.accept()
    ends = settings.wrap(calling, is_caller=True), settings.wrap(answering, is_caller=False)
    for end in ends:
        end.settimeout(20)
    answer = threading.Thread(target=_shake_hands, args=(ends[1],))
    answer.start()
    ends[0].do_handshake()
    answer.join()
    return ends


def _shake_hands(end: TlsSocket) -> None:
    with contextlib.suppress(OSError):  # the other end says so
        end.do_handshake()
