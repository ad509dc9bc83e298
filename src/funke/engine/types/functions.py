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
    """What all user functions have in common: they are opened and closed once per subtask.

    >>> from funke.datastream.functions import MapFunction
    >>> class Indent(MapFunction):
    ...     def open(self, runtime_context):
    ...         self.prefix = "> "
    ...     def map(self, value):
    ...         return self.prefix + value
    >>> indent = Indent()
    >>> indent.open(None)  # a job does this, once in every subtask
    >>> indent.map("hello")
    '> hello'
    """

    def open(self, runtime_context: Any) -> None:
        """Prepare the function; called once before the first element."""

    def close(self) -> None:
        """Release what `open` acquired; called once after the last element."""


class MapFunction(Function):
    """Turns each element into exactly one element.

    >>> from funke.datastream import MapFunction, StreamExecutionEnvironment
    >>> class Double(MapFunction):
    ...     def map(self, value):
    ...         return 2 * value
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> sorted(env.from_collection([1, 2, 3]).map(Double()).execute_and_collect())
    [2, 4, 6]
    """

    @abstractmethod
    def map(self, value: Any) -> Any:
        """Return the element that takes the place of `value`."""


class CoMapFunction(Function):
    """Maps the elements of two connected streams.

    >>> from funke.datastream import CoMapFunction, StreamExecutionEnvironment
    >>> class Text(CoMapFunction):
    ...     def map1(self, value):
    ...         return f"{value} degrees"
    ...     def map2(self, value):
    ...         return value.lower()
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> connected = env.from_collection([21]).connect(env.from_collection(["SUNNY"]))
    >>> sorted(connected.map(Text()).execute_and_collect())
    ['21 degrees', 'sunny']
    """

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """Return the element that takes the place of an element of the first stream."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """Return the element that takes the place of an element of the second stream."""


class FlatMapFunction(Function):
    """Turns each element into any number of elements.

    >>> from funke.datastream import FlatMapFunction, StreamExecutionEnvironment
    >>> class Words(FlatMapFunction):
    ...     def flat_map(self, value):
    ...         yield from value.split()
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> sorted(env.from_collection(["to be", "or not"]).flat_map(Words()).execute_and_collect())
    ['be', 'not', 'or', 'to']
    """

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """Yield or return the elements that take the place of `value`."""


class CoFlatMapFunction(Function):
    """Turns each element of two connected streams into any number of elements.

    >>> from funke.datastream import CoFlatMapFunction
    >>> class Numbers(CoFlatMapFunction):
    ...     def flat_map1(self, value):
    ...         yield from value
    ...     def flat_map2(self, value):
    ...         if value.isdigit():
    ...             yield int(value)
    >>> list(Numbers().flat_map1([1, 2])), list(Numbers().flat_map2("3")), list(Numbers().flat_map2("x"))
    ([1, 2], [3], [])
    """

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """Yield or return the elements for an element of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """Yield or return the elements for an element of the second stream."""


