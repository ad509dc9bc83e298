"""Adds to each row the windows that it belongs to; a row of several windows comes several times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.operators.operator import Operator, OperatorContext
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.windows.local_time import LocalTime
from funke.engine.sql.operators.windows.slices.window_results import WindowResults
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.sql.window_kinds import SlicedWindows
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.window_table_function import WindowTableFunction
    from funke.engine.types.columns import Array

__all__ = ["WindowTableOperator"]


class WindowTableOperator(Operator):
    """Works on batches of columns; event times and kinds stay with their rows."""

    takes_rows = False
    takes_columns = True

    def __init__(self, node: WindowTableFunction) -> None:
        self._node = node
        self._input = schema_of(node.input.columns)
        assert isinstance(node.windows, SlicedWindows)
        self._windows = node.windows
        self._local = LocalTime(node.time.zone)
        self._results = WindowResults(node.columns, False)
        self._without_time = 0

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._clock = context.task.clock

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends on every row with each of its windows."""
        self.records_in += len(batch)
        time = self._node.time
        timed, stamps = with_times(as_schema(batch, self._input), time, self._local, self._clock.now_ms())
        self._without_time += len(batch) - len(timed)
        slice_ends = self._windows.slice_end(stamps)
        counts = self._windows.window_counts(slice_ends)
        # A row of HOP leaves once for each of its windows, and not at all if it lies between windows (slide > size).
        if (counts != 1).any():
            timed = timed.take(np.repeat(np.arange(len(timed)), counts))
        if len(timed):
            ends = self._window_ends(slice_ends, counts)
            times = self._local.to_instants(ends - 1)
            data = self._results.batch(timed.data.columns, self._windows.start_of(ends), ends, times).data
            self.output.emit_columns(timed.with_data(data))

    def _window_ends(self, slice_ends: Array, counts: Array) -> Array:
        number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(self._windows.first_window(slice_ends), counts) + number * self._windows.interval_ms

    def metrics(self) -> dict[str, Any]:
        return {"numNullRowTimeRecordsDropped": self._without_time}
