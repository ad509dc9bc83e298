"""Timestamps in Parquet files: INT96 by default, as Flink writes them, with dates and times in the local zone."""

from __future__ import annotations

import datetime
import time
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

__all__ = ["ParquetTimestamps", "in_local_time"]

_DATE_AND_TIME = pa.timestamp("us")
_INSTANT = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class ParquetTimestamps:
    """How timestamps are written: `unit` is that of INT64, None for INT96."""

    is_utc: bool = False
    unit: str | None = None

    @property
    def writer_options(self) -> dict[str, Any]:
        """The options of pyarrow's writer; TIME columns are annotated as in Flink."""
        return {"use_deprecated_int96_timestamps": self.unit is None, "write_time_adjusted_to_utc": True}

    def schema(self, schema: Any) -> Any:
        """The columns of a file for those of a table."""
        return pa.schema([field.with_type(self._file_type(field.type)) for field in schema], schema.metadata)

    def table(self, table: Any) -> Any:
        """The columns of a table as they stand in the file."""
        schema = self.schema(table.schema)
        columns = [self._column(column, field.type) for column, field in zip(table.columns, schema)]
        return pa.Table.from_arrays(columns, schema=schema)

    def _file_type(self, kind: Any) -> Any:
        if not pa.types.is_timestamp(kind):
            return kind
        # No zone is written, also where the values are instants: these stand in UTC.
        return pa.timestamp(self.unit or kind.unit)

    def _column(self, column: Any, kind: Any) -> Any:
        if not pa.types.is_timestamp(kind):
            return column
        # INT96 is an instant; INT64 without a zone is a date and time as it is.
        if self.unit is None and not self.is_utc and column.type.tz is None:
            column = _from_local_time(column)
        return column.cast(kind, safe=False)


def in_local_time(instants: Any) -> Any:
    """Instants as dates and times in the zone of the process."""
    column = instants if instants.type.tz is not None else instants.cast(_INSTANT, safe=False)
    if _is_utc():
        return column.cast(pa.timestamp(column.type.unit))
    values = column.cast(_INSTANT, safe=False).to_pylist()
    return pa.array(
        [None if each is None else each.astimezone().replace(tzinfo=None) for each in values], _DATE_AND_TIME
    )


def _from_local_time(column: Any) -> Any:
    """Dates and times in the zone of the process as instants, without a zone: those of UTC."""
    if _is_utc():
        return column
    values = column.cast(_DATE_AND_TIME, safe=False).to_pylist()
    utc = datetime.UTC
    timestamps = [None if each is None else each.astimezone(utc).replace(tzinfo=None) for each in values]
    return pa.chunked_array([pa.array(timestamps, _DATE_AND_TIME)])


def _is_utc() -> bool:
    return time.timezone == 0 and not time.daylight
