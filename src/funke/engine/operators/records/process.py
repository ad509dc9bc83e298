"""Process functions on streams without keys."""

from __future__ import annotations

from typing import Any

from funke.engine.operators.contexts import ElementContext
from funke.engine.operators.function_operator import FunctionOperator
from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.records.record_loops import run_unkeyed
from funke.engine.operators.time.timers import NonKeyedTimerService

__all__ = ["ProcessOperator"]


class ProcessOperator(FunctionOperator):
    """Runs a ProcessFunction."""

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._timer_service = NonKeyedTimerService(context.task.clock)
        self._element_context = ElementContext(self._timer_service)

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        run_unkeyed(self.function.process_element, self._element_context, values, timestamps, self.results, self.guard)

    def process_watermark(self, watermark: int) -> None:
        self._timer_service.watermark = watermark
        super().process_watermark(watermark)
