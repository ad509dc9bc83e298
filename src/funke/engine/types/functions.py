"""The user functions that need no context: mapping, filtering, reducing, aggregating, selecting keys and partitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

__all__ = [
    "AggregateFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "FunctionWrapper",
    "KeySelector",
    "MapFunction",
    "NullByteKeySelector",
    "Partitioner",
    "ReduceFunction",
    "ReduceFunctionWrapper",
    "SinkFunction",
    "SourceFunction",
]


class Function(ABC):
    """What all user functions have in common: they are opened and closed once per subtask."""

    def open(self, runtime_context: Any) -> None:
        """Prepare the function; called once before the first element."""

    def close(self) -> None:
        """Release what `open` acquired; called once after the last element."""


class MapFunction(Function):
    """Turns each element into exactly one element."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """Return the element that takes the place of `value`."""


class CoMapFunction(Function):
    """Maps the elements of two connected streams."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """Return the element that takes the place of an element of the first stream."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """Return the element that takes the place of an element of the second stream."""


class FlatMapFunction(Function):
    """Turns each element into any number of elements."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """Yield or return the elements that take the place of `value`."""


class CoFlatMapFunction(Function):
    """Turns each element of two connected streams into any number of elements."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """Yield or return the elements for an element of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """Yield or return the elements for an element of the second stream."""


class ReduceFunction(Function):
    """Combines two elements into one of the same type."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the combination of what was reduced so far and the next element."""


class AggregateFunction(Function):
    """Folds elements into an accumulator from which a result can be read."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """Return the accumulator of no elements."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """Return the accumulator with `value` added; the given one may be changed and returned."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """Return the result that the accumulator stands for."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Return one accumulator for the elements of both."""


class KeySelector(Function):
    """Extracts the key of an element; the same element must always yield the same key."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """Return the key of `value`."""


class NullByteKeySelector(KeySelector):
    """Gives every element the same key."""

    def get_key(self, value: Any) -> int:
        return 0


class FilterFunction(Function):
    """Decides which elements stay."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Tell whether `value` stays."""


class Partitioner(Function):
    """Chooses the downstream subtask of a key."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """Return a number from 0 to `num_partitions` - 1."""


class FunctionWrapper(Function):
    """Makes a function object out of a plain callable."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self._func = func


class ReduceFunctionWrapper(FunctionWrapper):
    """Makes a reduce function out of a plain callable."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Call the wrapped function."""
        return self._func(value1, value2)


class SourceFunction:
    """A source given as a Python object.

    PyFlink wraps a class of the JVM here, which Funke has not; pass a source written in Python instead.
    """

    def __init__(self, source_func: Any) -> None:
        self.source_func = source_func


class SinkFunction:
    """A sink given as a Python object.

    PyFlink wraps a class of the JVM here, which Funke has not; pass a sink written in Python instead.
    """

    def __init__(self, sink_func: Any) -> None:
        self.sink_func = sink_func
