"""The interface of a trigger: it decides when a window is evaluated and when its contents are dropped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Generic, TypeVar

from funke.engine.state.descriptors import StateDescriptor
from funke.engine.state.interfaces import State
from funke.engine.types.time import Duration, Time

__all__ = ["Trigger", "TriggerResult", "to_millis"]

T = TypeVar("T")
W = TypeVar("W")


class TriggerResult(Enum):
    """What happens to a window: whether its function is called, and whether its contents are dropped.

    >>> from funke.datastream.window import TriggerResult
    >>> [result.name for result in TriggerResult if result.is_fire()]
    ['FIRE_AND_PURGE', 'FIRE']
    """

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Tell whether the window function is called."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Tell whether the contents of the window are dropped."""
        return self.value[1]


class Trigger(ABC, Generic[T, W]):
    """Decides for each key and window when the window fires; what it remembers is kept in state.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import GlobalWindows, Trigger, TriggerResult
    >>> class OnEnd(Trigger):
    ...     def on_element(self, element, timestamp, window, ctx):
    ...         return TriggerResult.FIRE_AND_PURGE if element == "end" else TriggerResult.CONTINUE
    ...     def on_processing_time(self, time, window, ctx):
    ...         return TriggerResult.CONTINUE
    ...     on_event_time = on_processing_time
    ...     def on_merge(self, window, ctx):
    ...         pass
    ...     def clear(self, window, ctx):
    ...         pass
    >>> words = StreamExecutionEnvironment.get_execution_environment().from_collection(["a", "b", "end", "c"])
    >>> texts = words.key_by(lambda word: 0).window(GlobalWindows.create()).trigger(OnEnd())
    >>> list(texts.reduce(lambda a, b: f"{a} {b}").execute_and_collect())
    ['a b end']
    """

    class TriggerContext(ABC):
        """What a trigger can ask and do."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the processing time in milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> Any:
            """Return the group in which the trigger registers its metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the watermark in milliseconds."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Call `on_processing_time` when processing time reaches `time`."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Call `on_event_time` when the watermark reaches `time`."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Remove the processing-time timer at `time`, if any."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Remove the event-time timer at `time`, if any."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
            """Return state of this key and window."""

    class OnMergeContext(TriggerContext):
        """What a trigger can do when windows become one."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the state of the old windows into that of the new one."""

    @abstractmethod
    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide after an element was added to the window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide when a processing-time timer of the window fires."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide when an event-time timer of the window fires."""

    def can_merge(self) -> bool:
        """Tell whether the trigger works with windows that merge."""
        return False

    @abstractmethod
    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Take over timers and state after windows became `window`."""

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Remove timers and state of a window that is about to be forgotten."""


def to_millis(interval: Time | Duration) -> int:
    """Return the length of an interval in milliseconds; Flink 2 programs pass a Duration where 1.x had a Time."""
    if isinstance(interval, Duration):
        return interval.to_millis()
    if not isinstance(interval, Time):
        raise TypeError(f"a Time or Duration is needed, such as Time.seconds(5), got {interval!r}")
    return interval.to_milliseconds()
