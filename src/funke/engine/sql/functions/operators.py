"""The operators + - * / % and a sign before one operand."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from funke.engine.sql.functions.casts.value_casts import BITS
from funke.engine.sql.functions.dates.time_arithmetic import interval_body, interval_kernel, interval_type
from funke.engine.sql.functions.function import Argument, BoundCall, Function
from funke.engine.sql.functions.numbers.arithmetic import number_body, number_kernel, number_type
from funke.engine.sql.functions.numbers.decimals import EXACT, wrapped
from funke.engine.types.logical import NUMERIC, DataType, DecimalType

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Body, Kernel

__all__ = ["OPERATORS"]


def _operator(name: str, *aliases: str, forms: str, purpose: str) -> Function:
    def result(arguments: Sequence[Argument]) -> DataType | None:
        types = [each.type for each in arguments]
        if len(types) == 1:
            return types[0]
        return number_type(name, types) if _is_numeric(types) else interval_type(name, types)

    def body(call: BoundCall) -> Body:
        if len(call.types) == 1:
            return _negation(call) if name == "-" else lambda value: value
        return number_body(name, call) if _is_numeric(call.types) else interval_body(name, call)

    def kernel(call: BoundCall) -> Kernel | None:
        if len(call.types) == 1:
            return _NEGATE if name == "-" else None
        return number_kernel(name, call) if _is_numeric(call.types) else interval_kernel(name, call)

    return Function((name, *aliases), forms, result, body_for=body, kernel_for=kernel, purpose=purpose)


def _is_numeric(types: Sequence[DataType]) -> bool:
    return all(isinstance(each, NUMERIC) for each in types)


def _negation(call: BoundCall) -> Callable[[Any], Any]:
    if isinstance(call.result, DecimalType):
        return EXACT.minus  # which gives a zero no sign
    bits = BITS.get(type(call.result))
    return operator.neg if bits is None else lambda value: wrapped(-value, bits)


_NEGATE: Kernel = pc.negate
_TIMES = "datetime, interval | interval, datetime | interval, interval"

OPERATORS: tuple[Function, ...] = (
    _operator(
        "+",
        forms=f"number, number | number | interval | {_TIMES}",
        purpose="The sum; a date or time some interval later.",
    ),
    _operator(
        "-",
        forms=f"number, number | number | interval | {_TIMES}",
        purpose="The difference; with one operand its opposite.",
    ),
    _operator(
        "*",
        forms="number, number | interval, integer | integer, interval",
        purpose="The product; an interval some times.",
    ),
    _operator("/", forms="number, number", purpose="The quotient, without its fraction for integers."),
    _operator(
        "%", "mod", forms="integer/decimal, integer/decimal", purpose="The remainder, with the sign of the dividend."
    ),
)
