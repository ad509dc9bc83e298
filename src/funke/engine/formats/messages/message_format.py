"""What turns messages into columns with kinds, and the other way round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.types.logical import DataType, RowField

__all__ = ["ALL_KINDS", "INSERTS", "DecodedRows", "MessageDecoder", "MessageEncoder"]

INSERTS = frozenset({RowKind.INSERT})
ALL_KINDS = frozenset(RowKind)


@dataclass(frozen=True)
class DecodedRows:
    """Rows as an Arrow record batch, their kinds (None if all are inserts), and of which message each one comes."""

    data: Any
    kinds: Any
    origins: Any


class MessageDecoder(ABC):
    """Decodes messages; is pickled into slots."""

    # The kinds of changes that its rows may be.
    kinds: frozenset[RowKind] = INSERTS
    # What messages tell beside their rows, for METADATA columns: key -> type.
    metadata: Mapping[str, DataType] = {}

    @property
    @abstractmethod
    def fields(self) -> tuple[RowField, ...]:
        """The columns that it gives."""

    @abstractmethod
    def selecting(self, indexes: Sequence[int]) -> MessageDecoder:
        """Return the decoder that gives only some of these columns, in this order."""

    def with_metadata(self, keys: Sequence[str]) -> MessageDecoder:
        """Return the decoder whose rows have metadata behind their columns."""
        raise NotImplementedError

    @abstractmethod
    def decode(self, messages: Sequence[bytes | None]) -> DecodedRows:
        """Decode messages, in order; one without content has no rows. ValueError for other bytes."""


class MessageEncoder(ABC):
    """Encodes rows; is pickled into slots."""

    # The kinds of changes that it has a form for.
    kinds: frozenset[RowKind] = INSERTS

    @abstractmethod
    def encode(self, data: Any, kinds: Any) -> Sequence[bytes | None]:
        """Encode the rows of a record batch, each as one message, None for one without content; kinds may be None."""
