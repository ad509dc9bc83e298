"""Process functions on keyed streams: state and timers of the current key."""

from __future__ import annotations

from typing import Any

from funke.engine.operators.contexts import KeyedElementContext, KeyedTimerContext
from funke.engine.operators.keyed.keyed_operator import KeyedOperator
from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.records.record_loops import ProcessElement, run_keyed
from funke.engine.types.time_domain import TimeDomain

__all__ = ["KeyedProcessOperator", "TimedKeyedOperator"]


class TimedKeyedOperator(KeyedOperator):
    """A keyed operator whose function has `on_timer`; results of a timer carry the timer's time."""

    element_context: Any
    timer_context: Any

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self.element_context, self.timer_context = self.create_contexts()

    def create_contexts(self) -> tuple[Any, Any]:
        """The contexts for elements and for timers."""
        service, backend = self.timer_service, self.backend
        return KeyedElementContext(service, backend), KeyedTimerContext(service, backend)

    def process_records(
        self, process: ProcessElement, values: list[Any], timestamps: list[int] | None, input_index: int = 0
    ) -> None:
        """Processes every record of one input under its key."""
        self.records_in += len(values)
        keys = self.keys_of(values, input_index)
        run_keyed(process, self.element_context, self.backend, keys, values, timestamps, self.results, self.guard)

    def on_event_timer(self, time: int, entry: Any) -> None:
        self._on_timer(time, entry, TimeDomain.EVENT_TIME)

    def on_processing_timer(self, time: int, entry: Any) -> None:
        self._on_timer(time, entry, TimeDomain.PROCESSING_TIME)

    def _on_timer(self, time: int, key: Any, domain: TimeDomain) -> None:
        self.backend.current_key = key
        context = self.timer_context
        context.element_timestamp = time
        context.firing_domain = domain
        results = self.function.on_timer(time, context)
        if results is not None:
            self.results.take(results, time)


class KeyedProcessOperator(TimedKeyedOperator):
    """Runs a KeyedProcessFunction."""

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.process_records(self.function.process_element, values, timestamps)
