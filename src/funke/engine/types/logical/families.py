"""The families that data types fall into, and what all rules ask of a type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from funke.engine.types.logical.atomic_types import (
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from funke.engine.types.logical.collection_types import ArrayType, MapType, MultisetType
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.interval_types import DayTimeIntervalType, YearMonthIntervalType
from funke.engine.types.logical.row_type import RowType
from funke.engine.types.logical.time_types import (
    DateType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    ZonedTimestampType,
)

__all__ = [
    "APPROXIMATE",
    "BINARY",
    "CHARACTER",
    "CONSTRUCTED",
    "DATETIME",
    "EXACT",
    "INTEGRAL",
    "INTERVAL",
    "LONGEST",
    "NUMERIC",
    "PREDEFINED",
    "TIMESTAMP",
    "any_nullable",
    "is_nullable",
    "like_nullable",
    "with_nullable",
]

Kinds = tuple[type[DataType], ...]

# The length of STRING and BYTES.
LONGEST = 0x7FFFFFFF

CHARACTER: Kinds = (CharType, VarCharType)
BINARY: Kinds = (BinaryType, VarBinaryType)
# From the narrowest to the widest.
INTEGRAL: Kinds = (TinyIntType, SmallIntType, IntType, BigIntType)
EXACT: Kinds = (*INTEGRAL, DecimalType)
APPROXIMATE: Kinds = (FloatType, DoubleType)
NUMERIC: Kinds = (*EXACT, *APPROXIMATE)
TIMESTAMP: Kinds = (TimestampType, ZonedTimestampType, LocalZonedTimestampType)
DATETIME: Kinds = (DateType, TimeType, *TIMESTAMP)
INTERVAL: Kinds = (YearMonthIntervalType, DayTimeIntervalType)
PREDEFINED: Kinds = (*CHARACTER, *BINARY, BooleanType, *NUMERIC, *DATETIME, *INTERVAL)
CONSTRUCTED: Kinds = (ArrayType, MapType, MultisetType, RowType)

AnyType = TypeVar("AnyType", bound=DataType)


def is_nullable(data_type: DataType) -> bool:
    """Tell whether values of the type may be NULL."""
    return data_type._nullable


def any_nullable(data_types: Iterable[DataType]) -> bool:
    """Tell whether one of the types has NULLs."""
    return any(each._nullable for each in data_types)


def with_nullable(data_type: AnyType, nullable: bool) -> AnyType:
    """Return the type with or without NULLs."""
    return data_type if data_type._nullable == nullable else data_type._with_nullable(nullable)


def like_nullable(data_type: AnyType, *arguments: DataType) -> AnyType:
    """Return the type with NULLs if an argument has them: what most functions do."""
    return with_nullable(data_type, any_nullable(arguments))
