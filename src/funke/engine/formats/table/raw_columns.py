"""Lines as values of the only column of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.formats.record_chunks import LineEnds, open_chunks
from funke.engine.formats.table.table_format import TableFileFormat, schema_of
from funke.engine.formats.table.table_writer import LineFileWriter
from funke.engine.types.logical import BinaryType, CharType, VarBinaryType, VarCharType, to_sql_text

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile
    from funke.engine.types.logical import RowField

__all__ = ["RawLines", "RawTableFormat"]

_CHUNK_BYTES = 1 << 20
_STRINGS = (CharType, VarCharType)


@dataclass(frozen=True)
class RawTableFormat(TableFileFormat):
    """Texts are decoded, bytes stay as they are."""

    columns: tuple[RowField, ...]
    charset: str = "UTF-8"

    def __post_init__(self) -> None:
        _check(self.columns)

    @property
    def fields(self) -> tuple[RowField, ...]:
        return self.columns

    def selecting(self, indexes: Sequence[int]) -> RawTableFormat:
        return self

    def columns_of(self, file: InputFile) -> Iterator[Any]:
        """Yield the lines of a file."""
        schema, is_text = schema_of(self.columns), isinstance(self.columns[0].data_type, _STRINGS)
        with open_chunks(file, 0, file.size, LineEnds()) as chunks:
            while data := chunks.take(_CHUNK_BYTES):
                lines: list[Any] = data.removesuffix(b"\n").split(b"\n")
                if is_text:
                    lines = [line.decode(self.charset, "replace") for line in lines]
                yield pa.RecordBatch.from_arrays([pa.array(lines, schema.types[0])], schema=schema)


@dataclass(frozen=True)
class RawLines(LineFileWriter):
    """Writes the values of the only column."""

    fields: tuple[RowField, ...]
    charset: str = "UTF-8"

    def __post_init__(self) -> None:
        _check(self.fields)

    def pieces(self, batch: Any, kinds: Any = None) -> list[bytes]:
        is_text = isinstance(self.fields[0].data_type, _STRINGS)
        values = [value for value in batch.column(0).to_pylist() if value is not None]
        return [(value.encode(self.charset) if is_text else value) + b"\n" for value in values]


def _check(fields: tuple[RowField, ...]) -> None:
    (field,) = fields
    if not isinstance(field.data_type, (*_STRINGS, BinaryType, VarBinaryType)):
        raise UnsupportedFeatureError(
            f"the format raw with a column of type {to_sql_text(field.data_type)}", "texts and bytes have a form here"
        )
