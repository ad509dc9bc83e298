"""State by key whose entries are rows of columns; a batch fetches the entries of its distinct keys and stores them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.engine.sql.state.key_index import Keys
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["ColumnLayout", "DirectEntries", "Fetched", "KeyedColumns", "KeyedTable"]

# Arrays (of numbers, or of objects) with one entry for each key.
Columns = tuple[Any, ...]


@dataclass(frozen=True)
class ColumnLayout:
    """The columns of a state under one name: `create` gives those of so many keys that are not there yet."""

    name: str
    create: Callable[[int], Columns]
    # How long an entry lives after it was last stored; 0 is forever.
    ttl_ms: int = 0


@dataclass(frozen=True)
class Fetched:
    """The entries of some keys, in their order; the caller stores them before it fetches the next ones."""

    keys: Keys
    columns: Columns
    # Which keys had an entry (that had not expired).
    is_known: Array
    namespace: Hashable
    # What the state remembers of where they stand.
    indexes: Any = None


@dataclass(frozen=True)
class DirectEntries:
    """Entries where they stand: loops change them in place."""

    # By row: the index of the entry of its key.
    indexes: Array
    # The same object as long as they stand where they are.
    columns: Columns
    # By index: 1 where a key had an entry; 0 for entries that are new, where a loop notes that they are there now.
    is_known: Array


class KeyedTable(ABC):
    """State by key, as checkpoints see it."""

    @abstractmethod
    def prune(self) -> None:
        """Removes some of what has expired; called between epochs."""

    @abstractmethod
    def snapshot_parts(self) -> Iterator[tuple[int, GroupPart]]:
        """All entries by key group, in chunks; as of the last `prepare_snapshot`."""

    @abstractmethod
    def restore(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        """Takes back what `snapshot_parts` gave, of either backend; called before anything is fetched."""

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """A checkpoint begins."""

    def native_files(self) -> tuple[LocalFile, ...]:
        """Files that hold the state as of the last `prepare_snapshot`, if the backend has any."""
        return ()

    @abstractmethod
    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        """Takes back key groups from folders with such files."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """A checkpoint is complete."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """A checkpoint was given up."""

    def close(self) -> None:
        """Releases files and memory."""


class KeyedColumns(KeyedTable):
    """Entries by stored key (see `storage_keys`), and by namespace (a window) where there is one."""

    @abstractmethod
    def fetch(self, keys: Keys, namespace: Hashable = None) -> Fetched:
        """The entries of keys, each of which occurs once; integers may come as an array of int64."""

    def direct(self, keys: Array) -> DirectEntries | None:
        """The entries of integers, one for each row, with new ones for keys that have none; None if they stand in no
        arrays, or may expire.
        """
        return None

    @abstractmethod
    def store(self, fetched: Fetched, columns: Columns, kept: Array | None = None) -> None:
        """Puts the entries of what was fetched; where `kept` (an array of booleans) is false, the entry goes."""

    @abstractmethod
    def entries(self, namespace: Hashable) -> tuple[list[Any], Columns]:
        """All entries of a namespace."""

    @abstractmethod
    def drop(self, namespace: Hashable) -> None:
        """Removes all entries of a namespace."""

    def beside(self, layout: ColumnLayout) -> KeyedColumns:
        """Another state of the same backend, whose snapshots hold both."""
        raise NotImplementedError
