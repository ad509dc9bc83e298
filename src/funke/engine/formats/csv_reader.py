"""CSV files, read by Arrow into rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from funke.engine.errors import ConfigurationError, TypeMismatchError, UnsupportedFeatureError
from funke.engine.formats.csv_comments import without_comments
from funke.engine.formats.line_format import LineFormat
from funke.engine.formats.record_chunks import LineEnds, QuotedLineEnds, open_chunks
from funke.engine.formats.text_values import TextReader, basic_reader, sql_reader
from funke.engine.types import BasicType, BasicTypeInfo, TypeInformation, Types
from funke.engine.types.columns.arrow_records import column_of
from funke.engine.types.columns.arrow_rows import rows_from_columns
from funke.engine.types.information.arrow_types import to_arrow
from funke.engine.types.information.decimal_type import DecimalTypeInfo

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile

__all__ = ["CsvColumn", "CsvFileFormat"]

_ROW_NUMBER = re.compile(r"Row #\d+: ")
_READ_FROM_TEXT = (BasicType.BOOLEAN, BasicType.BIG_INT, BasicType.BIG_DEC)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Some ten thousand rows, for which the work per chunk does not count.
_COLUMN_CHUNK_BYTES = 1 << 22


@dataclass(frozen=True)
class CsvColumn:
    """A column: its name, the type of its values, and what the type alone does not tell.

    With an `array_separator` a cell holds several values, each of type `value_type`.
    """

    name: str
    value_type: TypeInformation
    array_separator: str | None = None

    @property
    def produced_type(self) -> TypeInformation:
        """The type of the cell."""
        return self.value_type if self.array_separator is None else Types.LIST(self.value_type)


@dataclass(frozen=True)
class CsvFileFormat(LineFormat):
    """CSV as Flink's CsvReaderFormat reads it: every line has all the columns, nulls are a literal, if anything.

    Files are cut into ranges where no quotes are open, for which the driver has to look at them; with
    `has_quoted_newlines=False` it need not.
    """

    columns: tuple[CsvColumn, ...]
    separator: str = ","
    quote: str | None = '"'
    escape: str | None = None
    null_literal: str | None = None
    allows_comments: bool = False
    has_header: bool = False
    is_header_strict: bool = False
    skips_first_row: bool = False
    has_quoted_newlines: bool = True

    def __post_init__(self) -> None:
        if not self.columns:
            raise ConfigurationError("a CSV format needs at least one column")

    @property
    def produced_type(self) -> TypeInformation:
        """Rows with the columns as fields."""
        return Types.ROW_NAMED([column.name for column in self.columns], [c.produced_type for c in self.columns])

    @property
    def ends(self) -> LineEnds:
        """Where records end: not between quotes."""
        if self.quote is None or not self.has_quoted_newlines:
            return LineEnds()
        return QuotedLineEnds(self.quote.encode(), self.escape.encode() if self.escape else None)

    def cut_at(self, file: InputFile, start: int, least: int) -> int:
        """Return the end of a record; quotes before it are counted."""
        ends = self.ends
        if not isinstance(ends, QuotedLineEnds) or least >= file.size:
            return least
        with file.open() as stream:
            return ends.cut_at(stream, start, least, file.size)

    def decode(self, data: bytes, is_first: bool) -> list[Any]:
        """Return the rows of a chunk."""
        data = self._content(data, is_first)
        if not data:
            return []
        return rows_from_columns([column.name for column in self.columns], self._values(data))

    def read_columns(self, file: InputFile, start: int, end: int) -> Iterator[Any]:
        """Yield the rows that begin in a range as columns."""
        with open_chunks(file, start, end, self.ends) as chunks:
            is_first = start == 0
            while data := chunks.take(_COLUMN_CHUNK_BYTES):
                data = self._content(data, is_first)
                is_first = False
                if data and len(batch := self._decode_columns(data)):
                    yield batch

    def _content(self, data: bytes, is_first: bool) -> bytes:
        """Return a chunk without comments and empty lines."""
        if is_first:
            data = data.removeprefix(_BYTE_ORDER_MARK)
        if self.allows_comments:
            data = without_comments(data, self.ends)
        return self._without_head(data) if is_first else data

    def _decode_columns(self, data: bytes) -> Any:
        try:
            arrays = [self._to_array(*pair) for pair in zip(self.columns, self._parse(data, _cell_type))]
        except pa.ArrowInvalid:
            strings = self._values_of_text(data)
            arrays = [_array_of(column, values) for column, values in zip(self.columns, strings)]
        return pa.RecordBatch.from_arrays(arrays, [column.name for column in self.columns])

    def _to_array(self, column: CsvColumn, cells: Any) -> Any:
        cells = cells.chunk(0) if cells.num_chunks == 1 else cells.combine_chunks()
        if cells.type == to_arrow(column.produced_type):
            return cells
        return _to_booleans(cells) if _is_boolean(column) else _array_of(column, self._to_values(column, cells))

    def _values(self, data: bytes) -> list[list[Any]]:
        try:
            return [self._to_values(*pair) for pair in zip(self.columns, self._parse(data, _cell_type))]
        except pa.ArrowInvalid:
            # Numbers that Java reads and Arrow does not (+1), or no numbers at all: then the error tells the column.
            return self._values_of_text(data)

    def _values_of_text(self, data: bytes) -> list[list[Any]]:
        try:
            cells = self._parse(data, lambda _: pa.string())
        except pa.ArrowInvalid as error:
            # Arrow counts the rows of this chunk, which do not help to find the line in the file.
            raise ValueError(_ROW_NUMBER.sub("", str(error))) from None
        return [self._read_strings(column, strings.to_pylist()) for column, strings in zip(self.columns, cells)]

    def _to_values(self, column: CsvColumn, cells: Any) -> list[Any]:
        if _is_boolean(column):
            cells = _to_booleans(cells)
        elif column.array_separator is not None or _basic_type(column) in _READ_FROM_TEXT:
            return self._read_strings(column, cells.to_pylist())
        values: list[Any] = cells.to_pylist()
        return values

    def _read_strings(self, column: CsvColumn, strings: list[str | None]) -> list[Any]:
        read = _text_reader(column)
        try:
            if column.array_separator is not None:
                return [self._read_array(text, column.array_separator, read) for text in strings]
            return [None if text is None else read(text) for text in strings]
        except ValueError as error:
            raise ValueError(f"column {column.name}: {error}") from None

    def _read_array(self, text: str | None, separator: str, read: TextReader) -> list[Any]:
        if text is None:
            return [None]
        elements = text.split(separator) if text else []
        return [None if element == self.null_literal else read(element) for element in elements]

    def _without_head(self, data: bytes) -> bytes:
        if self.has_header:
            end = self.ends.first_record(data)
            if self.is_header_strict:
                self._check_header(data[:end].decode())
            data = data[end:]
        return data[self.ends.first_record(data) :] if self.skips_first_row else data

    def _check_header(self, line: str) -> None:
        line = line if self.quote is None else line.replace(self.quote, "")
        names = line.rstrip("\r\n").split(self.separator)
        expected_names = [column.name for column in self.columns]
        if [name.strip() for name in names] != expected_names:
            raise ValueError(f"its header is {', '.join(names)}, the schema says {', '.join(expected_names)}")

    def _parse(self, data: bytes, cell_type: Callable[[CsvColumn], Any]) -> Any:
        # One chunk is one block, and other tasks use the other cores.
        return pa.csv.read_csv(pa.BufferReader(data), *self._options(len(data), cell_type)).columns

    def _options(self, length: int, cell_type: Callable[[CsvColumn], Any]) -> tuple[Any, Any, Any]:
        names = [str(position) for position in range(len(self.columns))]
        has_null = self.null_literal is not None
        return (
            pa.csv.ReadOptions(column_names=names, use_threads=False, block_size=length + 1),
            pa.csv.ParseOptions(
                delimiter=self.separator,
                quote_char=self.quote or False,
                escape_char=self.escape or False,
                newlines_in_values=isinstance(self.ends, QuotedLineEnds),
                # In a file of one column an empty line is an empty cell.
                ignore_empty_lines=len(names) > 1,
            ),
            pa.csv.ConvertOptions(
                column_types={name: cell_type(column) for name, column in zip(names, self.columns)},
                null_values=[self.null_literal] if has_null else [],
                strings_can_be_null=has_null,
                quoted_strings_can_be_null=True,
            ),
        )


def _cell_type(column: CsvColumn) -> Any:
    """Return what Arrow parses a cell into; a string where Flink's rules differ from Arrow's."""
    is_text = column.array_separator is not None or _basic_type(column) in _READ_FROM_TEXT
    return pa.string() if is_text else to_arrow(column.value_type)


def _is_boolean(column: CsvColumn) -> bool:
    return column.array_separator is None and _basic_type(column) is BasicType.BOOLEAN


def _to_booleans(cells: Any) -> Any:
    return pc.equal(pc.utf8_lower(pc.utf8_trim_whitespace(cells)), "true")


def _array_of(column: CsvColumn, values: list[Any]) -> Any:
    try:
        return column_of(column.name, values, column.produced_type)
    except TypeMismatchError as error:
        raise ValueError(str(error)) from None


def _text_reader(column: CsvColumn) -> TextReader:
    basic_type = _basic_type(column)
    read = sql_reader(column.value_type) if basic_type is None else basic_reader(basic_type)
    if read is None:
        raise UnsupportedFeatureError(f"a CSV column of type {column.value_type}")
    value_type = column.value_type
    return (lambda text: value_type.fitted(read(text))) if isinstance(value_type, DecimalTypeInfo) else read


def _basic_type(column: CsvColumn) -> BasicType | None:
    return column.value_type.basic_type if isinstance(column.value_type, BasicTypeInfo) else None
