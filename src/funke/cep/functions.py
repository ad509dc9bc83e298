"""What is done with the matches of a pattern."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from funke.engine.operators.functions.pattern_functions import PatternProcessFunction, TimedOutPartialMatchHandler
from funke.engine.types.functions import Function
from funke.engine.types.output_tag import OutputTag

__all__ = [
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternTimeoutFunction",
    "TimedOutPartialMatchHandler",
]

Match = Mapping[str, list[Any]]


class PatternSelectFunction(Function):
    """Makes one element out of each match.

    >>> from funke.cep import PatternSelectFunction
    >>> class Total(PatternSelectFunction):
    ...     def select(self, pattern):
    ...         return sum(pattern["small"]) + sum(pattern["large"])
    >>> Total().select({"small": [1, 2], "large": [700]})  # PatternStream.select(Total()) does this for each match
    703
    """

    @abstractmethod
    def select(self, pattern: Match) -> Any:
        """Return the result for a match: the events by the names of their patterns."""


class PatternFlatSelectFunction(Function):
    """Makes any number of elements out of each match.

    >>> from funke.cep import PatternFlatSelectFunction
    >>> class Each(PatternFlatSelectFunction):
    ...     def flat_select(self, pattern):
    ...         yield from pattern["small"]
    >>> list(Each().flat_select({"small": [1, 2], "large": [700]}))  # as PatternStream.flat_select(Each()) does
    [1, 2]
    """

    @abstractmethod
    def flat_select(self, pattern: Match) -> Iterable[Any] | None:
        """Yield the results for a match."""


class PatternTimeoutFunction(Function):
    """Makes one element out of each partial match that has timed out.

    >>> from funke.cep import PatternTimeoutFunction
    >>> class Unpaid(PatternTimeoutFunction):
    ...     def timeout(self, pattern, timeout_timestamp):
    ...         return pattern["order"][0], timeout_timestamp
    >>> Unpaid().timeout({"order": ["order 7"]}, 60_000)  # select(tag, Unpaid(), function) does this
    ('order 7', 60000)
    """

    @abstractmethod
    def timeout(self, pattern: Match, timeout_timestamp: int) -> Any:
        """Return the result for a partial match."""


class PatternFlatTimeoutFunction(Function):
    """Makes any number of elements out of each partial match that has timed out.

    >>> from funke.cep import PatternFlatTimeoutFunction
    >>> class Unpaid(PatternFlatTimeoutFunction):
    ...     def timeout(self, pattern, timeout_timestamp):
    ...         yield from pattern.get("order", [])
    >>> list(Unpaid().timeout({"order": ["order 7"]}, 60_000))  # flat_select(tag, Unpaid(), function) does this
    ['order 7']
    """

    @abstractmethod
    def timeout(self, pattern: Match, timeout_timestamp: int) -> Iterable[Any] | None:
        """Yield the results for a partial match."""


class Selecting(PatternProcessFunction):
    """Calls a select function, or a flat one."""

    def __init__(self, function: Any, is_flat: bool) -> None:
        self._function = function
        self._is_flat = is_flat
        self._select = method_of(function, "flat_select" if is_flat else "select")

    def open(self, runtime_context: Any) -> None:
        if isinstance(self._function, Function):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, Function):
            self._function.close()

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        result = self._select(match)
        if self._is_flat:
            flat: Iterable[Any] | None = result
            return flat
        return (result,)


class SelectingWithTimeouts(Selecting, TimedOutPartialMatchHandler):
    """Sends the results for partial matches that have timed out to a side output."""

    def __init__(self, function: Any, is_flat: bool, timeout_function: Any, tag: OutputTag) -> None:
        super().__init__(function, is_flat)
        self._timeout_function = timeout_function
        self._timeout = method_of(timeout_function, "timeout")
        self._tag = tag

    def open(self, runtime_context: Any) -> None:
        super().open(runtime_context)
        if isinstance(self._timeout_function, Function):
            self._timeout_function.open(runtime_context)

    def close(self) -> None:
        super().close()
        if isinstance(self._timeout_function, Function):
            self._timeout_function.close()

    def process_timed_out_match(self, match: Match, ctx: PatternProcessFunction.Context) -> None:
        result = self._timeout(match, ctx.timestamp())
        for each in (result or ()) if self._is_flat else (result,):
            ctx.output(self._tag, each)


def method_of(function: Any, name: str) -> Callable[..., Any]:
    """The method of a function object, or the plain callable."""
    method: Callable[..., Any] = getattr(function, name) if isinstance(function, Function) else function
    return method
