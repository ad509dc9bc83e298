"""The connector datagen: random rows or sequences, with a number and a rate."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.generator import GeneratorSource
from funke.engine.connectors.sequence import NumberRange, SequenceReader
from funke.engine.connectors.source import Batch, Split
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.datagen.field_makers import FIELD_OPTIONS, Field, made_field
from funke.engine.sql.connectors.datagen.value_makers import ValueMaker
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import TableOption
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.columns.arrow_rows import ArrowRows
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.types.information.composite_types import RowTypeInfo

__all__ = ["DatagenFactory", "DatagenTableSource"]

_RATE = TableOption("rows-per-second", "Long", "10000", "How many rows are made in a second.")
_ROWS = TableOption("number-of-rows", "Long", None, "The number of rows; without it the table is unbounded.")
_PARALLELISM = TableOption("scan.parallelism", "Integer", None, "How many subtasks make rows.")
_BATCH_ROWS = 1 << 14


class DatagenFactory(TableFactory):
    identifier = "datagen"
    purpose = "Generates rows, for tests and trials."
    reads = True
    takes_common_options = False
    optional_options = (_RATE, _ROWS, _PARALLELISM, *FIELD_OPTIONS)

    def options_for(self, context: TableContext) -> tuple[tuple[TableOption, ...], tuple[TableOption, ...]]:
        own = [option for field in _fields(context) for option in field.options]
        return (), (_RATE, _ROWS, _PARALLELISM, *own)

    def create_source(self, context: TableContext) -> DatagenTableSource:
        values, fields = context.values, _fields(context)
        # As in Flink the table ends with its shortest sequence.
        limits = [field.rows for field in fields] + [values[_ROWS]]
        rows = min((limit for limit in limits if limit is not None), default=None)
        makers = tuple(field.maker for field in fields)
        return DatagenTableSource(context.columns, makers, rows, values[_RATE], values[_PARALLELISM])


def _fields(context: TableContext) -> list[Field]:
    return [made_field(each.name, each.type, context.values) for each in context.columns]


@dataclass(frozen=True)
class DatagenTableSource(TableSource):
    """Numbered rows, from 0. A sequence is computed from the number of the row, also after a restore."""

    generated: tuple[Column, ...]
    makers: tuple[ValueMaker, ...]
    rows: int | None
    rows_per_second: int
    parallelism: int | None = None
    summary = "datagen"

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.generated

    @property
    def is_bounded(self) -> bool:
        return self.rows is not None

    def with_columns(self, indexes: Sequence[int]) -> DatagenTableSource:
        generated = tuple(self.generated[index] for index in indexes)
        return replace(self, generated=generated, makers=tuple(self.makers[index] for index in indexes))

    def with_limit(self, limit: int) -> DatagenTableSource:
        return replace(self, rows=limit if self.rows is None else min(limit, self.rows))

    def create_source(self) -> _GeneratedColumns:
        return _GeneratedColumns(self)


class _GeneratedColumns(GeneratorSource):
    def __init__(self, table: DatagenTableSource) -> None:
        super().__init__(_no_function, table.rows, table.rows_per_second, row_type_of(table.columns))
        self._table = table
        self.fixed_parallelism = table.parallelism

    def create_reader(self) -> _ColumnReader:  # type: ignore[override]
        return _ColumnReader(self._table.columns, self._table.makers)


def _no_function(index: int) -> Any:
    raise AssertionError("columns are made without a function for rows")


class _ColumnReader(SequenceReader):
    # Every subtask gets numbers sooner or later: one that waits for its first must hold back event time, as in Flink.
    is_never_idle = True

    def __init__(self, columns: tuple[Column, ...], makers: tuple[ValueMaker, ...]) -> None:
        self._columns = columns
        self._makers = makers

    def read_columns(self, split: Split) -> Generator[ColumnBatch, None, Any]:
        """Yield the rows with the numbers of a range."""
        import numpy as np
        import pyarrow as pa

        numbers: NumberRange = split.payload
        schema, chance = schema_of(self._columns), np.random.default_rng()
        for start in range(numbers.start, numbers.end, _BATCH_ROWS):
            indexes = np.arange(start, min(start + _BATCH_ROWS, numbers.end))
            columns = [maker.column(indexes, chance) for maker in self._makers]
            yield ColumnBatch(pa.RecordBatch.from_arrays(columns, schema=schema))

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """Yield the same rows one by one, for operators that do not take columns."""
        row_type: RowTypeInfo = row_type_of(self._columns)
        to_rows = ArrowRows(row_type)
        for batch in self.read_columns(split):
            yield list(to_rows.rows(batch.data)), None
