"""The guarantee that checkpoints give."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """How often each element may have an effect on state after a failure."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
