"""Functions that are called with elements of two streams that belong together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from funke.engine.types.functions import Function

__all__ = ["CoGroupFunction", "FlatJoinFunction", "JoinFunction", "ProcessJoinFunction"]


class JoinFunction(Function):
    """Makes one element out of each pair of a window join.

    >>> from funke.datastream import JoinFunction
    >>> class Bill(JoinFunction):
    ...     def join(self, first, second):
    ...         return first["item"], second["price"]
    >>> Bill().join({"id": 1, "item": "tea"}, {"id": 1, "price": 3})
    ('tea', 3)
    """

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """Return the result for one pair."""


class FlatJoinFunction(Function):
    """Makes any number of elements out of each pair of a window join.

    >>> from funke.datastream import FlatJoinFunction
    >>> class Overpaid(FlatJoinFunction):
    ...     def join(self, first, second):
    ...         if second["paid"] > first["price"]:
    ...             yield first["id"]
    >>> order = {"id": 1, "price": 3}
    >>> list(Overpaid().join(order, {"paid": 5})), list(Overpaid().join(order, {"paid": 3}))
    ([1], [])
    """

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """Yield the results for one pair."""


class CoGroupFunction(Function):
    """Evaluates a window with the elements of two streams that have the same key; one of the sides may be empty.

    >>> from funke.datastream import CoGroupFunction
    >>> class Unpaid(CoGroupFunction):
    ...     def co_group(self, first, second):
    ...         if not list(second):
    ...             yield from first
    >>> list(Unpaid().co_group(["order 1"], [])), list(Unpaid().co_group(["order 2"], ["payment 2"]))
    (['order 1'], [])
    """

    @abstractmethod
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        """Yield the results for one key and window."""


class ProcessJoinFunction(Function):
    """Handles the pairs of an interval join.

    >>> from funke.common import Time, WatermarkStrategy
    >>> from funke.common.watermark_strategy import TimestampAssigner
    >>> from funke.datastream import ProcessJoinFunction, StreamExecutionEnvironment
    >>> class Second(TimestampAssigner):
    ...     def extract_timestamp(self, value, record_timestamp):
    ...         return value[1] * 1000
    >>> class Delay(ProcessJoinFunction):
    ...     def process_element(self, left, right, ctx):
    ...         yield left[0], ctx.get_right_timestamp() - ctx.get_left_timestamp()
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    >>> orders, payments = (
    ...     env.from_collection([pair]).assign_timestamps_and_watermarks(timed).key_by(lambda pair: pair[0])
    ...     for pair in (("a", 1), ("a", 3))
    ... )
    >>> joined = orders.interval_join(payments).between(Time.seconds(0), Time.seconds(5)).process(Delay())
    >>> list(joined.execute_and_collect())
    [('a', 2000)]
    """

    class Context(ABC):
        """What `process_element` can ask about the pair at hand."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Return the timestamp of the left element."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """Return the timestamp of the right element."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Return the timestamp that results get: the later of both."""

    @abstractmethod
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any] | None:
        """Yield the results for one pair; a pair of an OutputTag and a value goes to a side output."""
