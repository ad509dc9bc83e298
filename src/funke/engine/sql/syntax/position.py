"""Positions in a statement."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

__all__ = ["Position"]


@dataclass(frozen=True)
class Position:
    """Lines and columns count from 1, as in Flink's messages."""

    line: int
    column: int
    # Of the last character, where that is known.
    end: Position | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"

    def to(self, end: Position) -> Position:
        """The same position, up to another one."""
        return replace(self, end=end)

    @property
    def location(self) -> str:
        """The position as messages show it: a point, or a range."""
        return f"At {self}" if self.end is None or self.end == self else f"From {self} to {self.end}"
