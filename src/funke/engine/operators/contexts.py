"""The contexts that process functions are given; one object serves all records of an operator."""

from __future__ import annotations

from typing import Any

from funke.engine.operators.functions.process_functions import (
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from funke.engine.operators.functions.runtime_context import TimerService
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.storage_keys import KeyStandIn
from funke.engine.types.time_domain import TimeDomain
from funke.engine.types.watermark_spec import NO_TIMESTAMP

__all__ = ["ElementContext", "KeyedElementContext", "KeyedTimerContext"]


class ElementContext(ProcessFunction.Context, CoProcessFunction.Context):
    """The context of functions on streams without keys. As in PyFlink, a record without timestamp has NO_TIMESTAMP."""

    def __init__(self, timer_service: TimerService) -> None:
        self._timer_service = timer_service
        self.element_timestamp = NO_TIMESTAMP

    def timer_service(self) -> TimerService:
        """Return the service that reads the clocks."""
        return self._timer_service

    def timestamp(self) -> int:
        return self.element_timestamp


class KeyedElementContext(KeyedProcessFunction.Context, KeyedCoProcessFunction.Context):
    """The context of functions on keyed streams."""

    def __init__(self, timer_service: TimerService, backend: KeyedBackend) -> None:
        self._timer_service = timer_service
        self._backend = backend
        self.element_timestamp = NO_TIMESTAMP

    def timer_service(self) -> TimerService:
        return self._timer_service

    def timestamp(self) -> int:
        return self.element_timestamp

    def get_current_key(self) -> Any:
        key = self._backend.current_key
        return key.original if type(key) is KeyStandIn else key


class KeyedTimerContext(
    KeyedElementContext, KeyedProcessFunction.OnTimerContext, KeyedCoProcessFunction.OnTimerContext
):
    """The context of a firing timer."""

    firing_domain = TimeDomain.EVENT_TIME

    def time_domain(self) -> TimeDomain:
        return self.firing_domain
