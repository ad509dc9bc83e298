"""What assigners, triggers, evictors and window functions are given; one object of each serves a whole operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from funke.engine.errors import StateError
from funke.engine.operators.functions.runtime_context import RuntimeContext
from funke.engine.operators.timers import KeyedTimerService
from funke.engine.operators.windowing.assigner import WindowAssigner
from funke.engine.operators.windowing.evictor import Evictor
from funke.engine.operators.windowing.trigger import Trigger
from funke.engine.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from funke.engine.state.interfaces import (
    AggregatingState,
    KeyedStateStore,
    ListState,
    MapState,
    ReducingState,
    State,
    ValueState,
)
from funke.engine.state.keyed_backend import KeyedBackend

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
        """Return the processing time in milliseconds."""
        return self._timer_service.current_processing_time()

    def get_runtime_context(self) -> RuntimeContext:
        """Return the context of the operator, with state of the current key."""
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
        """Return the processing time in milliseconds."""
        return self._timer_service.current_processing_time()

    def get_metric_group(self) -> Any:
        """Return the group in which the trigger registers its metrics."""
        return self._metric_group

    def get_current_watermark(self) -> int:
        """Return the watermark in milliseconds."""
        return self._timer_service.watermark

    def register_processing_time_timer(self, time: int) -> None:
        """Call `on_processing_time` when processing time reaches `time`."""
        self._timer_service.processing_timers.register(time, (self._backend.current_key, self.window))

    def register_event_time_timer(self, time: int) -> None:
        """Call `on_event_time` when the watermark reaches `time`."""
        self._timer_service.event_timers.register(time, (self._backend.current_key, self.window))

    def delete_processing_time_timer(self, time: int) -> None:
        """Remove the processing-time timer at `time`, if any."""
        self._timer_service.processing_timers.delete(time, (self._backend.current_key, self.window))

    def delete_event_time_timer(self, time: int) -> None:
        """Remove the event-time timer at `time`, if any."""
        self._timer_service.event_timers.delete(time, (self._backend.current_key, self.window))

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
        """Return state of this key and window."""
        state: State = self._backend.get_state(state_descriptor, self.window)
        return state

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        """Merge the state of the old windows into that of the new one."""
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
        """Return the processing time in milliseconds."""
        return self._timer_service.current_processing_time()

    def get_metric_group(self) -> Any:
        """Return the group in which the evictor registers its metrics."""
        return self._metric_group

    def get_current_watermark(self) -> int:
        """Return the watermark in milliseconds."""
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


class WindowState(KeyedStateStore):
    """State of the current key and window, which `state_of` finds."""

    def __init__(self, state_of: Callable[[StateDescriptor], Any]) -> None:
        self._state = state_of

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """Return a handle on one value."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Return a handle on one list."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """Return a handle on one map."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """Return a handle on one value that a reduce function keeps up to date."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        """Return a handle on one accumulator."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]


class _NoWindowState(KeyedStateStore):
    """Refuses: windows that merge have no state of their own, because nobody could say how to merge it."""

    @staticmethod
    def _refuse() -> NoReturn:
        raise StateError("Per-window state is not allowed when using merging windows; use global_state()")

    def get_state(self, state_descriptor: ValueStateDescriptor) -> NoReturn:
        """Raise."""
        self._refuse()

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> NoReturn:
        """Raise."""
        self._refuse()

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> NoReturn:
        """Raise."""
        self._refuse()

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> NoReturn:
        """Raise."""
        self._refuse()

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> NoReturn:
        """Raise."""
        self._refuse()
