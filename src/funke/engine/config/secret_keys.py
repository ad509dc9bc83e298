"""Which settings hold secrets, and so are neither written down nor shown."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "HIDDEN",
    "hide_passwords",
    "is_secret",
    "masked",
    "masked_command",
    "masked_sql",
    "named_only",
    "secret_options",
]
__all__ += ["without_secrets"]

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
# Parts of other words too ("sasl" is not a secret): they count only by themselves.
_WORDS = {"sas"}
# Words like these are taken for slips of the pen.
_SLIPS = ("password", "passphrase", "secret", "credential", "credentials")
_SLIP_CLOSENESS = 0.83
# What names the class that knows the credentials is not a secret.
_HARMLESS_ENDS = ("provider", "provider.path")
# As Flink shows them; and so much of other values, which may be whole programs.
HIDDEN = "******"
_MOST_VALUE = 1_000
# Secrets within URLs: parameters with such names, and what stands between the user and the host.
_URL_PARAMETER = re.compile(rf"([?&;][^=&;]*(?:{'|'.join(map(re.escape, _PARTS))})[^=&;]*=)[^&;\s'\"]*", re.IGNORECASE)
# A number and a slash behind the colon are a port.
_URL_USER = re.compile(r"(://[^/@:\s]*:)(?!\d*(?:[/?,]|$))[^\s'\"]+(?=@)")

# An option in a statement, or in one of its hints.
_SQL_OPTION = re.compile(r"('((?:[^']|'')*)'\s*=\s*)'(?:[^']|'')*'")


@functools.lru_cache(maxsize=4096)
def is_secret(key: str) -> bool:
    """Whether the value of a key is secret; also of a mistyped key, such as `pasword`.

    >>> is_secret("spark.hadoop.fs.s3a.secret.key"), is_secret("s3.access-key"), is_secret("fs.azure.sas.box.account")
    (True, False, True)
    """
    lower = key.lower().replace("_", "-")
    if lower.endswith(_HARMLESS_ENDS):
        return False
    words = [word for word in re.split(r"[^a-z0-9]+", lower) if word]
    return any(part in lower for part in _PARTS) or not _WORDS.isdisjoint(words) or any(map(_is_slip, words))


def _is_slip(word: str) -> bool:
    return bool(difflib.get_close_matches(word, _SLIPS, 1, _SLIP_CLOSENESS))


def hide_passwords(text: str) -> str:
    """A text without the secrets of URLs in it.

    >>> hide_passwords("jdbc:postgresql://me:abc@db/shop?user=me&password=abc&sslmode=require")
    'jdbc:postgresql://me:******@db/shop?user=me&password=******&sslmode=require'
    """
    return _URL_USER.sub(rf"\1{HIDDEN}", _URL_PARAMETER.sub(rf"\1{HIDDEN}", text))


def masked(configuration: Mapping[str, str]) -> dict[str, str]:
    """Settings as they may be shown.

    >>> masked({"s3.secret-key": "abc", "parallelism.default": "2"})
    {'parallelism.default': '2', 's3.secret-key': '******'}
    """
    return {
        key: HIDDEN if is_secret(key) else hide_passwords(str(configuration[key]))[:_MOST_VALUE]
        for key in sorted(configuration)
    }


def masked_sql(statement: str) -> str:
    """A statement as it may be shown.

    >>> masked_sql("INSERT INTO t /*+ OPTIONS('password' = 'abc', 'sink.parallelism' = '2') */ SELECT 1")
    "INSERT INTO t /*+ OPTIONS('password' = '******', 'sink.parallelism' = '2') */ SELECT 1"
    """

    def masked_option(option: re.Match[str]) -> str:
        return f"{option[1]}'{HIDDEN}'" if is_secret(option[2]) else option[0]

    return hide_passwords(_SQL_OPTION.sub(masked_option, statement))


def without_secrets(command: Sequence[str]) -> tuple[str, ...]:
    """A command line without those `-Dkey=value` options whose value is a secret.

    >>> without_secrets(["run", "-Ds3.secret-key=abc", "-D", "db.passwd=x", "-Dpipeline.name=a", "job.py"])
    ('run', '-Dpipeline.name=a', 'job.py')
    """
    return tuple(part for parts, secret in _options_of(command) if secret is None for part in parts)


def secret_options(command: Sequence[str]) -> dict[str, str]:
    """What `without_secrets` leaves out.

    >>> secret_options(["run", "-Ds3.secret-key=abc", "job.py"])
    {'s3.secret-key': 'abc'}
    """
    return dict(secret for _, secret in _options_of(command) if secret is not None)


def _options_of(command: Sequence[str]) -> Iterator[tuple[list[str], tuple[str, str] | None]]:
    """The parts of a command line, those of an option together; key and value of one that holds a secret."""
    waiting = iter(command)
    for argument in waiting:
        parts = [argument, *([next(waiting, "")] if argument == "-D" else [])]
        key, _, value = parts[-1].removeprefix("-D").partition("=")
        yield parts, (key, value) if argument.startswith("-D") and is_secret(key) else None


def named_only(text: str) -> str:
    """What was meant as `key=value`, in quotes, as far as it is a key: what follows may be a secret.

    >>> named_only("db.passwd:abc"), named_only("pipeline.name")
    ("'db.passwd…'", "'pipeline.name'")
    """
    key = re.match(r"[\w.-]*", text)
    assert key is not None
    return repr(text) if key[0] == text else f"'{key[0]}…'"


def masked_command(command: Sequence[str]) -> str:
    """A command line as it may be shown: a program's own options have names too.

    >>> masked_command(["job.py", "--db-password", "abc", "--token=x", "-D", "a.secret=z", "--rows", "2"])
    'job.py --db-password ****** --token=****** -D a.secret=****** --rows 2'
    """
    words: list[str] = []
    is_value = False
    for argument in command:
        key, equals, _ = argument.removeprefix("-D").lstrip("-").partition("=")
        if is_value and not argument.startswith("-"):
            words.append(HIDDEN)
        elif equals and is_secret(key):
            words.append(f"{argument.partition('=')[0]}={HIDDEN}")
        else:
            words.append(hide_passwords(argument))
        is_value = argument.startswith("-") and not equals and is_secret(key)
    return " ".join(words)
