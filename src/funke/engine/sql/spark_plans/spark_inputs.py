"""Columns that Spark has read, brought by Spark into the form in which they are carried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type

from funke.engine.sql.spark_plans.carried_columns import carried_type
from funke.engine.types.logical.column_types import to_column_type
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.time_types import LocalZonedTimestampType, TimestampType

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["carried_input"]

_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
# What a type is widened to without a change of any value.
_WIDER = {
    "byte": ("short", "integer", "long"),
    "short": ("integer", "long"),
    "integer": ("long",),
    "float": ("double",),
}


def carried_input(column: SparkColumn, given: Any, wanted: DataType) -> SparkColumn | None:
    """A column of Spark's type `given` as one of a table; None if only Arrow can make it that."""
    carried = from_arrow_type(carried_type(wanted))
    if given == carried:
        return column
    if carried.typeName() in _WIDER.get(given.typeName(), ()):
        return column.cast(carried)
    unit = (
        _UNITS.get(to_column_type(wanted).unit)
        if isinstance(wanted, (TimestampType, LocalZonedTimestampType))
        else None
    )
    if unit is None or given.typeName() not in ("timestamp", "timestamp_ntz"):
        return None
    microseconds = _microseconds(column, given.typeName())
    # Towards zero, as Arrow does.
    return microseconds if unit == 1 else F.call_function("div", microseconds, F.lit(unit).cast("bigint"))


def _microseconds(column: SparkColumn, kind: str) -> SparkColumn:
    if kind == "timestamp":
        return F.unix_micros(column)
    # As a moment with a zone it would depend on the session's, and not every moment is there in every zone.
    since = column - F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
    return (since.cast("interval second").cast("decimal(20, 6)") * F.lit(1_000_000)).cast("bigint")
