"""All formats of files, by name."""

from __future__ import annotations

from collections.abc import Mapping

from funke.engine.errors import did_you_mean
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.formats.avro_confluent_factory import AvroConfluentFactory
from funke.engine.sql.connectors.formats.change_json_factories import (
    CanalJsonFactory,
    DebeziumJsonFactory,
    MaxwellJsonFactory,
    OggJsonFactory,
)
from funke.engine.sql.connectors.formats.columnar_factories import AvroFactory, OrcFactory, ParquetFactory, RawFactory
from funke.engine.sql.connectors.formats.csv_factory import CsvFactory
from funke.engine.sql.connectors.formats.file_format_factory import FileFormatFactory
from funke.engine.sql.connectors.formats.json_factory import JsonFactory

__all__ = ["FILE_FORMATS", "find_file_format"]

FILE_FORMATS: Mapping[str, FileFormatFactory] = {
    each.identifier: each
    for each in (
        CsvFactory(),
        JsonFactory(),
        ParquetFactory(),
        OrcFactory(),
        AvroFactory(),
        RawFactory(),
        DebeziumJsonFactory(),
        CanalJsonFactory(),
        MaxwellJsonFactory(),
        OggJsonFactory(),
        AvroConfluentFactory(),
    )
}


def find_file_format(identifier: str) -> FileFormatFactory:
    """Return the format of a name."""
    if identifier not in FILE_FORMATS:
        hint = did_you_mean(identifier, FILE_FORMATS, begin=" Did")
        raise ValidationException(
            f"Could not find any format factory for identifier '{identifier}' in the classpath.{hint}"
        )
    return FILE_FORMATS[identifier]
