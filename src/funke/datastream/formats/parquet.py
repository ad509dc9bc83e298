"""Parquet files."""

from __future__ import annotations

from typing import Any

from funke.common.configuration import Configuration
from funke.common.serialization import BulkWriterFactory, RowDataBulkWriterFactory
from funke.datastream.connectors.file_system import BulkFormat, StreamFormat
from funke.datastream.formats.avro import AvroSchema
from funke.engine.connectors.file_sink.arrow_formats import ParquetBulkFormat
from funke.engine.connectors.file_sink.avro_format import AvroParquetBulkFormat
from funke.engine.formats.avro.avro_parquet import AvroParquetFormat
from funke.engine.formats.column_types import to_row_type
from funke.engine.formats.parquet_reader import ParquetFileFormat
from funke.engine.formats.parquet_timestamps import ParquetTimestamps

__all__ = ["AvroParquetReaders", "AvroParquetWriters", "ParquetColumnarRowInputFormat", "ParquetBulkWriters"]

_COMPRESSION = "parquet.compression"


class AvroParquetReaders:
    """Reads Parquet files as Avro records.

    >>> from funke.datastream.connectors.file_system import FileSource
    >>> from funke.datastream.formats.avro import AvroSchema
    >>> from funke.datastream.formats.parquet import AvroParquetReaders
    >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
    >>> orders = AvroParquetReaders.for_generic_record(AvroSchema.parse_string(text))
    >>> type(FileSource.for_record_stream_format(orders, "/tmp/orders").build()).__name__
    'FileSource'
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Return a format that reads dicts with the fields of a schema."""
        return StreamFormat(AvroParquetFormat(str(schema)))


class AvroParquetWriters:
    """Writes Avro records into Parquet files.

    >>> from funke.datastream.connectors.file_system import FileSink
    >>> from funke.datastream.formats.avro import AvroSchema
    >>> from funke.datastream.formats.parquet import AvroParquetWriters
    >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
    >>> writers = AvroParquetWriters.for_generic_record(AvroSchema.parse_string(text))
    >>> type(FileSink.for_bulk_format("/tmp/orders", writers).build()).__name__
    'FileSink'
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Return a factory that writes dicts as records of a schema."""
        return BulkWriterFactory(AvroParquetBulkFormat(str(schema)))


class ParquetColumnarRowInputFormat(BulkFormat):
    """Reads the columns of a row type from Parquet files.

    With `is_utc_timestamp` instants are read into columns of dates and times in UTC, else in the zone of the process. A
    TIMESTAMP_LTZ is a datetime with the zone of the process: the same date and time, so the right instant by default.

    >>> from funke.common import Types
    >>> from funke.datastream.connectors.file_system import FileSource
    >>> from funke.datastream.formats.parquet import ParquetColumnarRowInputFormat
    >>> columns = ParquetColumnarRowInputFormat(Types.ROW_NAMED(["id", "item"], [Types.INT(), Types.STRING()]))
    >>> type(FileSource.for_bulk_file_format(columns, "/tmp/orders").build()).__name__
    'FileSource'
    """

    def __init__(
        self,
        row_type: Any,
        hadoop_config: Configuration | None = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        self.row_type = to_row_type(row_type)
        self.hadoop_config = hadoop_config
        self.batch_size = batch_size
        self.is_utc_timestamp = is_utc_timestamp
        self.is_case_sensitive = is_case_sensitive
        super().__init__(ParquetFileFormat(self.row_type, batch_size, is_case_sensitive, is_utc_timestamp))


class ParquetBulkWriters:
    """Writes rows into Parquet files.

    >>> import pathlib, tempfile
    >>> import pyarrow.parquet
    >>> from funke.common import Row, Types
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.file_system import FileSink
    >>> from funke.datastream.formats.parquet import ParquetBulkWriters
    >>> folder = tempfile.TemporaryDirectory()
    >>> row_type = Types.ROW_NAMED(["id", "item"], [Types.INT(), Types.STRING()])
    >>> sink = FileSink.for_bulk_format(folder.name, ParquetBulkWriters.for_row_type(row_type)).build()
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> _ = env.from_collection([Row(1, "tea")], row_type).sink_to(sink)
    >>> _ = env.execute()
    >>> [pyarrow.parquet.read_table(path).to_pylist() for path in pathlib.Path(folder.name).rglob("part*")]
    [[{'id': 1, 'item': 'tea'}]]
    """

    @staticmethod
    def for_row_type(
        row_type: Any, hadoop_config: Configuration | None = None, utc_timestamp: bool = False
    ) -> BulkWriterFactory:
        """Return a factory that writes rows of a type; `parquet.compression` chooses the compression.

        Timestamps are written as INT96; with `utc_timestamp` dates and times are taken for those of UTC, else for those
        of the zone of the process.
        """
        compression = "snappy" if hadoop_config is None else hadoop_config.get_string(_COMPRESSION, "snappy")
        timestamps = ParquetTimestamps(utc_timestamp)
        written = ParquetBulkFormat(to_row_type(row_type), compression.lower(), timestamps)
        return RowDataBulkWriterFactory(row_type, written)
