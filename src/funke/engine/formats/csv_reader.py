"""CSV files, read by Arrow into rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from funke.engine.errors import ConfigurationError
from funke.engine.formats.arrow_rows import rows_from_columns
from funke.engine.formats.line_format import LineFormat
from funke.engine.formats.record_chunks import LineEnds, QuotedLineEnds
from funke.engine.types.arrow_types import to_arrow
from funke.engine.types.basic_types import BasicType, BasicTypeInfo
from funke.engine.types.type_catalog import Types
from funke.engine.types.type_information import TypeInformation

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile

__all__ = ["CsvColumn", "CsvFileFormat"]

_COMMENT = re.compile(rb"(?:^|(?<=\r))[ \t]*#[^\r\n]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)
_ROW_NUMBER = re.compile(r"Row #\d+: ")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class CsvColumn:
    """A column: its name, the type of its values, and what the type alone does not tell.

    With an `array_separator` a cell holds several values, each of type `value_type`. `decimal_digits` are the precision
    and the scale of decimals; numbers that need more digits before the point become None, as in Flink.
    """

    name: str
    value_type: TypeInformation
    array_separator: str | None = None
    decimal_digits: tuple[int, int] | None = None

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

    def cut_at(self, file: InputFile, start: int, wanted: int) -> int:
        """Return the end of a record; quotes before it are counted."""
        ends = self.ends
        if not isinstance(ends, QuotedLineEnds) or wanted >= file.size:
            return wanted
        with file.open() as stream:
            return ends.cut_at(stream, start, wanted, file.size)

    def decode(self, data: bytes, is_first: bool) -> list[Any]:
        """Return the rows of a chunk."""
        if is_first:
            data = data.removeprefix(_BYTE_ORDER_MARK)
        if self.allows_comments and b"#" in data:
            data = self._without_comments(data)
        if is_first:
            data = self._without_head(data)
        if not data:
            return []
        table = self._parse(data)
        columns = [_python_values(column, values) for column, values in zip(self.columns, table.columns)]
        return rows_from_columns([column.name for column in self.columns], columns)

    def _without_comments(self, data: bytes) -> bytes:
        ends = self.ends
        count = ends.count_quotes if isinstance(ends, QuotedLineEnds) else (lambda _: 0)
        kept, position, quotes = [], 0, 0
        for comment in _COMMENT.finditer(data):
            before = data[position : comment.start()]
            quotes += count(before)
            is_text = quotes % 2  # within quotes, so no comment
            kept.append(data[position : comment.end()] if is_text else before)
            quotes += count(comment.group()) if is_text else 0
            position = comment.end()
        kept.append(data[position:])
        return b"".join(kept)

    def _without_head(self, data: bytes) -> bytes:
        if self.has_header:
            end = self.ends.first_record(data)
            if self.is_header_strict:
                self._check_header(data[:end].decode())
            data = data[end:]
        return data[self.ends.first_record(data) :] if self.skips_first_row else data

    def _check_header(self, line: str) -> None:
        quoting = csv.QUOTE_NONE if self.quote is None else csv.QUOTE_MINIMAL
        found = next(csv.reader([line], delimiter=self.separator, quotechar=self.quote, quoting=quoting), [])
        wanted = [column.name for column in self.columns]
        if [name.strip() for name in found] != wanted:
            raise ValueError(f"its header is {', '.join(found)}, the schema says {', '.join(wanted)}")

    def _parse(self, data: bytes) -> Any:
        try:
            # One chunk is one block, and other tasks use the other cores.
            return pa.csv.read_csv(pa.BufferReader(data), *self._options(len(data)))
        except pa.ArrowInvalid as error:
            # Arrow counts the rows of this chunk, which nobody can find in the file.
            raise ValueError(_ROW_NUMBER.sub("", str(error))) from None

    def _options(self, length: int) -> tuple[Any, Any, Any]:
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
                column_types={name: _cell_type(column) for name, column in zip(names, self.columns)},
                null_values=[self.null_literal] if has_null else [],
                strings_can_be_null=has_null,
                quoted_strings_can_be_null=True,
            ),
        )


def _cell_type(column: CsvColumn) -> Any:
    """Return what Arrow parses a cell into; a string where Flink's rules differ from Arrow's."""
    if column.array_separator is not None or _basic_type(column.value_type) in _FROM_TEXT:
        return pa.string()
    return to_arrow(column.value_type)


def _python_values(column: CsvColumn, cells: Any) -> list[Any]:
    basic_type = _basic_type(column.value_type)
    if column.array_separator is not None:
        return _arrays(column, cells.to_pylist())
    if basic_type is BasicType.BOOLEAN:
        cells = pc.equal(pc.utf8_lower(pc.utf8_trim_whitespace(cells)), "true")
    values: list[Any] = cells.to_pylist()
    if basic_type in _FROM_TEXT and basic_type is not BasicType.BOOLEAN:
        convert = _value_parser(column)
        return [None if value is None else convert(value) for value in values]
    return values


def _arrays(column: CsvColumn, cells: list[str | None]) -> list[Any]:
    separator, convert = column.array_separator, _value_parser(column)

    def parse(cell: str | None) -> list[Any]:
        if cell is None:
            return [None]
        return [convert(text) for text in cell.split(separator)] if cell else []

    return [parse(cell) for cell in cells]


def _basic_type(type_info: TypeInformation) -> BasicType | None:
    return type_info.basic_type if isinstance(type_info, BasicTypeInfo) else None


def _to_bool(text: str) -> bool:
    return text.strip().lower() == "true"


# Cells that Arrow leaves as text, with the function for one of them.
_FROM_TEXT: dict[BasicType | None, Callable[[str], Any]] = {
    BasicType.BOOLEAN: _to_bool,
    BasicType.BIG_INT: int,
    BasicType.BIG_DEC: Decimal,
}
_PARSERS: dict[BasicType | None, Callable[[str], Any]] = {
    **_FROM_TEXT,
    **dict.fromkeys((BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG), int),
    **dict.fromkeys((BasicType.FLOAT, BasicType.DOUBLE), float),
}


def _value_parser(column: CsvColumn) -> Callable[[str], Any]:
    parse = _PARSERS.get(_basic_type(column.value_type), str)
    if parse is Decimal:
        return _decimal_parser(column.decimal_digits)
    coerce = column.value_type.coercer()
    return parse if coerce is None else (lambda text: coerce(parse(text)))


def _decimal_parser(digits: tuple[int, int] | None) -> Callable[[str], Decimal | None]:
    def parse(text: str) -> Decimal | None:
        try:
            number = Decimal(text.strip())
        except InvalidOperation:
            raise ValueError(f"'{text}' is not a decimal number") from None
        if digits is None:
            return number
        precision, scale = digits
        number = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
        return number if len(number.as_tuple().digits) <= precision else None

    return parse
