"""Rows of results: keys, aggregates, and when their windows begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.sql.binding.relations import Column
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.types.columns import Array

__all__ = ["WindowResults"]


class WindowResults:
    """Makes batches of results; the last columns are window_start, window_end and window_time."""

    def __init__(self, columns: Sequence[Column], has_event_time: bool) -> None:
        self._schema = schema_of(columns)
        self._has_event_time = has_event_time

    def batch(self, columns: Sequence[pa.Array], starts: Array, ends: Array, times: Array) -> ColumnBatch:
        """One row for each entry: local times of start and end, and the instant that is its time."""
        stamps = (starts, ends, times)
        arrays = [*columns, *(pa.array(each).view(pa.timestamp("ms")) for each in stamps)]
        cast = [each if each.type == field.type else each.cast(field.type) for each, field in zip(arrays, self._schema)]
        data = pa.RecordBatch.from_arrays(cast, schema=self._schema)
        return ColumnBatch(data, times if self._has_event_time else None)

    def window(self, columns: Sequence[pa.Array], count: int, start: int, end: int, time: int) -> ColumnBatch:
        return self.batch(columns, *(np.full(count, each, np.int64) for each in (start, end, time)))
