"""The guarantee that checkpoints give."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """How often each element may have an effect on state after a failure.

    >>> from funke.datastream import CheckpointingMode, StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> _ = env.enable_checkpointing(60_000, CheckpointingMode.AT_LEAST_ONCE)
    >>> env.get_checkpointing_mode().name
    'AT_LEAST_ONCE'
    """

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
