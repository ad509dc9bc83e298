"""Combines the elements that windows with an evictor keep, as the job does when a window fires."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from funke.engine.types.functions import AggregateFunction

__all__ = ["aggregating", "reducing"]

Combine = Callable[[list[Any]], Any]


def reducing(function: Callable[[Any, Any], Any]) -> Combine:
    """Combines elements by a reduce function."""
    return partial(reduce, function)


def aggregating(function: AggregateFunction) -> Combine:
    """Combines elements by an aggregate function."""
    return partial(_aggregated, function)


def _aggregated(function: AggregateFunction, elements: list[Any]) -> Any:
    accumulator = function.create_accumulator()
    for element in elements:
        accumulator = function.add(element, accumulator)
    return function.get_result(accumulator)
