"""Adds to each row the windows that it belongs to; a row of several windows comes several times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from funke.engine.operators.operator import Operator, OperatorContext, TaskInfo
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.window_relations import Windows, WindowTable, WindowTime
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.windows.local_time import LocalTime
from funke.engine.sql.operators.windows.slices import Slices
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.sql.operators.windows.window_results import WindowResults
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["AddWindows", "WindowTableOperator"]


@dataclass(frozen=True)
class AddWindows:
    """Makes the operator of tumbling, hopping or cumulating windows for a subtask."""

    inputs: tuple[Column, ...]
    columns: tuple[Column, ...]
    windows: Windows
    time: WindowTime

    @staticmethod
    def of(table: WindowTable) -> AddWindows:
        """What a subtask has to know of a table."""
        return AddWindows(table.input.columns, table.columns, table.windows, table.time)

    def __call__(self, task: TaskInfo) -> WindowTableOperator:
        return WindowTableOperator(self)


class WindowTableOperator(Operator):
    """Works on batches of columns; event times and kinds stay with their rows."""

    takes_rows = False
    takes_columns = True

    def __init__(self, spec: AddWindows) -> None:
        self._spec = spec
        self._input = schema_of(spec.inputs)
        self._slices = Slices(spec.windows)
        self._local = LocalTime(spec.time.zone)
        self._results = WindowResults(spec.columns, False)
        self._without_time = 0

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._clock = context.task.clock

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends on every row with each of its windows."""
        self.records_in += len(batch)
        time = self._spec.time
        timed, stamps = with_times(as_schema(batch, self._input), time, self._local, self._clock.now_ms())
        self._without_time += len(batch) - len(timed)
        slice_ends = self._slices.end_of(stamps)
        counts = self._slices.window_counts(slice_ends)
        if (counts != 1).any():
            timed = timed.take(np.repeat(np.arange(len(timed)), counts))
        if len(timed):
            ends = self._window_ends(slice_ends, counts)
            times = self._local.to_instants(ends - 1)
            data = self._results.batch(timed.data.columns, self._slices.start_of(ends), ends, times).data
            self.output.emit_columns(timed.with_data(data))

    def _window_ends(self, slice_ends: Any, counts: Any) -> Any:
        number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(self._slices.first_window(slice_ends), counts) + number * self._slices.step

    def metrics(self) -> dict[str, Any]:
        return {"numNullRowTimeRecordsDropped": self._without_time}
