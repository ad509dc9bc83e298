"""The way in which a job treats its input."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """Whether results are updated as elements arrive, or come once at the end of bounded input.

    >>> from funke.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> _ = env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    >>> totals = env.from_collection([1, 2, 3]).key_by(lambda number: "all").reduce(lambda a, b: a + b)
    >>> list(totals.execute_and_collect())  # STREAMING gives 1, 3 and 6
    [6]
    """

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
