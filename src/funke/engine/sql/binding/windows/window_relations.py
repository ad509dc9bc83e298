"""Relations with windows: rows that carry their windows, and aggregates of the rows of each window."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from funke.engine.sql.binding.relations import BoundAggregate, Relation, SortKey
from funke.engine.sql.window_kinds import Windows

__all__ = [
    "Frame",
    "OverAggregation",
    "OverCall",
    "PartitionAggregation",
    "RowWindowTable",
    "SortedAggregation",
    "WindowAggregation",
    "WindowTable",
    "WindowTime",
]


@dataclass(frozen=True)
class WindowTime:
    """The time column of windows. Windows of instants lie in the zone of the session."""

    column: int
    is_event_time: bool
    # None: the values are local times, or instants in UTC.
    zone: datetime.tzinfo | None = None


@dataclass(frozen=True)
class WindowTable(Relation):
    """The rows of the input, once for each of their windows.

    The last columns are window_start, window_end and window_time. Sessions are those of rows with the same values of
    `partition_by`; with None they are those of the keys of the query's GROUP BY.
    """

    input: Relation
    windows: Windows
    time: WindowTime
    partition_by: tuple[int, ...] | None = ()


@dataclass(frozen=True)
class RowWindowTable(Relation):
    """Rows for groups by windows that count rows; `row_windows.py` replaces it together with the groups."""

    input: Relation
    size: int
    slide: int


@dataclass(frozen=True)
class WindowAggregation(Relation):
    """Aggregates of the rows of each window and key.

    The columns are the keys, the aggregates, and window_start, window_end, window_time. Without `windows` the rows
    carry them already: `window_columns` are window_start and window_end then.
    """

    input: Relation
    keys: tuple[int, ...]
    aggregates: tuple[BoundAggregate, ...]
    windows: Windows | None
    time: WindowTime
    window_columns: tuple[int, int] | None = None


@dataclass(frozen=True)
class OverAggregation(Relation):
    """The rows of the input, each with aggregates of the rows before it and itself, in the order of time.

    `preceding` are rows, or milliseconds, before each row; None is everything before it. By time, rows of the same time
    count for each other.
    """

    input: Relation
    partition_by: tuple[int, ...]
    time: WindowTime
    is_rows: bool
    preceding: int | None
    aggregates: tuple[BoundAggregate, ...]


@dataclass(frozen=True)
class SortedAggregation(Relation):
    """The rows of the input, each with aggregates of the rows before it and itself, in the order of their values.

    A row that comes or goes changes the results of those behind it. Unless by rows, those with the same value of the
    order count for each other.
    """

    input: Relation
    partition_by: tuple[int, ...]
    order: SortKey
    is_rows: bool
    aggregates: tuple[BoundAggregate, ...]
    # By rows: how many of those before it count for each row; None is all of them.
    preceding: int | None = None


@dataclass(frozen=True)
class Frame:
    """The rows of a partition that a function sees: from `lower` to `upper`, both with the current row as 0.

    They are numbers of rows, or distances between values of the order (RANGE; milliseconds between times), below 0 in
    front of the current row; None is unbounded. By values, rows that are equal see each other.
    """

    is_rows: bool = False
    lower: Any = None
    upper: Any = 0


@dataclass(frozen=True)
class OverCall:
    """A function of the rows of a frame, or of the position of a row in its partition."""

    aggregate: BoundAggregate
    frame: Frame


@dataclass(frozen=True)
class PartitionAggregation(Relation):
    """The rows of a bounded input, each with functions of the rows of its partition in an order.

    Without an order all rows of a partition are equal.
    """

    input: Relation
    partition_by: tuple[int, ...]
    order: tuple[SortKey, ...]
    calls: tuple[OverCall, ...]

    @property
    def aggregates(self) -> tuple[BoundAggregate, ...]:
        return tuple(each.aggregate for each in self.calls)
