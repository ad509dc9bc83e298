"""Orders that a stream has before its end: that of event time, and the first rows of any."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding.relations import Sort

__all__ = ["TemporalSort", "TopRows"]


@dataclass(frozen=True)
class TemporalSort(Sort):
    """Rows in the order of their event time, the first key: each one comes when the watermark has passed it."""


@dataclass(frozen=True)
class TopRows(Sort):
    """The first rows by an order, as far as rows have come: one that is no longer among them is deleted."""
