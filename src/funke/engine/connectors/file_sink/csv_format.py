"""CSV as a bulk format, with the quoting of Flink's writer."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from typing import IO, TYPE_CHECKING, Any

from funke.engine.connectors.file_sink.bulk_format import BulkFormat, BulkWriter
from funke.engine.errors import ConfigurationError
from funke.engine.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ListTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    Row,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from funke.engine.types.information.arrow_types import field_names
from funke.engine.types.information.collection_types import is_byte_array
from funke.engine.types.information.decimal_type import DecimalTypeInfo
from funke.engine.types.text_form import text_writer

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.text_form import TextWriter

__all__ = ["ARRAYS", "CsvBulkFormat", "CsvDialect", "check_nesting", "row_writer"]

ARRAYS = (BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo, ListTypeInfo)

_NEVER_QUOTED = frozenset(BasicType) - {BasicType.STRING, BasicType.CHAR, BasicType.INSTANT}
# Longer texts are quoted without a look at their characters.
_LONGEST_CHECKED = 24
# Decimals have up to 38 digits; Python's default context rounds to 28.
_EXACT = Context(prec=38)


@dataclass(frozen=True)
class CsvDialect:
    """The signs of a CSV file; `quote` and `escape` may be None."""

    separator: str = ","
    quote: str | None = '"'
    escape: str | None = None
    line_end: str = "\n"
    array_separator: str = ";"
    # Columns whose arrays are separated differently: pairs of a column's name and its separator.
    column_separators: tuple[tuple[str, str], ...] = ()
    null_text: str = ""

    def quoting(self) -> Callable[[str], str]:
        """Return the function that quotes a text if it needs it."""
        if self.quote is None:
            return lambda text: text
        quote, escape, first_safe = self.quote, self.escape, chr(self._first_safe)

        def write(text: str) -> str:
            if not text or (len(text) <= _LONGEST_CHECKED and min(text) >= first_safe):
                return text
            if escape is not None:
                text = text.replace(escape, escape * 2)
            return f"{quote}{text.replace(quote, quote * 2)}{quote}"

        return write

    @property
    def _first_safe(self) -> int:
        # The rule of Jackson's writer: a text is safe when all its characters lie above all special ones.
        return max(map(ord, self.separator + (self.quote or "") + (self.escape or "") + "\r\n")) + 1

    def quoted(self, strings: pa.Array) -> pa.Array:
        """A column of large texts as `quoting` writes them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.quote is None:
            return strings
        pattern = rf"\A[\x{{{self._first_safe:x}}}-\x{{10ffff}}]{{0,{_LONGEST_CHECKED}}}\z"
        is_safe = pc.match_substring_regex(strings, pattern)
        if pc.all(is_safe).as_py():
            return strings
        for special in filter(None, (self.escape, self.quote)):
            if pc.any(pc.match_substring(strings, special)).as_py():
                strings = pc.replace_substring(strings, special, special * 2)
        nothing, quote = (pa.scalar(each, pa.large_string()) for each in ("", self.quote))
        around = pc.if_else(is_safe, nothing, quote) if pc.any(is_safe).as_py() else quote
        return pc.binary_join_element_wise(around, strings, around, nothing)


def row_writer(row_type: RowTypeInfo | TupleTypeInfo, dialect: CsvDialect) -> TextWriter:
    """Return the function that writes one row as a line, without the line's end."""
    quote = dialect.quoting()
    named = zip(field_names(row_type), row_type.get_field_types(), strict=True)
    writers = [_field_writer(field_type, dialect, name, quote) for name, field_type in named]
    null_text, separator = dialect.null_text, dialect.separator

    def write(row: Any) -> str:
        values = row._values if isinstance(row, Row) else row
        fields = zip(writers, values, strict=True)
        return separator.join([null_text if value is None else write(value) for write, value in fields])

    return write


def check_nesting(row_type: RowTypeInfo) -> None:
    """Rejects what lies deeper than fields of a nested row and elements of an array: they share one separator."""
    for name, field_type in zip(row_type.get_field_names(), row_type.get_field_types(), strict=True):
        for inner in _types_within(field_type):
            if isinstance(inner, (RowTypeInfo, TupleTypeInfo, *ARRAYS)):
                raise ConfigurationError(
                    f"only simple types are supported in the second level nesting of field '{name}', got {inner}"
                )


def _types_within(field_type: TypeInformation) -> list[TypeInformation]:
    if isinstance(field_type, RowTypeInfo):
        return field_type.get_field_types()
    return [field_type.element_type] if isinstance(field_type, ARRAYS) else []


def _field_writer(
    field_type: TypeInformation, dialect: CsvDialect, column: str, quote: Callable[[str], str]
) -> TextWriter:
    null_text = dialect.null_text
    if isinstance(field_type, ARRAYS) and not is_byte_array(field_type):
        item = _value_writer(field_type.element_type, dialect)
        separator = dict(dialect.column_separators).get(column, dialect.array_separator)
        return lambda values: quote(separator.join([null_text if v is None else item(v) for v in values]))
    if isinstance(field_type, RowTypeInfo):
        nested = replace(dialect, separator=dialect.array_separator, quote=None)
        to_text = row_writer(field_type, nested)
    else:
        to_text = _value_writer(field_type, dialect)
    if isinstance(field_type, BasicTypeInfo) and field_type.basic_type in _NEVER_QUOTED:
        return to_text
    return lambda value: quote(to_text(value))


def _value_writer(value_type: TypeInformation, dialect: CsvDialect) -> TextWriter:
    if isinstance(value_type, DecimalTypeInfo):
        return lambda value: _decimal_text(value_type.written(value), dialect.null_text)
    if is_byte_array(value_type):
        return lambda value: base64.b64encode(value).decode()
    return text_writer(value_type)


def _decimal_text(value: Decimal | None, null_text: str) -> str:
    if value is None:
        return null_text
    # As Jackson does, without zeros at the end: 100.00 is 1E+2.
    return str(_EXACT.normalize(value)) if value else "0"


@dataclass(frozen=True)
class CsvBulkFormat(BulkFormat):
    """CSV files with the columns of `row_type`, or of the stream's type when it is None."""

    row_type: RowTypeInfo | TupleTypeInfo | None = None
    dialect: CsvDialect = field(default_factory=CsvDialect)
    has_header: bool = False

    @property
    def can_be_joined(self) -> bool:
        """Lines are lines, unless each file begins with names."""
        return not self.has_header

    def create_writer(self, stream: IO[bytes], input_type: TypeInformation | None) -> BulkWriter:
        row_type = self.row_type or input_type
        if not isinstance(row_type, (RowTypeInfo, TupleTypeInfo)):
            raise ConfigurationError(f"CSV needs a stream of rows or tuples, got {row_type}; give the stream a type")
        writer = _CsvWriter(stream, row_writer(row_type, self.dialect), self.dialect.line_end)
        if self.has_header:
            writer.write_line(self.dialect.separator.join(map(self.dialect.quoting(), field_names(row_type))))
        return writer


class _CsvWriter(BulkWriter):
    def __init__(self, stream: IO[bytes], to_line: TextWriter, line_end: str) -> None:
        self._stream = stream
        self._to_line = to_line
        self._line_end = line_end

    def write_line(self, line: str) -> None:
        self._stream.write((line + self._line_end).encode())

    def write(self, values: list[Any]) -> None:
        """Writes the lines of a batch at once."""
        if values:
            self.write_line(self._line_end.join(map(self._to_line, values)))

    def finish(self) -> None:
        """Nothing is left to write."""
