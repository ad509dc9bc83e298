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
    """Handles the elements of a stream one by one; results and side outputs are yielded."""

    class Context(_ElementContext):
        """What `process_element` can ask and do."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for one element; a pair of an OutputTag and a value goes to a side output."""


class KeyedProcessFunction(Function):
    """Handles the elements and timers of a keyed stream."""

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
    """Handles the elements of two connected streams."""

    class Context(_ElementContext):
        """What both methods can ask and do."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for an element of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for an element of the second stream."""


class KeyedCoProcessFunction(Function):
    """Handles the elements and timers of two connected keyed streams, which share their keyed state."""

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
