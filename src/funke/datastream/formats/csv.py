"""CSV files and CSV messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from funke.common.serialization import (
    BulkWriterFactory,
    DeserializationSchema,
    RowDataBulkWriterFactory,
    SerializationSchema,
)
from funke.common.typeinfo import RowTypeInfo, TypeInformation
from funke.datastream.connectors.file_system import StreamFormat
from funke.datastream.formats.csv_schema import CsvSchema, CsvSchemaBuilder
from funke.engine.connectors.file_sink.csv_format import CsvDialect
from funke.engine.errors import ConfigurationError
from funke.engine.formats.column_types import to_row_type
from funke.engine.formats.csv_format import CsvRowReader, CsvRowWriter

__all__ = [
    "CsvSchema",
    "CsvSchemaBuilder",
    "CsvReaderFormat",
    "CsvBulkWriters",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
]


class CsvReaderFormat(StreamFormat):
    """Reads CSV files.

    >>> from funke.datastream.connectors.file_system import FileSource
    >>> from funke.datastream.formats.csv import CsvReaderFormat, CsvSchema
    >>> schema = CsvSchema.builder().add_number_column("id").add_string_column("item").build()
    >>> source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), "/tmp/orders.csv").build()
    >>> type(source).__name__
    'FileSource'
    """

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Return a format that reads the columns of a schema."""
        return CsvReaderFormat(schema.to_file_format())


class CsvBulkWriters:
    """Writes CSV files.

    >>> from funke.datastream.connectors.file_system import FileSink
    >>> from funke.datastream.formats.csv import CsvBulkWriters, CsvSchema
    >>> schema = CsvSchema.builder().add_number_column("id").add_string_column("item").build()
    >>> sink = FileSink.for_bulk_format("/tmp/orders", CsvBulkWriters.for_schema(schema)).build()
    >>> type(sink).__name__
    'FileSink'
    """

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Return a factory that writes the columns of a schema."""
        return RowDataBulkWriterFactory(schema.row_type, schema.to_bulk_format())


class CsvRowDeserializationSchema(DeserializationSchema):
    """Reads each message as one line of CSV.

    >>> from funke.common import Types
    >>> from funke.datastream.formats.csv import CsvRowDeserializationSchema
    >>> row_type = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    >>> CsvRowDeserializationSchema.Builder(row_type).build().deserialize(b'1,"a, b"')
    Row(id=1, name='a, b')
    """

    def __init__(self, reader: CsvRowReader) -> None:
        self._reader = reader

    def deserialize(self, message: bytes | None) -> Any:
        """Return the row of a message; one without content cannot be read either."""
        return self._reader.read(message or b"")

    def get_produced_type(self) -> RowTypeInfo:
        """Return the type of the rows."""
        return self._reader.row_type

    class Builder:
        """Collects the settings of a schema."""

        def __init__(self, type_info: TypeInformation) -> None:
            if type_info is None:
                raise TypeError("CsvRowDeserializationSchema needs a type, got None")
            self._reader = CsvRowReader(to_row_type(type_info))

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character between fields; a comma by default."""
            return self._set_dialect(separator=_require_character("field delimiter", delimiter))

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Choose whether lines that start with # are skipped."""
            self._reader.allows_comments = allow_comments
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set the text between elements of an array; a semicolon by default."""
            return self._set_dialect(array_separator=delimiter)

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character around fields with special characters; a double quote by default."""
            return self._set_dialect(quote=_require_character("quote character", c))

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character that takes the meaning from the next one; none by default."""
            return self._set_dialect(escape=_require_character("escape character", c))

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """Set the text that stands for null; none by default."""
            self._reader.null_literal = null_literal
            return self

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> CsvRowDeserializationSchema.Builder:
            """Choose whether what cannot be read becomes null."""
            self._reader.ignores_errors = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Return the schema."""
            return CsvRowDeserializationSchema(replace(self._reader))

        def _set_dialect(self, **changes: Any) -> CsvRowDeserializationSchema.Builder:
            self._reader.dialect = replace(self._reader.dialect, **changes)
            return self


class CsvRowSerializationSchema(SerializationSchema):
    """Writes each row as one line of CSV.

    >>> from funke.common import Row, Types
    >>> from funke.datastream.formats.csv import CsvRowSerializationSchema
    >>> row_type = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    >>> schema = CsvRowSerializationSchema.Builder(row_type).set_field_delimiter(";").build()
    >>> schema.serialize(Row(1, "a")).decode().splitlines()
    ['1;a']
    """

    def __init__(self, writer: CsvRowWriter) -> None:
        self._writer = writer

    def serialize(self, value: Any) -> bytes:
        """Return the message of a row."""
        return self._writer.write(value)

    class Builder:
        """Collects the settings of a schema."""

        def __init__(self, type_info: TypeInformation) -> None:
            if type_info is None:
                raise TypeError("CsvRowSerializationSchema needs a type, got None")
            self._row_type = to_row_type(type_info)
            self._dialect = CsvDialect()

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character between fields; a comma by default."""
            return self._set_dialect(separator=_require_character("field delimiter", c))

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set the text at the end of a line; a line feed by default."""
            return self._set_dialect(line_end=delimiter)

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set the text between elements of an array; a semicolon by default."""
            return self._set_dialect(array_separator=delimiter)

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Write fields without quotes."""
            return self._set_dialect(quote=None)

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character around fields with special characters; a double quote by default."""
            return self._set_dialect(quote=_require_character("quote character", c))

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character that takes the meaning from the next one; none by default."""
            return self._set_dialect(escape=_require_character("escape character", c))

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """Set the text that stands for null; an empty one by default."""
            return self._set_dialect(null_text=s)

        def build(self) -> CsvRowSerializationSchema:
            """Return the schema."""
            return CsvRowSerializationSchema(CsvRowWriter(self._row_type, self._dialect))

        def _set_dialect(self, **changes: Any) -> CsvRowSerializationSchema.Builder:
            self._dialect = replace(self._dialect, **changes)
            return self


def _require_character(what: str, text: str) -> str:
    if len(text) != 1:
        raise ConfigurationError(f"the {what} of CSV must be a single character, got {text!r}")
    return text
