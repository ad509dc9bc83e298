"""The times of the rows of a batch: those of a column, or of the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.operators.windows.local_time import LocalTime
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.types.columns import Array

__all__ = ["with_times"]


def with_times(batch: ColumnBatch, time: WindowTime, local: LocalTime, now_ms: int) -> tuple[ColumnBatch, Array]:
    """The rows that have a time, and their local times (int64)."""
    if not time.is_event_time:
        return batch, local.to_local(np.full(len(batch), now_ms, np.int64))
    column = batch.data.column(time.column)
    if column.null_count:
        # As in Flink rows without a time are dropped; callers count them (numNullRowTimeRecordsDropped).
        batch = batch.filter(column.is_valid())
        column = batch.data.column(time.column)
    if column.type.unit != "ms":
        column = column.cast(pa.timestamp("ms", column.type.tz))
    return batch, local.to_local(np.asarray(column.view(pa.int64())))
