"""What finds the rows of a table by keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.operators.clock import Clock
    from funke.engine.sql.binding.relations import Column

__all__ = ["FoundRows", "Key", "KeyedTable", "Lookup", "LookupTable", "places_by_key"]

# The values of the key columns, as Arrow gives them to Python; none of them is None.
Key = tuple[Hashable, ...]


@dataclass(frozen=True)
class FoundRows:
    """Rows, and for each key that was asked for the places of its rows among them."""

    rows: pa.RecordBatch
    places: Sequence[Sequence[int]]


class Lookup(ABC):
    """Finds rows for one subtask."""

    def open(self) -> None:
        """Called once before the first key."""

    @abstractmethod
    def find(self, keys: Sequence[Key]) -> FoundRows:
        """Finds the rows of keys, each of which stands there once."""

    def close(self) -> None:
        """Called once at the end."""


class LookupTable(ABC):
    """A table that can be asked for the rows of keys; is pickled into slots."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """What its rows hold."""

    @abstractmethod
    def create_lookup(self, keys: Sequence[int], clock: Clock) -> Lookup:
        """Makes what finds rows by the columns at these places."""


class KeyedTable(ABC):
    """What a connector gives for caches to stand before: rows by keys, or all rows."""

    @abstractmethod
    def fetch(self, keys: Sequence[Key]) -> pa.RecordBatch:
        """Reads the rows of keys."""

    @abstractmethod
    def fetch_all(self) -> pa.RecordBatch:
        """Reads all rows."""

    @abstractmethod
    def close(self) -> None:
        """Disconnects."""


def places_by_key(rows: pa.RecordBatch, keys: Iterable[int]) -> dict[Key, list[int]]:
    """The places of rows by their values of some columns."""
    columns: list[list[Any]] = [rows.column(place).to_pylist() for place in keys]
    places: dict[Key, list[int]] = {}
    for place, key in enumerate(zip(*columns)):
        places.setdefault(key, []).append(place)
    return places
