"""State that belongs to an operator's subtasks instead of keys: lists, union lists and broadcast maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from funke.engine.state.broadcast_state import BroadcastStateStore, HeapBroadcastState
from funke.engine.state.descriptors import ListStateDescriptor, MapStateDescriptor
from funke.engine.state.interfaces import ListState, OperatorStateStore

__all__ = ["HeapOperatorListState", "HeapOperatorStateStore", "OperatorStateSnapshot", "redistribute"]


@dataclass
class OperatorStateSnapshot:
    """The operator state of one subtask; entries of `lists` are dealt out on restore, `unions` go to everybody."""

    lists: dict[str, list[Any]] = field(default_factory=dict)
    unions: dict[str, list[Any]] = field(default_factory=dict)
    broadcasts: dict[str, dict[Any, Any]] = field(default_factory=dict)


class HeapOperatorListState(ListState[Any]):
    """A list that belongs to one subtask."""

    def __init__(self, elements: list[Any]) -> None:
        self.elements = elements

    def get(self) -> list[Any]:
        """Return the elements."""
        return self.elements.copy()

    def add(self, value: Any) -> None:
        """Append one element."""
        self.elements.append(value)

    def add_all(self, values: list[Any]) -> None:
        """Append all elements."""
        self.elements.extend(values)

    def update(self, values: list[Any]) -> None:
        """Replace the list."""
        self.elements = list(values)

    def clear(self) -> None:
        """Remove all elements."""
        self.elements = []


class HeapOperatorStateStore(OperatorStateStore):
    """The operator state of one subtask."""

    def __init__(self, restored: OperatorStateSnapshot | None = None) -> None:
        self.is_restored = restored is not None
        start = restored or OperatorStateSnapshot()
        self._lists = {name: HeapOperatorListState(list(found)) for name, found in start.lists.items()}
        self._unions = {name: HeapOperatorListState(list(found)) for name, found in start.unions.items()}
        self._broadcasts = BroadcastStateStore()
        self._broadcasts.restore(start.broadcasts)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> HeapOperatorListState:
        """A list whose elements are spread over the subtasks when the parallelism changes."""
        return self._lists.setdefault(state_descriptor.name, HeapOperatorListState([]))

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> HeapOperatorListState:
        """A list that every subtask gets back in full."""
        return self._unions.setdefault(state_descriptor.name, HeapOperatorListState([]))

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> HeapBroadcastState:
        """A map that is the same in every subtask."""
        return self._broadcasts.get_broadcast_state(state_descriptor)

    def snapshot(self) -> OperatorStateSnapshot:
        """Everything this subtask holds."""
        return OperatorStateSnapshot(
            {name: state.get() for name, state in self._lists.items()},
            {name: state.get() for name, state in self._unions.items()},
            {name: dict(entries) for name, entries in self._broadcasts.snapshot().items()},
        )


def redistribute(snapshots: Sequence[OperatorStateSnapshot], parallelism: int) -> list[OperatorStateSnapshot]:
    """Deals the state of all old subtasks out to `parallelism` new ones."""
    shares = [OperatorStateSnapshot() for _ in range(parallelism)]
    for name, elements in _joined(snapshot.lists for snapshot in snapshots).items():
        for position, share in enumerate(shares):
            share.lists[name] = elements[position::parallelism]
    unions = _joined(snapshot.unions for snapshot in snapshots)
    broadcasts = next((snapshot.broadcasts for snapshot in snapshots if snapshot.broadcasts), {})
    for share in shares:
        share.unions = {name: list(elements) for name, elements in unions.items()}
        share.broadcasts = {name: dict(entries) for name, entries in broadcasts.items()}
    return shares


def _joined(parts: Any) -> dict[str, list[Any]]:
    joined: dict[str, list[Any]] = {}
    for part in parts:
        for name, elements in part.items():
            joined.setdefault(name, []).extend(elements)
    return joined
