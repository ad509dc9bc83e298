"""What operators need of a keyed state backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from funke.engine.state.descriptors import StateDescriptor

__all__ = ["KeyedBackend"]


class KeyedBackend(ABC):
    """Keeps state by key, and by namespace (a window) where there is one.

    `current_key` is the key that all state handles look at, in its stored form (see `storage_keys`). Loops over
    records assign it directly; everybody else calls `set_current_key`.
    """

    current_key: Any

    @abstractmethod
    def set_current_key(self, key: Any) -> None:
        """Points all handles at a key as the user knows it."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """The current key as the user knows it."""

    @abstractmethod
    def get_state(self, descriptor: StateDescriptor, namespace: Hashable = None) -> Any:
        """The handle for a state: a ValueState, ListState, … after the kind of the descriptor.

        A handle with a namespace is good until the next `prune`.
        """

    @abstractmethod
    def merge_namespaces(self, descriptor: StateDescriptor, target: Hashable, sources: Iterable[Hashable]) -> None:
        """Moves the current key's list, reducing or aggregating state of all `sources` into `target`."""

    @abstractmethod
    def drop_key(self, key: Any) -> None:
        """Forgets all state of a stored key."""

    @abstractmethod
    def prune(self) -> None:
        """Lets go of namespaces without state; called between epochs."""

    @abstractmethod
    def snapshot(self) -> dict[int, Any]:
        """All state by key group; what it holds is still in use, so pickle it before the next record."""

    @abstractmethod
    def restore(self, parts: Mapping[int, Any]) -> None:
        """Takes back key groups that `snapshot` gave; called before any state is used."""
