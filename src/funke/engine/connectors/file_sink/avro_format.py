"""Avro container files, and Parquet files with an Avro schema, as bulk formats."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from funke.engine.connectors.file_sink.arrow_formats import ParquetWriter
from funke.engine.connectors.file_sink.bulk_format import BulkFormat, BulkWriter
from funke.engine.errors import TypeMismatchError
from funke.engine.formats.avro.avro_columns import AvroColumns
from funke.engine.formats.avro.unknown_fields import field_check

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["AvroBulkFormat", "AvroParquetBulkFormat"]


@dataclass(frozen=True)
class AvroBulkFormat(BulkFormat):
    """Avro files of a schema (JSON text); like Flink's they are not compressed."""

    schema: str

    def create_writer(self, stream: IO[bytes], input_type: TypeInformation | None) -> BulkWriter:
        return _AvroWriter(stream, json.loads(self.schema))


class _AvroWriter(BulkWriter):
    def __init__(self, stream: IO[bytes], schema: Any) -> None:
        from fastavro.write import Writer

        self._check = field_check(schema)
        self._writer = Writer(stream, schema)

    def write(self, values: list[Any]) -> None:
        """Writes records; fastavro gathers them into blocks."""
        check, write = self._check, self._writer.write
        for value in values:
            try:
                if check is not None:
                    check(value)
                write(value)
            except TypeMismatchError:
                raise
            except Exception as error:  # each type raises its own exception
                reason = f"{type(error).__name__}: {error}"
                raise TypeMismatchError(f"{value!r} does not fit the Avro schema of the sink: {reason}") from error

    def finish(self) -> None:
        """Writes the last block."""
        self._writer.flush()


@dataclass(frozen=True)
class AvroParquetBulkFormat(BulkFormat):
    """Parquet files with the columns of an Avro schema (JSON text); like Flink's they are not compressed."""

    schema: str

    def __post_init__(self) -> None:
        """Rejects a schema that has no columns, where it is written."""
        AvroColumns(self.schema)

    def create_writer(self, stream: IO[bytes], input_type: TypeInformation | None) -> BulkWriter:
        return ParquetWriter(AvroColumns(self.schema).encode, stream, "none")
