"""Functions of the type BITMAP."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from funke.engine.sql.functions.function import Argument, Function
from funke.engine.types.bitmap_bytes import from_numbers, opened, shown_text, stored, to_numbers
from funke.engine.types.logical import (
    INTEGRAL,
    LONGEST,
    ArrayType,
    BigIntType,
    BitmapType,
    DataType,
    IntType,
    NullType,
    VarBinaryType,
    VarCharType,
    is_nullable,
)

__all__ = ["BITMAPS"]

_BITMAP = BitmapType()
# Those of TINYINT and SMALLINT are of the type INT too.
_SMALL = INTEGRAL[:3]
# As many as a Java array holds.
_LONGEST_ARRAY = 0x7FFFFFFF


def _build_type(arguments: Sequence[Argument]) -> DataType | None:
    input_type = arguments[0].type
    if isinstance(input_type, ArrayType) and not isinstance(input_type.element_type, (*_SMALL, NullType)):
        return None
    return BitmapType(is_nullable(input_type))


def _from_bytes(data: bytes) -> bytes:
    try:
        return stored(opened(data))
    except ValueError as error:
        raise ValueError("Failed to deserialize bitmap from bytes.") from error


def _to_array(bitmap: bytes) -> list[int]:
    members = opened(bitmap)
    if len(members) > _LONGEST_ARRAY:
        raise ValueError("Failed to convert bitmap to an array.")
    return to_numbers(members)


def _combining(name: str, operation: Callable[[Any, Any], Any], purpose: str) -> Function:
    return Function(
        (name,),
        "bitmap, bitmap",
        _BITMAP,
        lambda left, right: stored(operation(opened(left), opened(right))),
        purpose=purpose,
    )


BITMAPS: tuple[Function, ...] = (
    Function(
        ("bitmap_build",),
        "array",
        _build_type,
        lambda numbers: stored(from_numbers(numbers)),
        purpose="The set of an array's numbers, which are of the type INT; NULLs are left out.",
    ),
    Function(
        ("bitmap_cardinality",),
        "bitmap",
        BigIntType(),
        lambda bitmap: len(opened(bitmap)),
        purpose="How many numbers there are.",
    ),
    _combining("bitmap_and", operator.and_, "The numbers that both have."),
    _combining("bitmap_andnot", operator.sub, "The numbers of the first that the second has not."),
    _combining("bitmap_or", operator.or_, "The numbers that one of both has."),
    _combining("bitmap_xor", operator.xor, "The numbers that only one of both has."),
    Function(
        ("bitmap_from_bytes",),
        "bytes",
        _BITMAP,
        _from_bytes,
        purpose="The set of bytes in the portable form of Roaring bitmaps; fails if they are none.",
    ),
    Function(
        ("bitmap_to_bytes",),
        "bitmap",
        VarBinaryType(LONGEST),
        lambda bitmap: bitmap,
        kernel_for=lambda call: lambda column: column,
        purpose="The bytes in the portable form of Roaring bitmaps.",
    ),
    Function(
        ("bitmap_to_array",),
        "bitmap",
        ArrayType(IntType()),
        _to_array,
        purpose="The numbers as an array, those below zero last.",
    ),
    Function(
        ("bitmap_to_string",),
        "bitmap",
        VarCharType(LONGEST),
        shown_text,
        purpose="The numbers as a text, without signs: -1 is 4294967295. A long one ends with dots.",
    ),
)
