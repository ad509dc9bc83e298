"""The interface of lookups: finding the rows of a table by keys."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.sql.state.key_numbers import KeyNumbers

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.operators.time.clock import Clock
    from funke.engine.sql.binding.relations import Column
    from funke.engine.types.columns.arrays import Array

__all__ = ["FoundRows", "KeyedTable", "Lookup", "LookupTable", "TableOfThread", "numbers_of", "rows_by_number"]


@dataclass(frozen=True)
class FoundRows:
    """Rows, and for each requested key the number of its rows and their indexes, those of the first key first."""

    rows: pa.RecordBatch
    counts: Any
    indexes: Any


class Lookup(ABC):
    """Finds rows for one subtask, for one or for several of its threads."""

    def open(self) -> None:
        """Called once before the first key."""

    @abstractmethod
    def find(self, keys: pa.RecordBatch) -> FoundRows:
        """Finds the rows of keys. The keys are distinct, and no part of one is NULL."""

    def release(self) -> None:
        """Called by each thread that has found rows, when it ends."""

    def close(self) -> None:
        """Called once at the end."""


class LookupTable(ABC):
    """A table that can be asked for the rows of keys; is pickled into slots."""

    # Whether lookups overlap with other work unless a hint says otherwise.
    is_async: bool = False

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The columns of its rows."""

    @abstractmethod
    def create_lookup(self, keys: Sequence[int], clock: Clock) -> Lookup:
        """Makes a lookup by the columns at these indexes."""


class KeyedTable(ABC):
    """The part of a connector behind a cache: reads rows by keys, or all rows."""

    @abstractmethod
    def fetch(self, keys: pa.RecordBatch) -> pa.RecordBatch:
        """Reads the rows of keys, which are columns."""

    @abstractmethod
    def fetch_all(self) -> pa.RecordBatch:
        """Reads all rows."""

    @abstractmethod
    def close(self) -> None:
        """Disconnects."""


class TableOfThread(KeyedTable):
    """A connection for each thread: drivers of databases do not share one between threads."""

    def __init__(self, connect: Callable[[], KeyedTable]) -> None:
        self._connect = connect
        self._own = threading.local()

    def fetch(self, keys: pa.RecordBatch) -> pa.RecordBatch:
        return self._table().fetch(keys)

    def fetch_all(self) -> pa.RecordBatch:
        return self._table().fetch_all()

    def _table(self) -> KeyedTable:
        if not hasattr(self._own, "table"):
            self._own.table = self._connect()
        table: KeyedTable = self._own.table
        return table

    def close(self) -> None:
        if hasattr(self._own, "table"):
            self._own.table.close()
            del self._own.table


def rows_by_number(numbers: Array, keys: int) -> tuple[Array, Array]:
    """The number of rows of each key, and their indexes. Rows with a negative number are left out."""
    indexes: Array = np.flatnonzero(numbers >= 0)
    own = numbers[indexes]
    counts = np.bincount(own, minlength=keys).astype(np.int64)
    return counts, indexes[np.argsort(own, kind="stable")]


def numbers_of(keys: pa.RecordBatch, rows: pa.RecordBatch, columns: Sequence[int]) -> Array:
    """For each row the index of its key among keys; -1 if it is not there."""
    # Numbers of keys may differ from their order; `indexes` leads back to it.
    key_numbers = KeyNumbers(keys.schema.types)
    indexes: Array = np.empty(keys.num_rows, np.int64)
    indexes[key_numbers.numbers(keys.columns, keys.num_rows)] = np.arange(keys.num_rows)
    numbers = key_numbers.find([rows.column(each) for each in columns], rows.num_rows)
    return np.where(numbers >= 0, indexes[numbers], -1)
