"""What all formats of a table's files share: fields with the types of tables, read as columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.formats.file_format import FileFormat
from funke.engine.types import RowKind, RowTypeInfo, Types
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.form_change import ColumnsToRows
from funke.engine.types.logical import column_schema

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile
    from funke.engine.types.logical import RowField

__all__ = ["LineTableFormat", "TableFileFormat", "row_type_info", "schema_of"]


class TableFileFormat(FileFormat):
    """Reads columns. A file is read by one subtask, in the order of its rows, as Flink's tables read it."""

    @property
    def kinds(self) -> frozenset[RowKind]:
        """The kinds of changes that its rows may be."""
        return frozenset({RowKind.INSERT})

    @property
    @abstractmethod
    def fields(self) -> tuple[RowField, ...]:
        """The columns that it reads."""

    @abstractmethod
    def selecting(self, indexes: Sequence[int]) -> TableFileFormat:
        """Return the format that reads only some of these columns, in this order."""

    @abstractmethod
    def columns_of(self, file: InputFile) -> Iterator[Any]:
        """Yield the rows of a file as record batches with the fields as columns; those with kinds as column batches."""

    @property
    def produced_type(self) -> RowTypeInfo:
        return row_type_info(self.fields)

    def read_columns(self, file: InputFile, start: int, end: int) -> Iterator[Any]:
        """Yield all rows of a file."""
        return self.columns_of(file)

    def read(self, file: InputFile, start: int, end: int) -> Iterator[list[Any]]:
        """Yield the same as rows, for those who do not take columns."""
        to_rows = ColumnsToRows(self.produced_type)
        for batch in self.columns_of(file):
            yield to_rows.convert(batch if isinstance(batch, ColumnBatch) else ColumnBatch(batch))[0]


class LineTableFormat(TableFileFormat):
    """Reads lines of text."""

    # Line breaks inside of a row mean nothing.
    joins_lines: bool = False

    @abstractmethod
    def parser(self) -> Callable[[bytes], Any]:
        """Return what makes a record batch of some lines."""


def row_type_info(fields: Sequence[RowField]) -> RowTypeInfo:
    """Return the type that streams give to rows with these fields."""
    row_type = Types.ROW_NAMED([each.name for each in fields], [to_type_info(each.data_type) for each in fields])
    assert isinstance(row_type, RowTypeInfo)
    return row_type


def schema_of(fields: Sequence[RowField]) -> pa.Schema:
    """Return the Arrow schema of fields."""
    return column_schema([each.name for each in fields], [each.data_type for each in fields])
