"""Evictors: they remove elements from a window when it fires, before or after its function is called."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from funke.engine.errors import ConfigurationError
from funke.engine.operators.windowing.trigger import to_millis
from funke.engine.types.time import Duration, Time

__all__ = [
    "CountEvictor",
    "DeltaEvictor",
    "DeltaFunction",
    "Evictor",
    "TimeEvictor",
    "TimestampedValue",
    "to_delta",
]

T = TypeVar("T")
W = TypeVar("W")


class TimestampedValue(Generic[T]):
    """An element of a window with its timestamp, or None when the stream has no timestamps.

    >>> from funke.datastream.window import TimestampedValue
    >>> reading = TimestampedValue(21.5, 7000)
    >>> reading.get_value(), reading.get_timestamp(), TimestampedValue(21.5).has_timestamp()
    (21.5, 7000, False)
    """

    __slots__ = ("timestamp", "value")

    def __init__(self, value: T, timestamp: int | None = None) -> None:
        self.value = value
        self.timestamp = timestamp

    def get_value(self) -> T:
        """Return the element."""
        return self.value

    def has_timestamp(self) -> bool:
        """Tell whether the element has a timestamp."""
        return self.timestamp is not None

    def get_timestamp(self) -> int | None:
        """Return the timestamp in milliseconds."""
        return self.timestamp

    def __reduce__(self) -> tuple[Any, ...]:
        return TimestampedValue, (self.value, self.timestamp)

    def __repr__(self) -> str:
        return f"TimestampedValue({self.value!r}, {self.timestamp})"


class DeltaFunction(ABC, Generic[T]):
    """Measures how far apart two elements are.

    >>> from funke.datastream.window import DeltaFunction, DeltaTrigger
    >>> class Distance(DeltaFunction):
    ...     def get_delta(self, old_data_point, new_data_point):
    ...         return abs(new_data_point - old_data_point)
    >>> trigger = DeltaTrigger.of(3, Distance())
    >>> Distance().get_delta(20, 17)
    3
    """

    @abstractmethod
    def get_delta(self, old_data_point: T, new_data_point: T) -> float:
        """Return the distance from the old to the new element."""


def to_delta(function: DeltaFunction[Any] | Callable[[Any, Any], float]) -> Callable[[Any, Any], float]:
    """The callable behind a delta function, which may be a plain one."""
    if isinstance(function, DeltaFunction):
        return function.get_delta
    if not callable(function):
        raise TypeError(f"a delta function must be a DeltaFunction or a callable, got {type(function).__name__}")
    return function


class Evictor(ABC, Generic[T, W]):
    """Decides which elements of a window are removed when it fires; what it removes is gone for later firings too.

    >>> from funke.datastream.window import Evictor, TimestampedValue
    >>> class WithoutOutliers(Evictor):
    ...     def evict_before(self, elements, size, window, ctx):
    ...         elements[:] = [each for each in elements if each.value < 100]
    ...     def evict_after(self, elements, size, window, ctx):
    ...         pass
    >>> elements = [TimestampedValue(21), TimestampedValue(900)]
    >>> WithoutOutliers().evict_before(elements, 2, None, None)  # the window does this; see WindowedStream.evictor()
    >>> elements
    [TimestampedValue(21, None)]
    """

    class EvictorContext(ABC):
        """What an evictor can ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the processing time in milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> Any:
            """Return the group in which the evictor registers its metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the watermark in milliseconds."""

    @abstractmethod
    def evict_before(
        self, elements: list[TimestampedValue[T]], size: int, window: W, ctx: Evictor.EvictorContext
    ) -> None:
        """Remove elements from the list, before the window function sees it."""

    @abstractmethod
    def evict_after(
        self, elements: list[TimestampedValue[T]], size: int, window: W, ctx: Evictor.EvictorContext
    ) -> None:
        """Remove elements from the list, after the window function was called."""


