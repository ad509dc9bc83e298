"""Serializers that users write for their own types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic, TypeVar

__all__ = ["TypeSerializer"]

T = TypeVar("T")

void = b""


class TypeSerializer(ABC, Generic[T]):
    """Writes values of one type to a stream of bytes, and reads them back.

    >>> from io import BytesIO
    >>> from funke.common import TypeSerializer
    >>> class Text(TypeSerializer):
    ...     def serialize(self, element, stream):
    ...         stream.write(element.encode())
    ...     def deserialize(self, stream):
    ...         return stream.read().decode()
    >>> Text().deserialize(BytesIO(b"tea"))
    'tea'
    """

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write one element."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read one element."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self.__class__) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """Serializer of the empty namespace: writes and reads nothing."""

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        """Write nothing."""

    def deserialize(self, stream: BytesIO) -> bytes:
        """Read nothing."""
        return void
