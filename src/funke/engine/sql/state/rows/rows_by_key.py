"""Some rows of each key, which has a number from 0 on; what comes in changes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.columns.arrays import Array

__all__ = ["RowsByKey"]

Changes = TypeVar("Changes")


class RowsByKey(ABC, Generic[Changes]):
    """Rows that no key has any more take room until the others are packed."""

    @abstractmethod
    def clear(self) -> None:
        """Forgets everything."""

    @property
    @abstractmethod
    def gone(self) -> int:
        """How many rows take room that no key has."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many rows take room."""

    @abstractmethod
    def reserve_keys(self, count: int) -> None:
        """There may be so many keys."""

    @abstractmethod
    def take_in(self, data: pa.RecordBatch, keys: Array, takes_in: Array) -> Iterator[Changes]:
        """Takes rows in, or back; what changes, in parts."""

    @abstractmethod
    def forget(self, keys: Array) -> None:
        """Some keys, each of which occurs once, have no rows any more."""

    @abstractmethod
    def live_keys(self) -> Array:
        """The keys that have rows."""

    @abstractmethod
    def rows_of(self, keys: Array) -> tuple[Array, Array]:
        """The numbers of the rows of some keys, one key after the other, each in its order; how many each has."""

    @abstractmethod
    def take(self, rows: Array) -> pa.RecordBatch:
        """Rows by their numbers."""

    @abstractmethod
    def pack(self) -> None:
        """Gives the room of rows that are gone back."""

    @abstractmethod
    def put(self, data: pa.RecordBatch, keys: Array, lengths: Array) -> None:
        """Rows of keys, one key after the other, each in its order; before, there was nothing."""
