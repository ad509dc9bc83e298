"""CSV messages: one row as one line, as Flink's CSV row schemas read and write it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from funke.engine.connectors.file_sink.csv_format import ARRAYS, CsvDialect, check_nesting, row_writer
from funke.engine.errors import SinkError, SourceError, UnsupportedFeatureError
from funke.engine.formats.text_values import TextReader, basic_reader, read_base64, sql_reader
from funke.engine.types import BasicTypeInfo, Row, RowTypeInfo, TypeInformation
from funke.engine.types.information.collection_types import is_byte_array
from funke.engine.types.row import _create_row

__all__ = ["CsvRowReader", "CsvRowWriter"]


@dataclass
class CsvRowReader:
    """Reads messages into rows of one type."""

    row_type: RowTypeInfo
    dialect: CsvDialect = field(default_factory=CsvDialect)
    null_literal: str | None = None
    allows_comments: bool = False
    ignores_errors: bool = False

    def __post_init__(self) -> None:
        check_nesting(self.row_type)
        self._cell_readers: list[TextReader] | None = None

    def read(self, message: bytes) -> Row | None:
        """Return the row of a message; None for one that cannot be read, when errors are ignored."""
        try:
            return self._read_cells(self._first_record(message.decode()))
        except (ValueError, csv.Error) as error:
            if self.ignores_errors:
                return None
            raise SourceError(f"failed to deserialize CSV row {message.decode(errors='replace')!r}: {error}") from error

    def _first_record(self, text: str) -> list[str]:
        if self.allows_comments:
            text = _without_comments(text)
        if not text:
            raise ValueError("there is no content")
        dialect = self.dialect
        reader = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=dialect.separator,
            quotechar=dialect.quote,
            quoting=csv.QUOTE_NONE if dialect.quote is None else csv.QUOTE_MINIMAL,
            escapechar=dialect.escape,
            strict=True,
        )
        return next(reader) or [""]

    def _read_cells(self, cells: list[str]) -> Row:
        readers = self._readers()
        missing = len(readers) - len(cells)
        # Flink forgives missing cells when errors are ignored, but never surplus ones.
        if missing < 0 or (missing > 0 and not self.ignores_errors):
            raise ValueError(f"{len(readers)} fields were expected, but there are {len(cells)}")
        values = [read(cell) for read, cell in zip(readers, cells, strict=False)]
        return _create_row(self.row_type.get_field_names(), values + [None] * missing)

    def _readers(self) -> list[TextReader]:
        if self._cell_readers is None:
            self._cell_readers = [self._cell_reader(each) for each in self.row_type.get_field_types()]
        return self._cell_readers

    def _cell_reader(self, type_info: TypeInformation) -> TextReader:
        separator = self.dialect.array_separator
        if isinstance(type_info, ARRAYS) and not is_byte_array(type_info):
            read = self._value_reader(type_info.element_type)
            return lambda cell: [read(item) for item in cell.split(separator)] if cell else []
        return self._nested_reader(type_info) if isinstance(type_info, RowTypeInfo) else self._value_reader(type_info)

    def _nested_reader(self, row_type: RowTypeInfo) -> TextReader:
        names, separator, null = row_type.get_field_names(), self.dialect.array_separator, self.null_literal
        readers = [self._value_reader(each) for each in row_type.get_field_types()]

        def read(cell: str) -> Row | None:
            if not cell or cell == null:
                return None
            items = cell.split(separator)
            missing = len(readers) - len(items)
            if missing and not self.ignores_errors:
                raise ValueError(f"{len(readers)} nested fields were expected, but there are {len(items)}")
            values = [each(item) for each, item in zip(readers, items, strict=False)]
            return _create_row(names, values + [None] * missing)

        return read

    def _value_reader(self, type_info: TypeInformation) -> TextReader:
        read, null, ignores_errors = _text_reader(type_info), self.null_literal, self.ignores_errors

        def read_or_null(text: str) -> Any:
            try:
                return None if text == null else read(text)
            except ValueError:
                if ignores_errors:
                    return None
                raise

        return read_or_null

    def __getstate__(self) -> dict[str, Any]:
        # The readers are closures, which do not pickle; the receiver makes its own.
        return {**self.__dict__, "_cell_readers": None}


@dataclass
class CsvRowWriter:
    """Writes rows of one type as messages."""

    row_type: RowTypeInfo
    dialect: CsvDialect = field(default_factory=CsvDialect)

    def __post_init__(self) -> None:
        check_nesting(self.row_type)
        self._write: Callable[[Any], str] | None = None

    def write(self, row: Any) -> bytes:
        """Return the message of a row, with the line's end."""
        if self._write is None:
            self._write = row_writer(self.row_type, self.dialect)
        try:
            return (self._write(row) + self.dialect.line_end).encode()
        except (ValueError, TypeError, AttributeError) as error:
            raise SinkError(f"could not serialize row {row!r} as CSV of type {self.row_type}: {error}") from error

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_write": None}


def _without_comments(text: str) -> str:
    lines = text.splitlines(keepends=True)
    first = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(lines[first:])


def _text_reader(type_info: TypeInformation) -> TextReader:
    if isinstance(type_info, BasicTypeInfo):
        return basic_reader(type_info.basic_type)
    reader = read_base64 if is_byte_array(type_info) else sql_reader(type_info)
    if reader is None:
        raise UnsupportedFeatureError(f"a CSV field of type {type_info}")
    return reader
