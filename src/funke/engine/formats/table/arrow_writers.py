"""Parquet and ORC files of tables, written by Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from funke.engine.formats.table.table_format import schema_of
from funke.engine.formats.table.table_writer import BatchFileWriter, BatchStream

if TYPE_CHECKING:
    from funke.engine.types.logical.row_type import RowField

__all__ = ["OrcFileWriter", "ParquetFileWriter"]


@dataclass(frozen=True)
class ParquetFileWriter(BatchFileWriter):
    fields: tuple[RowField, ...]
    compression: str = "snappy"

    def open_stream(self, stream: IO[bytes]) -> BatchStream:
        import pyarrow.parquet as pq

        return _Stream(pq.ParquetWriter(stream, schema_of(self.fields), compression=self.compression))


@dataclass(frozen=True)
class OrcFileWriter(BatchFileWriter):
    fields: tuple[RowField, ...]
    compression: str = "zlib"

    def open_stream(self, stream: IO[bytes]) -> BatchStream:
        from pyarrow.orc import ORCWriter

        return _Stream(ORCWriter(stream, compression=self.compression))


class _Stream(BatchStream):
    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def write(self, batch: Any) -> None:
        import pyarrow as pa

        self._writer.write(pa.Table.from_batches([batch]))

    def close(self) -> None:
        self._writer.close()
