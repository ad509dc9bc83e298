"""Comparisons: operators, BETWEEN, IN, and tests for NULL."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.sql.functions.casts.casting import cast_columns, cast_values
from funke.engine.sql.functions.function import Argument, BoundCall, Function
from funke.engine.types.logical import (
    CHARACTER,
    CONSTRUCTED,
    BitmapType,
    BooleanType,
    DataType,
    NullType,
    RowType,
    VariantType,
    common_type,
    is_nullable,
    with_nullable,
)
from funke.engine.types.logical.casts import are_comparable

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Body, Kernel
    from funke.engine.types.columns.arrays import Datum
    from funke.engine.types.logical import SqlValue

__all__ = ["COMPARISON"]

_BOOLEAN = BooleanType()
_OPERATORS: dict[str, Callable[[SqlValue, SqlValue], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_KERNELS = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def compared_type(types: Sequence[DataType]) -> DataType:
    """Return the type that values are compared as; a text beside another type is converted to that."""
    # As in Flink '5' < 10 compares numbers. Texts are only compared as texts among themselves.
    others = [each for each in types if not isinstance(each, (*CHARACTER, NullType))]
    if others:
        types = others
    shared_type = common_type(types)
    return NullType() if shared_type is None else shared_type


def _comparison_type(arguments: Sequence[Argument]) -> DataType | None:
    types = [each.type for each in arguments]
    if not all(are_comparable(types[0], each) for each in types[1:]):
        return None
    return with_nullable(_BOOLEAN, any(map(_has_nulls, types)))


def _has_nulls(data_type: DataType) -> bool:
    """Tell whether a value or, in a row, one of its fields may be NULL, as the type of a comparison says."""
    if isinstance(data_type, RowType) and not is_nullable(data_type):
        return any(map(_has_nulls, data_type.field_types()))
    return is_nullable(data_type)


def _order_type(arguments: Sequence[Argument]) -> DataType | None:
    # Rows, arrays and maps are equal or not, but have no order.
    if any(isinstance(each.type, (*CONSTRUCTED, BitmapType, VariantType)) for each in arguments):
        return None
    return _comparison_type(arguments)


def _same_typed_body(body: Body) -> Callable[[BoundCall], Body]:
    def make(call: BoundCall) -> Body:
        return cast_values(call, [compared_type(call.types)] * len(call.types), body)

    return make


def _same_typed_kernel(kernel: Kernel) -> Callable[[BoundCall], Kernel | None]:
    def make(call: BoundCall) -> Kernel | None:
        operand_type = compared_type(call.types)
        # Arrow does not compare nested columns.
        if isinstance(operand_type, (*CONSTRUCTED, NullType)):
            return None
        return cast_columns(call.types, [operand_type] * len(call.types), kernel)

    return make


def _between(value: SqlValue, low: SqlValue, high: SqlValue) -> bool:
    return bool(low <= value <= high)


def _comparing(name: str, *aliases: str) -> Function:
    return Function(
        (name, *aliases),
        "any, any",
        _comparison_type if name in ("=", "<>") else _order_type,
        body_for=_same_typed_body(_OPERATORS[name]),
        kernel_for=_same_typed_kernel(_KERNELS[name]),
        purpose="Compares two values; a text beside a value of another type is read as one.",
    )


def _three_valued_between(call: BoundCall) -> Body:
    """Return BETWEEN as `low <= value AND value <= high`, where FALSE wins over NULL."""
    cast = _same_typed_body(lambda *values: values)(call)

    def between(value: SqlValue, low: SqlValue, high: SqlValue) -> bool | None:
        if value is None:
            return None
        # 5 BETWEEN 7 AND NULL is FALSE: no bound in place of NULL would make it true.
        this, first, last = cast(value, low, high)
        if (low is not None and not first <= this) or (high is not None and not this <= last):  # NaN is nowhere
            return False
        return None if low is None or high is None else True

    return between


def _negated(make: Callable[[BoundCall], Body]) -> Callable[[BoundCall], Body]:
    def make_negated(call: BoundCall) -> Body:
        body = make(call)

        def negated(*values: SqlValue) -> bool | None:
            answer = body(*values)
            return None if answer is None else not answer

        return negated

    return make_negated


def _negated_kernel(
    make: Callable[[BoundCall], Kernel | None],
) -> Callable[[BoundCall], Kernel | None]:
    def make_negated(call: BoundCall) -> Kernel | None:
        kernel = make(call)
        return None if kernel is None else lambda *columns: pc.invert(kernel(*columns))

    return make_negated


_between_kernel = _same_typed_kernel(
    lambda value, low, high: pc.and_kleene(pc.less_equal(low, value), pc.less_equal(value, high))
)


def _in(call: BoundCall) -> Body:
    cast = _same_typed_body(lambda *values: values)(call)

    def is_in(value: SqlValue, *candidates: SqlValue) -> bool | None:
        if value is None:
            return None
        this, *others = cast(value, *candidates)
        if any(this == each for each in others if each is not None):
            return True
        return None if None in candidates else False

    return is_in


def _in_kernel(call: BoundCall) -> Kernel | None:
    # Arrow looks values up in a set. NULL among the candidates makes a miss unknown, which is_in does not know.
    if not all(each.is_constant and each.value is not None for each in call.arguments[1:]):
        return None
    operand_type = compared_type(call.types)
    return _same_typed_kernel(lambda value, *rest: _is_member(value, rest, operand_type))(call)


def _is_member(value: Datum, candidates: Sequence[Datum], operand_type: DataType) -> Datum:
    members = pa.array([each.as_py() for each in candidates], candidates[0].type)
    membership = pc.is_in(value, value_set=members)
    return pc.if_else(pc.is_valid(value), membership, pa.scalar(None, pa.bool_()))


def _is_distinct(call: BoundCall) -> Body:
    differ = _same_typed_body(operator.ne)(call)

    def is_distinct(left: SqlValue, right: SqlValue) -> bool:
        if left is None or right is None:
            return (left is None) != (right is None)
        return bool(differ(left, right))

    return is_distinct


_distinct_kernel = _same_typed_kernel(
    lambda left, right: pc.if_else(
        pc.or_(pc.is_null(left), pc.is_null(right)),
        pc.xor(pc.is_null(left), pc.is_null(right)),
        pc.not_equal(left, right),
    )
)

_NOT_NULL = BooleanType(False)


def _never_null(arguments: Sequence[Argument]) -> DataType | None:
    return None if _comparison_type(arguments) is None else _NOT_NULL


COMPARISON: tuple[Function, ...] = (
    _comparing("="),
    _comparing("<>", "!="),
    _comparing("<"),
    _comparing("<="),
    _comparing(">"),
    _comparing(">="),
    Function(
        ("between",),
        "any, any, any",
        _order_type,
        body_for=_three_valued_between,
        kernel_for=_between_kernel,
        is_strict=False,
        purpose="Whether a value lies between two others, bounds included.",
    ),
    Function(
        ("not between",),
        "any, any, any",
        _order_type,
        body_for=_negated(_three_valued_between),
        kernel_for=_negated_kernel(_between_kernel),
        is_strict=False,
        purpose="Whether a value lies outside of two others.",
    ),
    Function(
        ("in",),
        "any, any...",
        _comparison_type,
        body_for=_in,
        kernel_for=_in_kernel,
        is_strict=False,
        purpose="Whether a value is one of several.",
    ),
    Function(
        ("not in",),
        "any, any...",
        _comparison_type,
        body_for=_negated(_in),
        kernel_for=_negated_kernel(_in_kernel),
        is_strict=False,
        purpose="Whether a value is none of several.",
    ),
    Function(
        ("is distinct from",),
        "any, any",
        _never_null,
        body_for=_is_distinct,
        kernel_for=_distinct_kernel,
        is_strict=False,
        purpose="Whether two values differ; NULL is equal to NULL.",
    ),
    Function(
        ("is not distinct from",),
        "any, any",
        _never_null,
        body_for=_negated(_is_distinct),
        kernel_for=_negated_kernel(_distinct_kernel),
        is_strict=False,
        purpose="Whether two values are equal; NULL is equal to NULL.",
    ),
    Function(
        ("is null",),
        "any",
        _NOT_NULL,
        lambda value: value is None,
        kernel_for=lambda call: pc.is_null,
        is_strict=False,
        purpose="Whether a value is NULL.",
    ),
    Function(
        ("is not null",),
        "any",
        _NOT_NULL,
        lambda value: value is not None,
        kernel_for=lambda call: pc.is_valid,
        is_strict=False,
        purpose="Whether a value is not NULL.",
    ),
)
