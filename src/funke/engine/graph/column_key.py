"""A key that is made of named columns, so that it can be read from rows and from columns alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ColumnKey"]


@dataclass(frozen=True)
class ColumnKey:
    """The key selector of a stream of rows with names: the value of one column, or the tuple of several.

    >>> from funke.engine.types.row import Row
    >>> ColumnKey(("name",))(Row(id=1, name="a")), ColumnKey(("name", "id"))(Row(id=1, name="a"))
    ('a', ('a', 1))

    Tuples have positions: those of a single column.

    >>> ColumnKey(("f1",), 1)((1, "a"))
    'a'
    """

    names: tuple[str, ...]
    position: int | None = None

    def __call__(self, row: Any) -> Any:
        if self.position is not None:
            return row[self.position]
        if len(self.names) == 1:
            return row[self.names[0]]
        return tuple([row[name] for name in self.names])
