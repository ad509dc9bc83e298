"""The interface of formats: name, options, readers and writers of files, decoders and encoders of messages."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.connectors.table_option import OptionValues, TableOption

if TYPE_CHECKING:
    from funke.engine.formats.messages.message_format import MessageDecoder, MessageEncoder
    from funke.engine.formats.table.table_format import TableFileFormat
    from funke.engine.formats.table.table_writer import TableFileWriter
    from funke.engine.types.logical.row_type import RowField

__all__ = ["FileFormatFactory", "single_character"]

Fields = "tuple[RowField, ...]"


class FileFormatFactory(ABC):
    """Makes readers and writers for the tables whose option `format` is its identifier; options have no prefix here."""

    identifier: str
    purpose: str = ""
    options: tuple[TableOption, ...] = ()

    def create_reader(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileFormat:
        raise UnsupportedFeatureError(f"reading files of format '{self.identifier}'")

    def create_writer(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileWriter:
        raise UnsupportedFeatureError(f"writing files of format '{self.identifier}'")

    def create_decoder(self, fields: tuple[RowField, ...], values: OptionValues) -> MessageDecoder:
        """The decoder of messages, for connectors that have messages."""
        raise UnsupportedFeatureError(f"messages of format '{self.identifier}'")

    def create_encoder(self, fields: tuple[RowField, ...], values: OptionValues) -> MessageEncoder:
        """The encoder of rows as messages."""
        raise UnsupportedFeatureError(f"messages of format '{self.identifier}'")


def single_character(values: OptionValues, option: TableOption, prefix: str) -> str | None:
    """Return the single character of an option, which may be an escape such as \\t."""
    from funke.engine.flink_exceptions import ValidationException

    text: str | None = values[option]
    if text is None:
        return None
    sign = text if len(text) == 1 else _ESCAPED.get(text, text)
    if len(sign) != 1:
        raise ValidationException(
            f"Option '{prefix}.{option.key}' must be a string with single character, but was: {text}"
        )
    return sign


_ESCAPED = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\\\": "\\", "\\0": "\0"}
