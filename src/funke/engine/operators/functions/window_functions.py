"""Functions that are called when a window fires."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from funke.engine.state.interfaces import KeyedStateStore
from funke.engine.types.functions import Function

__all__ = [
    "AllWindowFunction",
    "InternalProcessAllWindowContext",
    "InternalProcessWindowContext",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessWindowFunction",
    "WindowFunction",
]

W = TypeVar("W")
W2 = TypeVar("W2")
IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Evaluates the windows of a keyed stream.

    >>> from funke.datastream import StreamExecutionEnvironment, WindowFunction
    >>> class Total(WindowFunction):
    ...     def apply(self, key, window, inputs):
    ...         yield key, sum(amount for _, amount in inputs)
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> orders = env.from_collection([("tea", 3), ("tea", 4), ("milk", 1), ("milk", 1)])
    >>> sorted(orders.key_by(lambda order: order[0]).count_window(2).apply(Total()).execute_and_collect())
    [('milk', 2), ('tea', 7)]
    """

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """Yield the results of a window."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Evaluates the windows of a stream without keys.

    >>> from funke.datastream.functions import AllWindowFunction
    >>> class Largest(AllWindowFunction):
    ...     def apply(self, window, inputs):
    ...         yield max(inputs)
    >>> list(Largest().apply(None, [3, 9, 4]))
    [9]
    """

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """Yield the results of a window."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Evaluates the windows of a keyed stream, with access to time and state.

    >>> from funke.datastream import ProcessWindowFunction, StreamExecutionEnvironment
    >>> class Describe(ProcessWindowFunction):
    ...     def process(self, key, context, elements):
    ...         yield key, context.window().id, list(elements)
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> windows = env.from_collection([1, 2, 3, 4]).key_by(lambda number: "all").count_window(2)
    >>> list(windows.process(Describe()).execute_and_collect())
    [('all', 0, [1, 2]), ('all', 1, [3, 4])]
    """

    class Context(ABC, Generic[W2]):
        """What `process` and `clear` can ask."""

        @abstractmethod
        def window(self) -> W2:
            """Return the window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the processing time in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the watermark in milliseconds."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return state of this key and window; `clear` has to remove it."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return state of this key that all windows share."""

    @abstractmethod
    def process(self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """Yield the results of a window."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Remove state of a window that is about to be forgotten."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Evaluates the windows of a stream without keys, with access to state.

    >>> from funke.datastream.functions import ProcessAllWindowFunction
    >>> class Spread(ProcessAllWindowFunction):
    ...     def process(self, context, elements):
    ...         values = list(elements)
    ...         yield max(values) - min(values)
    >>> list(Spread().process(None, [3, 9, 4]))
    [6]
    """

    class Context(ABC, Generic[W2]):
        """What `process` and `clear` can ask."""

        @abstractmethod
        def window(self) -> W2:
            """Return the window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return state of this window; `clear` has to remove it."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return state that all windows share."""

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """Yield the results of a window."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Remove state of a window that is about to be forgotten."""


class PassThroughWindowFunction(WindowFunction[IN, IN, KEY, W]):
    """Yields the elements of a window of a keyed stream as they are.

    >>> from funke.datastream.functions import PassThroughWindowFunction
    >>> list(PassThroughWindowFunction().apply("key", None, ["the result of reduce()"]))
    ['the result of reduce()']
    """

    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        yield from inputs


class PassThroughAllWindowFunction(AllWindowFunction[IN, IN, W]):
    """Yields the elements of a window as they are.

    >>> from funke.datastream.functions import PassThroughAllWindowFunction
    >>> list(PassThroughAllWindowFunction().apply(None, ["the result of reduce()"]))
    ['the result of reduce()']
    """

    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        yield from inputs


class _WindowContext:
    """Passes questions on to the window operator, whose current window it holds."""

    def __init__(self) -> None:
        self._underlying: Any = None
        self._window: Any = None

    def bind(self, underlying: Any, window: Any) -> None:
        """Point the context at another window."""
        self._underlying = underlying
        self._window = window

    def window(self) -> Any:
        """Return the window."""
        return self._window

    def window_state(self) -> KeyedStateStore:
        """Return state of this key and window."""
        store: KeyedStateStore = self._underlying.window_state()
        return store

    def global_state(self) -> KeyedStateStore:
        """Return state of this key that all windows share."""
        store: KeyedStateStore = self._underlying.global_state()
        return store


class InternalProcessWindowContext(_WindowContext, ProcessWindowFunction.Context[W]):
    """The context a window operator hands to a ProcessWindowFunction.

    >>> from funke.datastream import ProcessWindowFunction
    >>> from funke.datastream.functions import InternalProcessWindowContext
    >>> issubclass(InternalProcessWindowContext, ProcessWindowFunction.Context)  # annotate with the latter
    True
    """

    def current_processing_time(self) -> int:
        return int(self._underlying.current_processing_time())

    def current_watermark(self) -> int:
        return int(self._underlying.current_watermark())


class InternalProcessAllWindowContext(_WindowContext, ProcessAllWindowFunction.Context[W]):
    """The context a window operator hands to a ProcessAllWindowFunction.

    >>> from funke.datastream.functions import InternalProcessAllWindowContext, ProcessAllWindowFunction
    >>> issubclass(InternalProcessAllWindowContext, ProcessAllWindowFunction.Context)  # annotate with the latter
    True
    """
