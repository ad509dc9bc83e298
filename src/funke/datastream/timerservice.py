"""Access to the clocks and timers of a keyed function."""

from __future__ import annotations

from funke.engine.operators.functions.runtime_context import TimerService

__all__ = ["TimerService"]
