"""The clocks that tell processing time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells processing time in milliseconds since the epoch."""

    def now_ms(self) -> int:
        """The current time."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """The current time."""
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that a test moves."""

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """The current time."""
        return self._now_ms

    def set(self, now_ms: int) -> None:
        """Moves the clock."""
        self._now_ms = now_ms
