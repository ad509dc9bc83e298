"""Functions that are called with the matches of a pattern."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from funke.engine.types.functions import Function
from funke.engine.types.output_tag import OutputTag

__all__ = ["PatternProcessFunction", "TimedOutPartialMatchHandler"]


class PatternProcessFunction(Function):
    """Handles the matches of a pattern."""

    class Context(ABC):
        """What the function may ask and do beside its results."""

        @abstractmethod
        def timestamp(self) -> int:
            """Return the time of the event that completed the match, or the time at which a partial match timed out."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return what the clock says."""

        def pattern_id(self) -> str | None:
            """Return which pattern the match is one of, if patterns come with a stream."""
            return None

        def pattern_version(self) -> int | None:
            """Return which version of the pattern the match is one of, if patterns come with a stream."""
            return None

        @abstractmethod
        def output(self, output_tag: OutputTag, value: Any) -> None:
            """Emit a record to a side output; yielding a pair of tag and record does the same."""

    @abstractmethod
    def process_match(self, match: Mapping[str, list[Any]], ctx: Context) -> Iterable[Any] | None:
        """Yield the results for one match: the events by the names of their patterns, in order."""


class TimedOutPartialMatchHandler(ABC):
    """A PatternProcessFunction that inherits this too is called with partial matches that have timed out."""

    @abstractmethod
    def process_timed_out_match(
        self, match: Mapping[str, list[Any]], ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        """Yield the results for the events that the partial match had."""
