"""Decides how many records an epoch should read: few at first, then as many as fit the wanted duration."""

from __future__ import annotations

_FIRST_RECORDS = 100_000
_MOST_GROWTH = 8
_FEWEST_RECORDS = 1_000


class EpochPacer:
    """Sizes epochs by time: small epochs pay Spark's fixed cost too often, large ones answer late."""

    def __init__(self, wanted_ms: int, fixed_cost_ms: int = 150) -> None:
        self._wanted_ms = wanted_ms
        self._fixed_cost_ms = fixed_cost_ms
        self._records = _FIRST_RECORDS

    @property
    def max_records(self) -> int:
        """How many records the next epoch may read."""
        return self._records

    def observe(self, records: int, duration_ms: float) -> None:
        """Learns from an epoch; one that was not full says nothing about the limit."""
        if records < self._records // 2:
            return
        working_ms = max(1.0, duration_ms - self._fixed_cost_ms)
        fitting = int(records * self._wanted_ms / working_ms)
        self._records = max(_FEWEST_RECORDS, min(fitting, self._records * _MOST_GROWTH))
