"""Relations of row numbers: all rows with their numbers, and the first rows of each window."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding.relations import Relation, SortKey
from funke.engine.sql.binding.windows.window_relations import WindowTime

__all__ = ["NumberedRows", "RankedWindows"]


@dataclass(frozen=True)
class NumberedRows(Relation):
    """The rows of the input, each with its number among those of its key by an order as the last column.

    A reader that asks for the first rows makes it a Top-N. Otherwise each new row of a stream changes the numbers of
    all rows behind it.
    """

    input: Relation
    keys: tuple[int, ...]
    order: tuple[SortKey, ...]


@dataclass(frozen=True)
class RankedWindows(Relation):
    """The rows whose number among those of their key and window is within `first` … `last`, once the window has ended.

    The columns are those of the input, then the number if `has_number`.
    """

    input: Relation
    # Without the bounds of windows.
    keys: tuple[int, ...]
    # window_start and window_end.
    window_columns: tuple[int, int]
    time: WindowTime
    order: tuple[SortKey, ...]
    first: int
    last: int
    has_number: bool = False
    # The one row that is the first or the last by time: of rows with the same time the last one is the last.
    is_deduplication: bool = False

    @property
    def keeps_last(self) -> bool:
        """Whether a deduplication is about the last row."""
        return self.is_deduplication and not self.order[0].is_ascending
