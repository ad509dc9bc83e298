"""Keys and certificates are found in the files that people have, and what is wrong with one is said with its name."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from funke.engine.errors import ConfigurationError
from funke.engine.trust.key_stores import KeyStore
from tests.harness.certificates import PASSWORD, Authority, Identity, key_store, trust_store
from tests.harness.stranger import give_away

AUTHORITY = Authority()
OWN = AUTHORITY.issue()
WITH_CHAIN = Identity(OWN.key, (*OWN.chain, AUTHORITY.certificate))
PEM, P12 = OWN.to_pem(), OWN.to_pkcs12()


def context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


@pytest.mark.parametrize(
    ("content", "password", "key_password"),
    [
        (OWN.to_pem(), None, None),
        (OWN.to_pem("its own"), None, "its own"),
        (OWN.to_pem(PASSWORD), PASSWORD, None),
        (b"# Who: \xc3\xa4\n" + WITH_CHAIN.to_pem(), None, None),
        (OWN.to_pkcs12(), PASSWORD, None),
        (WITH_CHAIN.to_pkcs12(), PASSWORD, PASSWORD),
    ],
)
def test_keys_are_found(tmp_path: Path, content: bytes, password: str | None, key_password: str | None) -> None:
    key_store(tmp_path / "k", content, password, key_password).show_in(context())


@pytest.mark.parametrize(
    ("content", "password", "trusted"),
    [
        (AUTHORITY.to_pem(), None, [AUTHORITY.certificate]),
        (AUTHORITY.to_pkcs12(), PASSWORD, [AUTHORITY.certificate]),
        # As in Java, those who have signed the certificate of a key are not trusted for that.
        (WITH_CHAIN.to_pkcs12(), PASSWORD, [OWN.chain[0]]),
    ],
)
def test_certificates_to_trust_are_found(
    tmp_path: Path, content: bytes, password: str | None, trusted: list[object]
) -> None:
    trusting = context()
    trust_store(tmp_path / "t", content, password).trust_in(trusting)
    assert trusting.cert_store_stats()["x509"] == len(trusted)
    authorities = {certificate.public_bytes(Encoding.DER) for certificate in trusted}  # type: ignore[attr-defined]
    assert set(trusting.get_ca_certs(binary_form=True)) <= authorities


@pytest.mark.parametrize(
    ("content", "password", "key_password", "message"),
    [
        (OWN.to_pem(PASSWORD), None, None, "does not hold a private key that the password opens"),
        (OWN.to_pem(PASSWORD), "wrong", None, "does not hold a private key that the password opens"),
        (AUTHORITY.to_pem(), None, None, "does not hold a private key"),
        (OWN.to_pkcs12(), "wrong", None, r"security\.ssl\.internal\.keystore-password opens"),
        (OWN.to_pkcs12(), None, None, r"security\.ssl\.internal\.keystore-password opens"),
        (OWN.to_pkcs12(), PASSWORD, "another", "differ"),
        (AUTHORITY.to_pkcs12(), PASSWORD, None, "does not hold a private key with its certificate"),
        (b"nothing of the kind", None, None, "does not hold PKCS12"),
        (b"", None, None, "does not hold PKCS12"),
        (b"\xfe\xed\xfe\xed\0\0\0\2", PASSWORD, None, r"keytool -importkeystore -srckeystore .*/k .* PKCS12"),
    ],
)
def test_what_is_wrong_with_a_key_store_is_said(
    tmp_path: Path, content: bytes, password: str | None, key_password: str | None, message: str
) -> None:
    store = key_store(tmp_path / "k", content, password, key_password)
    with pytest.raises(ConfigurationError, match=message) as raised:
        store.show_in(context())
    assert "security.ssl.internal.keystore: '" in str(raised.value)
    assert PASSWORD not in str(raised.value) + repr(store)


@pytest.mark.parametrize("content", [b"-----BEGIN NOTHING-----\n", OWN.to_pem().partition(b"-----BEGIN CERT")[0], b"x"])
def test_a_trust_store_without_certificates_is_rejected(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ConfigurationError, match=r"security\.ssl\.internal\.truststore: '.*/t'"):
        trust_store(tmp_path / "t", content).trust_in(context())


def test_a_missing_file_is_named_with_the_host(tmp_path: Path) -> None:
    store = KeyStore("security.ssl.internal.keystore", str(tmp_path / "none"))
    for use in (lambda: store.show_in(context()), store.version):
        with pytest.raises(ConfigurationError, match=r"keystore: '.*/none' cannot be read on host '.+': No such file"):
            use()


def test_a_strangers_file_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = trust_store(tmp_path / "t", AUTHORITY.to_pem())
    give_away(tmp_path / "t", monkeypatch)
    with pytest.raises(ConfigurationError, match="belongs to"):
        store.trust_in(context())


def test_pkcs12_says_which_package_it_needs_and_pem_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.setitem(sys.modules, name, None)
    key_store(tmp_path / "pem", PEM).show_in(context())
    with pytest.raises(ConfigurationError, match=r"pip install 'funke\[tls\]'"):
        key_store(tmp_path / "p12", P12, PASSWORD).show_in(context())
