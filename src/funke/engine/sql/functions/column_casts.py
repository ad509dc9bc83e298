"""CAST on whole columns, where Arrow does the same as the cast of each value."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.types.logical.atomic_types import BooleanType, DecimalType, VarCharType
from funke.engine.types.logical.column_types import to_column_type
from funke.engine.types.logical.common_type import to_decimal_type
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.families import APPROXIMATE, CHARACTER, INTEGRAL, LONGEST
from funke.engine.types.logical.time_types import DateType, TimestampType

__all__ = ["column_cast"]

ColumnCast = Callable[[Any], Any]


def column_cast(source: Any, target: Any) -> ColumnCast | None:
    """Return what casts a column; None where only values can be cast one by one."""
    wanted = to_column_type(target)
    if _is_plain(source, target):
        return lambda column: pc.cast(column, wanted, safe=False)
    if isinstance(source, DecimalType) and isinstance(target, DecimalType) and target.scale >= source.scale:
        return _narrowing(source, target)
    if isinstance(source, BooleanType) and _is_string(target):
        return lambda column: pc.if_else(column, "TRUE", "FALSE")
    if isinstance(source, CHARACTER) and isinstance(target, VarCharType):
        length, given = target.length, getattr(source, "length", LONGEST)
        return (lambda column: pc.utf8_slice_codeunits(column, 0, length)) if length < given else lambda column: column
    if isinstance(source, DateType) and isinstance(target, TimestampType):
        return lambda column: pc.cast(pc.cast(column, pa.timestamp("s")), wanted, safe=False)
    return None


def _narrowing(source: DecimalType, target: DecimalType) -> ColumnCast:
    """Return a cast to fewer digits before the point; numbers that have more become NULL."""
    given, wanted = to_column_type(source), to_column_type(target)
    bound = Decimal(10) ** (target.precision - target.scale)
    low, high = (pa.scalar(sign * bound, given) for sign in (-1, 1))

    def cast(column: Any) -> Any:
        fits = pc.and_(pc.greater(column, low), pc.less(column, high))
        if isinstance(fits, pa.Scalar) or not pc.all(fits, min_count=0).as_py():
            column = pc.if_else(fits, column, pa.scalar(None, given))
        return pc.cast(column, wanted)

    return cast


def _is_plain(source: Any, target: Any) -> bool:
    """Tell whether Arrow's own cast, which wraps integers as Java does, is right."""
    if _key(source) == _key(target):
        return True
    if isinstance(source, (*INTEGRAL, BooleanType)) and isinstance(target, (*INTEGRAL, *APPROXIMATE)):
        return True
    if isinstance(source, APPROXIMATE) and isinstance(target, APPROXIMATE):
        return True
    if isinstance(source, INTEGRAL) and _is_string(target):
        return True
    if isinstance(source, INTEGRAL) and isinstance(target, DecimalType):
        # Every value of the type has a place.
        return target.precision - target.scale >= to_decimal_type(source).precision
    if isinstance(source, DecimalType) and isinstance(target, DecimalType):
        is_wide = target.precision - target.scale >= source.precision - source.scale
        return is_wide and target.scale >= source.scale
    # More digits, or the same: nothing is rounded.
    return (
        isinstance(source, TimestampType) and isinstance(target, TimestampType) and target.precision >= source.precision
    )


def _is_string(data_type: DataType) -> bool:
    return isinstance(data_type, VarCharType) and data_type.length == LONGEST


def _key(data_type: DataType) -> DataType:
    return data_type.nullable()
