"""Decides how many records an epoch should read: few at first, then as many as fit the wanted duration."""

from __future__ import annotations

# Small enough that a first answer comes soon even if a function takes a millisecond per record.
_FIRST_RECORDS = 5_000
_MOST_GROWTH = 400
_FEWEST_RECORDS = 1
_FIRST_DEADLINE_MS = 1_000


class EpochSizer:
    """Sizes epochs by time: small epochs pay Spark's fixed cost too often, large ones answer late."""

    def __init__(self, wanted_ms: int) -> None:
        self._wanted_ms = wanted_ms
        self._records = _FIRST_RECORDS
        self._has_observed = False

    @property
    def max_records(self) -> int:
        """How many records the next epoch may read."""
        return self._records

    @property
    def deadline_ms(self) -> int:
        """After how long an epoch stops reading, finished or not: soon for slow functions and for unknown ones."""
        is_slow = self._records < _FIRST_RECORDS
        return _FIRST_DEADLINE_MS if is_slow or not self._has_observed else self._wanted_ms

    @property
    def is_speed_known(self) -> bool:
        """Whether an epoch of at most `max_records` can be trusted to end in time."""
        return self._has_observed and self._records >= _FIRST_RECORDS

    def observe(self, records: int, busy_ms: float, was_cut: bool = False) -> None:
        """Learns from the time an epoch spent on records, without Spark's fixed cost and the start of processes.

        An epoch that had less to read than it could says nothing about the limit.
        """
        self._has_observed = self._has_observed or records > 0
        if records < self._records // 2 and not was_cut:
            return
        fitting = int(records * self._wanted_ms / max(1.0, busy_ms))
        self._records = max(_FEWEST_RECORDS, min(fitting, self._records * _MOST_GROWTH))
