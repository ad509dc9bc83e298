"""Parquet files, read into dicts as an Avro schema says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from funke.engine.formats.avro.avro_columns import AvroColumns
from funke.engine.formats.file_format import BATCH_RECORDS, FileFormat
from funke.engine.formats.parquet_reader import row_groups
from funke.engine.types.information.avro_type import AvroTypeInfo

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["AvroParquetFormat"]


@dataclass(frozen=True)
class AvroParquetFormat(FileFormat):
    """Reads the columns that a schema (JSON text) names; row groups are read by different subtasks."""

    schema: str

    def __post_init__(self) -> None:
        """Rejects a schema that has no columns, where it is written."""
        AvroColumns(self.schema)

    @property
    def produced_type(self) -> TypeInformation:
        return AvroTypeInfo(self.schema)

    def units(self, file: InputFile) -> list[int]:
        """Return the number of rows of every row group."""
        return row_groups(file)

    def read(self, file: InputFile, start: int, end: int) -> Iterator[list[Any]]:
        """Yield the records of some row groups."""
        columns = AvroColumns(self.schema)
        with file.open() as raw:
            parquet = pq.ParquetFile(raw, pre_buffer=False)
            names = columns.columns_in(parquet.schema_arrow.names)
            for batch in parquet.iter_batches(BATCH_RECORDS, list(range(start, end)), names, use_threads=False):
                yield columns.decode(batch)
