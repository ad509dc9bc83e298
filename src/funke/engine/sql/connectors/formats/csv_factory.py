"""The format csv."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.engine.connectors.file_sink.csv_format import CsvDialect
from funke.engine.formats.messages.line_messages import LineDecoder, LineEncoder
from funke.engine.formats.table.csv_columns import CsvCells, CsvTableFormat
from funke.engine.sql.connectors.formats.csv_lines import CsvLines
from funke.engine.sql.connectors.formats.file_format_factory import FileFormatFactory, single_character
from funke.engine.sql.connectors.table_option import OptionValues, TableOption

if TYPE_CHECKING:
    from funke.engine.formats.table.table_format import TableFileFormat
    from funke.engine.formats.table.table_writer import TableFileWriter
    from funke.engine.types.logical.row_type import RowField

__all__ = ["CsvFactory"]

_DELIMITER = TableOption("field-delimiter", default=",", description="The sign between two cells.")
_NO_QUOTES = TableOption("disable-quote-character", "Boolean", "false", "Quotes are signs like any other.")
_QUOTE = TableOption("quote-character", default='"', description="The sign around cells that hold other signs.")
_COMMENTS = TableOption("allow-comments", "Boolean", "false", "Lines that begin with # are comments.")
_IGNORE = TableOption(
    "ignore-parse-errors", "Boolean", "false", "Cells that cannot be read are NULL, lines with too many are left out."
)
_ARRAY = TableOption("array-element-delimiter", default=";", description="The sign between elements of an array.")
_ESCAPE = TableOption("escape-character", description="The sign that takes its meaning from the next one.")
_NULL = TableOption("null-literal", description="The cell that means NULL.")
_HEADER = TableOption("ignore-first-line", "Boolean", "false", "Files begin with a line of names, as Flink 1.x reads.")
_LINES = TableOption("line-delimiter", description="The end of a row of a file, beside line breaks, as in Flink 1.x.")
_SCIENTIFIC = TableOption(
    "write-bigdecimal-in-scientific-notation", "Boolean", "true", "Writes the decimal 100000 as 1E+5."
)


class CsvFactory(FileFormatFactory):
    identifier = "csv"
    purpose = "Rows as lines, cells with a delimiter between them."
    options = (_DELIMITER, _NO_QUOTES, _QUOTE, _COMMENTS, _IGNORE, _ARRAY, _ESCAPE, _NULL, _HEADER, _LINES, _SCIENTIFIC)

    def create_reader(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileFormat:
        return CsvTableFormat(fields, _cells(values))

    def create_decoder(self, fields: tuple[RowField, ...], values: OptionValues) -> LineDecoder:
        return LineDecoder(CsvTableFormat(fields, _cells(values)))

    def create_encoder(self, fields: tuple[RowField, ...], values: OptionValues) -> LineEncoder:
        return LineEncoder(CsvLines(fields, _dialect(values), values[_SCIENTIFIC]))

    def create_writer(self, fields: tuple[RowField, ...], values: OptionValues) -> TableFileWriter:
        return CsvLines(fields, _dialect(values), values[_SCIENTIFIC])


def _cells(values: OptionValues) -> CsvCells:
    return CsvCells(
        separator=single_character(values, _DELIMITER, "csv") or ",",
        quote=None if values[_NO_QUOTES] else single_character(values, _QUOTE, "csv"),
        escape=single_character(values, _ESCAPE, "csv"),
        null_literal=values[_NULL],
        array_separator=values[_ARRAY],
        allows_comments=values[_COMMENTS],
        ignores_errors=values[_IGNORE],
        skips_first_line=values[_HEADER],
        line_delimiter=values[_LINES],
    )


def _dialect(values: OptionValues) -> CsvDialect:
    cells = _cells(values)
    return CsvDialect(
        separator=cells.separator,
        quote=cells.quote,
        escape=cells.escape,
        array_separator=cells.array_separator,
        null_text=cells.null_literal or "",
    )
