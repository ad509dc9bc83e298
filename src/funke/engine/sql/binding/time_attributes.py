"""Columns that are time: event time, which watermarks speak of, or processing time."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeAttribute"]


class TimeAttribute(Enum):
    """The role of a column whose values are time; a computed column has none."""

    # The values are the event times of the rows.
    ROWTIME = "ROWTIME"
    # The values are those of the clock when they are read.
    PROCTIME = "PROCTIME"

    def __str__(self) -> str:
        return f"*{self.value}*"
