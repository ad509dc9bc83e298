"""Columns that Spark has read, brought by Spark into the form in which they are carried; and back, to be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type

from funke.engine.sql.spark_plans.carried_columns import carried_type
from funke.engine.types.logical import DataType, LocalZonedTimestampType, TimestampType, to_column_type

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["carried_input", "written_output"]

_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_SECONDS = {"s": "1", "ms": "0.001", "us": "0.000001"}
# What a type is widened to without a change of any value.
_WIDER = {
    "byte": ("short", "integer", "long"),
    "short": ("integer", "long"),
    "integer": ("long",),
    "float": ("double",),
}


def carried_input(column: SparkColumn, source_type: Any, data_type: DataType) -> SparkColumn | None:
    """A column of the Spark type `source_type` as one of a table; None if only Arrow can convert it."""
    target_type = from_arrow_type(carried_type(data_type))
    if source_type == target_type:
        return column
    if target_type.typeName() in _WIDER.get(source_type.typeName(), ()):
        return column.cast(target_type)
    unit = _UNITS.get(_unit(data_type))
    if unit is None or source_type.typeName() not in ("timestamp", "timestamp_ntz"):
        return None
    microseconds = _microseconds(column, source_type.typeName())
    # Towards zero, as Arrow does.
    return microseconds if unit == 1 else F.call_function("div", microseconds, F.lit(unit).cast("bigint"))


def _microseconds(column: SparkColumn, kind: str) -> SparkColumn:
    if kind == "timestamp":
        return F.unix_micros(column)
    # As a timestamp with a zone it would depend on the session's, and not every timestamp is there in every zone.
    since = column - _epoch()
    return (since.cast("interval second").cast("decimal(20, 6)") * F.lit(1_000_000)).cast("bigint")


def written_output(column: SparkColumn, data_type: DataType, target_type: Any) -> SparkColumn | None:
    """A carried column as one of the Spark type `target_type`; None if only Arrow can convert it."""
    source_type, unit = from_arrow_type(carried_type(data_type)), _unit(data_type)
    if source_type == target_type:
        return column
    if unit not in _SECONDS or target_type.typeName() not in ("timestamp", "timestamp_ntz"):
        return None
    timestamp = _epoch() + F.expr(f"INTERVAL '{_SECONDS[unit]}' SECOND") * column
    if isinstance(data_type, LocalZonedTimestampType):
        timestamp = F.timestamp_micros(column * F.lit(_UNITS[unit]))
    # A timestamp without a zone is one with a zone by the clock of Spark's session, as everywhere in Spark.
    return timestamp.cast(target_type)


def _unit(data_type: DataType) -> str:
    is_timestamp = isinstance(data_type, (TimestampType, LocalZonedTimestampType))
    return str(to_column_type(data_type).unit) if is_timestamp else ""


def _epoch() -> SparkColumn:
    return F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