class _OnceEvictor(Evictor[T, W]):
    """Evicts either before or after the window function."""

    def __init__(self, do_evict_after: bool) -> None:
        self._do_evict_after = do_evict_after

    def evict_before(
        self, elements: list[TimestampedValue[T]], size: int, window: W, ctx: Evictor.EvictorContext
    ) -> None:
        """Evict, unless that is to happen after the function."""
        if not self._do_evict_after:
            self._evict(elements)

    def evict_after(
        self, elements: list[TimestampedValue[T]], size: int, window: W, ctx: Evictor.EvictorContext
    ) -> None:
        """Evict, if that is to happen after the function."""
        if self._do_evict_after:
            self._evict(elements)

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue[T]]) -> None: ...


class CountEvictor(_OnceEvictor[T, W]):
    """Keeps the last elements, up to a number.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import CountEvictor, CountTrigger, GlobalWindows
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_collection([1, 2, 3, 4]).key_by(lambda number: "all").window(GlobalWindows.create())
    >>> latest = numbers.trigger(CountTrigger.of(1)).evictor(CountEvictor.of(2)).reduce(lambda a, b: a + b)
    >>> list(latest.execute_and_collect())  # sums of the last two
    [1, 3, 5, 7]
    """

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        if max_count < 0:
            raise ConfigurationError(f"CountEvictor needs a count of at least 0, got {max_count}")
        super().__init__(do_evict_after)
        self._max_count = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor[Any, Any]:
        """Return an evictor that keeps `max_count` elements."""
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[T]]) -> None:
        del elements[: max(0, len(elements) - self._max_count)]


class TimeEvictor(_OnceEvictor[T, W]):
    """Keeps the elements of the last time, counted back from the largest timestamp in the window.

    >>> from funke.common import Time
    >>> from funke.datastream.window import TimeEvictor, TimestampedValue
    >>> elements = [TimestampedValue("a", 1000), TimestampedValue("b", 8000), TimestampedValue("c", 9000)]
    >>> TimeEvictor.of(Time.seconds(5)).evict_before(elements, 3, None, None)  # the window does this
    >>> [each.value for each in elements]
    ['b', 'c']
    """

    def __init__(self, window_size_ms: int, do_evict_after: bool = False) -> None:
        if window_size_ms < 0:
            raise ConfigurationError(f"TimeEvictor needs a time of at least 0, got {window_size_ms} ms")
        super().__init__(do_evict_after)
        self._window_size_ms = window_size_ms

    @staticmethod
    def of(window_size: Time | Duration, do_evict_after: bool = False) -> TimeEvictor[Any, Any]:
        """Return an evictor that keeps the elements of the last `window_size`."""
        return TimeEvictor(to_millis(window_size), do_evict_after)

    def _evict(self, elements: list[TimestampedValue[T]]) -> None:
        times = [element.timestamp for element in elements if element.timestamp is not None]
        if len(times) < len(elements) or not times:
            return
        cutoff = max(times) - self._window_size_ms
        elements[:] = [element for element, time in zip(elements, times) if time > cutoff]


class DeltaEvictor(_OnceEvictor[T, W]):
    """Keeps the elements whose distance to the last one is below a threshold.

    >>> from funke.datastream.window import DeltaEvictor, TimestampedValue
    >>> elements = [TimestampedValue(10), TimestampedValue(21), TimestampedValue(20)]
    >>> DeltaEvictor.of(5, lambda old, new: abs(new - old)).evict_before(elements, 3, None, None)
    >>> [each.value for each in elements]
    [21, 20]
    """

    def __init__(
        self,
        threshold: float,
        delta_function: DeltaFunction[T] | Callable[[T, T], float],
        do_evict_after: bool = False,
    ) -> None:
        super().__init__(do_evict_after)
        self._threshold = threshold
        self._delta = to_delta(delta_function)

    @staticmethod
    def of(
        threshold: float,
        delta_function: DeltaFunction[Any] | Callable[[Any, Any], float],
        do_evict_after: bool = False,
    ) -> DeltaEvictor[Any, Any]:
        """Return an evictor that removes elements whose distance to the last one reaches `threshold`."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[T]]) -> None:
        if elements:
            last = elements[-1].value
            elements[:] = [element for element in elements if self._delta(element.value, last) < self._threshold]
