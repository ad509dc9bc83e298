"""How batch programs of Flink 1.x exchanged data."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExecutionMode"]


class ExecutionMode(Enum):
    """Data exchange of batch programs in Flink 1.x; recorded, without effect on how Spark runs a job."""

    PIPELINED = 0
    PIPELINED_FORCED = 1
    BATCH = 2
    BATCH_FORCED = 3
