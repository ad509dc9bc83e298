"""JSON messages as rows and rows as JSON messages."""

from __future__ import annotations

from typing import Any

from funke.common.serialization import DeserializationSchema, SerializationSchema
from funke.common.typeinfo import RowTypeInfo, TypeInformation
from funke.engine.errors import ConfigurationError
from funke.engine.formats.column_types import to_row_type
from funke.engine.formats.json_format import JsonRowReader
from funke.engine.formats.json_schema import type_from_json_schema
from funke.engine.formats.json_writer import JsonRowWriter
from funke.passed_on_names import pass_on_names

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]

pass_on_names(__name__)


class JsonRowDeserializationSchema(DeserializationSchema):
    """Reads each message as one JSON object.

    >>> from funke.common import Types
    >>> from funke.datastream.formats.json import JsonRowDeserializationSchema
    >>> row_type = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    >>> JsonRowDeserializationSchema.builder().type_info(row_type).build().deserialize(b'{"id": 1, "name": "a"}')
    Row(id=1, name='a')
    """

    def __init__(self, reader: JsonRowReader) -> None:
        self._reader = reader

    def deserialize(self, message: bytes | None) -> Any:
        """Return the row of a message; one without content cannot be read either."""
        return self._reader.read(message or b"")

    def get_produced_type(self) -> RowTypeInfo:
        """Return the type of the rows."""
        return self._reader.row_type

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Start a schema."""
        return JsonRowDeserializationSchema.Builder()

    class Builder:
        """Collects the settings of a schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows."""
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows by a JSON Schema."""
            if json_schema is None:
                raise TypeError("json_schema must not be None")
            self._type_info = type_from_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Fail when a field is missing, instead of taking it as null."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Take what cannot be read as null."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Return the schema."""
            if self._type_info is None:
                raise TypeError("JsonRowDeserializationSchema needs a type; call type_info() or json_schema()")
            if self._fail_on_missing_field and self._ignore_parse_errors:
                raise ConfigurationError("fail_on_missing_field() and ignore_parse_errors() contradict each other")
            reader = JsonRowReader(to_row_type(self._type_info), self._fail_on_missing_field, self._ignore_parse_errors)
            return JsonRowDeserializationSchema(reader)


class JsonRowSerializationSchema(SerializationSchema):
    """Writes each row as one JSON object.

    >>> from funke.common import Row, Types
    >>> from funke.datastream.formats.json import JsonRowSerializationSchema
    >>> row_type = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    >>> JsonRowSerializationSchema.builder().with_type_info(row_type).build().serialize(Row(1, "a"))
    b'{"id":1,"name":"a"}'
    """

    def __init__(self, writer: JsonRowWriter) -> None:
        self._writer = writer

    def serialize(self, value: Any) -> bytes:
        """Return the message of a row."""
        return self._writer.write(value)

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Start a schema."""
        return JsonRowSerializationSchema.Builder()

    class Builder:
        """Collects the settings of a schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Set the type of the rows."""
            self._type_info = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Return the schema."""
            if self._type_info is None:
                raise TypeError("JsonRowSerializationSchema needs a type; call with_type_info()")
            return JsonRowSerializationSchema(JsonRowWriter(to_row_type(self._type_info)))
