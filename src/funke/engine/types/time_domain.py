"""Names the two clocks that timers can follow."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """Whether a timer follows event time or processing time."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1
