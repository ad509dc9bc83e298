"""The type that several types have in common: what CASE, COALESCE, UNION and arrays of several values give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from funke.engine.types.logical.atomic_types import (
    BinaryType,
    CharType,
    DecimalType,
    DoubleType,
    VarBinaryType,
    VarCharType,
)
from funke.engine.types.logical.collection_types import ArrayType, MapType, MultisetType
from funke.engine.types.logical.data_type import DataType, NullType
from funke.engine.types.logical.families import (
    APPROXIMATE,
    BINARY,
    CHARACTER,
    CONSTRUCTED,
    EXACT,
    INTEGRAL,
    NUMERIC,
    any_nullable,
    like_nullable,
    with_nullable,
)
from funke.engine.types.logical.interval_types import DayTimeIntervalType, YearMonthIntervalType
from funke.engine.types.logical.row_type import RowField, RowType, StructuredType
from funke.engine.types.logical.time_types import DateType, LocalZonedTimestampType, TimestampType, TimeType

__all__ = ["common_type", "to_decimal_type"]

# Digits that hold every value of an integer type, in the order of INTEGRAL.
_INTEGER_DIGITS = dict(zip(INTEGRAL, (3, 5, 10, 19)))
_MOST_DIGITS = 38


def common_type(data_types: Sequence[DataType]) -> DataType | None:
    """Return the least wide type that holds the values of all; None if there is none.

    >>> from funke.engine.types.logical.data_types import DataTypes
    >>> common_type([DataTypes.INT(), DataTypes.BIGINT(False), DataTypes.DECIMAL(2, 2)])
    DecimalType(21, 2, true)
    """
    typed = [each for each in data_types if not isinstance(each, NullType)]
    if not typed:
        return None
    start: DataType | None = typed[0]
    merged = reduce(_merged_or_none, typed[1:], start)
    return None if merged is None else with_nullable(merged, any_nullable(data_types))


def to_decimal_type(data_type: DataType) -> DecimalType:
    """Return the decimal type that holds all values of an exact number type."""
    if isinstance(data_type, DecimalType):
        return data_type
    return like_nullable(DecimalType(_INTEGER_DIGITS[type(data_type)], 0), data_type)


def _merged_or_none(left: DataType | None, right: DataType) -> DataType | None:
    return None if left is None else _merged(left, right)


def _merged(left: DataType, right: DataType) -> DataType | None:
    """Return the common type of two; whether it has NULLs counts for elements and fields only."""
    if with_nullable(left, True) == with_nullable(right, True):
        same: DataType = like_nullable(left, left, right)
        return same
    for kinds, rule in _RULES:
        if isinstance(left, kinds) and isinstance(right, kinds):
            merged = rule(left, right)
            return None if merged is None else like_nullable(merged, left, right)
    return None


def _numeric(left: DataType, right: DataType) -> DataType:
    if isinstance(left, EXACT) and isinstance(right, EXACT):
        return _exact(left, right)
    if isinstance(left, APPROXIMATE) and isinstance(right, APPROXIMATE):
        return max(left, right, key=lambda each: APPROXIMATE.index(type(each)))
    exact, approximate = (left, right) if isinstance(left, EXACT) else (right, left)
    return DoubleType() if isinstance(exact, DecimalType) else approximate


def _exact(left: DataType, right: DataType) -> DataType:
    if isinstance(left, INTEGRAL) and isinstance(right, INTEGRAL):
        return max(left, right, key=lambda each: INTEGRAL.index(type(each)))
    first, second = to_decimal_type(left), to_decimal_type(right)
    scale = max(first.scale, second.scale)
    whole_digits = max(first.precision - first.scale, second.precision - second.scale)
    # Past 38 digits the fraction is cut.
    precision = min(_MOST_DIGITS, whole_digits + scale)
    return DecimalType(precision, min(scale, precision - whole_digits))


def _characters(left: Any, right: Any) -> DataType:
    # Texts of different fixed lengths become texts up to a length, so that none is padded.
    is_fixed = isinstance(left, CharType) and isinstance(right, CharType) and left.length == right.length
    return (CharType if is_fixed else VarCharType)(max(left.length, right.length))


def _bytes(left: Any, right: Any) -> DataType:
    is_fixed = isinstance(left, BinaryType) and isinstance(right, BinaryType) and left.length == right.length
    return (BinaryType if is_fixed else VarBinaryType)(max(left.length, right.length))


def _timestamp(left: Any, right: Any) -> DataType:
    kinds = {type(left), type(right)}
    precision = max(left.precision, right.precision)
    return (LocalZonedTimestampType if LocalZonedTimestampType in kinds else TimestampType)(precision)


def _part_of_timestamp(left: DataType, right: DataType) -> DataType:
    # A timestamp is taken for its date, or its time, without a CAST.
    return right if isinstance(left, TimestampType) else left


def _months(left: YearMonthIntervalType, right: YearMonthIntervalType) -> DataType:
    resolution = YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH
    return YearMonthIntervalType(resolution, max(left.precision, right.precision))


def _days(left: DayTimeIntervalType, right: DayTimeIntervalType) -> DataType:
    order = ["DAY", "HOUR", "MINUTE", "SECOND"]
    units = [unit for each in (left, right) for unit in each.resolution.name.split("_TO_")]
    upper, lower = min(units, key=order.index), max(units, key=order.index)
    name = upper if upper == lower else f"{upper}_TO_{lower}"
    return DayTimeIntervalType(
        DayTimeIntervalType.DayTimeResolution[name],
        max(left.day_precision, right.day_precision),
        max(left.fractional_precision, right.fractional_precision) if lower == "SECOND" else 6,
    )


def _constructed(left: Any, right: Any) -> DataType | None:
    if type(left) is not type(right):
        return None
    if isinstance(left, RowType):
        return _row(left, right)
    if isinstance(left, MapType):
        key, value = _merged(left.key_type, right.key_type), _merged(left.value_type, right.value_type)
        return None if key is None or value is None else MapType(key, value)
    element = _merged(left.element_type, right.element_type)
    kind: type[ArrayType] | type[MultisetType] = type(left)
    return None if element is None else kind(element)


def _row(left: RowType, right: RowType) -> DataType | None:
    if len(left) != len(right) or not _is_same_class(left, right):
        return None
    fields = []
    for first, second in zip(left, right):
        merged = _merged(first.data_type, second.data_type)
        if merged is None:
            return None
        fields.append(RowField(first.name, merged, first.description))
    return StructuredType(left.class_name, fields) if isinstance(left, StructuredType) else RowType(fields)


def _is_same_class(left: RowType, right: RowType) -> bool:
    """Whether two are rows, or objects of one class."""
    if isinstance(left, StructuredType) and isinstance(right, StructuredType):
        return left.class_name == right.class_name
    return type(left) is type(right)


_Rule = Callable[[Any, Any], DataType | None]
_RULES: tuple[tuple[tuple[type[DataType], ...], _Rule], ...] = (
    (NUMERIC, _numeric),
    (CHARACTER, _characters),
    (BINARY, _bytes),
    ((TimeType,), lambda left, right: TimeType(max(left.precision, right.precision))),
    ((TimestampType, LocalZonedTimestampType), _timestamp),
    ((DateType, TimestampType), _part_of_timestamp),
    ((TimeType, TimestampType), _part_of_timestamp),
    ((YearMonthIntervalType,), _months),
    ((DayTimeIntervalType,), _days),
    (CONSTRUCTED, _constructed),
)
