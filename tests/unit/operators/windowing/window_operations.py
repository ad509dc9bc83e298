"""Window operations for tests, each once for the fast operator and once for the general one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from funke.common.time import Time
from funke.datastream.functions import AggregateFunction, ProcessWindowFunction, WindowFunction
from funke.datastream.window import EventTimeTrigger, WindowAssigner
from funke.engine.graph.operations import Window


class SameAsDefault(EventTimeTrigger[Any]):
    """The default trigger under another name: the operator has to ask it about every record."""


def ms(count: int) -> Time:
    return Time.milliseconds(count)


def first(value: Any) -> Any:
    return value[0]


def add(left: Any, right: Any) -> Any:
    return left[0], left[1] + right[1]


class Describe(WindowFunction[Any, Any, Any, Any]):
    """Yields key, start, end and the sorted numbers of a window."""

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield key, window.start, window.end, sorted(number for _, number in inputs)


class Numbers(WindowFunction[Any, Any, Any, Any]):
    """Yields key and numbers, in the order in which the window holds them."""

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield key, [number for _, number in inputs]


class Elements(ProcessWindowFunction[Any, Any, Any, Any]):
    """Yields key, window and whatever the function is given."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield key, context.window().start, list(elements)


class SumAndCount(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def window(assigner: WindowAssigner[Any, Any], trigger: Any = None, **settings: Any) -> Window:
    """An operation on (key, number) pairs; the trigger is the assigner's if none is given."""
    settings.setdefault("key_selector", first)
    return Window(assigner, trigger or assigner.get_default_trigger(None), **settings)
