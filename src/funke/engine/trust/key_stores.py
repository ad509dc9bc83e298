"""Files with keys and certificates: PKCS12, as keytool makes them, and PEM."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from funke.engine.errors import ConfigurationError
from funke.engine.trust.private_files import open_own_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

__all__ = ["KeyStore"]

_PEM = b"-----BEGIN "
# How files of Java's own begin: JKS and JCEKS.
_JAVA = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class KeyStore:
    """A file that every host has under the same path."""

    # The setting that names it; that of its password ends with '-password'.
    option: str
    path: str
    password: str | None = field(default=None, repr=False)
    # That of the key inside, if it is not that of the file.
    key_password: str | None = field(default=None, repr=False)

    def version(self) -> tuple[int, ...]:
        """Changes when the file does."""
        try:
            status = os.stat(self.path)
        except OSError as error:
            raise self._unreadable(error) from error
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def show_in(self, context: ssl.SSLContext) -> None:
        """Makes its key and certificate those that connections show."""
        content = self._read()
        if _PEM not in content:
            content = self._to_pem(content)
        with _as_file(content) as path:
            try:
                # A password in any case: without one, OpenSSL would ask for it on the terminal.
                context.load_cert_chain(path, password=self.key_password or self.password or "")
            except (ssl.SSLError, ValueError) as error:
                raise self._unusable("a private key that the password opens, with its certificate", error) from error

    def trust_in(self, context: ssl.SSLContext) -> None:
        """Makes its certificates those that connections trust."""
        content = self._read()
        trusted = content.decode("ascii", "ignore") if _PEM in content else _trusted(self._open(content))
        try:
            context.load_verify_locations(cadata=trusted)
        except (ssl.SSLError, ValueError) as error:
            raise self._unusable("certificates", error) from error

    def _read(self) -> bytes:
        try:
            with open_own_file(self.path) as file:
                content = file.read(_MOST_BYTES)
        except OSError as error:
            raise self._unreadable(error) from error
        if content.startswith(_JAVA):
            raise ConfigurationError(
                f"{self.option}: '{self.path}' is in Java's own format (JKS), which Python does not read; convert it: "
                f"keytool -importkeystore -srckeystore {self.path} -destkeystore {self.path}.p12 -deststoretype PKCS12"
            )
        return content

    def _open(self, content: bytes) -> PKCS12KeyAndCertificates:
        try:
            from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
        except ImportError as error:
            raise ConfigurationError(
                f"{self.option}: to read '{self.path}' (PKCS12), {sys.executable} on host '{socket.gethostname()}' "
                "needs the package 'cryptography': pip install 'funke[tls]'; PEM files need no package"
            ) from error
        try:
            return load_pkcs12(content, None if self.password is None else self.password.encode())
        except ValueError as error:
            raise self._unusable(f"PKCS12 that {self.option}-password opens, or PEM", error) from error

    def _to_pem(self, content: bytes) -> bytes:
        opened = self._open(content)
        if self.key_password not in (None, self.password):
            raise ConfigurationError(
                f"{self.option}: '{self.path}' is a PKCS12 file, which has one password for itself and its key, but "
                f"{self.option}-password and the key's password differ"
            )
        if opened.key is None or opened.cert is None:
            raise self._unusable("a private key with its certificate")
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        chain = [opened.cert, *opened.additional_certs]
        key = opened.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return key + b"".join(entry.certificate.public_bytes(Encoding.PEM) for entry in chain)

    def _unreadable(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            f"{self.option}: '{self.path}' cannot be read on host '{socket.gethostname()}': {error.strerror or error}; "
            "every host needs it under this path"
        )

    def _unusable(self, content: str, error: Exception | None = None) -> ConfigurationError:
        reason = f" ({error})" if error is not None and str(error) else ""
        return ConfigurationError(
            f"{self.option}: '{self.path}' on host '{socket.gethostname()}' does not hold {content}{reason}"
        )


def _trusted(opened: PKCS12KeyAndCertificates) -> bytes:
    """The certificates that Java would trust: of those that belong to a key, that of the key and not its issuers'."""
    from cryptography.hazmat.primitives.serialization import Encoding

    certificates = [entry.certificate for entry in opened.additional_certs]
    if opened.cert is not None:
        own = last = opened.cert.certificate
        while (issuer := next((other for other in certificates if other.subject == last.issuer), None)) is not None:
            certificates.remove(issuer)
            last = issuer
        certificates.append(own)
    return b"".join(certificate.public_bytes(Encoding.DER) for certificate in certificates)


@contextlib.contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A path for OpenSSL, which reads keys from files only; on Linux it leads to memory, and on no disk."""
    if hasattr(os, "memfd_create"):
        with open(os.memfd_create("funke-key"), "wb", buffering=0) as memory:
            memory.write(content)
            yield f"/proc/self/fd/{memory.fileno()}"
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
