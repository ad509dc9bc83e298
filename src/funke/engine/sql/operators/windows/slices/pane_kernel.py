"""Aggregate functions of users in windows: rows are added to the accumulator of their pane, however they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.sql.functions.aggregates.aggregate import AggregateCall
from funke.engine.sql.functions.aggregates.body_kernel import BodyKernel
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel, Fields
from funke.engine.sql.functions.aggregates.rows import AggregateRows
from funke.engine.sql.functions.users.user_aggregates import UserAggregate
from funke.engine.sql.operators.windows.slices.gathered_rows import window_kernel

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PaneKernel", "PaneRows", "pane_kernel"]


def pane_kernel(call: AggregateCall, has_retractions: bool = False) -> AggregateKernel:
    """The kernel of a call in panes of windows, or in sessions."""
    kernel = window_kernel(call, has_retractions)
    is_users = isinstance(call.function, UserAggregate) and type(kernel) is BodyKernel
    return PaneKernel(call) if is_users else kernel


class PaneRows(list[tuple[bool, tuple[Any, ...]]]):
    """Rows that are not yet in an accumulator: whether each is added or taken back, and its arguments."""


class PaneKernel(BodyKernel):
    """Fields: accumulators, or rows of few batches that wait for theirs.

    As in Flink the user's `merge` puts panes together, and sessions that meet, and nothing else: what the rows of a
    batch come to would depend on how the input was cut.
    """

    def __init__(self, call: AggregateCall) -> None:
        super().__init__(call)
        self.initial = (PaneRows,)

    def create_accumulators(self, count: int) -> Fields:
        """Accumulators without rows, for panes to be merged into."""
        # Accumulators, not lists of rows: what is merged into them is another pane, and goes through the user's
        # `merge`.
        return (np.fromiter((self._body.create() for _ in range(count)), object, count),)

    def accumulate(self, before: Fields, rows: AggregateRows) -> Fields:
        arguments = self._arguments(rows)
        is_added = np.ones(len(rows), bool) if rows.signs is None else rows.signs > 0
        counts = np.ones(len(rows), bool) if rows.mask is None else rows.mask
        indexes = rows.segments.segment_of_row
        for row in np.flatnonzero(counts).tolist():
            before[0][indexes[row]].append((bool(is_added[row]), arguments[row]))
        return before

    def merge(self, left: Fields, right: Fields) -> Fields:
        for index, (own, other) in enumerate(zip(left[0].tolist(), right[0].tolist())):
            left[0][index] = self._together(own, other)
        return left

    def _together(self, own: Any, other: Any) -> Any:
        if isinstance(own, PaneRows) and isinstance(other, PaneRows):
            return PaneRows([*own, *other])
        if isinstance(own, PaneRows):
            return self._add(other, own)
        if isinstance(other, PaneRows):
            return self._add(own, other)
        self._body.merge(own, other)
        return own

    def settled(self, fields: Fields) -> Fields:
        """Accumulators alone."""
        for index, each in enumerate(fields[0].tolist()):
            fields[0][index] = self._accumulator(each)
        return fields

    def values(self, fields: Fields) -> pa.Array:
        return super().values((list(map(self._accumulator, fields[0].tolist())),))

    def _accumulator(self, entry: Any) -> Any:
        return self._add(self._body.create(), entry) if isinstance(entry, PaneRows) else entry

    def _add(self, accumulator: Any, rows: PaneRows) -> Any:
        for is_added, arguments in rows:
            (self._body.accumulate if is_added else self._body.retract)(accumulator, *arguments)
        return accumulator
