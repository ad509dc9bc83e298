"""SUM and AVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.kernels import aggregate_rows
from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateCall, AggregateFunction
from funke.engine.sql.functions.aggregates.kernel import Fields, RunningKernel
from funke.engine.sql.functions.aggregates.number_columns import decimal_column, number_column
from funke.engine.sql.functions.aggregates.rows import AggregateRows
from funke.engine.sql.functions.casts.value_casts import BITS
from funke.engine.sql.functions.function import Argument
from funke.engine.sql.functions.numbers.arithmetic import truncated_quotient
from funke.engine.sql.functions.numbers.decimals import EXACT, QUOTIENT, fitted, wrapped
from funke.engine.types.information.scalar_coercion import round_to_float32
from funke.engine.types.logical import (
    APPROXIMATE,
    INTEGRAL,
    BigIntType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    to_column_type,
    with_nullable,
)
from funke.engine.types.logical.arithmetic_types import average_type, sum_type

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array
    from funke.engine.types.logical import SqlValue

__all__ = ["AVG", "SUM", "SUM0", "SumBody"]

_NUMPY = dict(zip(INTEGRAL, (np.int8, np.int16, np.int32, np.int64))) | {FloatType: np.float32, DoubleType: np.float64}


def _summed_type(data_type: DataType, is_average: bool) -> DataType:
    """The type that a sum is kept in: that of the result, or the widest one on the way to an average."""
    # As in Flink SUM of INT is INT, and wraps around. An average adds 64 bits, and is narrowed at the end.
    if isinstance(data_type, INTEGRAL) and is_average:
        return BigIntType()
    if isinstance(data_type, APPROXIMATE) and is_average:
        return DoubleType()
    return sum_type(data_type)


def _addition(data_type: DataType) -> Callable[[SqlValue, SqlValue], SqlValue]:
    if isinstance(data_type, INTEGRAL):
        bits = BITS[type(data_type)]
        return lambda left, right: wrapped(left + right, bits)
    if isinstance(data_type, FloatType):
        return lambda left, right: round_to_float32(left + right)
    return EXACT.add if isinstance(data_type, DecimalType) else lambda left, right: left + right


class SumBody(AggregateBody):
    """A sum and the number of addends; without addends it is NULL, or 0 for SUM0."""

    is_flat = True

    def __init__(self, call: AggregateCall, is_average: bool = False, is_zero_when_empty: bool = False) -> None:
        self._argument = call.types[0]
        self._sum = _summed_type(self._argument, is_average)
        self._result = call.result
        self._add = _addition(self._sum)
        self._zero: SqlValue = Decimal(0) if isinstance(self._sum, DecimalType) else _zero_of(self._sum)
        self.is_average = is_average
        self.is_zero_when_empty = is_zero_when_empty

    def create(self) -> list[Any]:
        return [self._zero, 0]

    def accumulate(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        if arguments[0] is not None:
            accumulator[0] = self._add(accumulator[0], arguments[0])
            accumulator[1] += 1

    def retract(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        if arguments[0] is not None:
            value = arguments[0]
            # A minus would round a decimal to the digits of its context.
            negated = value.copy_negate() if isinstance(value, Decimal) else -value
            accumulator[0] = self._add(accumulator[0], negated)
            accumulator[1] -= 1

    def merge(self, accumulator: list[Any], other: list[Any]) -> None:
        accumulator[0] = self._add(accumulator[0], other[0])
        accumulator[1] += other[1]

    def value(self, accumulator: list[Any]) -> SqlValue:
        total, count = accumulator
        if count == 0 and not self.is_zero_when_empty:
            return None
        if count == 0:
            total = abs(self._zero)
        if not self.is_average:
            return fitted(total, self._result) if isinstance(self._result, DecimalType) else total
        return _quotient(total, count, self._result)


def _zero_of(data_type: DataType) -> SqlValue:
    # Adding -0.0 changes no float; 0.0 would make -0.0 0.0.
    return -0.0 if isinstance(data_type, APPROXIMATE) else 0


def _quotient(total: SqlValue, count: int, result: DataType) -> SqlValue:
    if isinstance(result, DecimalType):
        return fitted(QUOTIENT.divide(total, Decimal(count)), result)
    if isinstance(result, INTEGRAL):
        return wrapped(truncated_quotient(total, count), BITS[type(result)])
    return round_to_float32(total / count) if isinstance(result, FloatType) else total / count


class _SumKernel(RunningKernel):
    """Fields: the sum (decimals: Python's unscaled integers) and the number of addends."""

    def __init__(self, call: AggregateCall, is_average: bool = False, is_zero_when_empty: bool = False) -> None:
        summed = _summed_type(call.types[0], is_average)
        self._dtype: Any = object if isinstance(summed, DecimalType) else _NUMPY[type(summed)]
        self._is_exact = not isinstance(summed, APPROXIMATE)
        self._summed = summed
        self._result = call.result
        self._type = to_column_type(call.result)
        self._is_average = is_average
        self._is_zero_when_empty = is_zero_when_empty
        self.dtypes = (self._dtype, np.int64)
        self.initial = (0 if self._dtype is object else _zero_of(summed), 0)
        if isinstance(call.result, (BigIntType, DoubleType)) and not is_zero_when_empty:
            operations = (aggregate_rows.SUM, aggregate_rows.AVERAGE)
            if not self._is_exact:
                operations = (aggregate_rows.SUM_OF_FLOATS, aggregate_rows.AVERAGE_OF_FLOATS)
            self.operation = operations[is_average]

    def running_fields(self, before: Fields, rows: AggregateRows) -> Fields:
        values = self._addends(rows)
        if self._is_exact and self._dtype is not object:
            sums = rows.segments.running_sum(before[0], values)
        else:
            sums = rows.segments.running(np.add, before[0], values)
        return sums, rows.running_count(before[1])

    def accumulate(self, before: Fields, rows: AggregateRows) -> Fields:
        if not self._is_exact:
            # The order of adding matters.
            return super().accumulate(before, rows)
        if self._dtype is not object:
            return rows.segments.total(np.add, before[0], self._addends(rows)), rows.total_count(before[1])
        # Decimals of a segment are added as machine integers, where these are wide enough, and then to the sum before.
        added = self._signed(rows, rows.arguments[0].addends)
        totals = rows.segments.total(np.add, np.zeros(len(before[0]), added.dtype), added)
        return before[0] + totals.astype(object), rows.total_count(before[1])

    def _addends(self, rows: AggregateRows) -> Array:
        return self._signed(rows, rows.arguments[0].numbers.astype(self._dtype, copy=False))

    def _signed(self, rows: AggregateRows, values: Array) -> Array:
        if rows.signs is not None:
            values = np.where(rows.signs < 0, -values, values)
        return (
            values if rows.counting is None else np.where(rows.counting, values, self.initial[0]).astype(values.dtype)
        )

    def merge(self, left: Fields, right: Fields) -> Fields:
        return left[0] + right[0], left[1] + right[1]

    def values(self, fields: Fields) -> pa.Array:
        sums, counts = fields
        empty = counts == 0
        if self._is_average:
            return self._averages(sums, np.where(empty, 1, counts), empty)
        if self._is_zero_when_empty:
            empty, sums = None, np.where(empty, np.zeros(1, self._dtype), sums)
        elif not empty.any():
            empty = None
        if isinstance(self._result, DecimalType):
            return decimal_column(sums, empty, self._result)
        return number_column(sums, empty, self._type)

    def _averages(self, sums: Array, counts: Array, empty: Array) -> pa.Array:
        if isinstance(self._result, DecimalType):
            scale = self._summed.scale  # type: ignore[attr-defined]
            result, divide = self._result, QUOTIENT.divide
            quotients = [
                None if is_empty else fitted(divide(Decimal(total).scaleb(-scale, EXACT), Decimal(count)), result)
                for total, count, is_empty in zip(sums.tolist(), counts.tolist(), empty.tolist())
            ]
            return pa.array(quotients, self._type)
        if isinstance(self._result, INTEGRAL):
            quotients = sums // counts
            # Towards zero, as in Java.
            quotients += (sums < 0) & (quotients * counts != sums)
        else:
            quotients = sums / counts
        return number_column(quotients, empty if empty.any() else None, self._type)


def _number(rule: Callable[[DataType], DataType]) -> Callable[[Sequence[Argument]], DataType]:
    return lambda arguments: rule(arguments[0].type)


SUM = AggregateFunction(
    ("sum",), "number", _number(sum_type), SumBody, _SumKernel, purpose="The sum; the type stays that of the numbers."
)
SUM0 = AggregateFunction(
    ("sum0", "$sum0"),
    "number",
    lambda arguments: with_nullable(sum_type(arguments[0].type), False),
    lambda call: SumBody(call, is_zero_when_empty=True),
    lambda call: _SumKernel(call, is_zero_when_empty=True),
    has_value_when_empty=True,
    purpose="The sum, 0 if there is nothing.",
)
AVG = AggregateFunction(
    ("avg",),
    "number",
    _number(average_type),
    lambda call: SumBody(call, is_average=True),
    lambda call: _SumKernel(call, is_average=True),
    purpose="The average; that of integers is an integer.",
)
