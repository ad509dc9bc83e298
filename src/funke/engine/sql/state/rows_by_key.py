"""Some rows of each key, which has a number from 0 on; what comes in changes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

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
    def take_in(self, data: Any, keys: Any, takes_in: Any) -> Iterator[Changes]:
        """Takes rows in, or back; what changes, in parts."""

    @abstractmethod
    def forget(self, keys: Any) -> None:
        """Some keys, each of which occurs once, have no rows any more."""

    @abstractmethod
    def live_keys(self) -> Any:
        """The keys that have rows."""

    @abstractmethod
    def rows_of(self, keys: Any) -> tuple[Any, Any]:
        """The numbers of the rows of some keys, one key after the other, each in its order; how many each has."""

    @abstractmethod
    def take(self, rows: Any) -> Any:
        """Rows by their numbers."""

    @abstractmethod
    def pack(self) -> None:
        """Gives the room of rows that are gone back."""

    @abstractmethod
    def put(self, data: Any, keys: Any, lengths: Any) -> None:
        """Rows of keys, one key after the other, each in its order; before, there was nothing."""
