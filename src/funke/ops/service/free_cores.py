"""How many processor cores have nothing to do: what a driver that starts beforehand may use without taking it away."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

__all__ = ["FreeCores"]

_STAT = "/proc/stat"
# The fields of idle time in its first line: idle, and idle while something is read or written.
_IDLE = (3, 4)


class FreeCores:
    """Looks at what was idle since the last look."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, path: str = _STAT) -> None:
        self._clock = clock
        self._path = path
        self._seen = self._look()

    def since_last_look(self) -> float:
        """The cores that were idle, on average; without `/proc`, those without a waiting process."""
        now = self._look()
        if now is None or self._seen is None:
            return max(0.0, (os.cpu_count() or 1) - os.getloadavg()[0])
        (before_s, idle_before), (now_s, idle_now) = self._seen, now
        self._seen = now
        return (idle_now - idle_before) / max(0.001, now_s - before_s)

    def _look(self) -> tuple[float, float] | None:
        """The time, and the idle seconds of all cores since the machine was started."""
        try:
            with open(self._path, encoding="ascii") as file:
                fields = file.readline().split()[1:]
        except OSError:
            return None
        return self._clock(), sum(int(fields[index]) for index in _IDLE) / os.sysconf("SC_CLK_TCK")
