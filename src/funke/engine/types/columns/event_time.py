"""Event time that stands in a column."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.engine.types import Instant, TimestampAssigner

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["ColumnTimestampAssigner"]

_EPOCH = datetime.datetime(1970, 1, 1)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_PER_MILLISECOND = {"ms": 1, "us": 1_000, "ns": 1_000_000}


@dataclass(frozen=True)
class ColumnTimestampAssigner(TimestampAssigner):
    """Reads the event time from a column of timestamps, or of integers that are milliseconds."""

    column: str

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the event time of a row."""
        timestamp = value[self.column]
        if timestamp is None:
            raise self._missing()
        if isinstance(timestamp, Instant):
            return timestamp.seconds * 1000 + timestamp.nanos // 1_000_000
        if isinstance(timestamp, datetime.datetime):
            if timestamp.tzinfo is not None:
                timestamp = timestamp.astimezone(datetime.UTC).replace(tzinfo=None)
            return (timestamp - _EPOCH) // _MILLISECOND
        return int(timestamp)

    def timestamps_of(self, batch: ColumnBatch) -> Any:
        """Return the event times of all rows, as an array of int64."""
        import numpy as np
        import pyarrow as pa

        column = batch.data.column(self.column)
        if column.null_count:
            raise self._missing()
        if not pa.types.is_timestamp(column.type):
            return np.asarray(column).astype(np.int64, copy=False)
        timestamps = np.asarray(column.view(pa.int64()))
        # Rounded down, also before 1970, where Arrow's cast would round up.
        return timestamps * 1000 if column.type.unit == "s" else timestamps // _PER_MILLISECOND[column.type.unit]

    def _missing(self) -> ValueError:
        return ValueError(f"a row has no event time: column '{self.column}' is null")
