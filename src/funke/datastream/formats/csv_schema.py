"""The columns and special characters of CSV files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from funke.engine.connectors.file_sink.csv_format import CsvBulkFormat, CsvDialect
from funke.engine.formats.column_types import to_type_info
from funke.engine.formats.csv_reader import CsvColumn, CsvFileFormat
from funke.engine.types import RowTypeInfo, Types

__all__ = ["CsvSchema", "CsvSchemaBuilder"]


class CsvSchema:
    """Describes CSV files; made by `CsvSchema.builder()`.

    >>> from funke.datastream.formats.csv import CsvSchema
    >>> schema = CsvSchema.builder().add_number_column("id").add_string_column("item").set_use_header().build()
    >>> print(schema)
    [CsvSchema: columns=[id, item], header? true]
    """

    def __init__(self, row_type: Any, builder: CsvSchemaBuilder) -> None:
        self.row_type = row_type
        self._settings = builder

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Start a schema."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """Return the number of columns."""
        return len(self._settings.columns)

    @property
    def columns(self) -> list[CsvColumn]:
        """The columns in their order."""
        return list(self._settings.columns)

    def to_file_format(self) -> CsvFileFormat:
        """Return the engine's description for reading files."""
        settings, dialect = self._settings, self._settings.dialect
        return CsvFileFormat(
            tuple(settings.columns),
            separator=dialect.separator,
            quote=dialect.quote,
            escape=dialect.escape,
            null_literal=settings.null_value,
            allows_comments=settings.allows_comments,
            has_header=settings.uses_header,
            is_header_strict=settings.strict_headers,
            skips_first_row=settings.skips_first_data_row,
        )

    def to_bulk_format(self) -> CsvBulkFormat:
        """Return the engine's description for writing files."""
        settings = self._settings
        separators = tuple((each.name, each.array_separator) for each in self.columns if each.array_separator)
        dialect = replace(settings.dialect, null_text=settings.null_value or "", column_separators=separators)
        return CsvBulkFormat(self.row_type, dialect, settings.uses_header)

    def __len__(self) -> int:
        return self.size()

    def __str__(self) -> str:
        names = ", ".join(column.name for column in self._settings.columns)
        return f"[CsvSchema: columns=[{names}], header? {str(self._settings.uses_header).lower()}]"

    def __repr__(self) -> str:
        return str(self)


class CsvSchemaBuilder:
    """Collects columns and special characters.

    >>> from funke.datastream.formats.csv import CsvSchema, CsvSchemaBuilder
    >>> builder: CsvSchemaBuilder = CsvSchema.builder().add_string_column("item").add_array_column("sizes", "|")
    >>> builder.set_column_separator(";").build().size()
    2
    """

    def __init__(self) -> None:
        self.columns: list[CsvColumn] = []
        self.dialect = CsvDialect()
        self.null_value: str | None = None
        self.any_property_name: str | None = None
        self.allows_comments = False
        self.uses_header = False
        self.strict_headers = False
        self.skips_first_data_row = False

    def build(self) -> CsvSchema:
        """Return the schema."""
        types = [column.produced_type for column in self.columns]
        return CsvSchema(RowTypeInfo(types, [column.name for column in self.columns]), self._copy())

    def add_array_column(self, name: str, separator: str = ";", element_type: Any = None) -> CsvSchemaBuilder:
        """Add a column whose cells hold several values; strings by default."""
        value_type = Types.STRING() if element_type is None else to_type_info(element_type)
        return self._add(CsvColumn(name, value_type, separator))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of booleans."""
        return self._add(CsvColumn(name, Types.BOOLEAN()))

    def add_number_column(self, name: str, number_type: Any = None) -> CsvSchemaBuilder:
        """Add a column of numbers; 64-bit integers by default."""
        value_type = Types.LONG() if number_type is None else to_type_info(number_type)
        return self._add(CsvColumn(name, value_type))

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of strings."""
        return self._add(CsvColumn(name, Types.STRING()))

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add the columns of another schema."""
        self.columns += schema.columns
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Remove all columns."""
        self.columns.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Choose whether lines that start with # are skipped."""
        self.allows_comments = allow
        return self

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Name what lies beyond the last column; Flink's reader rejects such cells, and so does Funke's."""
        self.any_property_name = name
        return self

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Take no character as the end of an array's element."""
        self.columns = [replace(column, array_separator=None) for column in self.columns]
        return self

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Take no character as the end of an element in the arrays of one column."""
        self.columns[index] = replace(self.columns[index], array_separator=None)
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the text between elements of arrays when files are written."""
        return self._set_dialect(array_separator=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set the character between columns; a comma by default."""
        return self._set_dialect(separator=_require_character("Column separator", char))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Use no escape character."""
        return self._set_dialect(escape=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character that takes the meaning from the next one; none by default."""
        return self._set_dialect(escape=_require_character("Escape char", char))

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the text at the end of a line when files are written; a line feed by default."""
        return self._set_dialect(line_end=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set the text that stands for null."""
        self.null_value = null_value
        return self

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Use no quotes."""
        return self._set_dialect(quote=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character around cells with special characters; a double quote by default."""
        return self._set_dialect(quote=_require_character("Quote char", char))

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Choose whether the first row after the header is skipped."""
        self.skips_first_data_row = skip
        return self

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Choose whether the header must name the columns of the schema."""
        self.strict_headers = strict
        return self

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Choose whether the first line names the columns."""
        self.uses_header = use
        return self

    def size(self) -> int:
        """Return the number of columns so far."""
        return len(self.columns)

    def __len__(self) -> int:
        return self.size()

    def _add(self, column: CsvColumn) -> CsvSchemaBuilder:
        self.columns.append(column)
        return self

    def _set_dialect(self, **changes: Any) -> CsvSchemaBuilder:
        self.dialect = replace(self.dialect, **changes)
        return self

    def _copy(self) -> CsvSchemaBuilder:
        copied = CsvSchemaBuilder()
        copied.__dict__.update(self.__dict__, columns=list(self.columns))
        return copied


def _require_character(what: str, char: str) -> str:
    if len(char) != 1:
        raise ValueError(f"{what} must be a single char, got {char}")
    return char
