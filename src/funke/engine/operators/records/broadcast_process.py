"""Functions over a stream that is connected with a broadcast stream."""

from __future__ import annotations

from typing import Any

from funke.engine.graph.operations import BroadcastProcess
from funke.engine.operators.function_operator import FunctionOperator
from funke.engine.operators.functions.broadcast_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from funke.engine.operators.functions.runtime_context import TimerService
from funke.engine.operators.keyed.keyed_process import TimedKeyedOperator
from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.records.co_operators import BatchHandler
from funke.engine.operators.records.record_loops import run_unkeyed
from funke.engine.operators.time.timers import NonKeyedTimerService
from funke.engine.state.descriptors import MapStateDescriptor
from funke.engine.state.function_states import FunctionStates
from funke.engine.state.interfaces import BroadcastState, ReadOnlyBroadcastState
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.storage_keys import original_key
from funke.engine.types.time_domain import TimeDomain
from funke.engine.types.watermark_spec import NO_TIMESTAMP

__all__ = ["BroadcastOperator", "KeyedBroadcastOperator", "create_broadcast_process"]


class _Side:
    """What the contexts of both sides can ask."""

    def __init__(self, timer_service: TimerService, states: FunctionStates) -> None:
        self._timer_service = timer_service
        self._states = states
        self.element_timestamp = NO_TIMESTAMP

    def timestamp(self) -> int:
        """Return the timestamp of the element or of the firing timer."""
        return self.element_timestamp

    def current_processing_time(self) -> int:
        """Return the processing time in milliseconds."""
        return self._timer_service.current_processing_time()

    def current_watermark(self) -> int:
        """Return the watermark in milliseconds."""
        return self._timer_service.current_watermark()


class BroadcastSide(_Side, BroadcastProcessFunction.Context, KeyedBroadcastProcessFunction.Context):
    """The context of `process_broadcast_element`."""

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        return self._states.store.get_broadcast_state(state_descriptor)


class DataSide(_Side, BroadcastProcessFunction.ReadOnlyContext):
    """The context of `process_element` on a stream without keys."""

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        return self._states.store.broadcasts.get_read_only(state_descriptor)


class KeyedDataSide(_Side, KeyedBroadcastProcessFunction.OnTimerContext):
    """The context of `process_element` and `on_timer` on a keyed stream."""

    firing_domain = TimeDomain.EVENT_TIME

    def __init__(self, timer_service: TimerService, states: FunctionStates, backend: KeyedBackend) -> None:
        super().__init__(timer_service, states)
        self._backend = backend

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        """Return the broadcast state for reading."""
        return self._states.store.broadcasts.get_read_only(state_descriptor)

    def timer_service(self) -> TimerService:
        return self._timer_service

    def get_current_key(self) -> Any:
        return original_key(self._backend.current_key)

    def time_domain(self) -> TimeDomain:
        return self.firing_domain


class BroadcastOperator(FunctionOperator):
    """Runs a BroadcastProcessFunction."""

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._timer_service = NonKeyedTimerService(context.task.clock)

    def input_handler(self, input_index: int) -> BatchHandler:
        """The method for batches of one input."""
        is_data = input_index == 0
        process = self.function.process_element if is_data else self.function.process_broadcast_element
        context = (DataSide if is_data else BroadcastSide)(self._timer_service, self.states)

        def handle(values: list[Any], timestamps: list[int] | None) -> None:
            self.records_in += len(values)
            run_unkeyed(process, context, values, timestamps, self.results, self.guard)

        return handle

    def process_watermark(self, watermark: int) -> None:
        self._timer_service.watermark = watermark
        super().process_watermark(watermark)


class KeyedBroadcastOperator(TimedKeyedOperator):
    """Runs a KeyedBroadcastProcessFunction."""

    def create_contexts(self) -> tuple[Any, Any]:
        service, states, backend = self.timer_service, self.states, self.backend
        return KeyedDataSide(service, states, backend), KeyedDataSide(service, states, backend)

    def input_handler(self, input_index: int) -> BatchHandler:
        """The method for batches of one input."""
        return self._process_data if input_index == 0 else self._process_broadcast

    def _process_data(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.process_records(self.function.process_element, values, timestamps)

    def _process_broadcast(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        context = BroadcastSide(self.timer_service, self.states)
        process = self.function.process_broadcast_element
        run_unkeyed(process, context, values, timestamps, self.results, self.guard)


def create_broadcast_process(operation: BroadcastProcess) -> FunctionOperator:
    """The operator for a (Keyed)BroadcastProcessFunction."""
    if operation.key_selector is None:
        return BroadcastOperator(operation.function)
    return KeyedBroadcastOperator(operation.function, operation.key_selector)
