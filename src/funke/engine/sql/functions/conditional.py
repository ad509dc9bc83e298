"""CASE, IF, COALESCE, IFNULL, NULLIF, GREATEST and LEAST."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.sql.functions.casts.column_casts import column_cast
from funke.engine.sql.functions.casts.value_casts import value_cast
from funke.engine.sql.functions.comparison import compared_type
from funke.engine.sql.functions.function import Argument, BoundCall, Function
from funke.engine.sql.functions.type_rules import common
from funke.engine.types.logical import (
    CONSTRUCTED,
    BooleanType,
    DataType,
    NullType,
    any_nullable,
    common_type,
    is_nullable,
    to_column_type,
    with_nullable,
)
from funke.engine.types.logical.casts import are_comparable

if TYPE_CHECKING:
    from funke.engine.sql.functions.casts.column_casts import ColumnCast
    from funke.engine.sql.functions.function import Body, Kernel
    from funke.engine.types.columns.arrays import Datum
    from funke.engine.types.logical import SqlValue

__all__ = ["CONDITIONAL"]


def _is_value(index: int, count: int) -> bool:
    """Whether an index among CASE's arguments (condition, value, …, otherwise) holds a value."""
    return index % 2 == 1 or index == count - 1


def _case_type(arguments: Sequence[Argument]) -> DataType | None:
    count = len(arguments)
    conditions = [each.type for index, each in enumerate(arguments) if not _is_value(index, count)]
    if count < 3 or count % 2 == 0 or not all(isinstance(each, (BooleanType, NullType)) for each in conditions):
        return None
    # The common type of all branches: CASE WHEN c THEN 1 ELSE 2.5 END is a decimal in every row.
    return common_type([each.type for index, each in enumerate(arguments) if _is_value(index, count)])


def _if_type(arguments: Sequence[Argument]) -> DataType | None:
    result = _case_type(arguments)
    return None if result is None else with_nullable(result, any_nullable(each.type for each in arguments))


def _case_body(call: BoundCall) -> Body:
    casts = [_cast_or_null(each, call) for each in call.types]

    def case(*values: SqlValue) -> SqlValue:
        for index in range(0, len(values) - 1, 2):
            if values[index] is True:
                return casts[index + 1](values[index + 1])
        return casts[-1](values[-1])

    return case


def _cast_or_null(source: DataType, call: BoundCall) -> Callable[[SqlValue], SqlValue]:
    # A condition, or a bare NULL: both stay as they are.
    if isinstance(source, (BooleanType, NullType)) and not isinstance(call.result, BooleanType):
        return lambda value: value
    cast = value_cast(source, call.result, call.session)
    return lambda value: None if value is None else cast(value)


