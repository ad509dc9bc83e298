"""The state handles a user function works with; each state backend supplies its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from funke.engine.state.descriptors import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        ValueStateDescriptor,
    )

__all__ = [
    "AggregatingState",
    "AppendingState",
    "BroadcastState",
    "KeyedStateStore",
    "ListState",
    "MapState",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "State",
    "ValueState",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class OperatorStateStore(ABC):
    """Gives access to state that belongs to an operator instead of a key."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[K, V]:
        """Return the broadcast state described by `state_descriptor`."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[T]:
        """Return a list whose elements are dealt out to the subtasks anew when the parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[T]:
        """Return a list that every subtask gets back with the elements of all subtasks."""

    @abstractmethod
    def get_registered_state_names(self) -> set[str]:
        """Return the names of the list states there are."""

    @abstractmethod
    def get_registered_broadcast_state_names(self) -> set[str]:
        """Return the names of the broadcast states there are."""


class KeyedStateStore(ABC):
    """Gives access to state of the current key."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[T]:
        """Return a handle on one value per key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[T]:
        """Return a handle on one list per key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[K, V]:
        """Return a handle on one map per key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[T]:
        """Return a handle on one value per key that a reduce function keeps up to date."""

    @abstractmethod
    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[IN, OUT]:
        """Return a handle on one accumulator per key that an aggregate function keeps up to date."""


class State(ABC):
    """What all kinds of state have in common."""

    @abstractmethod
    def clear(self) -> None:
        """Forget what is stored for the current key."""


class ValueState(State, Generic[T]):
    """One value per key."""

    @abstractmethod
    def value(self) -> T | None:
        """Return the value, or None when there is none."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Replace the value; None clears it."""


class AppendingState(State, Generic[IN, OUT]):
    """State that grows by adding elements."""

    @abstractmethod
    def get(self) -> OUT | None:
        """Return what the added elements amount to."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add one element."""


class MergingState(AppendingState[IN, OUT]):
    """Appending state whose contents of two windows can be merged."""


class ReducingState(MergingState[T, T]):
    """Elements are combined by a reduce function as they are added."""


class AggregatingState(MergingState[IN, OUT]):
    """Elements are folded into an accumulator; reading yields the aggregate's result."""


class ListState(MergingState[T, Iterable[T]]):
    """A list of elements per key."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replace the list."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Append all elements of `values`."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get() or ())


class _ReadableMap(State, Generic[K, V]):
    """Reading access that map state and broadcast state share."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Return the value of `key`, or None."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Tell whether there is an entry for `key`."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Iterate over the entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Iterate over the keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Iterate over the values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Tell whether there is no entry."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class _WritableMap(_ReadableMap[K, V]):
    """Writing access that map state and broadcast state share."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of `key`."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set all entries of `dict_value`."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove the entry of `key`, if any."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class MapState(_WritableMap[K, V]):
    """A map per key."""

    def get_internal_state(self) -> MapState[K, V]:
        """Return the map itself; in PyFlink, programs find the map of the current key here."""
        return self


class ReadOnlyBroadcastState(_ReadableMap[K, V]):
    """Broadcast state as the side that is not broadcast sees it."""


class BroadcastState(_WritableMap[K, V], ReadOnlyBroadcastState[K, V]):
    """A map that every subtask of an operator holds in full."""
