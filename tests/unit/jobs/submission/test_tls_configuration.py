"""From Flink's options to TLS; nothing that is asked for is quietly left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from funke.engine.config.secret_keys import masked
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.submission.ignored_settings import warn_of_ignored
from funke.engine.jobs.submission.job_code import new_credentials
from funke.engine.jobs.submission.tls_configuration import tls_settings
from funke.engine.trust.credentials import Credentials
from tests.harness.certificates import PASSWORD, Authority, tls_pair

AUTHORITY = Authority()
IDENTITY = AUTHORITY.issue(key=rsa.generate_private_key(65537, 2048))
PREFIX = "security.ssl.internal."
RSA_GCM, ECDSA_GCM = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"


@pytest.fixture
def configuration(tmp_path: Path) -> dict[str, str]:
    """As Flink's documentation has it: one file for the key and one for trust, with their passwords."""
    (tmp_path / "k.p12").write_bytes(IDENTITY.to_pkcs12())
    (tmp_path / "t.p12").write_bytes(AUTHORITY.to_pkcs12())
    return {
        f"{PREFIX}enabled": "true",
        f"{PREFIX}keystore": str(tmp_path / "k.p12"),
        f"{PREFIX}keystore-password": PASSWORD,
        f"{PREFIX}key-password": PASSWORD,
        f"{PREFIX}truststore": str(tmp_path / "t.p12"),
        f"{PREFIX}truststore-password": PASSWORD,
    }


def used(configuration: dict[str, str]) -> tuple[str | None, str]:
    """The version and the cipher suite of a connection."""
    settings = tls_settings(Settings(configuration))
    left, right = tls_pair(settings)
    cipher = left.cipher()
    version = left.version()
    left.close()
    right.close()
    assert cipher is not None
    return version, cipher[0]


