"""Files that a job writes exactly once, what has been committed of them, and waiting for something to happen."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from funke.common import Encoder
from funke.datastream.connectors.file_system import FileSink, RollingPolicy
from tools.soak_job import committed

__all__ = ["committed", "sink", "wait_until"]


def sink(folder: Path) -> FileSink:
    """Lines of text, in a file for each checkpoint."""
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    return FileSink.for_row_format(str(folder), Encoder.simple_string_encoder()).with_rolling_policy(policy).build()


def wait_until(condition: Callable[[], object], seconds: float = 110) -> None:
    """Waits; fails the test when it takes too long."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
