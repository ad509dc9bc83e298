"""The way in which a job treats its input."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """Whether results are updated as elements arrive, or come once at the end of bounded input."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
