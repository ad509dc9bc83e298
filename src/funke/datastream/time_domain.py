"""The two clocks that timers can follow."""

from __future__ import annotations

from funke.engine.types.time_domain import TimeDomain

__all__ = ["TimeDomain"]
