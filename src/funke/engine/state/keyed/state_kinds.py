"""The kinds of keyed state; a name stands for one kind only, in a job and in the snapshots it starts from."""

from __future__ import annotations

from funke.engine.errors import StateError
from funke.engine.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)

__all__ = ["kind_of", "require_kind"]

_KINDS: dict[type[StateDescriptor], str] = {
    ValueStateDescriptor: "value",
    ListStateDescriptor: "list",
    MapStateDescriptor: "map",
    ReducingStateDescriptor: "reducing",
    AggregatingStateDescriptor: "aggregating",
}


def kind_of(descriptor: StateDescriptor) -> str:
    """The kind of state that a descriptor describes."""
    kind = _KINDS.get(type(descriptor))
    if kind is not None:
        return kind
    for descriptor_class, name in _KINDS.items():
        if isinstance(descriptor, descriptor_class):
            return name
    raise StateError(f"'{descriptor!r}' is not a supported state descriptor")


def require_kind(descriptor: StateDescriptor, kinds: dict[str, str]) -> str:
    """The kind of a state, noted in `known`; StateError when its name stands there for another kind."""
    kind = kind_of(descriptor)
    if kinds.setdefault(descriptor.name, kind) != kind:
        raise StateError(
            f"state '{descriptor.name}' is already a {kinds[descriptor.name]} state, in this job or in the snapshot "
            f"it starts from, and cannot be used as a {kind} state; give each state its own name"
        )
    return kind
