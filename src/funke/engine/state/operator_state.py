"""State that belongs to an operator's subtasks instead of keys: lists, union lists and broadcast maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from funke.engine.errors import StateError
from funke.engine.state.broadcast_state import BroadcastStateStore, HeapBroadcastState
from funke.engine.state.descriptors import ListStateDescriptor, MapStateDescriptor
from funke.engine.state.interfaces import ListState, OperatorStateStore
from funke.engine.state.state_types import StateTypes

__all__ = ["HeapOperatorListState", "HeapOperatorStateStore", "OperatorStateSnapshot", "redistribute", "share_of"]


# Snapshots name this class by its place: it stays in this module, or old savepoints cannot be read.
@dataclass
class OperatorStateSnapshot:
    """The operator state of one subtask; entries of `lists` are dealt out on restore, `unions` go to all subtasks."""

    lists: dict[str, list[Any]] = field(default_factory=dict)
    unions: dict[str, list[Any]] = field(default_factory=dict)
    broadcasts: dict[str, dict[Any, Any]] = field(default_factory=dict)


class HeapOperatorListState(ListState[Any]):
    """A list that belongs to one subtask."""

    def __init__(self, elements: list[Any]) -> None:
        self.elements = elements

    def get(self) -> list[Any]:
        return self.elements.copy()

    def add(self, value: Any) -> None:
        self.elements.append(value)

    def add_all(self, values: list[Any]) -> None:
        self.elements.extend(values)

    def update(self, values: list[Any]) -> None:
        self.elements = list(values)

    def clear(self) -> None:
        self.elements = []


class HeapOperatorStateStore(OperatorStateStore):
    """The operator state of one subtask."""

    def __init__(self, restored: OperatorStateSnapshot | None = None, types: StateTypes | None = None) -> None:
        self._types = types or StateTypes()
        self.is_restored = restored is not None
        start = restored or OperatorStateSnapshot()
        self._lists = {name: HeapOperatorListState(list(elements)) for name, elements in start.lists.items()}
        self._unions = {name: HeapOperatorListState(list(elements)) for name, elements in start.unions.items()}
        self.broadcasts = BroadcastStateStore(self._types)
        self.broadcasts.restore(start.broadcasts)

    @property
    def has_states(self) -> bool:
        """Whether any state was asked for or restored."""
        return bool(self._lists or self._unions or self.broadcasts.names())

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> HeapOperatorListState:
        self._types.declare(state_descriptor.name, state_descriptor.type_info)
        return self._list(state_descriptor.name, "list", self._lists)

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> HeapOperatorListState:
        """A list that every subtask gets back in full."""
        self._types.declare(state_descriptor.name, state_descriptor.type_info)
        return self._list(state_descriptor.name, "union list", self._unions)

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> HeapBroadcastState:
        """A map that is the same in every subtask."""
        # Functions ask for it with every element.
        if state_descriptor.name in self._lists or state_descriptor.name in self._unions:
            self._require_kind(state_descriptor.name, "broadcast")
        return self.broadcasts.get_broadcast_state(state_descriptor)

    def get_registered_state_names(self) -> set[str]:
        return {*self._lists, *self._unions}

    def get_registered_broadcast_state_names(self) -> set[str]:
        return self.broadcasts.names()

    def list_of(self, name: str) -> HeapOperatorListState:
        """A list as `get_list_state` gives it, of the engine's own."""
        return self._list(name, "list", self._lists)

    def snapshot(self) -> OperatorStateSnapshot:
        """Everything this subtask holds."""
        return OperatorStateSnapshot(
            {name: state.get() for name, state in self._lists.items()},
            {name: state.get() for name, state in self._unions.items()},
            {name: dict(entries) for name, entries in self.broadcasts.snapshot().items()},
        )

    def _list(self, name: str, kind: str, lists: dict[str, HeapOperatorListState]) -> HeapOperatorListState:
        self._require_kind(name, kind)
        return lists.setdefault(name, HeapOperatorListState([]))

    def _require_kind(self, name: str, kind: str) -> None:
        states = {"list": self._lists, "union list": self._unions, "broadcast": self.broadcasts.names()}
        for other, names in states.items():
            if other != kind and name in names:
                raise StateError(
                    f"operator state '{name}' is already a {other} state, in this job or in the snapshot it starts "
                    f"from, and cannot be used as a {kind} state; give each state its own name"
                )


def redistribute(snapshots: Sequence[OperatorStateSnapshot], parallelism: int) -> list[OperatorStateSnapshot]:
    """Deals the state of all old subtasks out to `parallelism` new ones."""
    shares = [OperatorStateSnapshot() for _ in range(parallelism)]
    for name, elements in _joined(snapshot.lists for snapshot in snapshots).items():
        for position, share in enumerate(shares):
            share.lists[name] = elements[position::parallelism]
    unions = _joined(snapshot.unions for snapshot in snapshots)
    # All subtasks hold the same.
    broadcasts = next((snapshot.broadcasts for snapshot in snapshots if snapshot.broadcasts), {})
    for share in shares:
        share.unions = {name: list(elements) for name, elements in unions.items()}
        share.broadcasts = {name: dict(entries) for name, entries in broadcasts.items()}
    return shares


def share_of(states: Mapping[int, Any], old_parallelism: int, subtask: int, parallelism: int) -> Any:
    """What a subtask gets of the states that an operator's subtasks had, by number; None if it gets nothing.

    States other than operator state stay where they were: lists are dealt out when the parallelism has changed, and
    anything else goes to all subtasks then.
    """
    if not states:
        return None
    ordered = [states[old] for old in sorted(states)]
    if all(isinstance(state, OperatorStateSnapshot) for state in ordered):
        share = redistribute(ordered, parallelism)[subtask]
        if old_parallelism == parallelism:
            own = states.get(subtask, OperatorStateSnapshot())
            share.lists = {name: list(elements) for name, elements in own.lists.items()}
        return share
    if old_parallelism == parallelism:
        return states.get(subtask)
    if all(isinstance(state, list) for state in ordered):
        return [item for state in ordered for item in state][subtask::parallelism]
    return ordered[0]


def _joined(parts: Any) -> dict[str, list[Any]]:
    joined: dict[str, list[Any]] = {}
    for part in parts:
        for name, elements in part.items():
            joined.setdefault(name, []).extend(elements)
    return joined
