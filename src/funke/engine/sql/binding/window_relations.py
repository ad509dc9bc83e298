"""Relations with windows: rows that carry their windows, and aggregates of the rows of each window."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Literal

from funke.engine.sql.binding.relations import BoundAggregate, Relation, SortKey

__all__ = [
    "Firing",
    "Frame",
    "OverAggregation",
    "OverCall",
    "PartitionAggregation",
    "RowWindowTable",
    "SortedAggregation",
    "WindowAggregation",
    "WindowTable",
    "WindowTime",
    "Windows",
]


@dataclass(frozen=True)
class Windows:
    """How windows lie; times are milliseconds.

    tumble (size), hop (size, and slide from start to start), cumulate (size of the largest, and step as slide),
    session (gap as size).
    """

    kind: Literal["tumble", "hop", "cumulate", "session"]
    size_ms: int
    slide_ms: int = 0
    offset_ms: int = 0
    # Made by a table function: its hopping windows take in their last slice first.
    is_table_function: bool = False


@dataclass(frozen=True)
class WindowTime:
    """The column that windows are made by; windows of instants lie in the zone of the session."""

    column: int
    is_event_time: bool
    # None: the values are local times, or instants in UTC.
    zone: datetime.tzinfo | None = None


@dataclass(frozen=True)
class Firing:
    """When windows tell results before they end, and after; 0 is with every row, None not at all."""

    early_ms: int | None = None
    late_ms: int | None = None
    # How long after its end a window takes in rows.
    lateness_ms: int = 0


@dataclass(frozen=True)
class WindowTable(Relation):
    """The rows of the input, once for each of their windows.

    The last columns are window_start, window_end and window_time. Sessions are those of rows with the same values of
    `partition_by`; with None they are those of whatever the rows are grouped by.
    """

    input: Relation
    windows: Windows
    time: WindowTime
    partition_by: tuple[int, ...] | None = ()


@dataclass(frozen=True)
class RowWindowTable(Relation):
    """Rows that are about to be grouped by windows that count rows; with the groups it becomes something else."""

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
    # When it tells results other than once at the end of each window.
    firing: Firing | None = None
    # Whether somebody needs the results as they were before a change; only with `firing` there are any.
    sends_before: bool = True


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
    # How long a key without new rows is remembered; 0 is forever.
    ttl_ms: int = 0


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
    # Whether somebody needs the results as they were before a change.
    sends_before: bool = True
    # How long a key without new rows is remembered; 0 is forever.
    ttl_ms: int = 0


@dataclass(frozen=True)
class Frame:
    """The rows of a partition that a function sees: from `lower` to `upper`, both with the current row as 0.

    They are numbers of rows, or distances between values of the order (RANGE; milliseconds between times), below 0 in
    front of the current row; None is no bound. By values, rows that are equal see each other.
    """

    is_rows: bool = False
    lower: Any = None
    upper: Any = 0


@dataclass(frozen=True)
class OverCall:
    """A function of the rows of a frame, or of the place of a row among those of its partition."""

    aggregate: BoundAggregate
    frame: Frame


@dataclass(frozen=True)
class PartitionAggregation(Relation):
    """The rows of the input, each with functions of the rows of its partition in an order; all of them are there.

    Without an order all rows of a partition are equal.
    """

    input: Relation
    partition_by: tuple[int, ...]
    order: tuple[SortKey, ...]
    calls: tuple[OverCall, ...]

    @property
    def aggregates(self) -> tuple[BoundAggregate, ...]:
        return tuple(each.aggregate for each in self.calls)
