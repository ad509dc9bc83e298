"""Parquet files, read by Arrow into rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from funke.engine.formats.column_cast import cast
from funke.engine.formats.file_format import BATCH_RECORDS, COLUMN_BATCH_RECORDS, FileFormat
from funke.engine.formats.parquet_timestamps import in_local_time
from funke.engine.types import RowTypeInfo, TypeInformation
from funke.engine.types.columns.arrow_rows import ArrowRows, row_type_of
from funke.engine.types.information.arrow_types import to_arrow
from funke.engine.types.information.time_types import ZonedTimestampTypeInfo

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile

__all__ = ["ParquetFileFormat", "instant_columns", "row_groups"]


def row_groups(file: InputFile) -> list[int]:
    """Return the number of rows of every row group of a file."""
    with file.open() as raw:
        metadata = pq.read_metadata(raw)
        return [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]


@dataclass(frozen=True)
class ParquetFileFormat(FileFormat):
    """Reads the columns that a row type names, or all of them; row groups are read by different subtasks.

    Where the row type wants a date and time and the file has instants, they are shown in the zone of the process, or in
    UTC with `is_utc_timestamp`. A table's TIMESTAMP_LTZ is that date and time with the zone of the process.
    """

    row_type: RowTypeInfo | None = None
    batch_size: int = BATCH_RECORDS
    is_case_sensitive: bool = True
    is_utc_timestamp: bool = False

    @property
    def produced_type(self) -> TypeInformation | None:
        """The row type, if it was given; files may differ otherwise."""
        return self.row_type

    def units(self, file: InputFile) -> list[int]:
        """Return the number of rows of every row group."""
        return row_groups(file)

    def read(self, file: InputFile, start: int, end: int) -> Iterator[list[Any]]:
        """Yield the rows of some row groups."""
        to_rows = None if self.row_type is None else ArrowRows(self.row_type)
        for batch in self._batches(file, range(start, end), self.batch_size):
            to_rows = to_rows or ArrowRows(row_type_of(batch.schema))
            yield to_rows.rows(batch)

    def read_columns(self, file: InputFile, start: int, end: int) -> Iterator[Any] | None:
        """Yield the rows of some row groups as columns; files whose type is not known may differ from each other."""
        if self.row_type is None:
            return None
        return self._batches(file, range(start, end), max(self.batch_size, COLUMN_BATCH_RECORDS))

    def _batches(self, file: InputFile, groups: range, batch_size: int) -> Iterator[Any]:
        with file.open() as raw:
            # Other tasks use the other cores.
            parquet = pq.ParquetFile(raw, pre_buffer=False)
            columns = self._columns(parquet.schema_arrow)
            instants = set() if self.is_utc_timestamp else instant_columns(parquet)
            for batch in parquet.iter_batches(batch_size, list(groups), columns, use_threads=False):
                yield self._fitted(batch, columns, instants)

    def _columns(self, schema: Any) -> list[str]:
        """Return the names in the file of the columns to read."""
        if self.row_type is None:
            return list(schema.names)
        names_in_file = {self._folded(name): name for name in schema.names}
        field_names = self.row_type.get_field_names()
        missing = [name for name in field_names if self._folded(name) not in names_in_file]
        if missing:
            raise ValueError(f"it has no column {', '.join(missing)}; its columns are {', '.join(schema.names)}")
        return [names_in_file[self._folded(name)] for name in field_names]

    def _folded(self, name: str) -> str:
        return name if self.is_case_sensitive else name.lower()

    def _fitted(self, batch: Any, columns: list[str], instants: set[str]) -> Any:
        """Return the columns in the order and with the types of the row type."""
        if self.row_type is None:
            return batch
        arrays = []
        for name, field_type in zip(columns, self.row_type.get_field_types()):
            values, arrow_type = batch.column(name), to_arrow(field_type)
            if name in instants and arrow_type == _DATE_AND_TIME:
                values = in_local_time(values)
            elif self.is_utc_timestamp and isinstance(field_type, ZonedTimestampTypeInfo):
                values = _as_local_time(values)
            arrays.append(cast(values, name, arrow_type))
        return pa.record_batch(arrays, names=self.row_type.get_field_names())


_DATE_AND_TIME = pa.timestamp("us")
_INSTANT = pa.timestamp("us", "UTC")


def instant_columns(parquet: Any) -> set[str]:
    """The columns that hold instants: those with a zone, and those of the older type INT96, which Flink writes."""
    with_zone = {field.name for field in parquet.schema_arrow if getattr(field.type, "tz", None) is not None}
    leaves = (parquet.schema.column(index) for index in range(len(parquet.schema)))
    return with_zone | {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}


def _as_local_time(instants: Any) -> Any:
    # PyFlink gives the zone to the date and time that the column would have without one, which is UTC's.
    values = instants.cast(_INSTANT, safe=False).to_pylist()
    return pa.array([None if value is None else value.replace(tzinfo=None).astimezone() for value in values], _INSTANT)
