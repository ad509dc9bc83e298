"""How the contents of a window begin, take one more element, and become one with those of another window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from funke.engine.graph.operations import Window
from funke.engine.operators.function_operator import method_of

__all__ = ["Combining", "combining_of"]


class Combining(NamedTuple):
    """Three functions over contents; contents of None are none."""

    first: Callable[[Any], Any]
    add: Callable[[Any, Any], Any]
    merge: Callable[[Any, Any], Any]


def combining_of(operation: Window) -> Combining:
    """What an operation does with elements: reduces, aggregates or keeps them."""
    if operation.reduce is not None:
        reduce = method_of(operation.reduce, "reduce")
        return Combining(_itself, reduce, reduce)
    function = operation.aggregate
    if function is None:
        return Combining(_begun, _appended, _joined)

    def first(value: Any) -> Any:
        # As in PyFlink's aggregating state, None clears.
        return None if value is None else function.add(value, function.create_accumulator())

    def add(contents: Any, value: Any) -> Any:
        return None if value is None else function.add(value, contents)

    return Combining(first, add, function.merge)


def _itself(value: Any) -> Any:
    return value


def _begun(value: Any) -> list[Any]:
    return [value]


def _appended(contents: list[Any], value: Any) -> list[Any]:
    contents.append(value)
    return contents


def _joined(left: list[Any], right: list[Any]) -> list[Any]:
    return left + right
