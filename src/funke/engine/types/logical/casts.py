"""Which types can be cast to which: by themselves (implicitly) or by CAST (explicitly)."""

from __future__ import annotations

from typing import Any

from funke.engine.types.logical import (
    BINARY,
    CHARACTER,
    CONSTRUCTED,
    DATETIME,
    EXACT,
    INTEGRAL,
    INTERVAL,
    NUMERIC,
    PREDEFINED,
    TIMESTAMP,
    ArrayType,
    BigIntType,
    BinaryType,
    BitmapType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    Kinds,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    RawType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    VariantType,
    YearMonthIntervalType,
    ZonedTimestampType,
    common_type,
    with_nullable,
)

__all__ = ["are_comparable", "can_cast", "can_cast_implicitly", "is_injective_cast"]

_TIMESTAMPS: Kinds = (TimestampType, LocalZonedTimestampType)

# To each type: from which types by itself, from which others by CAST.
_RULES: dict[type[DataType], tuple[Kinds, Kinds]] = {
    CharType: ((CharType,), (*PREDEFINED, *CONSTRUCTED, RawType, BitmapType)),
    VarCharType: (CHARACTER, (*PREDEFINED, *CONSTRUCTED, RawType, BitmapType)),
    BooleanType: ((BooleanType,), (*CHARACTER, *INTEGRAL, DecimalType)),
    BinaryType: ((BinaryType,), (*CHARACTER, VarBinaryType, RawType)),
    VarBinaryType: (BINARY, (*CHARACTER, RawType)),
    DecimalType: (NUMERIC, (*CHARACTER, BooleanType, *_TIMESTAMPS)),
    TinyIntType: (INTEGRAL[:1], (*NUMERIC, *CHARACTER, BooleanType, *_TIMESTAMPS)),
    SmallIntType: (INTEGRAL[:2], (*NUMERIC, *CHARACTER, BooleanType, *_TIMESTAMPS)),
    IntType: (INTEGRAL[:3], (*NUMERIC, *CHARACTER, BooleanType, *_TIMESTAMPS)),
    BigIntType: (INTEGRAL, (*NUMERIC, *CHARACTER, BooleanType, *_TIMESTAMPS)),
    FloatType: ((*EXACT, FloatType), (*NUMERIC, *CHARACTER, BooleanType, *_TIMESTAMPS)),
    DoubleType: (NUMERIC, (*CHARACTER, BooleanType, *_TIMESTAMPS)),
    DateType: ((DateType, TimestampType), (*TIMESTAMP, *CHARACTER)),
    TimeType: ((TimeType, TimestampType), (*TIMESTAMP, *CHARACTER)),
    TimestampType: (_TIMESTAMPS, (*DATETIME, *CHARACTER)),
    ZonedTimestampType: ((ZonedTimestampType,), (*DATETIME, *CHARACTER)),
    LocalZonedTimestampType: (_TIMESTAMPS, (*DATETIME, *CHARACTER)),
    YearMonthIntervalType: ((YearMonthIntervalType,), (*EXACT, *CHARACTER)),
    DayTimeIntervalType: ((DayTimeIntervalType,), (*EXACT, *CHARACTER)),
    RawType: ((RawType,), BINARY),
    VariantType: ((VariantType,), ()),
    BitmapType: ((BitmapType,), ()),
}


_UNLIMITED = 2**31 - 1
# How long the text of a value may be.
_TEXT_LENGTHS: dict[type[DataType], int] = {
    BooleanType: 5,
    TinyIntType: 4,
    SmallIntType: 6,
    IntType: 11,
    BigIntType: 20,
    FloatType: 15,
    DoubleType: 24,
    DateType: 10,
    TimeType: 18,
    TimestampType: 29,
    LocalZonedTimestampType: 29,
}


def can_cast_implicitly(source: DataType, target: DataType) -> bool:
    """Tell whether a value is taken for one of the target type without a CAST, because nothing is lost."""
    if source._nullable and not target._nullable:
        return False
    return _can_cast(source, target, False)


def can_cast(source: DataType, target: DataType) -> bool:
    """Tell whether CAST turns a value into one of the target type."""
    return _can_cast(source, target, True)


def is_injective_cast(source: DataType, target: DataType) -> bool:
    """Tell whether CAST makes different values of different ones, as Flink counts: of decimals, for instance, not."""
    if with_nullable(source, True) == with_nullable(target, True):
        return True
    if isinstance(target, INTEGRAL):
        return isinstance(source, INTEGRAL) and INTEGRAL.index(type(source)) < INTEGRAL.index(type(target))
    is_text = isinstance(source, (CharType, VarCharType))
    if isinstance(target, (CharType, VarCharType)) and not is_text:
        return type(source) in _TEXT_LENGTHS and target.length >= _TEXT_LENGTHS[type(source)]
    if isinstance(target, VarCharType):
        return isinstance(source, (CharType, VarCharType)) and target.length >= source.length
    if isinstance(target, VarBinaryType):
        is_bytes = isinstance(source, (BinaryType, VarBinaryType)) and target.length >= source.length
        return is_bytes or (is_text and target.length == _UNLIMITED)
    times = (TimestampType, LocalZonedTimestampType)
    return isinstance(source, times) and isinstance(target, times) and source.precision == target.precision


def are_comparable(left: DataType, right: DataType) -> bool:
    """Tell whether `=` and `<` may stand between values of two types."""
    if isinstance(left, NullType) or isinstance(right, NullType):
        return True
    if isinstance(left, RawType) or isinstance(right, RawType):
        return left == right
    # A text is read as the date or time that it is compared with; numbers want a CAST.
    if isinstance(left, CHARACTER) or isinstance(right, CHARACTER):
        other = right if isinstance(left, CHARACTER) else left
        return isinstance(other, (*CHARACTER, *DATETIME))
    if isinstance(left, (DateType, TimeType)) or isinstance(right, (DateType, TimeType)):
        return type(left) is type(right)
    return common_type([left, right]) is not None


def _can_cast(source: Any, target: Any, is_explicit: bool) -> bool:
    if isinstance(source, NullType):
        return True
    if isinstance(source, CONSTRUCTED) and isinstance(target, CONSTRUCTED):
        return _can_cast_parts(source, target, is_explicit)
    if isinstance(source, EXACT) and isinstance(target, INTERVAL):
        return is_explicit and _has_one_unit(target)
    implicit, explicit = _RULES.get(type(target), ((type(target),), ()))
    return isinstance(source, implicit) or (is_explicit and isinstance(source, explicit))


def _can_cast_parts(source: Any, target: Any, is_explicit: bool) -> bool:
    # A structured value is a row, and the other way round.
    are_rows = isinstance(source, RowType) and isinstance(target, RowType)
    if type(source) is not type(target) and not are_rows:
        return False
    first, second = _parts(source), _parts(target)
    return len(first) == len(second) and all(_can_cast(a, b, is_explicit) for a, b in zip(first, second))


def _parts(data_type: Any) -> list[DataType]:
    if isinstance(data_type, RowType):
        return data_type.field_types()
    if isinstance(data_type, MapType):
        return [data_type.key_type, data_type.value_type]
    assert isinstance(data_type, (ArrayType, MultisetType))
    return [data_type.element_type]


def _has_one_unit(interval: Any) -> bool:
    if isinstance(interval, YearMonthIntervalType):
        return interval.resolution != YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH
    return "_TO_" not in interval.resolution.name
