"""The window functions behind window joins and coGroup: they part a window's elements by their stream."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from funke.engine.operators.function_operator import method_of
from funke.engine.operators.functions.join_functions import FlatJoinFunction
from funke.engine.operators.functions.window_functions import WindowFunction
from funke.engine.operators.joins.tagged_union import TaggedUnion
from funke.engine.types.functions import Function

__all__ = ["CoGroupWindow", "JoinWindow"]


class _PairedWindow(WindowFunction[Any, Any, Any, Any]):
    """Opens and closes the user's function, which may be a plain callable."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def open(self, runtime_context: Any) -> None:
        if isinstance(self._function, Function):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, Function):
            self._function.close()

    def apply(self, key: Any, window: Any, inputs: Iterable[TaggedUnion]) -> Any:
        """Return the results for the elements of both streams."""
        first: list[Any] = []
        second: list[Any] = []
        for tagged in inputs:
            (second if tagged.index else first).append(tagged.value)
        return self.evaluate(first, second)

    @abstractmethod
    def evaluate(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        """The results for the elements of both streams."""


class CoGroupWindow(_PairedWindow):
    """Hands both sides to a CoGroupFunction."""

    def evaluate(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        """The results of the function; one of the sides may be empty."""
        results: Iterable[Any] | None = method_of(self._function, "co_group")(first, second)
        return results


class JoinWindow(_PairedWindow):
    """Calls a JoinFunction or a FlatJoinFunction for every pair: an inner join."""

    def evaluate(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        """The results for each element of the first stream with each of the second."""
        join = method_of(self._function, "join")
        if isinstance(self._function, FlatJoinFunction):
            return _flattened(join, first, second)
        return (join(left, right) for left in first for right in second)


def _flattened(join: Any, first: list[Any], second: list[Any]) -> Iterator[Any]:
    for left in first:
        for right in second:
            results = join(left, right)
            if results is not None:
                yield from results
