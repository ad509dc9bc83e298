"""How elements become bytes and bytes become elements."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from funke.engine.errors import TypeMismatchError
from funke.engine.types import TypeInformation, Types
from funke.engine.types.text_form import text_writer
from funke.passed_on_names import pass_on_names

__all__ = [
    "SerializationSchema",
    "DeserializationSchema",
    "SimpleStringSchema",
    "ByteArraySchema",
    "Encoder",
    "BulkWriterFactory",
    "RowFieldExtractorSchema",
    "SimpleStringEncoder",
]

pass_on_names(__name__)


class SerializationSchema(ABC):
    """Turns an element into the bytes of a message.

    >>> import json
    >>> from funke.common import SerializationSchema
    >>> class Json(SerializationSchema):
    ...     def serialize(self, value):
    ...         return json.dumps(value).encode()
    >>> Json().serialize({"item": "tea"})
    b'{"item": "tea"}'
    """

    @abstractmethod
    def serialize(self, value: Any) -> bytes:
        """Return the bytes of one element."""


class DeserializationSchema(ABC):
    """Turns the bytes of a message into an element.

    >>> import json
    >>> from funke.common import DeserializationSchema
    >>> class Json(DeserializationSchema):
    ...     def deserialize(self, message):
    ...         return json.loads(message)
    >>> Json().deserialize(b'{"item": "tea"}')
    {'item': 'tea'}
    """

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """Return the element of one message."""

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the elements."""
        return Types.PICKLED_BYTE_ARRAY()


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Text in a character set.

    >>> from funke.common import SimpleStringSchema
    >>> schema = SimpleStringSchema()
    >>> schema.serialize("tea"), schema.deserialize("café".encode())
    (b'tea', 'café')
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = codecs.lookup(charset).name

    @property
    def charset(self) -> str:
        """The name of the character set, as Python calls it."""
        return self._charset

    def serialize(self, value: Any) -> bytes:
        """Return the encoded text."""
        if not isinstance(value, str):
            raise TypeMismatchError(f"SimpleStringSchema needs a str, got {type(value).__name__}: {value!r}")
        return value.encode(self._charset, "replace")

    def deserialize(self, message: bytes) -> str:
        """Return the decoded text; bytes that do not decode become replacement characters, as in Java."""
        return message.decode(self._charset, "replace")

    def get_produced_type(self) -> TypeInformation:
        """Return the type of text."""
        return Types.STRING()


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are.

    >>> from funke.common import ByteArraySchema
    >>> ByteArraySchema().deserialize(b"raw"), ByteArraySchema().serialize(b"raw")
    (b'raw', b'raw')
    """

    def serialize(self, value: Any) -> bytes:
        """Return the bytes."""
        return _require_bytes("ByteArraySchema", value)

    def deserialize(self, message: bytes) -> bytes:
        """Return the bytes."""
        return message

    def get_produced_type(self) -> TypeInformation:
        """Return the type of bytes."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema):
    """One field of a row, which must be bytes; for example the key of a Kafka message."""

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise ValueError(f"Field index must be non-negative, got: {field_index}")
        self._field_index = field_index

    def serialize(self, value: Any) -> bytes:
        """Return the bytes of the field; a missing value, or no row at all, gives no bytes."""
        field = None if value is None else value[self._field_index]
        return b"" if field is None else _require_bytes(f"field {self._field_index} of the row", field)


def _require_bytes(what: str, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeMismatchError(f"{what} needs bytes, got {type(value).__name__}: {value!r}")


class Encoder(ABC):
    """Writes the elements of a file in row format.

    >>> from funke.common import Encoder, Types
    >>> Encoder.simple_string_encoder().encode(7, Types.INT()).decode().splitlines()  # for FileSink.for_row_format()
    ['7']
    """

    @abstractmethod
    def to_writer(self, type_info: TypeInformation | None) -> Callable[[Any], bytes]:
        """Return the function that turns an element of the given type into its bytes in the file."""

    def encode(self, value: Any, type_info: TypeInformation | None = None) -> bytes:
        """Return the bytes of one element."""
        return self.to_writer(type_info)(value)

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Return an encoder that writes one line of text per element."""
        return SimpleStringEncoder(charset_name)


class SimpleStringEncoder(Encoder):
    """Flink's text form of the element and a line end; made by name in Flink 1.x."""

    def __init__(self, charset_name: str = "UTF-8") -> None:
        self._charset = codecs.lookup(charset_name).name

    def to_writer(self, type_info: TypeInformation | None) -> Callable[[Any], bytes]:
        write, charset = text_writer(type_info), self._charset
        return lambda value: (write(value) + "\n").encode(charset, "replace")


class BulkWriterFactory:
    """Writes whole files in a columnar format; ``bulk_format`` is the engine's description of it."""

    def __init__(self, bulk_format: Any) -> None:
        self.bulk_format = bulk_format


class RowDataBulkWriterFactory(BulkWriterFactory):
    """A bulk format for rows of one type."""

    def __init__(self, row_type: Any, bulk_format: Any = None) -> None:
        super().__init__(bulk_format)
        self._row_type = row_type

    def get_row_type(self) -> Any:
        """Return the type of the rows."""
        return self._row_type
