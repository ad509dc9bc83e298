"""Parquet and ORC files of tables, read by Arrow into the table's types."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.formats.file_format import COLUMN_BATCH_RECORDS
from funke.engine.formats.parquet_reader import instant_columns
from funke.engine.formats.parquet_timestamps import in_local_time
from funke.engine.formats.table.table_format import TableFileFormat, schema_of

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile
    from funke.engine.types.logical.row_type import RowField

__all__ = ["OrcTableFormat", "ParquetTableFormat"]


@dataclass(frozen=True)
class ParquetTableFormat(TableFileFormat):
    """Reads the columns by name; one that a file does not have is NULL, as in Flink.

    Where the table has a TIMESTAMP and the file has instants, they are shown in the zone of the process, or in UTC.
    """

    columns: tuple[RowField, ...]
    is_utc: bool = False

    @property
    def fields(self) -> tuple[RowField, ...]:
        return self.columns

    def selecting(self, indexes: Sequence[int]) -> ParquetTableFormat:
        return replace(self, columns=tuple(self.columns[index] for index in indexes))

    def columns_of(self, file: InputFile) -> Iterator[Any]:
        """Yield the rows of a file."""
        import pyarrow.parquet as pq

        with file.open() as raw:
            # Other tasks use the other cores.
            parquet = pq.ParquetFile(raw, pre_buffer=False)
            instants = set() if self.is_utc else instant_columns(parquet)
            # Once: the schema is made anew whenever it is asked for.
            names = parquet.schema_arrow.names
            present = _present(self.columns, names)
            # A batch without columns does not tell its rows.
            read = present or names[:1]
            for batch in parquet.iter_batches(COLUMN_BATCH_RECORDS, columns=read, use_threads=False):
                yield fitted(batch, self.columns, instants)


@dataclass(frozen=True)
class OrcTableFormat(TableFileFormat):
    """Reads the columns by name; one that a file does not have is NULL."""

    columns: tuple[RowField, ...]

    @property
    def fields(self) -> tuple[RowField, ...]:
        return self.columns

    def selecting(self, indexes: Sequence[int]) -> OrcTableFormat:
        return replace(self, columns=tuple(self.columns[index] for index in indexes))

    def columns_of(self, file: InputFile) -> Iterator[Any]:
        """Yield the rows of a file, a stripe at a time."""
        from pyarrow.orc import ORCFile

        with file.open() as raw:
            orc = ORCFile(raw)
            names = orc.schema.names
            present = _present(self.columns, names)
            for stripe in range(orc.nstripes):
                batch = orc.read_stripe(stripe, columns=present or names[:1])
                for start in range(0, len(batch), COLUMN_BATCH_RECORDS):
                    yield fitted(batch.slice(start, COLUMN_BATCH_RECORDS), self.columns, set())


def _present(columns: Iterable[RowField], names: Collection[str]) -> list[str]:
    """The names of columns that a file has."""
    in_file = set(names)
    return [each.name for each in columns if each.name in in_file]


def fitted(batch: Any, fields: Sequence[RowField], instants: set[str]) -> Any:
    """Return the columns of a table out of those of a file."""
    schema = schema_of(fields)
    columns = []
    names = set(batch.schema.names)
    for field in schema:
        if field.name not in names:
            columns.append(pa.nulls(len(batch), field.type))
            continue
        column = batch.column(field.name)
        if field.name in instants and pa.types.is_timestamp(field.type) and field.type.tz is None:
            column = in_local_time(column)
        columns.append(_cast(column, field))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(column: Any, field: Any) -> Any:
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type, safe=not pa.types.is_temporal(field.type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"column {field.name} is {column.type}, the table says {field.type}: {error}") from None
