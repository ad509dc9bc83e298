"""Functions that are called with the matches of a pattern."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from funke.engine.types.functions import Function
from funke.engine.types.output_tag import OutputTag

__all__ = ["PatternProcessFunction", "TimedOutPartialMatchHandler"]


class PatternProcessFunction(Function):
    """Handles the matches of a pattern.

    >>> from funke.cep import CEP, Pattern, PatternProcessFunction
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> class Rise(PatternProcessFunction):
    ...     def process_match(self, match, ctx):
    ...         yield match["high"][0] - match["low"][0]
    >>> pattern = Pattern.begin("low").where(lambda x: x < 10).next("high").where(lambda x: x > 90)
    >>> readings = StreamExecutionEnvironment.get_execution_environment().from_collection([5, 95, 7, 99])
    >>> list(CEP.pattern(readings, pattern).in_processing_time().process(Rise()).execute_and_collect())
    [90, 92]
    """

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
    """A PatternProcessFunction that inherits this too is called with partial matches that have timed out.

    >>> from funke.cep import PatternProcessFunction, TimedOutPartialMatchHandler
    >>> class Paid(PatternProcessFunction, TimedOutPartialMatchHandler):
    ...     def process_match(self, match, ctx):
    ...         yield "paid", match["order"][0]
    ...     def process_timed_out_match(self, match, ctx):
    ...         yield "not paid in time", match["order"][0]
    >>> list(Paid().process_timed_out_match({"order": [7]}, None))  # after the time of Pattern.within()
    [('not paid in time', 7)]
    """

    @abstractmethod
    def process_timed_out_match(
        self, match: Mapping[str, list[Any]], ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        """Yield the results for the events that the partial match had."""
