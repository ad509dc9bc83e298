"""The interface of a window assigner: it tells which windows an element belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, Generic, TypeVar

from funke.engine.operators.functions.runtime_context import RuntimeContext
from funke.engine.operators.windowing.trigger import Trigger
from funke.engine.operators.windowing.windows import WindowSerializer

__all__ = ["MergingWindowAssigner", "SessionWindowTimeGapExtractor", "WindowAssigner"]

T = TypeVar("T")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowAssigner(ABC, Generic[T, W]):
    """Assigns each element to windows.

    >>> from funke.common import Time
    >>> from funke.datastream.window import TimeWindow, TumblingEventTimeWindows, WindowAssigner
    >>> class Workdays(TumblingEventTimeWindows, WindowAssigner):
    ...     def assign_windows(self, element, timestamp, context):
    ...         is_weekend = timestamp // 86_400_000 % 7 in (2, 3)  # 1970 began on a Thursday
    ...         return [] if is_weekend else super().assign_windows(element, timestamp, context)
    >>> workdays = Workdays(Time.days(1).to_milliseconds(), 0)
    >>> workdays.assign_windows("order", 5000, None), workdays.assign_windows("order", 2 * 86_400_000, None)
    ([TimeWindow(start=0, end=86400000)], [])
    """

    class WindowAssignerContext(ABC):
        """What an assigner can ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the processing time in milliseconds."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Return the context of the operator, with state of the current key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """Return the windows of an element."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """Return the trigger that is used when the program names none."""

    @abstractmethod
    def get_window_serializer(self) -> WindowSerializer[W]:
        """Return the serializer of the windows."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Tell whether windows are assigned by the timestamps of the elements."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows merge when they meet.

    >>> from funke.common import Time
    >>> from funke.datastream.window import EventTimeSessionWindows, MergingWindowAssigner, TimeWindow
    >>> class Print(MergingWindowAssigner.MergeCallback):
    ...     def merge(self, to_be_merged, merge_result):
    ...         print(len(to_be_merged), "windows became", merge_result)
    >>> sessions = EventTimeSessionWindows.with_gap(Time.seconds(5))
    >>> sessions.merge_windows([TimeWindow(0, 5000), TimeWindow(3000, 8000), TimeWindow(20000, 25000)], Print())
    2 windows became TimeWindow(start=0, end=8000)
    >>> isinstance(sessions, MergingWindowAssigner)
    True
    """

    class MergeCallback(ABC, Generic[W2]):
        """Receives each group of windows that became one."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Replace the windows `to_be_merged` by `merge_result`."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]) -> None:
        """Tell `callback` which of the windows become one."""


class SessionWindowTimeGapExtractor(ABC):
    """Computes from an element after which gap its session ends.

    >>> from funke.datastream.window import EventTimeSessionWindows, SessionWindowTimeGapExtractor
    >>> class PatientGuests(SessionWindowTimeGapExtractor):
    ...     def extract(self, element):
    ...         return 60_000 if element == "guest" else 5_000
    >>> sessions = EventTimeSessionWindows.with_dynamic_gap(PatientGuests())
    >>> sessions.assign_windows("guest", 0, None)
    [TimeWindow(start=0, end=60000)]
    """

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Return the gap in milliseconds."""
