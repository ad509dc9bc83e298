"""Calls the window function, whichever of the four kinds it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from funke.engine.operators.functions.window_functions import (
    AllWindowFunction,
    InternalProcessAllWindowContext,
    InternalProcessWindowContext,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from funke.engine.operators.windowing.window_contexts import OperatorWindowContext

__all__ = ["WindowCall"]

# (key, window, elements) -> results
Evaluate = Callable[[Any, Any, list[Any]], Iterable[Any] | None]


class WindowCall:
    """The window function as one callable over key, window and elements, and its `clear`."""

    def __init__(self, function: Any, context: OperatorWindowContext) -> None:
        self._function = function
        self._context = context
        self.evaluate = self._evaluation()
        self.has_clear = _overrides_clear(function)

    def clear(self, window: Any) -> None:
        """Lets the function remove its state of a window."""
        if self.has_clear:
            self._context.window = window
            self._function_context.bind(self._context, window)
            self._function.clear(self._function_context)

    def _evaluation(self) -> Evaluate | None:
        function = self._function
        if isinstance(function, WindowFunction):
            return function.apply
        if isinstance(function, AllWindowFunction):
            return lambda key, window, elements: function.apply(window, elements)
        if isinstance(function, ProcessWindowFunction):
            self._function_context: Any = InternalProcessWindowContext()
            return self._process_with_key
        if isinstance(function, ProcessAllWindowFunction):
            self._function_context = InternalProcessAllWindowContext()
            return self._process
        return None

    def _process_with_key(self, key: Any, window: Any, elements: list[Any]) -> Iterable[Any] | None:
        self._context.window = window
        self._function_context.bind(self._context, window)
        results: Iterable[Any] | None = self._function.process(key, self._function_context, elements)
        return results

    def _process(self, key: Any, window: Any, elements: list[Any]) -> Iterable[Any] | None:
        self._context.window = window
        self._function_context.bind(self._context, window)
        results: Iterable[Any] | None = self._function.process(self._function_context, elements)
        return results


def _overrides_clear(function: Any) -> bool:
    for kind in (ProcessWindowFunction, ProcessAllWindowFunction):
        if isinstance(function, kind):
            return type(function).clear is not kind.clear
    return False