def _case_kernel(call: BoundCall) -> Kernel | None:
    casts = _column_casts(
        [each for index, each in enumerate(call.types) if _is_value(index, len(call.types))], call.result
    )
    if casts is None:
        return None

    def case(*columns: Datum) -> Datum:
        # From the last branch to the first: of two conditions that are true the first one has the last word.
        result = casts[-1](columns[-1])
        for index in range(len(columns) - 3, -1, -2):
            # A condition may be a bare NULL.
            condition = pc.fill_null(pc.cast(columns[index], pa.bool_()), False)
            result = pc.if_else(condition, casts[index // 2](columns[index + 1]), result)
        return result

    return case


def _column_casts(types: Sequence[DataType], target: DataType) -> list[ColumnCast] | None:
    """Return casts of columns to one type; None if a cast is missing, or if Arrow cannot choose among such values."""
    if isinstance(target, CONSTRUCTED):
        return None
    arrow_type = to_column_type(target)
    casts: list[Callable[[Any], Any]] = []
    for each in types:
        cast = (lambda column: pc.cast(column, arrow_type)) if isinstance(each, NullType) else column_cast(each, target)
        if cast is None:
            return None
        casts.append(cast)
    return casts


def _coalesce_type(arguments: Sequence[Argument]) -> DataType | None:
    result = common(arguments)
    return None if result is None else with_nullable(result, all(is_nullable(each.type) for each in arguments))


def _ifnull_type(arguments: Sequence[Argument]) -> DataType | None:
    first = arguments[0].type
    result = _coalesce_type(arguments)
    # A first argument that is never NULL keeps its type.
    return result if result is None or is_nullable(first) else first


def _coalesce_body(call: BoundCall) -> Body:
    casts = [_cast_or_null(each, call) for each in call.types]

    def coalesce(*values: SqlValue) -> SqlValue:
        return next((cast(each) for cast, each in zip(casts, values) if each is not None), None)

    return coalesce


def _coalesce_kernel(call: BoundCall) -> Kernel | None:
    casts = _column_casts(call.types, call.result)
    return None if casts is None else lambda *columns: pc.coalesce(*(cast(each) for cast, each in zip(casts, columns)))


def _nullif_type(arguments: Sequence[Argument]) -> DataType | None:
    left, right = (each.type for each in arguments)
    # The type of the first argument, even if values are compared as another one.
    return with_nullable(left, True) if are_comparable(left, right) else None


def _nullif_body(call: BoundCall) -> Body:
    operand_type = compared_type(call.types)
    first, second = (value_cast(each, operand_type, call.session) for each in call.types)

    def nullif(left: SqlValue, right: SqlValue) -> SqlValue:
        if left is None or right is None:
            return left
        return None if first(left) == second(right) else left

    return nullif


def _nullif_kernel(call: BoundCall) -> Kernel | None:
    casts = _column_casts(call.types, compared_type(call.types))
    if casts is None or isinstance(call.types[0], NullType):
        return None
    nothing = pa.scalar(None, to_column_type(call.result))

    def nullif(left: Datum, right: Datum) -> Datum:
        is_equal = pc.fill_null(pc.equal(casts[0](left), casts[1](right)), False)
        return pc.if_else(is_equal, nothing, left)

    return nullif


def _is_above(one: SqlValue, other: SqlValue) -> bool:
    """Whether a value is greater; as for Java, NaN is above all other numbers, and 0.0 above -0.0."""
    if isinstance(one, float) and math.isnan(one):
        return not math.isnan(other)
    if isinstance(one, float) and one == 0 == other:
        return math.copysign(1, one) > math.copysign(1, other)
    return bool(one > other)


def _extreme(name: str, is_better: Callable[[SqlValue, SqlValue], bool], kernel: Kernel, purpose: str) -> Function:
    def body(call: BoundCall) -> Body:
        casts = [value_cast(each, call.result, call.session) for each in call.types]

        def extreme(*values: SqlValue) -> SqlValue:
            return reduce(
                lambda best, each: each if is_better(each, best) else best, map(lambda c, v: c(v), casts, values)
            )

        return extreme

    def kernel_for(call: BoundCall) -> Kernel | None:
        casts = _column_casts(call.types, call.result)
        # Arrow has another order of NaN and -0.0 than Java, and none of texts here.
        if casts is None or not pa.types.is_integer(to_column_type(call.result)):
            return None
        return lambda *columns: kernel(*(cast(each) for cast, each in zip(casts, columns)), skip_nulls=False)

    return Function((name,), "any...", common, body_for=body, kernel_for=kernel_for, purpose=purpose)


CONDITIONAL: tuple[Function, ...] = (
    Function(
        ("case",),
        "any, any, any...",
        _case_type,
        body_for=_case_body,
        kernel_for=_case_kernel,
        is_strict=False,
        purpose="The value behind the first condition that is TRUE, else the last one.",
    ),
    Function(
        ("if",),
        "any, any, any",
        _if_type,
        body_for=_case_body,
        kernel_for=_case_kernel,
        is_strict=False,
        purpose="The first value if the condition is TRUE, else the second.",
    ),
    Function(
        ("coalesce",),
        "any...",
        _coalesce_type,
        body_for=_coalesce_body,
        kernel_for=_coalesce_kernel,
        is_strict=False,
        purpose="The first value that is not NULL.",
    ),
    Function(
        ("ifnull",),
        "any, any",
        _ifnull_type,
        body_for=_coalesce_body,
        kernel_for=_coalesce_kernel,
        is_strict=False,
        purpose="The first value, or the second if that is NULL.",
    ),
    Function(
        ("nullif",),
        "any, any",
        _nullif_type,
        body_for=_nullif_body,
        kernel_for=_nullif_kernel,
        is_strict=False,
        purpose="NULL if both are equal, else the first.",
    ),
    _extreme("greatest", _is_above, pc.max_element_wise, "The greatest; NULL if one is NULL."),
    _extreme("least", lambda one, other: _is_above(other, one), pc.min_element_wise, "The least; NULL if one is NULL."),
)
