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
        """Return a handle on one value per key."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Return a handle on one list per key."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """Return a handle on one map per key."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """Return a handle on one value per key that a reduce function keeps up to date."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        """Return a handle on one accumulator per key that an aggregate function keeps up to date."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]
