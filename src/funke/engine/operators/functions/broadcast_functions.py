"""Functions over a stream that is connected with a broadcast stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from funke.engine.operators.functions.runtime_context import TimerService
from funke.engine.state.descriptors import MapStateDescriptor
from funke.engine.state.interfaces import BroadcastState, ReadOnlyBroadcastState
from funke.engine.types.functions import Function
from funke.engine.types.time_domain import TimeDomain

__all__ = ["BaseBroadcastProcessFunction", "BroadcastProcessFunction", "KeyedBroadcastProcessFunction"]

KEY = TypeVar("KEY")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")


class BaseBroadcastProcessFunction(Function):
    """What keyed and non-keyed broadcast functions have in common.

    >>> from funke.datastream import BroadcastProcessFunction, KeyedBroadcastProcessFunction
    >>> from funke.datastream.functions import BaseBroadcastProcessFunction as Base
    >>> issubclass(BroadcastProcessFunction, Base), issubclass(KeyedBroadcastProcessFunction, Base)
    (True, True)
    """

    class BaseContext(ABC):
        """What both sides can ask."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the timestamp of the element or of the firing timer; None without timestamps."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the processing time in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the watermark in milliseconds."""

    class Context(BaseContext):
        """What the broadcast side can do."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
            """Return the broadcast state for reading and writing."""

    class ReadOnlyContext(BaseContext):
        """What the other side can do."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
            """Return the broadcast state for reading."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Handles a stream without keys that is connected with a broadcast stream.

    >>> from funke.common import Types
    >>> from funke.datastream import BroadcastProcessFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import MapStateDescriptor
    >>> blocked = MapStateDescriptor("blocked", Types.STRING(), Types.BOOLEAN())
    >>> class Block(BroadcastProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         if not ctx.get_broadcast_state(blocked).contains(value):
    ...             yield value
    ...     def process_broadcast_element(self, value, ctx):
    ...         ctx.get_broadcast_state(blocked).put(value, True)
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> users, rules = env.from_collection(["ada", "bob"]), env.from_collection(["eve"])
    >>> sorted(users.connect(rules.broadcast(blocked)).process(Block()).execute_and_collect())
    ['ada', 'bob']
    """

    class Context(BaseBroadcastProcessFunction.Context):
        """What `process_broadcast_element` can ask and do."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """What `process_element` can ask and do."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[OUT] | None:
        """Yield the results for an element of the stream that is not broadcast."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: BroadcastProcessFunction.Context) -> Iterable[OUT] | None:
        """Yield the results for a broadcast element; every subtask sees it."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Handles a keyed stream that is connected with a broadcast stream.

    >>> from funke.common import Types
    >>> from funke.datastream import KeyedBroadcastProcessFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import MapStateDescriptor
    >>> prices = MapStateDescriptor("prices", Types.STRING(), Types.INT())
    >>> class Price(KeyedBroadcastProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         yield ctx.get_current_key(), ctx.get_broadcast_state(prices).get("milk")
    ...     def process_broadcast_element(self, value, ctx):
    ...         ctx.get_broadcast_state(prices).put(*value)
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> orders = env.from_collection(["tea"]).key_by(lambda item: item)
    >>> priced = orders.connect(env.from_collection([("bread", 2)]).broadcast(prices)).process(Price())
    >>> list(priced.execute_and_collect())  # nothing sets the price of milk
    [('tea', None)]
    """

    class Context(BaseBroadcastProcessFunction.Context):
        """What `process_broadcast_element` can ask and do."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """What `process_element` can ask and do."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the service that reads the clocks and sets timers."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the element or of the firing timer."""

    class OnTimerContext(ReadOnlyContext):
        """What `on_timer` can ask and do."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return the clock that the firing timer follows."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the firing timer."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[OUT] | None:
        """Yield the results for an element of the keyed stream."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context) -> Iterable[OUT] | None:
        """Yield the results for a broadcast element; every subtask sees it."""

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterable[OUT] | None:
        """Yield the results for a firing timer."""
        return None
