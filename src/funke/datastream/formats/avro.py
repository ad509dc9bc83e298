"""Avro: PyFlink's classes, for the format to come."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from funke.common.serialization import DeserializationSchema, SerializationSchema
from funke.common.typeinfo import TypeInformation
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
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

_REASON = "the Avro format is not available yet"


class AvroSchema:
    """The schema of Avro records."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Read a schema from text."""
        try:
            return AvroSchema(json.loads(json_schema))
        except json.JSONDecodeError as error:
            raise ConfigurationError(f"the Avro schema is not valid JSON: {error}") from error

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """Read a schema from a file."""
        with open(file_path, encoding="utf-8") as file:
            return AvroSchema.parse_string(file.read())

    def __str__(self) -> str:
        return json.dumps(self.schema, separators=(",", ":"))


class GenericRecordAvroTypeInfo(TypeInformation):
    """The type of Avro records."""

    def __init__(self, schema: AvroSchema) -> None:
        raise UnsupportedFeatureError("GenericRecordAvroTypeInfo", _REASON)


class AvroInputFormat:
    """Reads Avro files."""

    def __init__(self, path: str, schema: AvroSchema) -> None:
        raise UnsupportedFeatureError("AvroInputFormat", _REASON)

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """Refuse: there are no instances."""
        raise UnsupportedFeatureError("AvroInputFormat", _REASON)


class AvroBulkWriters:
    """Writes Avro files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> NoReturn:
        """Refuse: the format does not work yet."""
        raise UnsupportedFeatureError("AvroBulkWriters", _REASON)


class AvroRowDeserializationSchema(DeserializationSchema):
    """Reads each message as one Avro record."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        _require_one(record_class, avro_schema_string)
        raise UnsupportedFeatureError("AvroRowDeserializationSchema", _REASON)

    def deserialize(self, message: bytes) -> Any:
        """Refuse: there are no instances."""
        raise UnsupportedFeatureError("AvroRowDeserializationSchema", _REASON)


class AvroRowSerializationSchema(SerializationSchema):
    """Writes each row as one Avro record."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        _require_one(record_class, avro_schema_string)
        raise UnsupportedFeatureError("AvroRowSerializationSchema", _REASON)

    def serialize(self, value: Any) -> bytes:
        """Refuse: there are no instances."""
        raise UnsupportedFeatureError("AvroRowSerializationSchema", _REASON)


def _require_one(record_class: str | None, avro_schema_string: str | None) -> None:
    if record_class is None and avro_schema_string is None:
        raise TypeError("record_class or avro_schema_string must be given")