class ReduceFunction(Function):
    """Combines two elements into one of the same type.

    >>> from funke.datastream import ReduceFunction, StreamExecutionEnvironment
    >>> class Longer(ReduceFunction):
    ...     def reduce(self, value1, value2):
    ...         return value1 if len(value1) >= len(value2) else value2
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> words = env.from_collection(["apple", "avocado", "bean"]).key_by(lambda word: word[0])
    >>> sorted(words.reduce(Longer()).execute_and_collect())
    ['apple', 'avocado', 'bean']
    """

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the combination of what was reduced so far and the next element."""


class AggregateFunction(Function):
    """Folds elements into an accumulator from which a result can be read.

    >>> from funke.datastream import AggregateFunction, StreamExecutionEnvironment
    >>> class Average(AggregateFunction):
    ...     def create_accumulator(self):
    ...         return 0, 0
    ...     def add(self, value, accumulator):
    ...         return accumulator[0] + value, accumulator[1] + 1
    ...     def get_result(self, accumulator):
    ...         return accumulator[0] / accumulator[1]
    ...     def merge(self, acc_a, acc_b):
    ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> pairs = env.from_collection([3, 4]).key_by(lambda number: "all").count_window(2)
    >>> list(pairs.aggregate(Average()).execute_and_collect())
    [3.5]
    """

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
    """Extracts the key of an element; the same element must always yield the same key.

    >>> from funke.datastream import KeySelector, StreamExecutionEnvironment
    >>> class Initial(KeySelector):
    ...     def get_key(self, value):
    ...         return value[0]
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> by_initial = env.from_collection(["ada", "alan", "bob"]).key_by(Initial())
    >>> sorted(by_initial.reduce(lambda a, b: f"{a} & {b}").execute_and_collect())
    ['ada', 'ada & alan', 'bob']
    """

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """Return the key of `value`."""


class NullByteKeySelector(KeySelector):
    """Gives every element the same key.

    >>> from funke.datastream.functions import NullByteKeySelector
    >>> NullByteKeySelector().get_key("anything")
    0
    """

    def get_key(self, value: Any) -> int:
        return 0


class FilterFunction(Function):
    """Decides which elements stay.

    >>> from funke.datastream import FilterFunction, StreamExecutionEnvironment
    >>> class Even(FilterFunction):
    ...     def filter(self, value):
    ...         return value % 2 == 0
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> sorted(env.from_collection([1, 2, 3, 4]).filter(Even()).execute_and_collect())
    [2, 4]
    """

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Tell whether `value` stays."""


class Partitioner(Function):
    """Chooses the downstream subtask of a key.

    >>> from funke.datastream import Partitioner, StreamExecutionEnvironment
    >>> class ByRegion(Partitioner):
    ...     def partition(self, key, num_partitions):
    ...         return 0 if key == "eu" else 1 % num_partitions
    >>> orders = StreamExecutionEnvironment.get_execution_environment().from_collection([("eu", 5), ("us", 7)])
    >>> routed = orders.partition_custom(ByRegion(), lambda order: order[0])
    >>> ByRegion().partition("us", 2)
    1
    """

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """Return a number from 0 to `num_partitions` - 1."""


class FunctionWrapper(Function):
    """Makes a function object out of a plain callable.

    >>> from funke.datastream.functions import Function, FunctionWrapper
    >>> class Wrapped(FunctionWrapper):
    ...     def map(self, value):
    ...         return self._func(value)
    >>> Wrapped(str.upper).map("a"), isinstance(Wrapped(str.upper), Function)
    ('A', True)
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self._func = func


class ReduceFunctionWrapper(FunctionWrapper):
    """Makes a reduce function out of a plain callable.

    >>> from funke.datastream.functions import ReduceFunctionWrapper
    >>> ReduceFunctionWrapper(lambda a, b: a + b).reduce(2, 3)
    5
    """

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Call the wrapped function."""
        return self._func(value1, value2)


class SourceFunction:
    """A source given as a Python object.

    PyFlink wraps a class of the JVM here, which Funke has not; pass a source written in Python instead.

    >>> from funke.datastream import SourceFunction
    >>> from funke.datastream.connectors.rabbitmq import RMQSource
    >>> issubclass(RMQSource, SourceFunction)  # such a source is one for `add_source`
    True
    """

    def __init__(self, source_func: Any) -> None:
        self.source_func = source_func


class SinkFunction:
    """A sink given as a Python object.

    PyFlink wraps a class of the JVM here, which Funke has not; pass a sink written in Python instead.

    >>> from funke.datastream import SinkFunction
    >>> from funke.datastream.connectors import JdbcSink, RMQSink
    >>> issubclass(JdbcSink, SinkFunction), issubclass(RMQSink, SinkFunction)  # such sinks are for `add_sink`
    (True, True)
    """

    def __init__(self, sink_func: Any) -> None:
        self.sink_func = sink_func
