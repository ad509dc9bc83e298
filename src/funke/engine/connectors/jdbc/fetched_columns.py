"""Rows that a driver fetches as Python's values, as columns: their types may be others than those declared."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.errors import SourceError, UnsupportedFeatureError
from funke.engine.formats.table.table_format import schema_of
from funke.engine.formats.table.text_cells import cell_reader, fitted_decimal, truncated
from funke.engine.types.information.scalar_coercion import round_to_float32
from funke.engine.types.logical import (
    BINARY,
    CHARACTER,
    INTEGRAL,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    to_sql_text,
)

if TYPE_CHECKING:
    from funke.engine.connectors.jdbc.database import Database
    from funke.engine.connectors.jdbc.table_read import TableRead
    from funke.engine.types.logical import DataType

__all__ = ["fetched_columns"]

Reader = Callable[[Any], Any]
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def fetched_columns(cursor: Any, read: TableRead, rows: int, database: Database, system: str) -> Iterator[Any]:
    """Yields the rows of a table as record batches of at most so many rows."""
    query = read.select([database.quote(each.name) for each in read.fields], database.quote)
    schema, readers = schema_of(read.fields), [_reader(each.data_type, system) for each in read.fields]
    try:
        cursor.execute(database.to_native(query.text), query.values)
        while fetched := cursor.fetchmany(rows):
            arrays = [
                pa.array([None if value is None else one(value) for value in column], kind)
                for column, one, kind in zip(zip(*fetched), readers, schema.types)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
    except (ValueError, ArithmeticError, pa.ArrowException) as error:
        raise SourceError(f"a value of the database does not fit the table's columns: {error}") from error
    finally:
        cursor.close()


def _reader(data_type: DataType, system: str) -> Reader:
    if isinstance(data_type, INTEGRAL):
        return int
    if isinstance(data_type, CHARACTER):
        return lambda value: value.decode() if isinstance(value, bytes) else str(value)
    if isinstance(data_type, BooleanType):
        return lambda value: value.strip().lower() in ("true", "t", "1") if isinstance(value, str) else bool(value)
    if isinstance(data_type, DoubleType):
        return float
    if isinstance(data_type, FloatType):
        return lambda value: round_to_float32(float(value))
    if isinstance(data_type, DecimalType):
        return lambda value: fitted_decimal(Decimal(str(value)), data_type.precision, data_type.scale)
    if isinstance(data_type, BINARY):
        return lambda value: value.encode() if isinstance(value, str) else bytes(value)
    if isinstance(data_type, (DateType, TimeType, TimestampType, LocalZonedTimestampType)):
        return _timestamp_reader(data_type)
    raise UnsupportedFeatureError(f"{to_sql_text(data_type)} in a table of {system}")


def _timestamp_reader(data_type: Any) -> Reader:
    """Texts as ISO or SQL writes them; numbers are milliseconds, as Java's driver for SQLite stores them."""
    if isinstance(data_type, (DateType, TimeType)):
        read = cell_reader(data_type)
        return lambda value: read(str(value)) if isinstance(value, str) else _part(_timestamp(value), data_type)

    def read_timestamp(value: Any) -> datetime.datetime:
        timestamp = truncated(_timestamp(value), data_type.precision)
        return timestamp if isinstance(data_type, LocalZonedTimestampType) else timestamp.replace(tzinfo=None)

    return read_timestamp


def _timestamp(value: Any) -> datetime.datetime:
    if isinstance(value, (int, float)):
        return _EPOCH + datetime.timedelta(milliseconds=value)
    text = value.strip()
    timestamp = datetime.datetime.fromisoformat(f"{text[:-1]}+00:00" if text.endswith("Z") else text)
    utc = datetime.UTC
    return timestamp.replace(tzinfo=utc) if timestamp.tzinfo is None else timestamp.astimezone(utc)


def _part(timestamp: datetime.datetime, data_type: DataType) -> Any:
    return timestamp.date() if isinstance(data_type, DateType) else timestamp.time()
