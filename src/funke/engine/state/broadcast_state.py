"""Broadcast state: one map per descriptor that every subtask holds in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from funke.engine.errors import StateError
from funke.engine.state.descriptors import MapStateDescriptor
from funke.engine.state.interfaces import BroadcastState, ReadOnlyBroadcastState
from funke.engine.state.state_types import StateTypes

__all__ = ["BroadcastStateStore", "HeapBroadcastState", "ReadOnlyBroadcastView"]


class HeapBroadcastState(BroadcastState[Any, Any]):
    """A map in memory; iterating works on a copy, so entries can be removed on the way."""

    def __init__(self, name: str, entries: dict[Any, Any]) -> None:
        self.name = name
        self.entries = entries

    def get(self, key: Any) -> Any:
        return self.entries.get(key)

    def contains(self, key: Any) -> bool:
        """Tell whether `key` has a value; as in PyFlink, None does not count as one."""
        return self.entries.get(key) is not None

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(list(self.entries.items()))

    def keys(self) -> Iterator[Any]:
        return iter(list(self.entries))

    def values(self) -> Iterator[Any]:
        return iter(list(self.entries.values()))

    def is_empty(self) -> bool:
        return not self.entries

    def put(self, key: Any, value: Any) -> None:
        self.entries[key] = value

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        self.entries.update(dict_value)

    def remove(self, key: Any) -> None:
        self.entries.pop(key, None)

    def clear(self) -> None:
        self.entries.clear()


class ReadOnlyBroadcastView(ReadOnlyBroadcastState[Any, Any]):
    """The same map as the side that is not broadcast sees it: every subtask must keep the same entries."""

    def __init__(self, state: HeapBroadcastState) -> None:
        self._state = state

    def get(self, key: Any) -> Any:
        return self._state.get(key)

    def contains(self, key: Any) -> bool:
        return self._state.contains(key)

    def items(self) -> Iterator[tuple[Any, Any]]:
        return self._state.items()

    def keys(self) -> Iterator[Any]:
        return self._state.keys()

    def values(self) -> Iterator[Any]:
        return self._state.values()

    def is_empty(self) -> bool:
        return self._state.is_empty()

    def put(self, key: Any, value: Any) -> NoReturn:
        """Raise: this side may not write."""
        self._reject()

    def put_all(self, dict_value: dict[Any, Any]) -> NoReturn:
        """Raise: this side may not write."""
        self._reject()

    def remove(self, key: Any) -> NoReturn:
        """Raise: this side may not write."""
        self._reject()

    def clear(self) -> NoReturn:
        """Raise: this side may not write."""
        self._reject()

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        self._reject()

    def __delitem__(self, key: Any) -> NoReturn:
        self._reject()

    def _reject(self) -> NoReturn:
        raise StateError(
            f"broadcast state '{self._state.name}' is read-only here; change it in process_broadcast_element()"
        )


class BroadcastStateStore:
    """The broadcast states of one operator by name."""

    def __init__(self, types: StateTypes | None = None) -> None:
        self._types = types or StateTypes()
        # The names that functions have asked for.
        self._declared: set[str] = set()
        self._states: dict[str, HeapBroadcastState] = {}
        self._views: dict[str, ReadOnlyBroadcastView] = {}

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> HeapBroadcastState:
        """The state for reading and writing."""
        # Functions ask for it with every element.
        if state_descriptor.name not in self._declared:
            self._types.declare(state_descriptor.name, state_descriptor.type_info)
            self._declared.add(state_descriptor.name)
        state = self._states.get(state_descriptor.name)
        if state is None:
            state = self._states[state_descriptor.name] = HeapBroadcastState(state_descriptor.name, {})
        return state

    def get_read_only(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastView:
        view = self._views.get(state_descriptor.name)
        if view is None:
            view = self._views[state_descriptor.name] = ReadOnlyBroadcastView(
                self.get_broadcast_state(state_descriptor)
            )
        return view

    def names(self) -> set[str]:
        return set(self._states)

    def snapshot(self) -> dict[str, dict[Any, Any]]:
        """All entries by name of the state."""
        return {name: state.entries for name, state in self._states.items()}

    def restore(self, states: dict[str, dict[Any, Any]]) -> None:
        """Takes back what `snapshot` gave."""
        for name, entries in states.items():
            self._states[name] = HeapBroadcastState(name, dict(entries))
