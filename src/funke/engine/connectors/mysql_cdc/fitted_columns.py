"""Columns in the types that tables declare, of columns in the types that are natural for MySQL's.

Natural are: whole numbers (also for BIT and YEAR), floating ones, decimals (texts if they have more than 38 digits),
texts (also for ENUM, SET and JSON), bytes, dates, timestamps (in UTC for TIMESTAMP), and microseconds for TIME. The log
and SELECT both become these, so that they agree.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.connectors.mysql_cdc.charsets import is_known
from funke.engine.connectors.mysql_cdc.part_columns import INTEGERS
from funke.engine.connectors.mysql_cdc.settings import MySqlColumn
from funke.engine.errors import SourceError, UnsupportedFeatureError
from funke.engine.formats.table.text_cells import fitted_decimal
from funke.engine.types.logical import (
    APPROXIMATE,
    BINARY,
    CHARACTER,
    INTEGRAL,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    to_column_type,
    to_sql_text,
)

__all__ = ["column_fitter"]

Fit = Callable[[Any], Any]
_NUMBERS = (*INTEGERS, "year", "bit", "float", "double", "decimal")
_STRINGS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "json")
_BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_TIMESTAMPS = ("datetime", "timestamp")
_DAY_US = 86_400_000_000


def column_fitter(column: MySqlColumn, data_type: DataType, zone: str) -> Fit:
    """What makes a column of the declared type; rejects types that have nothing to do with each other."""
    fit = _fitter(column, data_type, zone)
    if fit is None or (column.charset is not None and not is_known(column.charset)):
        charset = f" CHARACTER SET {column.charset}" if column.charset else ""
        raise UnsupportedFeatureError(
            f"the column {column.name!r} of type {column.kind.upper()}{charset} as {to_sql_text(data_type)}"
        )

    def fitted(values: Any) -> Any:
        try:
            return fit(values)
        except (pa.ArrowException, ValueError, ArithmeticError) as error:
            raise SourceError(
                f"a value of the column {column.name!r} does not fit {to_sql_text(data_type)}: {error}"
            ) from error

    return fitted


def _fitter(column: MySqlColumn, data_type: DataType, zone: str) -> Fit | None:
    kind, arrow_type = column.kind, None if isinstance(data_type, CHARACTER) else to_column_type(data_type)
    if isinstance(data_type, CHARACTER):
        return _to_text(column, zone)
    if isinstance(data_type, BooleanType):
        return (lambda values: pc.not_equal(values, 0)) if kind in (*INTEGERS, "bit") else None
    if isinstance(data_type, (*INTEGRAL, *APPROXIMATE)):
        is_right = kind in _NUMBERS and (kind not in ("float", "double") or isinstance(data_type, APPROXIMATE))
        return (lambda values: values.cast(arrow_type)) if is_right else None
    if isinstance(data_type, DecimalType):
        return _to_decimal(data_type, arrow_type) if kind in _NUMBERS else None
    if isinstance(data_type, BINARY):
        return _to_bytes(column)
    if isinstance(data_type, (DateType, TimeType)):
        if isinstance(data_type, DateType):
            return (lambda values: values.cast(arrow_type)) if kind in ("date", "datetime") else None
        return _to_time(data_type.precision, arrow_type) if kind == "time" else None
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)) and kind in (*_TIMESTAMPS, "date"):
        return _to_timestamp(kind, data_type, arrow_type, zone)
    return None


def _to_text(column: MySqlColumn, zone: str) -> Fit | None:
    if column.kind in _TIMESTAMPS:
        size = 19 + (column.digits + 1 if column.digits else 0)
        local = _local(zone) if column.kind == "timestamp" else _same
        return lambda values: pc.utf8_slice_codeunits(local(values).cast(pa.string()), 0, size)
    if column.kind == "time":
        return lambda values: pa.array([_time_text(each, column.digits) for each in values.to_pylist()], pa.string())
    if column.kind in (*_NUMBERS, *_STRINGS, *_BYTES, "date"):
        return lambda values: values.cast(pa.string())
    return None


def _time_text(micros: int | None, digits: int) -> str | None:
    if micros is None:
        return None
    seconds, fraction = divmod(abs(micros), 1_000_000)
    text = f"{'-' if micros < 0 else ''}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{f'{fraction:06d}'[:digits]}" if digits else text


def _to_decimal(data_type: Any, arrow_type: Any) -> Fit:
    def one(value: Any) -> Any:
        return None if value is None else fitted_decimal(Decimal(str(value)), data_type.precision, data_type.scale)

    def fit(values: Any) -> Any:
        if pa.types.is_decimal(values.type):
            try:
                return values.cast(arrow_type)
            except pa.ArrowInvalid:
                pass  # too many digits: they are rounded, or there is no such number
        return pa.array([one(value) for value in values.to_pylist()], arrow_type)

    return fit


def _to_bytes(column: MySqlColumn) -> Fit | None:
    if column.kind == "bit":
        # As Flink's connector gives them: the lowest byte first.
        size = (column.digits + 7) // 8
        return lambda values: pa.array(
            [None if each is None else each.to_bytes(size, "little") for each in values.to_pylist()], pa.binary()
        )
    return (lambda values: values.cast(pa.binary())) if column.kind in (*_BYTES, *_STRINGS) else None


def _to_time(precision: int, arrow_type: Any) -> Fit:
    # As everywhere in tables: no more than milliseconds.
    step = 1000 if precision else 1_000_000

    def fit(values: Any) -> Any:
        bounds = pc.min_max(values).as_py()
        if bounds["min"] is not None and not (bounds["min"] >= 0 and bounds["max"] < _DAY_US):
            raise ValueError("a time of MySQL may be negative or longer than a day: declare it as STRING")
        whole = pc.multiply(pc.divide(values, step), step)
        return whole.cast(pa.time64("us")).cast(arrow_type, safe=False)

    return fit


def _to_timestamp(kind: str, data_type: Any, arrow_type: Any, zone: str) -> Fit:
    unit = pa.timestamp("s", arrow_type.tz) if data_type.precision == 0 else arrow_type
    if isinstance(data_type, LocalZonedTimestampType):
        converted = _as_utc if kind == "timestamp" else _instant(zone)
    else:
        converted = _local(zone) if kind == "timestamp" else _same

    def fit(values: Any) -> Any:
        return converted(values.cast(pa.timestamp("us"))).cast(unit, safe=False).cast(arrow_type, safe=False)

    return fit


def _same(values: Any) -> Any:
    return values


def _as_utc(values: Any) -> Any:
    return values.cast(pa.timestamp("us", "UTC"))


def _local(zone: str) -> Fit:
    return lambda values: pc.local_timestamp(_as_utc(values).cast(pa.timestamp("us", zone)))


def _instant(zone: str) -> Fit:
    def fit(values: Any) -> Any:
        instants = pc.assume_timezone(values, zone, ambiguous="earliest", nonexistent="earliest")
        return instants.cast(pa.timestamp("us", "UTC"))

    return fit
