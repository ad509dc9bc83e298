"""Functions that are called with elements of two streams that belong together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from funke.engine.types.functions import Function

__all__ = ["CoGroupFunction", "FlatJoinFunction", "JoinFunction", "ProcessJoinFunction"]


class JoinFunction(Function):
    """Makes one element out of each pair of a window join."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """Return the result for one pair."""


class FlatJoinFunction(Function):
    """Makes any number of elements out of each pair of a window join."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """Yield the results for one pair."""


class CoGroupFunction(Function):
    """Evaluates a window with the elements of two streams that have the same key; one of the sides may be empty."""

    @abstractmethod
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        """Yield the results for one key and window."""


class ProcessJoinFunction(Function):
    """Handles the pairs of an interval join."""

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
