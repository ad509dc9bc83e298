"""Metrics that user functions keep: counters, gauges, meters and distributions in named groups."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup", "MetricRegistry"]

M = TypeVar("M")


class Metric(ABC):
    """What all metrics are.

    >>> from funke.metrics import Counter, Distribution, Meter, Metric
    >>> [issubclass(each, Metric) for each in (Counter, Meter, Distribution)]
    [True, True, True]
    """


class Counter(Metric, ABC):
    """A number that goes up and down.

    >>> from funke.datastream import MapFunction, StreamExecutionEnvironment
    >>> from funke.metrics import Counter
    >>> class CountEmpty(MapFunction):
    ...     def open(self, runtime_context):
    ...         self.empty: Counter = runtime_context.get_metrics_group().counter("empty-lines")
    ...     def map(self, value):
    ...         if not value:
    ...             self.empty.inc()
    ...         return self.empty.get_count()
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> list(env.from_collection(["tea", "", "milk"]).map(CountEmpty()).execute_and_collect())
    [0, 1, 1]
    """

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Add ``n``."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Subtract ``n``."""

    @abstractmethod
    def get_count(self) -> int:
        """Return the current number."""


class Meter(Metric, ABC):
    """Counts events and knows how many there were per second.

    >>> from funke.datastream import MapFunction, StreamExecutionEnvironment
    >>> from funke.metrics import Meter
    >>> class MarkOrders(MapFunction):
    ...     def open(self, runtime_context):
    ...         self.orders: Meter = runtime_context.get_metrics_group().meter("orders", time_span_in_seconds=120)
    ...     def map(self, value):
    ...         self.orders.mark_event(value)
    ...         return self.orders.get_count()
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> list(env.from_collection([1, 5]).map(MarkOrders()).execute_and_collect())
    [1, 6]
    """

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Count ``value`` events."""

    @abstractmethod
    def get_count(self) -> int:
        """Return the number of events so far."""


class Distribution(Metric, ABC):
    """Collects statistics about a changing value.

    >>> from funke.datastream import MapFunction, StreamExecutionEnvironment
    >>> from funke.metrics import Distribution
    >>> class Lengths(MapFunction):
    ...     def open(self, runtime_context):
    ...         self.lengths: Distribution = runtime_context.get_metrics_group().distribution("line-lengths")
    ...     def map(self, value):
    ...         self.lengths.update(len(value))
    ...         return value
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> list(env.from_collection(["tea", "milk"]).map(Lengths()).execute_and_collect())
    ['tea', 'milk']
    """

    @abstractmethod
    def update(self, value: int) -> None:
        """Take one value into account."""


class MetricGroup(ABC):
    """A named container of metrics and further groups.

    >>> from funke.datastream import MapFunction, StreamExecutionEnvironment
    >>> from funke.metrics import MetricGroup
    >>> class Count(MapFunction):
    ...     def open(self, runtime_context):
    ...         group: MetricGroup = runtime_context.get_metrics_group().add_group("shop")
    ...         self.orders = group.counter("orders")
    ...         group.gauge("orders-in-dozens", lambda: self.orders.get_count() // 12)
    ...     def map(self, value):
    ...         self.orders.inc()
    ...         return self.orders.get_count()
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> list(env.from_collection(["tea", "milk"]).map(Count()).execute_and_collect())
    [1, 2]
    """

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the group ``name`` inside this one; with ``extra``, the group ``extra`` inside that."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """Return the counter of that name."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Register a function that is asked for the value whenever metrics are reported."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return the meter of that name; its rate covers the given time span."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """Return the distribution of that name."""


class _Counter(Counter):
    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        self._count += n

    def dec(self, n: int = 1) -> None:
        self._count -= n

    def get_count(self) -> int:
        return self._count

    def report(self) -> int:
        return self._count


class _Meter(Meter):
    """Keeps one total per second of the time span, so that marking costs the same however many events there are."""

    def __init__(self, time_span_s: int, clock: Callable[[], float]) -> None:
        self._time_span_s = time_span_s
        self._clock = clock
        self._count = 0
        self._seconds: deque[list[int]] = deque()

    def mark_event(self, value: int = 1) -> None:
        self._count += value
        second = int(self._clock())
        if self._seconds and self._seconds[-1][0] == second:
            self._seconds[-1][1] += value
        else:
            self._seconds.append([second, value])
            self._forget_before(second)

    def get_count(self) -> int:
        return self._count

    def get_rate(self) -> float:
        self._forget_before(int(self._clock()))
        return sum(events for _, events in self._seconds) / self._time_span_s

    def _forget_before(self, second: int) -> None:
        while self._seconds and self._seconds[0][0] <= second - self._time_span_s:
            self._seconds.popleft()

    def report(self) -> dict[str, float]:
        return {"count": self._count, "rate": self.get_rate()}


class _Distribution(Distribution):
    def __init__(self) -> None:
        self._count = 0
        self._sum = 0
        self._min: int | None = None
        self._max: int | None = None

    def update(self, value: int) -> None:
        self._count += 1
        self._sum += value
        self._min = value if self._min is None or value < self._min else self._min
        self._max = value if self._max is None or value > self._max else self._max

    def report(self) -> dict[str, float | None]:
        mean = self._sum / self._count if self._count else None
        return {"count": self._count, "sum": self._sum, "min": self._min, "max": self._max, "mean": mean}


class MetricRegistry(MetricGroup):
    """A metric group that keeps its metrics in this process and reports them as plain values.

    >>> metrics = MetricRegistry()
    >>> metrics.add_group("orders").counter("late").inc(2)
    >>> metrics.report()
    {'orders.late': 2}
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._metrics: dict[str, Any] = {}
        self._gauges: dict[str, Callable[[], int]] = {}
        self._groups: dict[str, MetricRegistry] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricRegistry:
        group = self._groups.setdefault(name, MetricRegistry(self._clock))
        return group if extra is None else group.add_group(extra)

    def counter(self, name: str) -> Counter:
        return self._register(name, _Counter, _Counter)

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        self._gauges[name] = obj

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        return self._register(name, _Meter, lambda: _Meter(time_span_in_seconds, self._clock))

    def distribution(self, name: str) -> Distribution:
        return self._register(name, _Distribution, _Distribution)

    def _register(self, name: str, kind: type[M], create: Callable[[], M]) -> M:
        metric = self._metrics.get(name)
        if metric is None:
            metric = self._metrics[name] = create()
        # As in Flink, a second metric of the same name and another kind works, but is not reported.
        return metric if isinstance(metric, kind) else create()

    def report(self) -> dict[str, Any]:
        """Return all values of this group and its groups, by name with dots between."""
        values = {name: metric.report() for name, metric in self._metrics.items()}
        values.update({name: gauge() for name, gauge in self._gauges.items()})
        for group_name, group in self._groups.items():
            values.update({f"{group_name}.{name}": value for name, value in group.report().items()})
        return values
