"""Arithmetic on numbers: integers overflow as in Java, decimals are exact, and so are the types of results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.sql.functions.casts.casting import cast_columns, cast_values
from funke.engine.sql.functions.casts.value_casts import BITS
from funke.engine.sql.functions.function import BoundCall
from funke.engine.sql.functions.numbers.decimals import EXACT, QUOTIENT, fitted, wrapped
from funke.engine.types.information.scalar_coercion import round_to_float32
from funke.engine.types.logical import (
    APPROXIMATE,
    INTEGRAL,
    DataType,
    DecimalType,
    FloatType,
    common_type,
    to_column_type,
    to_decimal_type,
)
from funke.engine.types.logical.arithmetic_types import arithmetic_type

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Body, Kernel
    from funke.engine.types.columns.arrays import Array, Datum

__all__ = ["number_body", "number_kernel", "number_type", "truncated_quotient"]


def number_type(operator: str, types: Sequence[DataType]) -> DataType | None:
    """Return the type of an operation on two numbers."""
    return arithmetic_type(operator, types[0], types[1])


def number_body(operator: str, call: BoundCall) -> Body:
    """Return an operation on two numbers, by the type of its result."""
    result = call.result
    if isinstance(result, DecimalType):
        compute = _DECIMALS[operator]
        operand_types = [to_decimal_type(each) for each in call.types]
        return cast_values(call, operand_types, lambda left, right: fitted(compute(left, right), result))
    operands = _operand_type(call)
    if isinstance(operands, INTEGRAL):
        whole, bits = _INTEGERS[operator], BITS[type(result)]
        return cast_values(call, [operands, operands], lambda left, right: wrapped(whole(left, right), bits))
    floating = _FLOATS[operator]
    body: Callable[[Any, Any], Any] = floating
    if isinstance(result, FloatType):
        body = lambda left, right: round_to_float32(floating(left, right))  # noqa: E731
    return cast_values(call, [operands, operands], body)


def _operand_type(call: BoundCall) -> DataType:
    """The type of both operands: that of the result if it is a float, or if it is not a decimal but they are."""
    operand_type = common_type(call.types)
    assert operand_type is not None
    return (
        call.result if isinstance(operand_type, DecimalType) or isinstance(call.result, APPROXIMATE) else operand_type
    )


def number_kernel(operator: str, call: BoundCall) -> Kernel | None:
    """Return an operation on two columns of numbers."""
    if isinstance(call.result, DecimalType):
        return _decimal_kernel(operator, call)
    operands = _operand_type(call)
    if operator == "/" and isinstance(operands, INTEGRAL):
        return cast_columns(call.types, [operands, operands], _integer_quotient)
    if operator == "%":
        return cast_columns(call.types, [operands, operands], _remainder) if isinstance(operands, INTEGRAL) else None
    kernel = {"+": pc.add, "-": pc.subtract, "*": pc.multiply, "/": pc.divide}[operator]
    return cast_columns(call.types, [operands, operands], kernel)


def _decimal_kernel(operator: str, call: BoundCall) -> Kernel | None:
    """Sums and products whose every digit fits; Arrow rounds quotients in another way."""
    left, right = (to_decimal_type(each) for each in call.types)
    result_type = to_column_type(call.result)
    if operator == "*" and left.precision + right.precision + 1 <= 38:
        kernel = cast_columns(call.types, [left, right], pc.multiply)
    elif operator in "+-":
        scale = max(left.scale, right.scale)
        digits = max(left.precision - left.scale, right.precision - right.scale) + scale
        if digits + 1 > 38:
            return None
        same = DecimalType(digits, scale)
        kernel = cast_columns(call.types, [same, same], pc.add if operator == "+" else pc.subtract)
    else:
        return None
    return None if kernel is None else lambda *columns: pc.cast(kernel(*columns), result_type)


def _integer_quotient(left: Datum, right: Datum) -> Datum:
    divisor = _divisor(left, right)
    # The lowest integer divided by -1 is itself in Java; Arrow gives 0.
    return pc.if_else(pc.equal(divisor, pa.scalar(-1, right.type)), pc.negate(left), pc.divide(left, divisor))


def _remainder(left: Datum, right: Datum) -> Datum:
    divisor = _divisor(left, right)
    both_valid = pc.and_(pc.is_valid(left), pc.is_valid(right))
    one = pa.scalar(1, right.type)
    divisors = _as_numpy(pc.fill_null(divisor, one))
    # The lowest integer modulo -1 would trap in numpy.
    remainders = np.fmod(_as_numpy(pc.fill_null(left, one)), np.where(divisors == -1, 1, divisors))
    column = pa.scalar(remainders.item(), right.type) if remainders.ndim == 0 else pa.array(remainders, right.type)
    return pc.if_else(both_valid, column, pa.scalar(None, right.type))


def _divisor(left: Datum, right: Datum) -> Datum:
    """Return the divisor, 1 where there is nothing to divide; rejects zeros elsewhere."""
    # NULL / 0 is NULL and no error: the body of a strict function does not see such a row.
    divisor = pc.if_else(pc.is_valid(left), right, pa.scalar(1, right.type))
    zeros = pc.equal(divisor, pa.scalar(0, right.type))
    if zeros.as_py() if isinstance(zeros, pa.Scalar) else pc.any(zeros).as_py():
        raise ArithmeticError("/ by zero")
    return divisor


def _as_numpy(column: Datum) -> Array:
    if isinstance(column, pa.Scalar):
        return np.array(column.as_py(), column.type.to_pandas_dtype())
    return column.to_numpy(zero_copy_only=False)


def truncated_quotient(left: int, right: int) -> int:
    """Return the quotient without its fraction."""
    if right == 0:
        raise ArithmeticError("/ by zero")
    # Java divides towards zero, Python's // goes down: -7 / 2 is -3 here and -4 there.
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _integer_remainder(left: int, right: int) -> int:
    return left - right * truncated_quotient(left, right)


def _float_quotient(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _decimal_quotient(left: Decimal, right: Decimal) -> Decimal:
    if right == 0:
        raise ArithmeticError("Division by zero")
    return QUOTIENT.divide(left, right)


def _decimal_remainder(left: Decimal, right: Decimal) -> Decimal:
    if right == 0:
        raise ArithmeticError("Division by zero")
    return EXACT.remainder(left, right)


_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": truncated_quotient,
    "%": _integer_remainder,
}
_FLOATS: dict[str, Callable[[float, float], float]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _float_quotient,
}
_DECIMALS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "/": _decimal_quotient,
    "%": _decimal_remainder,
}
