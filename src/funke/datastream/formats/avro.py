"""Avro files and Avro messages."""

from __future__ import annotations

import json
from typing import Any

from funke.common.serialization import BulkWriterFactory, DeserializationSchema, SerializationSchema
from funke.common.typeinfo import RowTypeInfo
from funke.engine.connectors.file_sink.avro_format import AvroBulkFormat
from funke.engine.connectors.files.file_source import FileSource
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.formats.avro.avro_files import AvroFileFormat
from funke.engine.formats.avro.avro_rows import AvroRowReader, AvroRowWriter
from funke.engine.formats.avro.avro_schema import checked
from funke.engine.types.information.avro_type import AvroTypeInfo
from funke.passed_on_names import pass_on_names

__all__ = [
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
    "AvroInputFormat",
    "AvroBulkWriters",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
]

pass_on_names(__name__)


class AvroSchema:
    """The schema of Avro records.

    >>> from funke.datastream.formats.avro import AvroSchema
    >>> print(AvroSchema.parse_string('{"type": "array", "items": "int"}'))
    {"type":"array","items":"int"}
    """

    def __init__(self, schema: Any) -> None:
        self.schema = checked(schema)

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Read a schema from text."""
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """Read a schema from a file."""
        with open(file_path, encoding="utf-8") as file:
            return AvroSchema(file.read())

    def __str__(self) -> str:
        return json.dumps(self.schema, separators=(",", ":"), ensure_ascii=False)


class GenericRecordAvroTypeInfo(AvroTypeInfo):
    """The type of Avro records, which are dicts.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.formats.avro import AvroSchema, GenericRecordAvroTypeInfo
    >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
    >>> order = GenericRecordAvroTypeInfo(AvroSchema.parse_string(text))
    >>> orders = StreamExecutionEnvironment.get_execution_environment().from_collection([{"id": 1}], order)
    >>> orders.get_type() == order
    True
    """

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__(str(schema))


class AvroInputFormat:
    """Reads Avro files, for `env.create_input`; `FileSource` takes it too, which goes beyond PyFlink.

    Records are dicts. A file that was written with another schema is adapted to this one by Avro's rules: fields are
    found by name, missing ones have their defaults, numbers are widened.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.formats.avro import AvroInputFormat, AvroSchema
    >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
    >>> orders = AvroInputFormat("/tmp/orders.avro", AvroSchema.parse_string(text))
    >>> stream = StreamExecutionEnvironment.get_execution_environment().create_input(orders)
    >>> stream.get_type() == orders.get_produced_type()
    True
    """

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self._type_info = GenericRecordAvroTypeInfo(schema)
        self.engine_format = AvroFileFormat(str(schema))
        self.engine_source = FileSource([path], self.engine_format)

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """Return the type of the records."""
        return self._type_info


class AvroBulkWriters:
    """Writes Avro files.

    >>> from funke.datastream.connectors.file_system import FileSink
    >>> from funke.datastream.formats.avro import AvroBulkWriters, AvroSchema
    >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
    >>> writers = AvroBulkWriters.for_generic_record(AvroSchema.parse_string(text))
    >>> type(FileSink.for_bulk_format("/tmp/orders", writers).build()).__name__
    'FileSink'
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Return a factory that writes dicts as records of a schema."""
        return BulkWriterFactory(AvroBulkFormat(str(schema)))


class AvroRowDeserializationSchema(DeserializationSchema):
    """Reads each message as one Avro record.

    >>> from funke.datastream.formats.avro import AvroRowDeserializationSchema
    >>> schema = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}'
    >>> AvroRowDeserializationSchema(avro_schema_string=schema).deserialize(bytes([4]))
    Row(id=2)
    """

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        self._reader = AvroRowReader(_schema_text(record_class, avro_schema_string))

    def deserialize(self, message: bytes | None) -> Any:
        """Return the row of a message; None for one without content, as in Flink."""
        return None if message is None else self._reader.read(message)

    def get_produced_type(self) -> RowTypeInfo:
        """Return the type of the rows."""
        return self._reader.row_type


class AvroRowSerializationSchema(SerializationSchema):
    """Writes each row as one Avro record.

    >>> from funke.common import Row
    >>> from funke.datastream.formats.avro import AvroRowSerializationSchema
    >>> schema = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}'
    >>> list(AvroRowSerializationSchema(avro_schema_string=schema).serialize(Row(2)))
    [4]
    """

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        self._writer = AvroRowWriter(_schema_text(record_class, avro_schema_string))

    def serialize(self, value: Any) -> bytes:
        """Return the message of a row."""
        return self._writer.write(value)


def _schema_text(record_class: str | None, avro_schema_string: str | None) -> str:
    if record_class is None and avro_schema_string is None:
        raise TypeError("record_class or avro_schema_string should be specified.")
    if record_class is not None:
        raise UnsupportedFeatureError("record_class", "it names a Java class; give avro_schema_string instead")
    return str(AvroSchema(avro_schema_string))
