"""The types that arithmetic on numbers gives, to the letter of Flink's rules.

Arithmetic on decimals counts the digits that an exact result may need. Past 38 digits the fraction gives way to the
whole part, down to 6 digits.
"""

from __future__ import annotations

from collections.abc import Callable

from funke.engine.types.logical import (
    APPROXIMATE,
    EXACT,
    NUMERIC,
    DataType,
    DecimalType,
    common_type,
    is_nullable,
    like_nullable,
    to_decimal_type,
    with_nullable,
)

__all__ = ["arithmetic_type", "average_type", "round_type", "sum_type"]

_MOST_DIGITS = 38
_LEAST_SCALE = 6


def arithmetic_type(operator: str, left: DataType, right: DataType) -> DataType | None:
    """Return the type of `left operator right` for numbers; None if it has none. Remainders have exact numbers alone.

    >>> from funke.engine.types.logical.data_types import DataTypes
    >>> arithmetic_type("*", DataTypes.DECIMAL(10, 2), DataTypes.DECIMAL(5, 3))
    DecimalType(16, 5, true)
    """
    if not (isinstance(left, NUMERIC) and isinstance(right, NUMERIC)):
        return None
    if operator == "%" and isinstance(left, EXACT) and isinstance(right, EXACT) and not (_scale(left) or _scale(right)):
        # Whole numbers, whatever their types are: that of the divisor.
        return like_nullable(right, left, right)
    has_decimal = isinstance(left, DecimalType) or isinstance(right, DecimalType)
    if has_decimal and isinstance(left, EXACT) and isinstance(right, EXACT):
        return like_nullable(_DECIMAL_RULES[operator](to_decimal_type(left), to_decimal_type(right)), left, right)
    if operator == "%":
        return None
    if isinstance(left, APPROXIMATE) and isinstance(right, APPROXIMATE):
        # FLOAT + DOUBLE is FLOAT in Flink: neither counts as wider.
        return like_nullable(left, left, right)
    return common_type([left, right])


def _scale(data_type: DataType) -> int:
    return data_type.scale if isinstance(data_type, DecimalType) else 0


def round_type(data_type: DataType, digits: int | None) -> DataType:
    """Return the type of ROUND to so many digits behind the point; None if their number is known only at run time."""
    if not isinstance(data_type, DecimalType) or digits is None or digits >= data_type.scale:
        return data_type
    if digits < 0:
        rounded = DecimalType(min(_MOST_DIGITS, 1 + data_type.precision - data_type.scale), 0)
    else:
        rounded = DecimalType(1 + data_type.precision - data_type.scale + digits, digits)
    return like_nullable(rounded, data_type)


def sum_type(data_type: DataType) -> DataType:
    """Return the type of SUM: the type itself, or the widest decimal of its scale."""
    if isinstance(data_type, DecimalType):
        return like_nullable(DecimalType(_MOST_DIGITS, data_type.scale), data_type)
    return data_type


def average_type(data_type: DataType) -> DataType:
    """Return the type of AVG: the type itself, for integers too, or a decimal of 6 and more digits behind the point."""
    if isinstance(data_type, DecimalType):
        return with_nullable(_quotient(DecimalType(38, data_type.scale), DecimalType(20, 0)), is_nullable(data_type))
    return data_type


def _sum(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    return _fitted(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def _product(left: DecimalType, right: DecimalType) -> DecimalType:
    return _fitted(left.precision + right.precision + 1, left.scale + right.scale)


def _quotient(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(_LEAST_SCALE, left.scale + right.precision + 1)
    return _fitted(left.precision - left.scale + right.scale + scale, scale)


def _remainder(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    return _fitted(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


_DECIMAL_RULES: dict[str, Callable[[DecimalType, DecimalType], DecimalType]] = {
    "+": _sum,
    "-": _sum,
    "*": _product,
    "/": _quotient,
    "%": _remainder,
}


def _fitted(precision: int, scale: int) -> DecimalType:
    if precision <= _MOST_DIGITS:
        return DecimalType(max(precision, 1), scale)
    whole_digits = precision - scale
    return DecimalType(_MOST_DIGITS, max(_MOST_DIGITS - whole_digits, min(scale, _LEAST_SCALE)))
