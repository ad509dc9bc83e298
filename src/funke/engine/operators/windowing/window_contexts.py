"""What assigners, triggers, evictors and window functions are given; one object of each serves a whole operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from funke.engine.errors import StateError
from funke.engine.operators.functions.runtime_context import RuntimeContext
from funke.engine.operators.keyed.keyed_states import KeyedStates
from funke.engine.operators.time.timers import KeyedTimerService
from funke.engine.operators.windowing.assigner import WindowAssigner
from funke.engine.operators.windowing.evictor import Evictor
from funke.engine.operators.windowing.trigger import Trigger
from funke.engine.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from funke.engine.state.interfaces import KeyedStateStore, State
from funke.engine.state.keyed.backend import KeyedBackend

__all__ = [
    "OperatorAssignerContext",
    "OperatorEvictorContext",
    "OperatorTriggerContext",
    "OperatorWindowContext",
    "WindowState",
]

_MERGEABLE = (ListStateDescriptor, ReducingStateDescriptor, AggregatingStateDescriptor)


class OperatorAssignerContext(WindowAssigner.WindowAssignerContext):
    """The context of assigners."""

    def __init__(self, timer_service: KeyedTimerService, runtime_context: RuntimeContext) -> None:
        self._timer_service = timer_service
        self._runtime_context = runtime_context

    def get_current_processing_time(self) -> int:
        return self._timer_service.current_processing_time()

    def get_runtime_context(self) -> RuntimeContext:
        return self._runtime_context


class OperatorTriggerContext(Trigger.OnMergeContext):
    """The context of triggers: state and timers of the backend's current key and of `window`."""

    def __init__(self, timer_service: KeyedTimerService, backend: KeyedBackend, metric_group: Any) -> None:
        self._timer_service = timer_service
        self._backend = backend
        self._metric_group = metric_group
        self.window: Any = None
        self.merged_windows: list[Any] = []

    def get_current_processing_time(self) -> int:
        return self._timer_service.current_processing_time()

    def get_metric_group(self) -> Any:
        return self._metric_group

    def get_current_watermark(self) -> int:
        return self._timer_service.watermark

    def register_processing_time_timer(self, time: int) -> None:
        self._timer_service.processing_timers.register(time, (self._backend.current_key, self.window))

    def register_event_time_timer(self, time: int) -> None:
        self._timer_service.event_timers.register(time, (self._backend.current_key, self.window))

    def delete_processing_time_timer(self, time: int) -> None:
        self._timer_service.processing_timers.delete(time, (self._backend.current_key, self.window))

    def delete_event_time_timer(self, time: int) -> None:
        self._timer_service.event_timers.delete(time, (self._backend.current_key, self.window))

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
        state: State = self._backend.get_state(state_descriptor, self.window)
        return state

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        if not isinstance(state_descriptor, _MERGEABLE):
            raise StateError(
                f"a trigger can merge list, reducing and aggregating state, but '{state_descriptor.name}' is described "
                f"by a {type(state_descriptor).__name__}"
            )
        self._backend.merge_namespaces(state_descriptor, self.window, self.merged_windows)


class OperatorEvictorContext(Evictor.EvictorContext):
    """The context of evictors."""

    def __init__(self, timer_service: KeyedTimerService, metric_group: Any) -> None:
        self._timer_service = timer_service
        self._metric_group = metric_group

    def get_current_processing_time(self) -> int:
        return self._timer_service.current_processing_time()

    def get_metric_group(self) -> Any:
        return self._metric_group

    def get_current_watermark(self) -> int:
        return self._timer_service.watermark


class OperatorWindowContext:
    """Answers the questions that window functions ask of their context, for `window`."""

    def __init__(
        self,
        timer_service: KeyedTimerService,
        backend: KeyedBackend,
        global_state: KeyedStateStore,
        is_merging: bool,
    ) -> None:
        self._timer_service = timer_service
        self._global_state = global_state
        self.window: Any = None
        self._window_state: KeyedStateStore = (
            _NoWindowState()
            if is_merging
            else WindowState(lambda descriptor: backend.get_state(descriptor, self.window))
        )

    def current_processing_time(self) -> int:
        """Return the processing time in milliseconds."""
        return self._timer_service.current_processing_time()

    def current_watermark(self) -> int:
        """Return the watermark in milliseconds."""
        return self._timer_service.watermark

    def window_state(self) -> KeyedStateStore:
        """Return state of the current key and window."""
        return self._window_state

    def global_state(self) -> KeyedStateStore:
        """Return state of the current key."""
        return self._global_state


class WindowState(KeyedStates):
    """State of the current key and window, which `state_of` finds."""

    def __init__(self, state_of: Callable[[StateDescriptor], Any]) -> None:
        self._state_of = state_of

    def _state(self, descriptor: StateDescriptor) -> Any:
        return self._state_of(descriptor)


class _NoWindowState(KeyedStates):
    """Not possible: merging windows have no state of their own, because there is no rule for merging it."""

    def _state(self, descriptor: StateDescriptor) -> NoReturn:
        raise StateError("Per-window state is not allowed when using merging windows; use global_state()")
