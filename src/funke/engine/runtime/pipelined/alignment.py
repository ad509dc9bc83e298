"""The barriers of one checkpoint on their way to a subtask."""

from __future__ import annotations

import time

from funke.engine.runtime.pipelined.messages import TakeCheckpoint
from funke.engine.runtime.snapshots.checkpoint_command import AlignmentStatistics

__all__ = ["Alignment"]


class Alignment:
    """Counts the barriers that are missing, and measures from the first one on."""

    def __init__(self, taking: TakeCheckpoint, missing: int, taken_bytes: int) -> None:
        self.taking = taking
        self.missing = missing
        self._began = time.time()
        self._taken_before = taken_bytes
        self._duration_ms = 0.0
        self._processed_bytes = 0

    def complete(self, taken_bytes: int) -> None:
        """The last barrier has come."""
        self._duration_ms = max(0.0, (time.time() - self._began) * 1000)
        self._processed_bytes = taken_bytes - self._taken_before

    def statistics(self, vertex_id: int, subtask: int) -> AlignmentStatistics:
        """What REST shows of it."""
        # Clocks of two hosts may differ, as in Flink.
        start_delay_ms = max(0.0, self._began * 1000 - self.taking.command.triggered_ms)
        return AlignmentStatistics(vertex_id, subtask, start_delay_ms, self._duration_ms, self._processed_bytes)
