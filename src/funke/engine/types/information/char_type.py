"""Type of text with a fixed number of characters, as ORC keeps it."""

from __future__ import annotations

from funke.engine.errors import TypeMismatchError
from funke.engine.types.information.basic_types import BasicType, BasicTypeInfo

__all__ = ["CharTypeInfo"]


class CharTypeInfo(BasicTypeInfo):
    """Type of strings that are filled up with spaces, or cut, to `length` characters."""

    def __init__(self, length: int) -> None:
        super().__init__(BasicType.STRING)
        self.length = length

    def written(self, value: str) -> bytes:
        """Return the padded text.

        >>> CharTypeInfo(6).written("tea"), CharTypeInfo(2).written("tea")
        (b'tea   ', b'te')
        """
        text = value[: self.length].encode()
        if len(text) > self.length:
            raise TypeMismatchError(
                f"{value!r} does not fit into CHAR({self.length}): Arrow's ORC writer counts bytes, and it has "
                f"{len(text)} of them in UTF-8; declare the column as VARCHAR or STRING"
            )
        return text.ljust(self.length)

    def __repr__(self) -> str:
        return f"Char({self.length})"
