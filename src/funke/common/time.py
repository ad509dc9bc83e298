"""Amounts of time and points in time."""

from __future__ import annotations

from funke.engine.types import Duration, Instant, Time

__all__ = ["Duration", "Instant", "Time"]
