"""The formats debezium-json, canal-json, maxwell-json and ogg-json: changes of rows in databases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from funke.engine.flink_exceptions import ValidationException
from funke.engine.formats.messages.change_json import (
    CanalJsonDecoder,
    DebeziumJsonDecoder,
    MaxwellJsonDecoder,
    OggJsonDecoder,
)
from funke.engine.formats.messages.message_files import MessageFileFormat, MessageLines
from funke.engine.sql.connectors.formats.change_json_lines import (
    CANAL,
    DEBEZIUM,
    MAXWELL,
    OGG,
    ChangeJsonEncoder,
    ChangeText,
)
from funke.engine.sql.connectors.formats.file_format_factory import FileFormatFactory
from funke.engine.sql.connectors.formats.json_factory import JSON_OPTIONS, ignores_errors, is_iso, json_lines
from funke.engine.sql.connectors.table_option import OptionValues, TableOption

if TYPE_CHECKING:
    from funke.engine.types.logical.row_type import RowField

__all__ = ["CanalJsonFactory", "DebeziumJsonFactory", "MaxwellJsonFactory", "OggJsonFactory"]

_SCHEMA = TableOption(
    "schema-include",
    "Boolean",
    "false",
    "Messages have their schema beside them, as Kafka Connect writes them with 'value.converter.schemas.enable'.",
)
_DATABASE = TableOption(
    "database.include", description="Only changes of databases whose whole names match this pattern are read."
)
_TABLE = TableOption(
    "table.include", description="Only changes of tables whose whole names match this pattern are read."
)


class _ChangeJsonFactory(FileFormatFactory):
    """The common part of the four formats, which differ in decoders and in the text around rows."""

    options: tuple[TableOption, ...] = JSON_OPTIONS
    text: ChangeText

    def create_reader(self, fields: tuple[RowField, ...], values: OptionValues) -> MessageFileFormat:
        return MessageFileFormat(self.create_decoder(fields, values))

    def create_writer(self, fields: tuple[RowField, ...], values: OptionValues) -> MessageLines:
        return MessageLines(self.create_encoder(fields, values))

    def create_encoder(self, fields: tuple[RowField, ...], values: OptionValues) -> ChangeJsonEncoder:
        return ChangeJsonEncoder(json_lines(fields, values), self.text)


class DebeziumJsonFactory(_ChangeJsonFactory):
    identifier = "debezium-json"
    purpose = "Changes as Debezium writes them: the row before, the row after, and the operation."
    options = (_SCHEMA, *JSON_OPTIONS)
    text = DEBEZIUM

    def create_decoder(self, fields: tuple[RowField, ...], values: OptionValues) -> DebeziumJsonDecoder:
        return DebeziumJsonDecoder(fields, ignores_errors(values), is_iso(values), has_schema=values[_SCHEMA])

    def create_encoder(self, fields: tuple[RowField, ...], values: OptionValues) -> ChangeJsonEncoder:
        if values[_SCHEMA]:
            raise ValidationException(
                "Debezium JSON serialization doesn't support 'debezium-json.schema-include' option been set to true."
            )
        return super().create_encoder(fields, values)


class CanalJsonFactory(_ChangeJsonFactory):
    identifier = "canal-json"
    purpose = "Changes as Canal writes them for MySQL: several rows, with their old values."
    options = (_DATABASE, _TABLE, *JSON_OPTIONS)
    text = CANAL

    def create_decoder(self, fields: tuple[RowField, ...], values: OptionValues) -> CanalJsonDecoder:
        database, table = (_pattern(values, option) for option in (_DATABASE, _TABLE))
        return CanalJsonDecoder(fields, ignores_errors(values), is_iso(values), database=database, table=table)


class MaxwellJsonFactory(_ChangeJsonFactory):
    identifier = "maxwell-json"
    purpose = "Changes as Maxwell writes them for MySQL: a row, and its changed values."
    text = MAXWELL

    def create_decoder(self, fields: tuple[RowField, ...], values: OptionValues) -> MaxwellJsonDecoder:
        return MaxwellJsonDecoder(fields, ignores_errors(values), is_iso(values))


class OggJsonFactory(_ChangeJsonFactory):
    identifier = "ogg-json"
    purpose = "Changes as Oracle GoldenGate writes them."
    text = OGG

    def create_decoder(self, fields: tuple[RowField, ...], values: OptionValues) -> OggJsonDecoder:
        return OggJsonDecoder(fields, ignores_errors(values), is_iso(values))


def _pattern(values: OptionValues, option: TableOption) -> str | None:
    text: str | None = values[option]
    if text is not None:
        try:
            re.compile(text)
        except re.error as error:
            raise ValidationException(f"'canal-json.{option.key}' = '{text}' is not a pattern: {error}") from None
    return text
