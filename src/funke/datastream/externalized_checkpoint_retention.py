"""What happens to checkpoints when a job is cancelled."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExternalizedCheckpointRetention"]


class ExternalizedCheckpointRetention(Enum):
    """Whether the last checkpoint stays when the job is cancelled.

    >>> from funke.datastream import ExternalizedCheckpointRetention, StreamExecutionEnvironment
    >>> config = StreamExecutionEnvironment.get_execution_environment().get_checkpoint_config()
    >>> _ = config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    >>> config.get_externalized_checkpoint_retention().name
    'RETAIN_ON_CANCELLATION'
    """

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2
