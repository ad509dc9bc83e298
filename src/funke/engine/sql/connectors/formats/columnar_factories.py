"""The formats parquet, orc, avro and raw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.formats.messages.avro_messages import AvroDecoder, AvroEncoder
from funke.engine.formats.messages.raw_messages import RawDecoder, RawEncoder
from funke.engine.formats.parquet_timestamps import ParquetTimestamps
from funke.engine.formats.table.arrow_columns import OrcTableFormat, ParquetTableFormat
from funke.engine.formats.table.arrow_writers import OrcFileWriter, ParquetFileWriter
from funke.engine.formats.table.avro_columns import AvroTableFormat
from funke.engine.formats.table.avro_writer import AvroFileWriter
from funke.engine.formats.table.raw_columns import RawLines, RawTableFormat
from funke.engine.sql.connectors.formats.file_format_factory import FileFormatFactory
from funke.engine.sql.connectors.table_option import OptionValues, TableOption
from funke.engine.types.logical import BitmapType

if TYPE_CHECKING:
    from funke.engine.formats.table.table_format import TableFileFormat
    from funke.engine.formats.table.table_writer import TableFileWriter
    from funke.engine.types.logical import RowField

__all__ = ["AvroFactory", "OrcFactory", "ParquetFactory", "RawFactory"]

_UTC = TableOption(
    "utc-timezone", "Boolean", "false", "Instants in the file are dates and times in UTC, not in the machine's zone."
)
_INT64 = TableOption(
    "write.int64.timestamp",
    "Boolean",
    "false",
    "Writes timestamps as INT64, dates and times unchanged; otherwise as INT96, as instants.",
)
_INT64_UNIT = TableOption(
    "timestamp.time.unit", default="micros", description="The unit of INT64.", choices=("nanos", "micros", "millis")
)
_UNITS = {"nanos": "ns", "micros": "us", "millis": "ms"}
_PARQUET_COMPRESSION = TableOption("compression", default="SNAPPY", description="How pages are compressed.")
_ORC_COMPRESSION = TableOption("compress", default="ZLIB", description="How stripes are compressed.")
_AVRO_CODEC = TableOption(
    "codec", default="deflate", description="How blocks are compressed.", choices=("deflate", "null", "bzip2", "xz")
)
_AVRO_ENCODING = TableOption(
    "encoding",
    default="binary",
    description="Only binary: Avro's JSON encoding is not supported.",
    choices=("binary", "json"),
)
_AVRO_MAPPING = TableOption(
    "timestamp_mapping.legacy", "Boolean", "true", "Only true, as timestamps are written by default in Flink."
)
_CHARSET = TableOption("charset", default="UTF-8", description="The character set of texts.")
_BIG, _LITTLE = "big-endian", "little-endian"
_ENDIANNESS = TableOption(
    "endianness", default=_BIG, description="The order of bytes of numbers in messages.", choices=(_BIG, _LITTLE)
)


def _reject_bitmaps(fields: tuple[RowField, ...]) -> None:
    """Bytes of a file need not be a bitmap."""
    if any(isinstance(each.data_type, BitmapType) for each in fields):
        raise UnsupportedFeatureError(
            "BITMAP in files", "BITMAP_TO_BYTES and BITMAP_FROM_BYTES go between it and BYTES"
        )


class ParquetFactory(FileFormatFactory):
    identifier = "parquet"
    purpose = "Apache Parquet: columns, compressed."
    options = (_UTC, _INT64, _INT64_UNIT, _PARQUET_COMPRESSION)

    def create_reader(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileFormat:
        _reject_bitmaps(fields)
        return ParquetTableFormat(fields, values[_UTC])

    def create_writer(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileWriter:
        _reject_bitmaps(fields)
        timestamps = ParquetTimestamps(values[_UTC], _UNITS[values[_INT64_UNIT]] if values[_INT64] else None)
        compression = values[_PARQUET_COMPRESSION].lower().replace("uncompressed", "none")
        return ParquetFileWriter(fields, compression, timestamps)


class OrcFactory(FileFormatFactory):
    identifier = "orc"
    purpose = "Apache ORC: columns, compressed."
    options = (_ORC_COMPRESSION,)

    def create_reader(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileFormat:
        _reject_bitmaps(fields)
        return OrcTableFormat(fields)

    def create_writer(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileWriter:
        _reject_bitmaps(fields)
        return OrcFileWriter(fields, values[_ORC_COMPRESSION].lower().replace("none", "uncompressed"))


class AvroFactory(FileFormatFactory):
    identifier = "avro"
    purpose = "Apache Avro: rows with a schema at the head of each file."
    options = (_AVRO_CODEC, _AVRO_ENCODING, _AVRO_MAPPING)

    def create_reader(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileFormat:
        _check_avro(values)
        return AvroTableFormat(fields)

    def create_writer(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileWriter:
        _check_avro(values)
        return AvroFileWriter(fields, values[_AVRO_CODEC])

    def create_decoder(self, fields: tuple[RowField, ...], values: OptionValues) -> AvroDecoder:
        _check_avro(values)
        return AvroDecoder(fields)

    def create_encoder(self, fields: tuple[RowField, ...], values: OptionValues) -> AvroEncoder:
        _check_avro(values)
        return AvroEncoder(fields)


def _check_avro(values: OptionValues) -> None:
    if values[_AVRO_ENCODING] != "binary" or not values[_AVRO_MAPPING]:
        option = _AVRO_MAPPING if values[_AVRO_ENCODING] == "binary" else _AVRO_ENCODING
        raise UnsupportedFeatureError(f"'avro.{option.key}' = '{values.strings[option.key]}'", option.description)


class RawFactory(FileFormatFactory):
    identifier = "raw"
    purpose = "Unchanged lines, as the values of the only column."
    options = (_CHARSET, _ENDIANNESS)

    def create_reader(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileFormat:
        _check_single(fields)
        return RawTableFormat(fields, values[_CHARSET])

    def create_writer(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileWriter:
        _check_single(fields)
        return RawLines(fields, values[_CHARSET])

    def create_decoder(self, fields: tuple[RowField, ...], values: OptionValues) -> RawDecoder:
        _check_single(fields)
        return RawDecoder(fields, values[_CHARSET], values[_ENDIANNESS] == _BIG)

    def create_encoder(self, fields: tuple[RowField, ...], values: OptionValues) -> RawEncoder:
        _check_single(fields)
        return RawEncoder(fields, values[_CHARSET], values[_ENDIANNESS] == _BIG)


def _check_single(fields: tuple[RowField, ...]) -> None:
    if len(fields) != 1:
        columns = ", ".join(f"`{each.name}`" for each in fields)
        raise ValidationException(
            "The 'raw' format only supports single physical column. But the defined schema contains multiple physical "
            f"columns: {columns}"
        )
