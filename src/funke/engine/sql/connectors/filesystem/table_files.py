"""A table's files: the columns inside of them, and those that come from their paths (partitions and metadata)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from funke.engine.formats.table.table_format import TableFileFormat, schema_of
from funke.engine.formats.table.text_cells import cell_reader
from funke.engine.sql.binding.expressions import BoundColumn, BoundExpression, BoundFunction, column_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical import DataTypes, RowField, to_column_type

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile
    from funke.engine.types.logical import DataType
    from funke.engine.types.row import RowKind

__all__ = ["FILE_METADATA", "MetadataColumn", "PartitionColumn", "TableFiles"]

FILE_METADATA: Mapping[str, DataType] = {
    "file.path": DataTypes.STRING(False),
    "file.name": DataTypes.STRING(False),
    "file.size": DataTypes.BIGINT(False),
    "file.modification-time": DataTypes.TIMESTAMP_LTZ(3, False),
}
_METADATA: Mapping[str, Callable[[InputFile], Any]] = {
    "file.path": lambda file: file.path,
    "file.name": lambda file: file.path.rpartition("/")[2],
    "file.size": lambda file: file.size,
    "file.modification-time": lambda file: _with_milliseconds(file.modified()),
}


@dataclass(frozen=True)
class PartitionColumn:
    """A column whose value is part of the file's path: …/day=2020-12-31/…"""

    field: RowField
    default_name: str

    def value_in(self, file: InputFile) -> Any:
        """Return the value that holds for all rows of a file."""
        start = f"{self.field.name}="
        parts = [part for part in file.path.split("/")[:-1] if part.startswith(start)]
        if not parts:
            raise ValueError(f"its path names no partition '{self.field.name}'")
        text = unquote(parts[-1][len(start) :])
        return None if text == self.default_name else cell_reader(self.field.data_type)(text)


@dataclass(frozen=True)
class MetadataColumn:
    """A METADATA column, whose value is a property of the file."""

    field: RowField
    key: str

    def value_in(self, file: InputFile) -> Any:
        """Return the value that holds for all rows of a file."""
        return _METADATA[self.key](file)


# A number is the index of a column inside of the files.
FileColumn = int | PartitionColumn | MetadataColumn


@dataclass(frozen=True)
class FileCondition:
    """A condition whose columns, by their numbers, are the same in all rows of a file."""

    condition: BoundExpression
    columns: tuple[tuple[int, PartitionColumn | MetadataColumn], ...]

    def is_true_for(self, file: InputFile) -> bool:
        """Whether the rows of a file fulfil it."""
        values_of_columns = dict(self.columns)
        row = [
            _one(values_of_columns[index], file) if index in values_of_columns else _NOTHING
            for index in range(max(values_of_columns) + 1)
        ]
        truth = column_of(self.condition)(pa.RecordBatch.from_arrays(row, [str(index) for index in range(len(row))]))
        return bool((truth if isinstance(truth, pa.Scalar) else truth[0]).as_py())


_NOTHING = pa.nulls(1)


def _one(column: PartitionColumn | MetadataColumn, file: InputFile) -> pa.Array:
    return pa.repeat(_scalar(column, file), 1)


@dataclass(frozen=True)
class TableFiles(TableFileFormat):
    """Reads files into the columns of a table."""

    inside: TableFileFormat
    columns: tuple[FileColumn, ...]
    # The most rows of one file that a query needs. Files do not know of each other: the Limit of the plan counts.
    limit: int | None = None
    # Conditions on partitions and metadata, each with the columns that it looks at: files that do not fulfil them are
    # not read.
    conditions: tuple[FileCondition, ...] = ()

    @property
    def fields(self) -> tuple[RowField, ...]:
        inside = self.inside.fields
        return tuple(inside[each] if isinstance(each, int) else each.field for each in self.columns)

    @property
    def kinds(self) -> frozenset[RowKind]:
        return self.inside.kinds

    def selecting(self, indexes: Sequence[int]) -> TableFiles:
        chosen = [self.columns[index] for index in indexes]
        # A batch without any column has no rows: one is read in any case.
        positions = sorted({each for each in chosen if isinstance(each, int)}) or [0]
        numbers = {position: number for number, position in enumerate(positions)}
        columns = tuple(numbers[each] if isinstance(each, int) else each for each in chosen)
        return replace(self, inside=self.inside.selecting(positions), columns=columns)

    def with_metadata(self, columns: Sequence[MetadataColumn]) -> TableFiles:
        """Return the same with more columns."""
        return replace(self, columns=(*self.columns, *columns))

    def with_condition(self, condition: BoundExpression) -> TableFiles | None:
        """Return the same without the files that a condition rules out; None if it has columns of the files."""
        indexes = column_indexes(condition)
        columns = [(index, self.columns[index]) for index in sorted(indexes)]
        outside = tuple((index, each) for index, each in columns if not isinstance(each, int))
        if not outside or len(outside) < len(columns):
            return None
        return replace(self, conditions=(*self.conditions, FileCondition(condition, outside)))

    def columns_of(self, file: InputFile) -> Iterator[Any]:
        """Yield the rows of a file."""
        if not all(each.is_true_for(file) for each in self.conditions):
            return
        schema, left = schema_of(self.fields), self.limit
        constants = [None if isinstance(each, int) else _scalar(each, file) for each in self.columns]
        for batch in self.inside.columns_of(file):
            if left is not None:
                batch = batch.slice(0, left)
                left -= len(batch)
            if not len(batch):
                return
            rows = batch.data if isinstance(batch, ColumnBatch) else batch
            data = pa.RecordBatch.from_arrays(
                [
                    rows.column(each) if isinstance(each, int) else pa.repeat(constant, len(batch))
                    for each, constant in zip(self.columns, constants)
                ],
                schema=schema,
            )
            yield batch.with_data(data) if isinstance(batch, ColumnBatch) else data


def _scalar(column: PartitionColumn | MetadataColumn, file: InputFile) -> pa.Scalar:
    return pa.scalar(column.value_in(file), to_column_type(column.field.data_type))


def column_indexes(expression: BoundExpression) -> set[int]:
    """The indexes of the columns that an expression uses."""
    if isinstance(expression, BoundColumn):
        return {expression.index}
    inner = expression.arguments if isinstance(expression, BoundFunction) else ()
    return {index for each in inner for index in column_indexes(each)}


def _with_milliseconds(timestamp: datetime.datetime) -> datetime.datetime:
    return timestamp.replace(microsecond=timestamp.microsecond // 1000 * 1000)
