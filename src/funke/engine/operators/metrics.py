"""Metrics that user functions register: counters, meters, distributions and gauges in nested groups."""

from __future__ import annotations

import time
from abc import ABC
from collections import deque
from collections.abc import Callable
from typing import Any

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup"]


class Metric(ABC):
    """What all metrics have in common."""

    def to_value(self) -> Any:
        """The value to report."""
        raise NotImplementedError


class Counter(Metric):
    """Counts up and down."""

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Count up by `n`."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Count down by `n`."""
        self._count -= n

    def get_count(self) -> int:
        """Return the count."""
        return self._count

    def to_value(self) -> int:
        """The count."""
        return self._count


class Gauge(Metric):
    """Asks the user's function for the value when it is reported."""

    def __init__(self, read: Callable[[], int]) -> None:
        self._read = read

    def to_value(self) -> Any:
        """What the function says now."""
        return self._read()


class Meter(Metric):
    """Measures events per second over a time span."""

    def __init__(self, time_span_in_seconds: int = 60, now: Callable[[], float] = time.monotonic) -> None:
        self._span = time_span_in_seconds
        self._now = now
        self._count = 0
        # (second, count at its end) within the span
        self._seconds: deque[tuple[int, int]] = deque([(int(now()), 0)])

    def mark_event(self, value: int = 1) -> None:
        """Count `value` events."""
        self._count += value
        second = int(self._now())
        if self._seconds[-1][0] == second:
            self._seconds[-1] = (second, self._count)
        else:
            self._seconds.append((second, self._count))
            self._forget_before(second - self._span)

    def get_count(self) -> int:
        """Return the number of events so far."""
        return self._count

    def get_rate(self) -> float:
        """Return the events per second over the time span."""
        self._forget_before(int(self._now()) - self._span)
        return (self._count - self._seconds[0][1]) / self._span

    def to_value(self) -> dict[str, float]:
        """Count and rate."""
        return {"count": self._count, "rate": self.get_rate()}

    def _forget_before(self, second: int) -> None:
        while len(self._seconds) > 1 and self._seconds[1][0] <= second:
            self._seconds.popleft()


class Distribution(Metric):
    """Keeps count, sum, minimum and maximum of the values it is given."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0
        self._min: int | None = None
        self._max: int | None = None

    def update(self, value: int) -> None:
        """Take one value."""
        self._count += 1
        self._sum += value
        self._min = value if self._min is None else min(self._min, value)
        self._max = value if self._max is None else max(self._max, value)

    def to_value(self) -> dict[str, Any]:
        """Count, sum, minimum, maximum and mean."""
        mean = self._sum / self._count if self._count else None
        return {"count": self._count, "sum": self._sum, "min": self._min, "max": self._max, "mean": mean}


class MetricGroup:
    """A named container of metrics and further groups; asking twice for a name gives the same thing."""

    def __init__(self, path: tuple[str, ...] = ()) -> None:
        self._path = path
        self._groups: dict[tuple[str, ...], MetricGroup] = {}
        self._metrics: dict[str, Metric] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the group below this one, or with `extra` the group for the key `name` and the value `extra`."""
        names = (name,) if extra is None else (name, extra)
        return self._groups.setdefault(names, MetricGroup(self._path + names))

    def counter(self, name: str) -> Counter:
        """Return the counter of that name."""
        counter: Counter = self._metric(name, Counter())
        return counter

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Report what `obj` returns under that name."""
        self._metrics[name] = Gauge(obj)

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return the meter of that name."""
        meter: Meter = self._metric(name, Meter(time_span_in_seconds))
        return meter

    def distribution(self, name: str) -> Distribution:
        """Return the distribution of that name."""
        distribution: Distribution = self._metric(name, Distribution())
        return distribution

    def to_values(self) -> dict[str, Any]:
        """All values by dotted name, those of inner groups included."""
        values = {".".join((*self._path, name)): metric.to_value() for name, metric in self._metrics.items()}
        for group in self._groups.values():
            values.update(group.to_values())
        return values

    def _metric(self, name: str, fresh: Any) -> Any:
        known = self._metrics.get(name)
        if type(known) is not type(fresh):
            self._metrics[name] = known = fresh
        return known