def test_without_the_switch_there_is_no_tls(configuration: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert new_credentials(Settings()).tls is None
    assert new_credentials(Settings(configuration)).tls is not None
    warn_of_ignored(Settings(configuration))
    assert capsys.readouterr().err == ""
    del configuration[f"{PREFIX}enabled"]
    assert new_credentials(Settings(configuration)).tls is None
    warn_of_ignored(Settings(configuration))
    assert capsys.readouterr().err.endswith("have no effect: security.ssl.internal.enabled is not true\n")


def test_names_of_earlier_versions_hold_too(configuration: dict[str, str]) -> None:
    older = {key.replace("internal.", ""): value for key, value in configuration.items()}
    assert used(older)[0] == "TLSv1.2"


@pytest.mark.parametrize(
    ("options", "version", "cipher"),
    [
        ({}, "TLSv1.2", "ECDHE-RSA-"),
        ({"security.ssl.protocol": "TLSv1.3"}, "TLSv1.3", "TLS_"),
        ({"security.ssl.protocol": "tlsv1.3,TLSv1.2"}, "TLSv1.3", "TLS_"),
        (
            {"security.ssl.algorithms": f"{ECDSA_GCM}, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
            "TLSv1.2",
            "ECDHE-RSA-AES128-GCM-SHA256",
        ),
        (
            {"security.ssl.algorithms": "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"},
            "TLSv1.2",
            "ECDHE-RSA-CHACHA20-POLY1305",
        ),
        ({"security.ssl.algorithms": "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"}, "TLSv1.2", "ECDHE-RSA-AES128-SHA256"),
        # Flink's default, with which it needs no setting.
        ({"security.ssl.algorithms": "TLS_RSA_WITH_AES_128_CBC_SHA"}, "TLSv1.2", "AES128-SHA"),
        # A version without a suite in the list is not used.
        (
            {"security.ssl.protocol": "TLSv1.2,TLSv1.3", "security.ssl.algorithms": RSA_GCM},
            "TLSv1.2",
            "ECDHE-RSA-AES256-GCM-SHA384",
        ),
    ],
)
def test_version_and_cipher_are_those_that_are_asked_for(
    configuration: dict[str, str],
    options: dict[str, str],
    version: str,
    cipher: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    used_version, used_cipher = used({**configuration, **options})
    assert used_version == version and used_cipher.startswith(cipher)
    assert capsys.readouterr().err == ""


def test_what_cannot_be_kept_to_is_said(configuration: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    configuration["security.ssl.protocol"] = "TLSv1.2,TLSv1.3"
    names = [RSA_GCM, "TLS_KRB5_WITH_3DES_EDE_CBC_SHA", "TLS_RSA_WITH_NULL_SHA256", "TLS_AES_128_GCM_SHA256"]
    configuration["security.ssl.algorithms"] = ",".join(names)
    settings = tls_settings(Settings(configuration))
    assert settings is not None and settings.ciphers == "ECDHE-RSA-AES256-GCM-SHA384"
    missing, more = capsys.readouterr().err.splitlines()
    assert missing.startswith("warning: OpenSSL has no TLS_KRB5_WITH_3DES_EDE_CBC_SHA, TLS_RSA_WITH_NULL_SHA256 that")
    assert "so TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256 may be used too" in more


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (f"{PREFIX}keystore", None, r"internal\.keystore or security\.ssl\.keystore is not set"),
        (f"{PREFIX}truststore", None, r"internal\.truststore or security\.ssl\.truststore is not set"),
        (f"{PREFIX}keystore", "/nowhere/k", r"internal\.keystore: '/nowhere/k' cannot be read on host"),
        (f"{PREFIX}truststore", "/nowhere/t", r"internal\.truststore: '/nowhere/t' cannot be read on host"),
        (f"{PREFIX}keystore-password", "wrong", r"keystore-password"),
        (f"{PREFIX}truststore-password", None, r"truststore-password"),
        (f"{PREFIX}cert.fingerprint", "12:34", "not a SHA-1 fingerprint"),
        (f"{PREFIX}cert.fingerprint", "00" * 20, "another fingerprint"),
        ("security.ssl.protocol", "TLSv1.1", r"TLSv1.1 cannot be used; there are TLSv1.2 and TLSv1.3"),
        ("security.ssl.protocol", "TLSv1.3, SSLv3", r"SSLv3 cannot be used"),
        ("security.ssl.protocol", "", r"cannot be used"),
        ("security.ssl.algorithms", "TLS_AES_128_GCM_SHA256", r"none of .* can be used here with TLSv1.2"),
        ("security.ssl.algorithms", "TLS_RSA_WITH_NULL_SHA256", r"none of .* can be used here"),
        ("security.ssl.algorithms", "ALL", r"none of ALL can be used here"),
        # The key is of another kind than the suite.
        ("security.ssl.algorithms", ECDSA_GCM, r"would fail"),
        (f"{PREFIX}enabled", "perhaps", r"security\.ssl\.internal\.enabled"),
    ],
)
def test_what_cannot_work_is_rejected(configuration: dict[str, str], key: str, value: str | None, message: str) -> None:
    configuration.pop(key, None)
    if value is not None:
        configuration[key] = value
    with pytest.raises(ConfigurationError, match=message) as raised:
        new_credentials(Settings(configuration))
    assert PASSWORD not in str(raised.value)


def test_an_unreadable_file_is_named(configuration: dict[str, str]) -> None:
    folder = os.path.dirname(configuration[f"{PREFIX}keystore"])
    with pytest.raises(ConfigurationError, match=r"internal\.keystore: '.*' cannot be read on host"):
        tls_settings(Settings({**configuration, f"{PREFIX}keystore": folder}))


def test_a_fingerprint_in_any_form_will_do(configuration: dict[str, str]) -> None:
    plain = IDENTITY.fingerprint.hex()
    with_colons = IDENTITY.fingerprint.hex(":").upper()
    for text in (plain, with_colons, f"{'00' * 20}, {with_colons}"):
        settings = tls_settings(Settings({**configuration, f"{PREFIX}cert.fingerprint": text}))
        assert settings is not None and IDENTITY.fingerprint in settings.fingerprints


def test_passwords_are_shown_nowhere(configuration: dict[str, str]) -> None:
    assert PASSWORD not in str(masked(configuration))
    settings = tls_settings(Settings(configuration))
    assert PASSWORD not in repr(settings)
    assert "secret" not in repr(Credentials(b"secret", settings)).replace("Credentials", "")
