"""Which settings hold secrets, and so are neither written down nor shown."""

from __future__ import annotations

__all__ = ["is_secret"]

_PARTS = (
    "password",
    "secret",
    "account.key",
    "api-key",
    "apikey",
    "token",
    "auth-params",
    "jaas.config",
)


def is_secret(key: str) -> bool:
    """Whether the value of a key is nobody else's business.

    >>> is_secret("spark.hadoop.fs.s3a.secret.key"), is_secret("s3.access-key")
    (True, False)
    """
    return any(part in key.lower() for part in _PARTS)
