"""Selectors that give elements the names of outputs, as in Flink 1.x; side outputs do the same and more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from funke.engine.types.functions import FilterFunction

__all__ = ["OutputSelector", "Selected"]


class OutputSelector(ABC):
    """Tells which outputs an element goes to."""

    @abstractmethod
    def select(self, value: Any) -> Iterable[str]:
        """Return the names of the outputs."""


class Selected(FilterFunction):
    """Keeps the elements that go to any of some outputs."""

    def __init__(self, selector: OutputSelector | Callable[[Any], Iterable[str]], names: Iterable[str]) -> None:
        self._select = selector.select if isinstance(selector, OutputSelector) else selector
        self._names = frozenset(names)

    def filter(self, value: Any) -> bool:
        """Tell whether the element goes there."""
        return not self._names.isdisjoint(self._select(value))
