"""Relations of rows by their place in an order: numbered ones, the first ones of each key, the one that a key has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from funke.engine.sql.binding.relations import Relation, SortKey
from funke.engine.sql.binding.window_relations import WindowTime

__all__ = ["Deduplication", "Normalization", "NumberedRows", "Rank", "RankStrategy", "WindowRank"]


class RankStrategy(Enum):
    """How the first rows are known, with the names of Flink's plans."""

    # Rows stay, so that those behind the last one that counts are forgotten.
    APPEND = "AppendFastStrategy"
    # Rows are replaced by key, and never stand further behind than before.
    UPDATE = "UpdateFastStrategy"
    # Rows come and go: all of them are kept.
    RETRACT = "RetractStrategy"


@dataclass(frozen=True)
class NumberedRows(Relation):
    """The rows of the input, each with its number among those of its key by an order as the last column.

    Who reads it may ask for the first ones; numbers of all rows of a stream change with every row.
    """

    input: Relation
    keys: tuple[int, ...]
    order: tuple[SortKey, ...]


@dataclass(frozen=True)
class Rank(Relation):
    """The rows whose number among those of their key by an order is within `first` … `last`, as far as rows have come.

    The columns are those of the input, then the number if `has_number`. Without an order rows stand as they came.
    """

    input: Relation
    keys: tuple[int, ...]
    order: tuple[SortKey, ...]
    first: int
    last: int
    has_number: bool = False
    # Made of LIMIT, with an order or without: it passes whole rows on.
    is_limit: bool = False
    strategy: RankStrategy = RankStrategy.APPEND
    # The columns whose values tell rows of the input apart (UPDATE).
    row_key: tuple[int, ...] = ()
    # Whether somebody needs rows as they were before a change (UPDATE_BEFORE).
    sends_before: bool = True
    # How long a key is remembered after its last row; 0 is forever.
    ttl_ms: int = 0


@dataclass(frozen=True)
class Deduplication(Relation):
    """The first row of each key, or the last one, by time."""

    input: Relation
    keys: tuple[int, ...]
    # The column of the event time; None if rows count as they come.
    rowtime: int | None
    keeps_last: bool
    sends_before: bool = True
    ttl_ms: int = 0


@dataclass(frozen=True)
class WindowRank(Relation):
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


@dataclass(frozen=True)
class Normalization(Relation):
    """A table whose updates come without the rows before them, with these; rows that change nothing are left out."""

    input: Relation
    keys: tuple[int, ...]
    sends_before: bool = True
    ttl_ms: int = 0
