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
    """Assigns each element to windows."""

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
    """An assigner whose windows merge when they meet."""

    class MergeCallback(ABC, Generic[W2]):
        """Receives each group of windows that became one."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Replace the windows `to_be_merged` by `merge_result`."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]) -> None:
        """Tell `callback` which of the windows become one."""


class SessionWindowTimeGapExtractor(ABC):
    """Computes from an element after which gap its session ends."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Return the gap in milliseconds."""
