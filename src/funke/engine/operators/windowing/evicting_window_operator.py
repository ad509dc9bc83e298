"""The window operator with an evictor: it keeps all elements, and combines them only when a window fires."""

from __future__ import annotations

from typing import Any

from funke.engine.graph.operations import Window
from funke.engine.operators.function_operator import method_of
from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.windowing.evictor import TimestampedValue
from funke.engine.operators.windowing.window_contexts import OperatorEvictorContext
from funke.engine.operators.windowing.window_operator import CONTENTS, WindowOperator
from funke.engine.state.descriptors import ListStateDescriptor, StateDescriptor
from funke.engine.types.information.type_information import PickledBytesTypeInfo

__all__ = ["EvictingWindowOperator"]


class EvictingWindowOperator(WindowOperator):
    """Lets the evictor remove elements before and after the window function."""

    def __init__(self, operation: Window) -> None:
        super().__init__(operation)
        self._evictor = operation.evictor
        self._reduce = None if operation.reduce is None else method_of(operation.reduce, "reduce")

    def _describe_contents(self) -> StateDescriptor:
        return ListStateDescriptor(CONTENTS, PickledBytesTypeInfo())

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._evictor_context = OperatorEvictorContext(self.timer_service, self.runtime_context.get_metrics_group())

    def add_element(self, contents: Any, value: Any, timestamp: int | None) -> None:
        """Adds an element with its time."""
        contents.add(TimestampedValue(value, timestamp))

    def fire(self, window: Any, contents: Any, timestamp: int | None) -> None:
        """Evaluates what the evictor leaves; what it removes is gone for good."""
        elements: list[TimestampedValue[Any]] = contents.get()
        if not elements:
            return
        self._evictor.evict_before(elements, len(elements), window, self._evictor_context)
        combined = self._combined([element.value for element in elements])
        if combined is not None:
            self.evaluate(window, combined, timestamp)
        self._evictor.evict_after(elements, len(elements), window, self._evictor_context)
        contents.update(elements)

    def _combined(self, values: list[Any]) -> list[Any] | None:
        """What the window function gets: all values, or the one they are combined to; None when there is none."""
        if self._reduce is not None:
            return self._reduced(values)
        function = self.operation.aggregate
        if function is None:
            return values
        accumulator = function.create_accumulator()
        for value in values:
            accumulator = function.add(value, accumulator)
        return [function.get_result(accumulator)]

    def _reduced(self, values: list[Any]) -> list[Any] | None:
        assert self._reduce is not None
        if not values:
            return None
        reduced = values[0]
        for value in values[1:]:
            reduced = self._reduce(reduced, value)
        return [reduced]
