"""How batch programs of Flink 1.x exchanged data."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExecutionMode"]


class ExecutionMode(Enum):
    """Data exchange of batch programs in Flink 1.x; recorded, without effect on how Spark runs a job.

    >>> from funke.common import ExecutionMode
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> config = StreamExecutionEnvironment.get_execution_environment().get_config()
    >>> config.set_execution_mode(ExecutionMode.BATCH).get_execution_mode().name
    'BATCH'
    """

    PIPELINED = 0
    PIPELINED_FORCED = 1
    BATCH = 2
    BATCH_FORCED = 3
