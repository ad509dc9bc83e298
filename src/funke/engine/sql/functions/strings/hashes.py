"""Hashes and identifiers."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable

from funke.engine.sql.functions.function import Function
from funke.engine.types.logical import CharType, DataType, VarCharType

__all__ = ["HASHES"]


def _digest(name: str) -> Callable[[str | bytes], str]:
    return lambda value: hashlib.new(name, value.encode() if isinstance(value, str) else value).hexdigest()


def _hash(name: str, algorithm: str, length: int) -> Function:
    purpose = f"The {algorithm} hash as {length} hexadecimal digits."
    return Function((name,), "text/bytes", CharType(length), _digest(algorithm), purpose=purpose)


def _sha2(value: str | bytes, bits: int) -> str:
    if bits not in (224, 256, 384, 512):
        raise ValueError("Unsupported algorithm.")
    return _digest(f"sha{bits}")(value)


_UUID: DataType = CharType(36, False)

HASHES: tuple[Function, ...] = (
    _hash("md5", "md5", 32),
    _hash("sha1", "sha1", 40),
    _hash("sha224", "sha224", 56),
    _hash("sha256", "sha256", 64),
    _hash("sha384", "sha384", 96),
    _hash("sha512", "sha512", 128),
    Function(
        ("sha2",),
        "text/bytes, integer",
        VarCharType(128),
        _sha2,
        purpose="The hash of the SHA-2 family with so many bits.",
    ),
    Function(
        ("uuid",),
        "",
        _UUID,
        lambda: str(uuid.uuid4()),
        is_deterministic=False,
        purpose="A random identifier, a new one for every row.",
    ),
)
