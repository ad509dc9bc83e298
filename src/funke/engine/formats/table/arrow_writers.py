"""Parquet and ORC files of tables, written by Arrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from funke.engine.formats.parquet_timestamps import ParquetTimestamps
from funke.engine.formats.table.table_format import schema_of
from funke.engine.formats.table.table_writer import BatchFileWriter, BatchStream

if TYPE_CHECKING:
    from funke.engine.types.logical.row_type import RowField

__all__ = ["OrcFileWriter", "ParquetFileWriter"]


@dataclass(frozen=True)
class ParquetFileWriter(BatchFileWriter):
    fields: tuple[RowField, ...]
    compression: str = "snappy"
    timestamps: ParquetTimestamps = field(default_factory=ParquetTimestamps)

    def open_stream(self, stream: IO[bytes]) -> BatchStream:
        import pyarrow.parquet as pq

        schema = self.timestamps.schema(schema_of(self.fields))
        options = self.timestamps.writer_options
        writer = pq.ParquetWriter(stream, schema, compression=self.compression, **options)
        return _Stream(writer, self.timestamps.table)


@dataclass(frozen=True)
class OrcFileWriter(BatchFileWriter):
    fields: tuple[RowField, ...]
    compression: str = "zlib"

    def open_stream(self, stream: IO[bytes]) -> BatchStream:
        from pyarrow.orc import ORCWriter

        return _Stream(ORCWriter(stream, compression=self.compression), lambda table: table)


class _Stream(BatchStream):
    def __init__(self, writer: Any, to_file: Callable[[Any], Any]) -> None:
        self._writer = writer
        self._to_file = to_file

    def write(self, batch: Any) -> None:
        import pyarrow as pa

        self._writer.write(self._to_file(pa.Table.from_batches([batch])))

    def close(self) -> None:
        self._writer.close()
