"""Functions over two connected streams; keyed ones share their state between both inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.graph.operations import CoFlatMap, CoMap, CoProcess, KeySelector
from funke.engine.operators.contexts import ElementContext
from funke.engine.operators.function_operator import FunctionOperator
from funke.engine.operators.keyed.keyed_process import TimedKeyedOperator
from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.records.record_loops import ProcessElement, run_unkeyed
from funke.engine.operators.time.timers import NonKeyedTimerService

__all__ = ["CoOperator", "KeyedCoOperator", "create_co_flat_map", "create_co_map", "create_co_process"]

BatchHandler = Callable[[list[Any], "list[int] | None"], None]
# Turns a function object into what handles an element of the first and of the second input.
Handlers = Callable[[Any], tuple[ProcessElement, ProcessElement]]


class CoOperator(FunctionOperator):
    """Runs a function over two streams without keys."""

    def __init__(self, function: Any, handlers: Handlers) -> None:
        super().__init__(function)
        self._processes = handlers(function)

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._timer_service = NonKeyedTimerService(context.task.clock)
        self._element_context = ElementContext(self._timer_service)

    def input_handler(self, input_index: int) -> BatchHandler:
        """The method for batches of one input."""
        process = self._processes[input_index]

        def handle(values: list[Any], timestamps: list[int] | None) -> None:
            self.records_in += len(values)
            run_unkeyed(process, self._element_context, values, timestamps, self.results, self.guard)

        return handle

    def process_watermark(self, watermark: int) -> None:
        self._timer_service.watermark = watermark
        super().process_watermark(watermark)


class KeyedCoOperator(TimedKeyedOperator):
    """Runs a function over two keyed streams."""

    def __init__(self, function: Any, key_selectors: tuple[KeySelector, KeySelector], handlers: Handlers) -> None:
        super().__init__(function, *key_selectors)
        self._processes = handlers(function)

    def input_handler(self, input_index: int) -> BatchHandler:
        """The method for batches of one input."""
        process = self._processes[input_index]

        def handle(values: list[Any], timestamps: list[int] | None) -> None:
            self.process_records(process, values, timestamps, input_index)

        return handle


def create_co_map(operation: CoMap) -> FunctionOperator:
    """The operator for a CoMapFunction."""
    return _create(operation.function, operation.key_selectors, _map_handlers)


def create_co_flat_map(operation: CoFlatMap) -> FunctionOperator:
    """The operator for a CoFlatMapFunction."""
    return _create(operation.function, operation.key_selectors, _flat_map_handlers)


def create_co_process(operation: CoProcess) -> FunctionOperator:
    """The operator for a (Keyed)CoProcessFunction."""
    return _create(operation.function, operation.key_selectors, lambda f: (f.process_element1, f.process_element2))


def _create(
    function: Any, key_selectors: tuple[KeySelector, KeySelector] | None, handlers: Handlers
) -> FunctionOperator:
    if key_selectors is None:
        return CoOperator(function, handlers)
    return KeyedCoOperator(function, key_selectors, handlers)


def _map_handlers(function: Any) -> tuple[ProcessElement, ProcessElement]:
    return _mapping(function.map1), _mapping(function.map2)


def _mapping(map_value: Callable[[Any], Any]) -> ProcessElement:
    def process(value: Any, _context: Any) -> tuple[Any, ...]:
        result = map_value(value)
        # PyFlink drops a None here, unlike in a map over one stream.
        return () if result is None else (result,)

    return process


def _flat_map_handlers(function: Any) -> tuple[ProcessElement, ProcessElement]:
    flat_map1, flat_map2 = function.flat_map1, function.flat_map2
    return lambda value, _context: flat_map1(value), lambda value, _context: flat_map2(value)
