"""The service through which functions set timers."""

from __future__ import annotations

from typing import NoReturn

from funke.engine.errors import StateError
from funke.engine.operators.functions.runtime_context import TimerService
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.operators.time.clock import Clock
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.keyed.timer_queue import EVENT_TIME, PROCESSING_TIME

__all__ = ["KeyedTimerService", "NonKeyedTimerService"]


class KeyedTimerService(TimerService):
    """Sets timers for the backend's current key; knows both clocks."""

    def __init__(self, backend: KeyedBackend, clock: Clock, has_namespaces: bool = False) -> None:
        self._backend = backend
        self._clock = clock
        self.watermark = MIN_WATERMARK
        self.event_timers = backend.create_timers(EVENT_TIME, has_namespaces)
        self.processing_timers = backend.create_timers(PROCESSING_TIME, has_namespaces)

    def current_processing_time(self) -> int:
        return self._clock.now_ms()

    def current_watermark(self) -> int:
        return self.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        self.processing_timers.register(timestamp, self._backend.current_key)

    def register_event_time_timer(self, timestamp: int) -> None:
        self.event_timers.register(timestamp, self._backend.current_key)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self.processing_timers.delete(timestamp, self._backend.current_key)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self.event_timers.delete(timestamp, self._backend.current_key)


class NonKeyedTimerService(TimerService):
    """Knows both clocks; timers need a key."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.watermark = MIN_WATERMARK

    def current_processing_time(self) -> int:
        return self._clock.now_ms()

    def current_watermark(self) -> int:
        return self.watermark

    def register_processing_time_timer(self, timestamp: int) -> NoReturn:
        raise StateError("Register timers is only supported on a keyed stream; call key_by() before process()")

    def register_event_time_timer(self, timestamp: int) -> NoReturn:
        raise StateError("Register timers is only supported on a keyed stream; call key_by() before process()")

    def delete_processing_time_timer(self, timestamp: int) -> NoReturn:
        raise StateError("Deleting timers is only supported on a keyed stream; call key_by() before process()")

    def delete_event_time_timer(self, timestamp: int) -> NoReturn:
        raise StateError("Deleting timers is only supported on a keyed stream; call key_by() before process()")
