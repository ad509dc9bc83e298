"""An element of one of two streams that share their windows."""

from __future__ import annotations

from typing import Any

__all__ = ["TaggedUnion"]


class TaggedUnion:
    """An element with the number of its stream; this is what assigners, triggers and evictors of a join see."""

    __slots__ = ("index", "value")

    def __init__(self, index: int, value: Any) -> None:
        self.index = index
        self.value = value

    def is_one(self) -> bool:
        """Tell whether the element is of the first stream."""
        return self.index == 0

    def is_two(self) -> bool:
        """Tell whether the element is of the second stream."""
        return self.index == 1

    def get_one(self) -> Any:
        """Return the element of the first stream; None if it is of the second."""
        return self.value if self.index == 0 else None

    def get_two(self) -> Any:
        """Return the element of the second stream; None if it is of the first."""
        return self.value if self.index == 1 else None

    def __reduce__(self) -> tuple[Any, ...]:
        return TaggedUnion, (self.index, self.value)

    def __repr__(self) -> str:
        return f"TaggedUnion({self.index}, {self.value!r})"
