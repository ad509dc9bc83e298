"""What the processes of a job show each other, to be believed."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from funke.engine.trust.tls import TlsSettings

__all__ = ["Credentials"]

_SECRET_BYTES = 32


@dataclass(frozen=True)
class Credentials:
    """The job's secret, which proves everywhere who belongs to it, and TLS for what goes from host to host."""

    secret: bytes = field(repr=False)
    tls: TlsSettings | None = None

    @classmethod
    def new(cls, tls: TlsSettings | None = None) -> Credentials:
        """With a new random secret."""
        return cls(secrets.token_bytes(_SECRET_BYTES), tls)

    def renewed(self) -> Credentials:
        """The same with another secret."""
        return replace(self, secret=secrets.token_bytes(_SECRET_BYTES))
