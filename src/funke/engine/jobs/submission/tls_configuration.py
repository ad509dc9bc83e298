"""From Flink's options to TLS between the processes of a job."""

from __future__ import annotations

import re
import ssl
import sys

from funke.engine.config import flink_options as options
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.trust.key_stores import KeyStore
from funke.engine.trust.tls import TlsSettings

__all__ = ["tls_settings"]

_VERSIONS = ("TLSv1.2", "TLSv1.3")
# Cipher suites of TLS 1.3 have names of their own; Python always has all that OpenSSL has.
_SUITES_OF_1_3 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
_FEWEST_BITS = 112


def tls_settings(configured: Settings) -> TlsSettings:
    """How connections between hosts are secured; what is wrong with it is said before anything starts."""
    versions, ciphers = _versions_and_ciphers(configured)
    settings = TlsSettings(
        _store(configured, options.SSL_KEYSTORE, options.SSL_KEYSTORE_PASSWORD, options.SSL_KEY_PASSWORD),
        _store(configured, options.SSL_TRUSTSTORE, options.SSL_TRUSTSTORE_PASSWORD),
        versions,
        ciphers,
        _fingerprints(configured.get(options.SSL_FINGERPRINT) or ""),
    )
    settings.check()
    return settings


def _store(
    configured: Settings,
    path: ConfigOption[str | None],
    password: ConfigOption[str | None],
    key_password: ConfigOption[str | None] | None = None,
) -> KeyStore:
    store_path = configured.get(path)
    if not store_path:
        raise ConfigurationError(f"{options.SSL_ENABLED.key} is true, but {' or '.join(path.keys)} is not set")
    return KeyStore(
        path.key,
        store_path,
        configured.get(password),
        configured.get(key_password) if key_password is not None else None,
    )


def _fingerprints(text: str) -> frozenset[bytes]:
    fingerprints = [part.strip().replace(":", "") for part in text.split(",") if part.strip()]
    if not all(re.fullmatch("[0-9a-fA-F]{40}", part) for part in fingerprints):
        raise ConfigurationError(
            f"option '{options.SSL_FINGERPRINT.key}': {text!r} is not a SHA-1 fingerprint; "
            "openssl x509 -noout -fingerprint -sha1 -in CERTIFICATE shows one"
        )
    return frozenset(map(bytes.fromhex, fingerprints))


def _versions_and_ciphers(configured: Settings) -> tuple[tuple[str, str], str | None]:
    """The lowest and the highest version, and the suites of TLS 1.2; a version without a suite is not used."""
    versions = _versions(configured.get(options.SSL_PROTOCOL))
    names = _names(configured.get(options.SSL_ALGORITHMS) or "")
    if not names:
        return (versions[0], versions[-1]), None
    supported = {name: cipher for name in names if (cipher := _to_openssl(name)) is not None}
    newer = [name for name in names if name in _SUITES_OF_1_3]
    usable = [version for version in versions if (newer if version == "TLSv1.3" else supported)]
    if not usable:
        raise ConfigurationError(
            f"option '{options.SSL_ALGORITHMS.key}': none of {', '.join(names)} can be used here with "
            f"{' or '.join(versions)}; examples are TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 for TLSv1.2 and "
            f"{_SUITES_OF_1_3[0]} for TLSv1.3"
        )
    _tell(names, supported, newer, usable)
    return (usable[0], usable[-1]), ":".join(supported.values()) or None


def _tell(names: list[str], supported: dict[str, str], newer: list[str], usable: list[str]) -> None:
    """Says what of the list cannot be kept to."""
    others = [name for name in names if name not in supported and name not in newer]
    if others:
        sys.stderr.write(f"warning: OpenSSL has no {', '.join(others)} that would encrypt; TLS does without\n")
    if "TLSv1.3" in usable and len(newer) < len(_SUITES_OF_1_3):
        more = ", ".join(name for name in _SUITES_OF_1_3 if name not in newer)
        sys.stderr.write(f"warning: Python's ssl cannot leave out suites of TLS 1.3, so {more} may be used too\n")


def _versions(text: str) -> list[str]:
    names = {name.lower(): name for name in _VERSIONS}
    requested = _names(text)
    unknown = [name for name in requested if name.lower() not in names]
    if unknown or not requested:
        raise ConfigurationError(
            f"option '{options.SSL_PROTOCOL.key}': {', '.join(unknown) or 'an empty list'} cannot be used; there are "
            f"{' and '.join(_VERSIONS)}, older versions are not secure"
        )
    return sorted({names[name.lower()] for name in requested})


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _to_openssl(name: str) -> str | None:
    """OpenSSL's name of a suite of TLS 1.2, None if it has no such suite.

    >>> _to_openssl("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"), _to_openssl("TLS_RSA_WITH_AES_128_CBC_SHA")
    ('ECDHE-RSA-AES128-GCM-SHA256', 'AES128-SHA')
    """
    parts = re.fullmatch(r"(?:TLS|SSL)_([A-Z_]+)_WITH_([A-Z0-9_]+)", name)
    if parts is None:
        return None
    exchange = "" if parts[1] == "RSA" else parts[1].replace("_", "-") + "-"
    cipher = re.sub(r"(AES|ARIA|CAMELLIA)_(\d+)_", r"\1\2_", parts[2]).replace("_CBC_", "_").replace("_", "-")
    cipher = cipher.replace("CHACHA20-POLY1305-SHA256", "CHACHA20-POLY1305")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.set_ciphers(exchange + cipher)
    except ssl.SSLError:
        return None
    # Some do not encrypt at all.
    chosen = [one["strength_bits"] for one in context.get_ciphers() if one["name"] == exchange + cipher]
    return exchange + cipher if chosen and chosen[0] >= _FEWEST_BITS else None
