"""Windows in Spark tasks: rows with the times that windows lie by, and results with the columns of windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.operators.windows.local_time import LocalTime
from funke.engine.sql.operators.windows.slices.window_results import WindowResults
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.logical.atomic_types import BigIntType

if TYPE_CHECKING:
    from funke.engine.types.columns import Array

__all__ = ["LOCAL_TIME", "LocalTimes", "WindowColumns"]

LOCAL_TIME = Column("$local_time", BigIntType(False))


@dataclass(frozen=True)
class LocalTimes:
    """Adds the milliseconds that the wall clock shows at each row's time; rows without a time are left out."""

    time: WindowTime

    def run(self, batches: Iterator[ColumnBatch], task: TaskInfo) -> Iterator[ColumnBatch]:
        local = LocalTime(self.time.zone)
        for batch in batches:
            timed, times = with_times(batch, self.time, local, 0)
            yield ColumnBatch(timed.data.append_column(LOCAL_TIME.name, pa.array(times)))


@dataclass(frozen=True)
class WindowColumns:
    """Puts window_start, window_end and window_time behind some columns.

    `start` and `end` are the indexes of the columns with the local times of the windows.
    """

    columns: tuple[Column, ...]
    kept: tuple[int, ...]
    start: int
    end: int
    time: WindowTime

    def run(self, batches: Iterator[ColumnBatch], task: TaskInfo) -> Iterator[ColumnBatch]:
        results, local = WindowResults(self.columns, False), LocalTime(self.time.zone)
        for batch in batches:
            starts, ends = (_milliseconds(batch.data.column(index)) for index in (self.start, self.end))
            kept = [batch.data.column(index) for index in self.kept]
            yield results.batch(kept, starts, ends, local.to_instants(ends - 1))


def _milliseconds(column: pa.Array) -> Array:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms", column.type.tz)).view(pa.int64())
    return np.asarray(column)
