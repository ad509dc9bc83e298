"""CAST on whole columns, where Arrow does the same as the cast of each value."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.types.logical import (
    APPROXIMATE,
    CHARACTER,
    INTEGRAL,
    LONGEST,
    NUMERIC,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    TimestampType,
    VarCharType,
    to_column_type,
    to_decimal_type,
)

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Datum

__all__ = ["column_cast"]

ColumnCast = Callable[[Any], Any]


def column_cast(source: DataType, target: DataType) -> ColumnCast | None:
    """Return the cast of a column; None if values have to be cast one by one."""
    arrow_type = to_column_type(target)
    if _is_plain(source, target):
        return lambda column: pc.cast(column, arrow_type, safe=False)
    if isinstance(target, DecimalType):
        return _to_decimal(source, target)
    if isinstance(source, DecimalType) and isinstance(target, INTEGRAL):
        # Cuts the fraction off and takes the lowest bits, as Java does; there by way of 64 bits.
        return lambda column: pc.cast(pc.cast(column, pa.int64(), safe=False), arrow_type, safe=False)
    if isinstance(source, DecimalType) and isinstance(target, APPROXIMATE):
        return lambda column: pc.cast(_on_array(column, _to_doubles), arrow_type, safe=False)
    if isinstance(source, APPROXIMATE) and isinstance(target, INTEGRAL):
        return lambda column: pc.cast(
            _on_array(column, partial(_narrowed, arrow_type=arrow_type)), arrow_type, safe=False
        )
    if isinstance(source, NUMERIC) and isinstance(target, BooleanType):
        zero = pa.scalar(0, to_column_type(source))
        return lambda column: pc.not_equal(column, zero)
    if isinstance(target, (CharType, VarCharType)):
        return _to_text(source, target)
    return _to_timestamp(source, target, arrow_type)


def _on_array(column: Datum, cast: ColumnCast) -> Datum:
    return cast(pa.repeat(column, 1))[0] if isinstance(column, pa.Scalar) else cast(column)


def _to_decimal(source: Any, target: DecimalType) -> ColumnCast | None:
    if isinstance(source, INTEGRAL):
        return _integer_to_decimal(source, target)
    if isinstance(source, DecimalType):
        return _narrowing(source, target) if target.scale >= source.scale else _rounding(source, target)
    return None


def _integer_to_decimal(source: DataType, target: DecimalType) -> ColumnCast:
    """Return a cast to fewer digits than integers may have; those that have more become NULL."""
    source_type, target_type, digits = to_column_type(source), to_column_type(target), to_decimal_type(source).precision
    # Arrow wants room for every integer of the type on the way.
    wide = pa.decimal128(digits + target.scale, target.scale) if digits + target.scale <= 38 else pa.decimal128(digits)
    bounded = _bounded(source_type, 10 ** (target.precision - target.scale))
    return lambda column: pc.cast(pc.cast(bounded(column), wide), target_type)


def _narrowing(source: DecimalType, target: DecimalType) -> ColumnCast:
    """Return a cast to fewer digits before the point; numbers that have more become NULL."""
    arrow_type = to_column_type(target)
    bounded = _bounded(to_column_type(source), Decimal(10) ** (target.precision - target.scale))
    return lambda column: pc.cast(bounded(column), arrow_type)


def _rounding(source: DecimalType, target: DecimalType) -> ColumnCast:
    """Return a cast to fewer digits behind the point: half up, which may give one more before it."""
    arrow_type, digits = to_column_type(target), source.precision + 1
    wide = pa.decimal128(digits, source.scale) if digits <= 38 else pa.decimal256(digits, source.scale)
    bounded: ColumnCast = lambda column: column  # noqa: E731
    if target.precision - target.scale < digits - source.scale:
        bounded = _bounded(wide, Decimal(10) ** (target.precision - target.scale))

    def cast(column: Datum) -> Datum:
        rounded = pc.round(pc.cast(column, wide), ndigits=target.scale, round_mode="half_towards_infinity")
        return pc.cast(bounded(rounded), arrow_type)

    return cast


def _bounded(arrow_type: Any, bound: Any) -> ColumnCast:
    """Return a function that replaces numbers with NULL unless their absolute values are below a bound."""
    low, high = (pa.scalar(sign * bound, arrow_type) for sign in (-1, 1))

    def keep(column: Datum) -> Datum:
        fits = pc.and_(pc.greater(column, low), pc.less(column, high))
        if isinstance(fits, pa.Scalar) or not pc.all(fits, min_count=0).as_py():
            column = pc.if_else(fits, column, pa.scalar(None, arrow_type))
        return column

    return keep


# Integers that doubles have all of, and powers of ten that are doubles.
_EXACT_INTEGER, _EXACT_POWER = 2**53, 22


def _to_doubles(column: pa.Array) -> pa.Array:
    """The doubles next to decimals: one division, which rounds once, where both numbers are doubles themselves."""
    words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    low, high = words[0::2], words[1::2]
    is_exact = (high == low >> 63).all() and (np.abs(low) <= _EXACT_INTEGER).all()
    if not is_exact or column.type.scale > _EXACT_POWER:
        return pa.array([None if each is None else float(each) for each in column.to_pylist()], pa.float64())
    quotients = low / 10.0**column.type.scale
    return pa.array(quotients, mask=None if column.null_count == 0 else column.is_null().to_numpy(zero_copy_only=False))


def _narrowed(column: pa.Array, arrow_type: pa.DataType) -> pa.Array:
    """Floats as whole numbers, narrowed as in Java: to the bounds of 32 bits, or of 64; NaN is 0."""
    dtype = np.int64 if arrow_type == pa.int64() else np.int32
    widest = np.iinfo(dtype)
    floats = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    is_high = floats >= float(widest.max)
    inside = np.where(np.isnan(floats) | is_high | (floats <= float(widest.min)), 0.0, floats).astype(dtype)
    whole = np.where(is_high, widest.max, np.where(floats <= float(widest.min), widest.min, inside))
    return pa.array(whole, mask=None if column.null_count == 0 else column.is_null().to_numpy(zero_copy_only=False))


def _to_text(source: Any, target: Any) -> ColumnCast | None:
    write = _writer(source)
    if write is None:
        return None
    length, source_length = target.length, getattr(source, "length", LONGEST)
    if isinstance(target, CharType):
        return lambda column: pc.utf8_rpad(pc.utf8_slice_codeunits(write(column), 0, length), length)
    return write if length >= source_length else lambda column: pc.utf8_slice_codeunits(write(column), 0, length)


# From the seventh digit behind the point on Arrow writes exponents.
_PLAIN_DIGITS = 6
_UNIT_DIGITS = (0, 3, 6)


def _writer(source: Any) -> ColumnCast | None:
    """Return the function that writes the values of a column; None if Arrow writes them in another way."""
    if isinstance(source, CHARACTER):
        return lambda column: column
    if isinstance(source, BooleanType):
        return lambda column: pc.if_else(column, "TRUE", "FALSE")
    is_plain_decimal = isinstance(source, DecimalType) and source.scale <= _PLAIN_DIGITS
    is_plain_timestamp = isinstance(source, TimestampType) and source.precision in _UNIT_DIGITS
    if isinstance(source, (*INTEGRAL, DateType)) or is_plain_decimal or is_plain_timestamp:
        return lambda column: pc.cast(column, pa.utf8())
    return None


def _to_timestamp(source: Any, target: Any, arrow_type: pa.DataType) -> ColumnCast | None:
    if isinstance(source, DateType) and isinstance(target, TimestampType):
        return lambda column: pc.cast(pc.cast(column, pa.timestamp("s")), arrow_type, safe=False)
    if isinstance(source, TimestampType) and isinstance(target, DateType):
        return lambda column: pc.cast(pc.floor_temporal(column, unit="day"), arrow_type)
    if isinstance(source, TimestampType) and isinstance(target, TimestampType) and target.precision in _UNIT_DIGITS:
        unit = {0: "second", 3: "millisecond", 6: "microsecond"}[target.precision]
        return lambda column: pc.cast(pc.floor_temporal(column, unit=unit), arrow_type, safe=False)
    return None


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
        # Every value of the type has an index.
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
