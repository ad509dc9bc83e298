"""Parquet and ORC as bulk formats, written by pyarrow."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from funke.engine.connectors.file_sink.bulk_format import BulkFormat, BulkWriter
from funke.engine.formats.parquet_timestamps import ParquetTimestamps
from funke.engine.types.columns.arrow_records import table_encoder
from funke.engine.types.information.type_information import TypeInformation

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OrcBulkFormat", "ParquetBulkFormat", "ParquetWriter"]

# Records are gathered up to this number: each write makes a row group of its own, and small ones read slowly.
ROWS_PER_GROUP = 64 * 1024


class _ArrowWriter(BulkWriter):
    """Gathers records into tables and gives them to a pyarrow writer, which is opened with the first table's schema."""

    def __init__(self, encode: Callable[[list[Any]], Any]) -> None:
        self._encode = encode
        self._values: list[Any] = []
        self._writer: Any = None

    @abstractmethod
    def _open(self, schema: Any) -> Any:
        """Makes the pyarrow writer."""

    def write(self, values: list[Any]) -> None:
        """Gathers records, and writes them once there are enough."""
        self._values += values
        if len(self._values) >= ROWS_PER_GROUP:
            self._write_group()

    def finish(self) -> None:
        """Writes the rest and the end of the file."""
        if self._values:
            self._write_group()
        if self._writer is not None:
            self._writer.close()

    def _write_group(self) -> None:
        table = self._encode(self._values)
        self._values = []
        if self._writer is None:
            self._writer = self._open(table.schema)
        self._write_table(table)

    def _write_table(self, table: Any) -> None:
        self._writer.write(table)


class ParquetWriter(_ArrowWriter):
    """Writes a Parquet file; timestamps have the types of pyarrow's columns if nothing is said of them."""

    def __init__(
        self,
        encode: Callable[[list[Any]], Any],
        stream: IO[bytes],
        compression: str,
        timestamps: ParquetTimestamps | None = None,
    ) -> None:
        super().__init__(encode)
        self._stream = stream
        self._compression = compression
        self._timestamps = timestamps

    def _open(self, schema: Any) -> Any:
        import pyarrow.parquet as pq

        options = {} if self._timestamps is None else self._timestamps.writer_options
        schema = schema if self._timestamps is None else self._timestamps.schema(schema)
        return pq.ParquetWriter(self._stream, schema, compression=self._compression, **options)

    def _write_table(self, table: Any) -> None:
        table = table if self._timestamps is None else self._timestamps.table(table)
        # Untyped records of a later batch may have been read as another type; the file has one schema.
        self._writer.write_table(table if table.schema == self._writer.schema else table.cast(self._writer.schema))


class _OrcWriter(_ArrowWriter):
    def __init__(self, encode: Callable[[list[Any]], Any], stream: IO[bytes], compression: str) -> None:
        super().__init__(encode)
        self._stream = stream
        self._compression = compression

    def _open(self, schema: Any) -> Any:
        from pyarrow.orc import ORCWriter

        return ORCWriter(self._stream, compression=self._compression)


@dataclass(frozen=True)
class ParquetBulkFormat(BulkFormat):
    """Parquet files with the columns of `row_type`, or of the stream's type when it is None."""

    row_type: TypeInformation | None = None
    compression: str = "snappy"
    timestamps: ParquetTimestamps = field(default_factory=ParquetTimestamps)

    def create_writer(self, stream: IO[bytes], input_type: TypeInformation | None) -> BulkWriter:
        return ParquetWriter(table_encoder(self.row_type or input_type), stream, self.compression, self.timestamps)


@dataclass(frozen=True)
class OrcBulkFormat(BulkFormat):
    """ORC files with the columns of `row_type`, or of the stream's type when it is None."""

    row_type: TypeInformation | None = None
    compression: str = "zlib"

    def create_writer(self, stream: IO[bytes], input_type: TypeInformation | None) -> BulkWriter:
        return _OrcWriter(table_encoder(self.row_type or input_type), stream, self.compression)
