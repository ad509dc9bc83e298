"""The format json."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.engine.flink_exceptions import ValidationException
from funke.engine.formats.messages.line_messages import LineDecoder, LineEncoder
from funke.engine.formats.table.json_columns import JsonTableFormat
from funke.engine.sql.connectors.formats.file_format_factory import FileFormatFactory
from funke.engine.sql.connectors.formats.json_lines import JsonLines
from funke.engine.sql.connectors.table_option import OptionValues, TableOption

if TYPE_CHECKING:
    from funke.engine.formats.table.table_writer import TableFileWriter
    from funke.engine.types.logical.row_type import RowField

__all__ = ["JSON_OPTIONS", "JsonFactory", "is_iso", "ignores_errors", "json_lines"]

_FAIL = TableOption("fail-on-missing-field", "Boolean", "false", "A missing field is an error instead of NULL.")
_IGNORE = TableOption(
    "ignore-parse-errors",
    "Boolean",
    "false",
    "Fields that cannot be read are NULL, lines that are not JSON are left out.",
)
_STANDARD = TableOption(
    "timestamp-format.standard",
    default="SQL",
    description="SQL: 2020-12-31 23:59:59.123; ISO-8601: 2020-12-31T23:59:59.123.",
    choices=("SQL", "ISO-8601"),
)
_NULL_KEYS = TableOption(
    "map-null-key.mode",
    default="FAIL",
    description="What becomes of entries of maps without a key when they are written.",
    choices=("FAIL", "DROP", "LITERAL"),
)
_NULL_KEY = TableOption("map-null-key.literal", default="null", description="The key in their place with LITERAL.")
_PLAIN = TableOption("encode.decimal-as-plain-number", "Boolean", "false", "Writes decimals without an exponent.")
_NO_NULLS = TableOption("encode.ignore-null-fields", "Boolean", "false", "Leaves out fields that are NULL.")
_PARSER = TableOption("decode.json-parser.enabled", "Boolean", "true", "Which of Flink's parsers reads; no effect.")


# The options of all formats that have rows as JSON.
JSON_OPTIONS = (_IGNORE, _STANDARD, _NULL_KEYS, _NULL_KEY, _PLAIN, _NO_NULLS)


def ignores_errors(values: OptionValues) -> bool:
    """Whether fields that cannot be read are NULL, and other lines left out."""
    return bool(values[_IGNORE])


def is_iso(values: OptionValues) -> bool:
    """Whether timestamps have the form of ISO 8601."""
    return bool(values[_STANDARD] == "ISO-8601")


class JsonFactory(FileFormatFactory):
    identifier = "json"
    purpose = "Each line is a JSON object."
    options = (_FAIL, _IGNORE, _STANDARD, _NULL_KEYS, _NULL_KEY, _PLAIN, _NO_NULLS, _PARSER)

    def create_reader(self, fields: tuple[RowField, ...], values: OptionValues) -> JsonTableFormat:
        if values[_FAIL] and values[_IGNORE]:
            raise ValidationException("fail-on-missing-field and ignore-parse-errors shouldn't both be true.")
        return JsonTableFormat(fields, values[_FAIL], values[_IGNORE], is_iso(values))

    def create_writer(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileWriter:
        return json_lines(fields, values)

    def create_decoder(self, fields: tuple[RowField, ...], values: OptionValues) -> LineDecoder:
        return LineDecoder(self.create_reader(fields, values))

    def create_encoder(self, fields: tuple[RowField, ...], values: OptionValues) -> LineEncoder:
        return LineEncoder(json_lines(fields, values))


def json_lines(fields: tuple[RowField, ...], values: OptionValues) -> JsonLines:
    """The writer of rows as JSON objects, by the options that all such formats share."""
    return JsonLines(fields, is_iso(values), values[_PLAIN], values[_NO_NULLS], values[_NULL_KEYS], values[_NULL_KEY])
