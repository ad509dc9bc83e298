"""Single records of Avro as messages: with the schema that Flink makes of a table's columns, or with a registry's."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.errors import ConfigurationError
from funke.engine.formats.messages.avro_cells import encoded_columns
from funke.engine.formats.messages.avro_timestamps import in_micros, with_plain_timestamps
from funke.engine.formats.messages.message_format import DecodedRows, MessageDecoder, MessageEncoder
from funke.engine.formats.table.avro_columns import avro_column
from funke.engine.formats.table.avro_writer import avro_records, avro_schema
from funke.engine.formats.table.table_format import schema_of

if TYPE_CHECKING:
    from funke.engine.formats.messages.schema_registry import SchemaRegistry
    from funke.engine.types.logical.row_type import RowField

__all__ = ["AvroDecoder", "AvroEncoder", "RegistryDecoder", "RegistryEncoder"]

# A zero, then the number of the schema.
_HEADER = struct.Struct(">bI")
Record = dict[str, Any]


@dataclass(frozen=True)
class AvroDecoder(MessageDecoder):
    """Reads records that were written with the schema of the table's columns."""

    columns: tuple[RowField, ...]
    # Those of the records, if only some are wanted.
    written: tuple[RowField, ...] | None = None

    @property
    def fields(self) -> tuple[RowField, ...]:
        return self.columns

    def selecting(self, indexes: Sequence[int]) -> AvroDecoder:
        chosen = tuple(self.columns[index] for index in indexes)
        return replace(self, columns=chosen, written=self.written or self.columns)

    def decode(self, messages: Sequence[bytes | None]) -> DecodedRows:
        import fastavro

        schema, timestamps = with_plain_timestamps(avro_schema(self.written or self.columns), self.columns)
        parsed = fastavro.parse_schema(schema)
        return _decoded(self.columns, messages, lambda message: in_micros(_record(parsed, message), timestamps))


@dataclass(frozen=True)
class RegistryDecoder(MessageDecoder):
    """Reads records behind the number of the schema that they were written with."""

    columns: tuple[RowField, ...]
    registry: SchemaRegistry
    # What records are read as, instead of as they were written.
    reader_schema: str | None = None

    @property
    def fields(self) -> tuple[RowField, ...]:
        return self.columns

    def selecting(self, indexes: Sequence[int]) -> RegistryDecoder:
        return replace(self, columns=tuple(self.columns[index] for index in indexes))

    def decode(self, messages: Sequence[bytes | None]) -> DecodedRows:
        reader_schema = None if self.reader_schema is None else _parsed(self.reader_schema)
        readers: dict[int, Callable[[bytes], Record]] = {}

        def read(message: bytes) -> Record:
            if len(message) < _HEADER.size or message[0] != 0:
                raise ValueError("Unknown data format. Magic number does not match")
            _, number = _HEADER.unpack_from(message)
            if number not in readers:
                readers[number] = self._reader(self.registry.schema_of(number), reader_schema)
            return readers[number](message[_HEADER.size :])

        return _decoded(self.columns, messages, read)

    def _reader(self, text: str, reader_schema: Any) -> Callable[[bytes], Record]:
        """What reads records that were written with a schema."""
        schema = _parsed(text)
        if reader_schema is not None:
            return lambda message: _record(schema, message, reader_schema)
        plain, timestamps = with_plain_timestamps(schema, self.columns)
        return lambda message: in_micros(_record(plain, message), timestamps)


@dataclass(frozen=True)
class AvroEncoder(MessageEncoder):
    """Writes records without anything before them."""

    fields: tuple[RowField, ...]

    def __post_init__(self) -> None:
        """Rejects types that Avro has no form for, where the table is made."""
        avro_schema(self.fields)

    def encode(self, data: Any, kinds: Any) -> list[bytes]:
        import fastavro

        encoded = encoded_columns(self.fields, data, b"")
        return encoded or _encoded(self.fields, fastavro.parse_schema(avro_schema(self.fields)), data, b"")


@dataclass(frozen=True)
class RegistryEncoder(MessageEncoder):
    """Writes records behind the number that a registry gives to their schema, under a subject."""

    fields: tuple[RowField, ...]
    registry: SchemaRegistry
    subject: str
    schema: str | None = None

    def __post_init__(self) -> None:
        avro_schema(self.fields)

    def encode(self, data: Any, kinds: Any) -> list[bytes]:
        import json

        text = self.schema or json.dumps(avro_schema(self.fields))
        header = _HEADER.pack(0, self.registry.number_of(self.subject, text))
        encoded = encoded_columns(self.fields, data, header) if self.schema is None else None
        return encoded or _encoded(self.fields, _parsed(text), data, header)


_parsed_schemas: dict[str, Any] = {}


def _parsed(text: str) -> Any:
    """Parsing a schema takes longer than reading a record: there are few."""
    schema = _parsed_schemas.get(text)
    if schema is None:
        import json

        import fastavro

        try:
            schema = _parsed_schemas[text] = fastavro.parse_schema(json.loads(text))
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"the Avro schema is not valid: {type(error).__name__}: {error}") from error
    return schema


def _record(schema: Any, message: bytes, reader_schema: Any = None) -> Record:
    import fastavro

    try:
        record: Any = fastavro.schemaless_reader(io.BytesIO(message), schema, reader_schema)
    except Exception as error:  # whatever the decoder makes of damaged bytes
        raise ValueError(f"a message is not a record of its schema: {type(error).__name__}: {error}") from error
    if not isinstance(record, dict):
        raise ValueError("a message is not a record")
    return record


def _decoded(
    fields: tuple[RowField, ...], messages: Sequence[bytes | None], read: Callable[[bytes], Record]
) -> DecodedRows:
    indexes = [index for index, each in enumerate(messages) if each]
    records = [read(messages[index] or b"") for index in indexes]
    schema = schema_of(fields)
    columns = [avro_column([each.get(field.name) for each in records], field.type) for field in schema]
    return DecodedRows(pa.RecordBatch.from_arrays(columns, schema=schema), None, np.array(indexes, np.int64))


def _encoded(fields: tuple[RowField, ...], schema: Any, data: Any, header: bytes) -> list[bytes]:
    import fastavro

    messages = []
    for record in avro_records(fields, data):
        target = io.BytesIO()
        target.write(header)
        fastavro.schemaless_writer(target, schema, record)
        messages.append(target.getvalue())
    return messages
