"""Rows of PostgreSQL as columns: COPY sends them as CSV, which Arrow parses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv

from funke.engine.connectors.jdbc.copied_rows import copied_rows
from funke.engine.connectors.jdbc.sql_text import Quote, to_format_style
from funke.engine.errors import SourceError, UnsupportedFeatureError
from funke.engine.formats.table.json_nodes import JsonNodes
from funke.engine.formats.table.table_format import schema_of
from funke.engine.types.logical import (
    BINARY,
    CHARACTER,
    ArrayType,
    BooleanType,
    DateType,
    DecimalType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    to_sql_text,
)

if TYPE_CHECKING:
    from funke.engine.connectors.jdbc.table_read import Condition, TableRead
    from funke.engine.types.logical import DataType, RowField

__all__ = ["PostgresCells", "copied_columns", "prepare_reading", "value_text"]

_CHUNK_BYTES = 1 << 20
# Texts in the forms that Arrow knows. A split that is read again behind its first rows must give them in the same
# order, which neither parallel plans nor scans that start where another one is would do.
_SETTINGS = (
    "SET datestyle = 'ISO'",
    "SET timezone = 'UTC'",
    "SET bytea_output = 'hex'",
    "SET extra_float_digits = 1",
    "SET synchronize_seqscans = off",
    "SET max_parallel_workers_per_gather = 0",
)


def prepare_reading(connection: Any) -> None:
    """Sets what texts look like, and that the order of rows is the same each time."""
    connection.execute("; ".join(_SETTINGS))


def value_text(column: str, data_type: DataType) -> str:
    """The value of a column, named as SQL writes it, in the declared type: what conditions compare.

    >>> from funke.engine.types.logical.data_types import DataTypes
    >>> value_text('"price"', DataTypes.DECIMAL(10, 2))
    'round("price"::numeric, 2)'
    """
    if isinstance(data_type, DecimalType):
        return f"round({column}::numeric, {data_type.scale})"
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
        kind = "timestamptz" if isinstance(data_type, LocalZonedTimestampType) else "timestamp"
        unit = "second" if data_type.precision == 0 else "milliseconds" if data_type.precision <= 3 else None
        return f"{column}::{kind}" if unit is None else f"date_trunc('{unit}', {column}::{kind})"
    return column


class PostgresCells:
    """How columns of some types are asked for as texts, and how the texts become columns."""

    def __init__(self, fields: Sequence[RowField], quote: Quote) -> None:
        self.schema = schema_of(fields)
        self.strings = [_cell_text(quote(each.name), each.data_type) for each in fields]
        self._wires = [_wire_type(each.data_type, arrow_type) for each, arrow_type in zip(fields, self.schema.types)]
        self._readers = [_text_reader(each.data_type) for each in fields]
        names = [str(index) for index in range(len(fields))]
        self._names = names
        self._parse = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
        self._convert = pa.csv.ConvertOptions(
            column_types=dict(zip(names, self._wires)),
            null_values=[""],
            true_values=["t"],
            false_values=["f"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            include_columns=names,
        )

    def columns(self, data: bytes) -> Any:
        """The columns of some lines of CSV."""
        options = pa.csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=self._names)
        try:
            table = pa.csv.read_csv(pa.BufferReader(data), options, self._parse, self._convert)
            arrays = [self._column(table.column(index), index) for index in range(len(self._names))]
        except (pa.ArrowInvalid, ValueError) as error:
            raise SourceError(f"a value of the database does not fit the table's columns: {error}") from error
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _column(self, chunks: Any, index: int) -> Any:
        column = chunks.combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        read, arrow_type = self._readers[index], self.schema.types[index]
        if read is not None:
            return pa.array([None if text is None else read(text) for text in column.to_pylist()], arrow_type)
        return column if column.type == arrow_type else column.cast(arrow_type, safe=False)


def copied_columns(connection: Any, read: TableRead, quote: Quote) -> Iterator[Any]:
    """Yields the rows of a table as record batches, while the server sends them."""
    cells = PostgresCells(read.fields, quote)
    query = read.select(cells.strings, quote)
    for chunk in copied_rows(connection, copy_text(connection, query), _CHUNK_BYTES):
        yield cells.columns(chunk)


def copy_text(connection: Any, query: Condition) -> str:
    """The COPY of a query; it takes no parameters, so that values stand in its text, as the driver writes them."""
    import psycopg

    with psycopg.ClientCursor(connection) as cursor:
        text: str = cursor.mogrify(to_format_style(query.text), query.values)
    return f"COPY ({text}) TO STDOUT (FORMAT csv)"


def _cell_text(column: str, data_type: DataType) -> str:
    value = value_text(column, data_type)
    if isinstance(data_type, BINARY):
        return f"encode({value}, 'hex')"
    if isinstance(data_type, CHARACTER):
        return f"{value}::text"
    if isinstance(data_type, ArrayType):
        return f"to_json({value})::text"
    if isinstance(data_type, (RowType, MapType, MultisetType)):
        raise UnsupportedFeatureError(f"{to_sql_text(data_type)} in a table of PostgreSQL")
    if isinstance(data_type, BooleanType):
        return f"{value}::boolean"
    if isinstance(data_type, DateType):
        return f"{value}::date"
    return f"{value}::time" if isinstance(data_type, TimeType) else value


def _wire_type(data_type: DataType, arrow_type: Any) -> Any:
    if isinstance(data_type, (*BINARY, *CHARACTER, ArrayType)):
        return pa.string()
    if isinstance(data_type, LocalZonedTimestampType):
        return pa.timestamp("us", "UTC")
    if isinstance(data_type, TimestampType):
        return pa.timestamp("us")
    return pa.time64("us") if isinstance(data_type, TimeType) else arrow_type


def _text_reader(data_type: DataType) -> Callable[[str], Any] | None:
    if isinstance(data_type, BINARY):
        return bytes.fromhex
    if isinstance(data_type, ArrayType):
        read = JsonNodes(False, False, True).reader(data_type)
        return lambda text: read(json.loads(text, parse_float=Decimal))
    return None
