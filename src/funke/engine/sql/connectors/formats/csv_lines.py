"""Columns as lines of CSV, with the quoting of Flink's writer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.connectors.file_sink.csv_format import CsvDialect
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.formats.table.table_writer import LineFileWriter
from funke.engine.sql.connectors.formats.value_writers import ValueText, plain_text, text_column, to_lines
from funke.engine.sql.functions.values import to_values
from funke.engine.types.logical import (
    CHARACTER,
    INTEGRAL,
    ArrayType,
    BooleanType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    MultisetType,
    RowType,
    to_sql_text,
)

if TYPE_CHECKING:
    from funke.engine.types.logical import DataType, RowField

__all__ = ["CsvLines"]

_NEVER_QUOTED = (BooleanType, DecimalType, FloatType, DoubleType, *INTEGRAL)


@dataclass(frozen=True)
class CsvLines(LineFileWriter):
    fields: tuple[RowField, ...]
    dialect: CsvDialect
    is_scientific: bool = True

    def __post_init__(self) -> None:
        """Rejects types that CSV has no form for, where the table is made."""
        for each in self.fields:
            self._cell_writer(each.data_type)

    def pieces(self, batch: pa.RecordBatch, kinds: Any = None) -> list[bytes]:
        parts: list[pa.Array | str] = []
        for column, each in zip(batch.columns, self.fields):
            parts += [self._cells(column, each.data_type), self.dialect.separator]
        return to_lines([*parts[:-1], "\n"], self.dialect.null_text) if parts else []

    def _cells(self, column: pa.Array, data_type: DataType) -> pa.Array:
        """The texts of a column, NULL for NULL."""
        strings = text_column(column, data_type)
        if strings is None:
            write = self._cell_writer(data_type)
            values = to_values(column, data_type)
            return pa.array([None if value is None else write(value) for value in values], pa.large_string())
        return strings if isinstance(data_type, _NEVER_QUOTED) else self.dialect.quoted(strings)

    def _cell_writer(self, data_type: DataType) -> ValueText:
        quote, write = self.dialect.quoting(), self._value_writer(data_type)
        return write if isinstance(data_type, _NEVER_QUOTED) else lambda value: quote(write(value))

    def _value_writer(self, data_type: DataType) -> ValueText:
        if isinstance(data_type, ArrayType):
            element = self._inner_writer(data_type.element_type)
            return lambda values: self.dialect.array_separator.join(map(element, values))
        if isinstance(data_type, RowType):
            writers = [self._inner_writer(each.data_type) for each in data_type]
            return lambda row: self.dialect.array_separator.join(write(each) for write, each in zip(writers, row))
        if isinstance(data_type, (MapType, MultisetType)):
            raise UnsupportedFeatureError(f"{to_sql_text(data_type)} in CSV")
        if isinstance(data_type, DecimalType) and not self.is_scientific:
            return lambda value: format(value.normalize(), "f") if value else "0"
        writer = plain_text(data_type)
        return writer if writer is not None else str

    def _inner_writer(self, data_type: DataType) -> Callable[[Any], str]:
        if not isinstance(data_type, CHARACTER) and isinstance(data_type, (ArrayType, RowType)):
            raise UnsupportedFeatureError(f"{to_sql_text(data_type)} inside of another type in CSV")
        write = self._value_writer(data_type)
        return lambda value: self.dialect.null_text if value is None else write(value)
