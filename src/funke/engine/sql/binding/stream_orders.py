"""The order that a stream has before its end: that of event time."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding.relations import Sort

__all__ = ["TemporalSort"]


@dataclass(frozen=True)
class TemporalSort(Sort):
    """Rows in the order of their event time, the first key: each one comes when the watermark has passed it."""
