"""Rows of columns as the entries that snapshots and RocksDB keep: a tuple of plain values for each key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funke.engine.errors import StateError
from funke.engine.sql.state.keyed_columns import ColumnLayout, Columns

__all__ = ["from_entries", "to_entries"]


def to_entries(columns: Columns, times: list[int] | None) -> list[Any]:
    """One entry for each row; with times, pairs of the values and the time."""
    entries = list(zip(*(column.tolist() for column in columns)))
    return entries if times is None else list(zip(entries, times))


def from_entries(entries: Sequence[tuple[Any, ...]], layout: ColumnLayout) -> Columns:
    """The columns of entries."""
    columns = layout.create(len(entries))
    if entries and len(entries[0]) != len(columns):
        raise StateError(
            f"an entry of '{layout.name}' has {len(entries[0])} fields, and this query keeps {len(columns)}: "
            "it is the state of another query"
        )
    for column, values in zip(columns, zip(*entries)):
        if column.dtype == object:
            # Not as a whole: numpy would take lists for more dimensions.
            for index, value in enumerate(values):
                column[index] = value
            continue
        try:
            column[:] = values
        except (TypeError, ValueError, OverflowError) as error:
            raise StateError(
                f"an entry of '{layout.name}' holds no {column.dtype} where this query keeps one: it is the state of "
                "another query"
            ) from error
    return columns
