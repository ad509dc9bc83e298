"""One aggregate on the groups of a batch: accumulators are columns with one entry for each group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.sql.functions.aggregates.rows import AggregateRows

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.columns.arrays import Array

__all__ = ["AggregateKernel", "Fields", "RunningKernel"]

# The parts of accumulators, each an array (of numbers or of objects) with one entry for each group.
Fields = tuple[Any, ...]


class AggregateKernel(ABC):
    """One call of an aggregate function.

    `before` are the accumulators of the groups whose segments `rows` has, in the order of the segments. A caller hands
    accumulators over and continues with the returned ones: objects among them are changed in place.
    """

    # The numpy type of each field, and its value for a group without rows; objects are made by calling it.
    dtypes: tuple[Any, ...]
    initial: tuple[Any, ...]
    # Its number in the compiled loop (`kernels.aggregate_rows`); None if that does not have it.
    operation: int | None = None

    def create(self, count: int) -> Fields:
        """The accumulators of `count` groups without rows."""
        return tuple(_filled(count, dtype, value) for dtype, value in zip(self.dtypes, self.initial))

    @abstractmethod
    def accumulate(self, before: Fields, rows: AggregateRows) -> Fields:
        """Accumulates or retracts all rows; returns the accumulators after them."""

    @abstractmethod
    def running(self, before: Fields, rows: AggregateRows) -> tuple[Fields, pa.Array]:
        """The same, and the result after each row as an Arrow array, in the order of the rows."""

    @abstractmethod
    def merge(self, left: Fields, right: Fields) -> Fields:
        """The merged accumulators of many groups, of two for each."""

    @abstractmethod
    def values(self, fields: Fields) -> pa.Array:
        """The results of accumulators, as an Arrow array of the type of the call."""


class RunningKernel(AggregateKernel):
    """A kernel that knows the accumulators after every row; they are numbers, never changed in place."""

    @abstractmethod
    def running_fields(self, before: Fields, rows: AggregateRows) -> Fields:
        """The accumulators after each row."""

    def accumulate(self, before: Fields, rows: AggregateRows) -> Fields:
        ends = rows.segments.ends
        return tuple(field[ends] for field in self.running_fields(before, rows))

    def running(self, before: Fields, rows: AggregateRows) -> tuple[Fields, pa.Array]:
        fields, ends = self.running_fields(before, rows), rows.segments.ends
        return tuple(field[ends] for field in fields), self.values(fields)


def _filled(count: int, dtype: Any, value: Any) -> Array:
    if dtype is object and callable(value):
        # One by one: numpy would take lists for more dimensions.
        return np.fromiter((value() for _ in range(count)), object, count)
    return np.full(count, value, dtype)
