"""How fast counters grow: Flink's metrics `…PerSecond`, over the last seconds."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["CounterRates"]

_COUNTERS = ("numRecordsIn", "numRecordsOut", "numBytesIn", "numBytesOut")
_SPAN_S = 10.0
# Noted so often at most: in epochs it is asked after every one of them.
_NOTE_S = 0.5


class CounterRates:
    """Remembers what counters of several owners were, and tells how fast they grow."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._noted: dict[Any, deque[tuple[float, tuple[int, ...]]]] = {}

    def with_rates(self, owner: Any, metrics: Mapping[str, Any]) -> dict[str, Any]:
        """Metrics of an owner with the rates of those that are counters."""
        names = [name for name in _COUNTERS if name in metrics]
        if not names:
            return dict(metrics)
        now, counts = self._clock(), tuple(metrics[name] for name in names)
        noted = self._noted.setdefault(owner, deque([(now, (0,) * len(counts))]))
        while len(noted) > 1 and now - noted[1][0] >= _SPAN_S:
            noted.popleft()
        since, before = noted[0]
        if now - noted[-1][0] >= _NOTE_S:
            noted.append((now, counts))
        seconds = now - since
        rates = {
            f"{name}PerSecond": round((count - earlier) / seconds, 3) if seconds > 0 else 0.0
            for name, count, earlier in zip(names, counts, before)
        }
        return {**metrics, **rates}
