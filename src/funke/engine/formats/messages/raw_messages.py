"""Messages as they are, as the values of the only column."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.formats.messages.message_format import DecodedRows, MessageDecoder, MessageEncoder
from funke.engine.formats.table.table_format import schema_of
from funke.engine.types.logical import (
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    to_sql_text,
)

if TYPE_CHECKING:
    from funke.engine.types.logical import RowField

__all__ = ["RawDecoder", "RawEncoder"]

_NUMBERS = {
    BooleanType: "?",
    TinyIntType: "b",
    SmallIntType: "h",
    IntType: "i",
    BigIntType: "q",
    FloatType: "f",
    DoubleType: "d",
}


@dataclass(frozen=True)
class _RawForm:
    """How the values of the column stand in messages."""

    column: RowField
    charset: str
    is_big_endian: bool

    def __post_init__(self) -> None:
        if self._number is None and not self._is_text and not isinstance(self._type, (BinaryType, VarBinaryType)):
            reason = "texts, bytes, numbers without a scale and booleans have a form here"
            raise UnsupportedFeatureError(f"the format raw with a column of type {to_sql_text(self._type)}", reason)

    @property
    def _type(self) -> Any:
        return self.column.data_type

    @property
    def _is_text(self) -> bool:
        return isinstance(self._type, (CharType, VarCharType))

    @property
    def _number(self) -> struct.Struct | None:
        form = _NUMBERS.get(type(self._type))
        return None if form is None else struct.Struct((">" if self.is_big_endian else "<") + form)

    def reader(self) -> Callable[[bytes], Any]:
        """Turns the content of a message into a value."""
        number = self._number
        if number is not None:
            return lambda content: self._unpacked(number, content)
        return (lambda content: content.decode(self.charset, "replace")) if self._is_text else lambda content: content

    def _unpacked(self, number: struct.Struct, content: bytes) -> Any:
        if len(content) != number.size:
            kind = to_sql_text(self._type)
            raise ValueError(
                f"a message of {len(content)} bytes is not a value of type {kind}, which has {number.size}"
            )
        return number.unpack(content)[0]

    def writer(self) -> Callable[[Any], bytes]:
        """Turns a value into the content of a message."""
        if self._number is not None:
            return self._number.pack
        return (lambda text: text.encode(self.charset)) if self._is_text else lambda content: content


@dataclass(frozen=True)
class RawDecoder(MessageDecoder):
    """Texts are decoded, bytes stay as they are; a message without content is NULL."""

    columns: tuple[RowField, ...]
    charset: str = "UTF-8"
    is_big_endian: bool = True

    def __post_init__(self) -> None:
        _RawForm(self.columns[0], self.charset, self.is_big_endian)

    @property
    def fields(self) -> tuple[RowField, ...]:
        return self.columns

    def selecting(self, indexes: Sequence[int]) -> RawDecoder:
        return self

    def decode(self, messages: Sequence[bytes | None]) -> DecodedRows:
        read = _RawForm(self.columns[0], self.charset, self.is_big_endian).reader()
        values = [None if each is None else read(each) for each in messages]
        schema = schema_of(self.columns)
        data = pa.RecordBatch.from_arrays([pa.array(values, schema.types[0])], schema=schema)
        return DecodedRows(data, None, np.arange(len(values)))


@dataclass(frozen=True)
class RawEncoder(MessageEncoder):
    """The other way round: NULL is a message without content."""

    columns: tuple[RowField, ...]
    charset: str = "UTF-8"
    is_big_endian: bool = True

    def __post_init__(self) -> None:
        _RawForm(self.columns[0], self.charset, self.is_big_endian)

    def encode(self, data: Any, kinds: Any) -> list[bytes | None]:
        write = _RawForm(self.columns[0], self.charset, self.is_big_endian).writer()
        return [None if each is None else write(each) for each in data.column(0).to_pylist()]
