"""A store that hands out every kind of keyed state in one way."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

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
    ValueState,
)

__all__ = ["KeyedStates"]


class KeyedStates(KeyedStateStore):
    """State of the current key; a subclass says where it is, or why there is none."""

    @abstractmethod
    def _state(self, descriptor: StateDescriptor) -> Any:
        """Return the handle on a state."""

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        return self._state(state_descriptor)  # type: ignore[no-any-return]
