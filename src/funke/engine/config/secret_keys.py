"""Which settings hold secrets, and so are neither written down nor shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["hide_passwords", "is_secret", "masked", "masked_sql", "without_secrets"]

_PARTS = (
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "credential",
    "private-key",
    "private.key",
    "privatekey",
    "account.key",
    "account-key",
    "api-key",
    "api.key",
    "apikey",
    "service-key",
    "token",
    "auth-params",
    "basic-auth",
    "http-headers",
    "jaas.config",
    # Of Kafka's clients: a private key itself, not where it is.
    "keystore.key",
    "ssl.key.pem",
)
# Parts of other words too ("sasl" is no secret): they count only by themselves.
_WORDS = {"sas"}
# What names the class that knows the credentials is no secret.
_HARMLESS_ENDS = ("provider", "provider.path")
# As Flink shows them; and so much of other values, which may be whole programs.
_HIDDEN = "******"
_MOST_VALUE = 1_000
# Secrets within URLs: parameters with such names, and what stands between the user and the host.
_URL_PARAMETER = re.compile(rf"([?&;][^=&;]*(?:{'|'.join(map(re.escape, _PARTS))})[^=&;]*=)[^&;\s'\"]*", re.IGNORECASE)
_URL_USER = re.compile(r"(://[^/@:\s]*:)[^/@\s]+(?=@)")

# An option in a statement, or in one of its hints.
_SQL_OPTION = re.compile(r"('((?:[^']|'')*)'\s*=\s*)'(?:[^']|'')*'")


def is_secret(key: str) -> bool:
    """Whether the value of a key is nobody else's business.

    >>> is_secret("spark.hadoop.fs.s3a.secret.key"), is_secret("s3.access-key"), is_secret("fs.azure.sas.box.account")
    (True, False, True)
    """
    lower = key.lower()
    if lower.endswith(_HARMLESS_ENDS):
        return False
    return any(part in lower for part in _PARTS) or not _WORDS.isdisjoint(re.split(r"[^a-z0-9]+", lower))


def hide_passwords(text: str) -> str:
    """A text without the secrets of URLs in it.

    >>> hide_passwords("jdbc:postgresql://me:abc@db/shop?user=me&password=abc&sslmode=require")
    'jdbc:postgresql://me:******@db/shop?user=me&password=******&sslmode=require'
    """
    return _URL_USER.sub(rf"\1{_HIDDEN}", _URL_PARAMETER.sub(rf"\1{_HIDDEN}", text))


def masked(configuration: Mapping[str, str]) -> dict[str, str]:
    """Settings as they may be shown.

    >>> masked({"s3.secret-key": "abc", "parallelism.default": "2"})
    {'parallelism.default': '2', 's3.secret-key': '******'}
    """
    return {
        key: _HIDDEN if is_secret(key) else hide_passwords(str(configuration[key]))[:_MOST_VALUE]
        for key in sorted(configuration)
    }


def masked_sql(statement: str) -> str:
    """A statement as it may be shown.

    >>> masked_sql("INSERT INTO t /*+ OPTIONS('password' = 'abc', 'sink.parallelism' = '2') */ SELECT 1")
    "INSERT INTO t /*+ OPTIONS('password' = '******', 'sink.parallelism' = '2') */ SELECT 1"
    """

    def shown(option: re.Match[str]) -> str:
        return f"{option[1]}'{_HIDDEN}'" if is_secret(option[2]) else option[0]

    return hide_passwords(_SQL_OPTION.sub(shown, statement))


def without_secrets(command: Sequence[str]) -> tuple[str, ...]:
    """A command line without those `-Dkey=value` options whose value is a secret.

    >>> without_secrets(["run", "-Ds3.secret-key=abc", "-D", "db.passwd=x", "-Dpipeline.name=a", "job.py"])
    ('run', '-Dpipeline.name=a', 'job.py')
    """
    kept: list[str] = []
    waiting = iter(command)
    for argument in waiting:
        parts = [argument, *([next(waiting, "")] if argument == "-D" else [])]
        key = parts[-1].removeprefix("-D").partition("=")[0]
        if not (argument.startswith("-D") and is_secret(key)):
            kept += parts
    return tuple(kept)
