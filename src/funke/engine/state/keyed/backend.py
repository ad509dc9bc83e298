"""What operators need of a keyed state backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from typing import Any

from funke.engine.errors import StateError
from funke.engine.state.descriptors import StateDescriptor
from funke.engine.state.keyed.timer_queue import TimerQueue, Timers
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile, TableId
from funke.engine.state.snapshot.part_chunks import joined_parts
from funke.engine.state.state_types import StateTypes
from funke.engine.state.storage_keys import original_key, storage_key

__all__ = ["KeyedBackend"]


class KeyedBackend(ABC):
    """Keeps state by key, and by namespace (a window) where there is one.

    `current_key` is the key that all state handles look at, in its stored form (see `storage_keys`). Loops over
    records assign it directly; all others call `set_current_key`.
    """

    current_key: Any
    # The types that states are declared with.
    types: StateTypes
    # Whether tables are in memory as a whole: then entries can be changed in place, and sizes are known.
    is_in_memory: bool = True

    def set_current_key(self, key: Any) -> None:
        """Points all handles at a key as the user knows it."""
        self.current_key = storage_key(key)

    def get_current_key(self) -> Any:
        """The current key as the user knows it."""
        return original_key(self.current_key)

    @abstractmethod
    def get_state(self, descriptor: StateDescriptor, namespace: Hashable = None) -> Any:
        """The handle for a state: a ValueState, ListState, … after the kind of the descriptor.

        A handle with a namespace is good until the next `prune`.
        """

    def create_timers(self, number: int, has_namespaces: bool) -> Timers:
        """An empty queue of timers for stored keys, or for (stored key, namespace); each number is asked for once."""
        return TimerQueue()

    def merge_namespaces(self, descriptor: StateDescriptor, target: Hashable, sources: Iterable[Hashable]) -> None:
        """Moves the current key's list, reducing or aggregating state of all `sources` into `target`."""
        key = self.current_key
        tables = [self.get_state(descriptor, source).table for source in sources if source != target]
        parts = [table.pop(key) for table in tables if key in table]
        if not parts:
            return
        handle = self.get_state(descriptor, target)
        merged = parts[0]
        for part in parts[1:]:
            merged = handle.merge(merged, part)
        handle.table[key] = handle.merge(handle.table[key], merged) if key in handle.table else merged

    def prefetch(self, keys: list[Any]) -> None:
        """The stored keys of a batch that is about to be processed: what they have may be read at once."""

    @abstractmethod
    def drop_key(self, key: Any) -> None:
        """Forgets all state of a stored key."""

    @abstractmethod
    def prune(self) -> None:
        """Lets go of namespaces without state; called between epochs."""

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """A checkpoint begins: makes sure that `snapshot_parts` finds the state as it is now."""

    @abstractmethod
    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        """All state by key group, in chunks; changes nothing. What it yields is still in use."""

    def snapshot(self) -> dict[int, dict[TableId, dict[Any, Any]]]:
        """All state by key group in one piece, for state that is known to be small."""
        self.prepare_snapshot(0)
        return {group: part.tables for group, part in joined_parts(self.snapshot_parts()).items()}

    def native_files(self) -> tuple[LocalFile, ...]:
        """The backend's own files as of the last `prepare_snapshot`; none if it has no format of its own."""
        return ()

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        """Takes back key groups from folders with such files, one for each old subtask; in place of `restore`."""
        raise StateError(f"{type(self).__name__} cannot read files of another state backend; start from a savepoint")

    @abstractmethod
    def restore(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        """Takes back state that `snapshot_parts` gave, timers left aside; called before any state is used."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """A checkpoint is complete: what older ones needed may go."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """A checkpoint was given up: what it needed may go."""

    def close(self) -> None:
        """Lets go of everything; called once, also after a failure."""
