"""Process functions: they see each element with its timestamp, keyed state and timers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from funke.engine.operators.functions.runtime_context import TimerService
from funke.engine.types.functions import Function
from funke.engine.types.time_domain import TimeDomain

__all__ = ["CoProcessFunction", "KeyedCoProcessFunction", "KeyedProcessFunction", "ProcessFunction"]


class _ElementContext(ABC):
    """What every process function can ask about the element or timer at hand."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Return the service that reads the clocks and sets timers."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """Return the timestamp of the element or of the firing timer; None without timestamps."""


class _KeyedContext(_ElementContext):
    """A context that belongs to a key."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """Return the key of the element or of the firing timer."""


class _FiringContext(_KeyedContext):
    """A context for a firing timer."""

    @abstractmethod
    def time_domain(self) -> TimeDomain:
        """Return the clock that the firing timer follows."""


class ProcessFunction(Function):
    """Handles the elements of a stream one by one; results and side outputs are yielded.

    >>> from funke.common import Types
    >>> from funke.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
    >>> broken = OutputTag("broken", Types.STRING())
    >>> class Parse(ProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         yield int(value) if value.isdigit() else (broken, value)
    >>> numbers = StreamExecutionEnvironment.get_execution_environment().from_collection(["1", "x"]).process(Parse())
    >>> list(numbers.get_side_output(broken).execute_and_collect())
    ['x']
    """

    class Context(_ElementContext):
        """What `process_element` can ask and do."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for one element; a pair of an OutputTag and a value goes to a side output."""


class KeyedProcessFunction(Function):
    """Handles the elements and timers of a keyed stream.

    >>> from funke.common import Types
    >>> from funke.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import ValueStateDescriptor
    >>> class Number(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
    ...     def process_element(self, value, ctx):
    ...         self.count.update((self.count.value() or 0) + 1)
    ...         yield ctx.get_current_key(), self.count.value()
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> sorted(env.from_collection(["a", "b", "a"]).key_by(lambda word: word).process(Number()).execute_and_collect())
    [('a', 1), ('a', 2), ('b', 1)]
    """

    class Context(_KeyedContext):
        """What `process_element` can ask and do."""

    class OnTimerContext(_FiringContext, Context):
        """What `on_timer` can ask and do."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for one element."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Yield the results for a firing timer."""
        return None


class CoProcessFunction(Function):
    """Handles the elements of two connected streams.

    >>> from funke.datastream import CoProcessFunction, StreamExecutionEnvironment
    >>> class Named(CoProcessFunction):
    ...     def process_element1(self, value, ctx):
    ...         yield "order", value
    ...     def process_element2(self, value, ctx):
    ...         yield "payment", value
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> both = env.from_collection([7]).connect(env.from_collection([9])).process(Named())
    >>> sorted(both.execute_and_collect())
    [('order', 7), ('payment', 9)]
    """

    class Context(_ElementContext):
        """What both methods can ask and do."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for an element of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for an element of the second stream."""


class KeyedCoProcessFunction(Function):
    """Handles the elements and timers of two connected keyed streams, which share their keyed state.

    >>> from funke.common import Types
    >>> from funke.datastream import KeyedCoProcessFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import ListStateDescriptor
    >>> class Meet(KeyedCoProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.STRING()))
    ...     def process_element1(self, value, ctx):
    ...         self.seen.add(value)
    ...         if len(list(self.seen)) == 2:
    ...             yield ctx.get_current_key(), sorted(self.seen)
    ...     process_element2 = process_element1
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> connected = env.from_collection(["apple"]).connect(env.from_collection(["avocado"]))
    >>> keyed = connected.key_by(lambda word: word[0], lambda word: word[0])
    >>> list(keyed.process(Meet()).execute_and_collect())
    [('a', ['apple', 'avocado'])]
    """

    class Context(_KeyedContext):
        """What both element methods can ask and do."""

    class OnTimerContext(_FiringContext, Context):
        """What `on_timer` can ask and do."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for an element of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for an element of the second stream."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Yield the results for a firing timer."""
        return None
