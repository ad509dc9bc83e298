"""Variances and standard deviations, by Welford's way: the sum of squared distances from the mean.

Groups compute them of that sum and of COUNT, as Flink does: see `in_sums`. The bodies are for callers that need one
function, OVER for example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateCall, AggregateFunction
from funke.engine.sql.functions.numbers.decimals import fitted, from_float
from funke.engine.sql.functions.type_rules import always
from funke.engine.sql.syntax.expressions import Call, Case, Cast, Expression, Literal
from funke.engine.types.logical import INTEGRAL, BigIntType, DataType, DecimalType, DoubleType, with_nullable
from funke.engine.types.logical.arithmetic_types import average_type

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["SPREADS", "in_sums", "is_spread"]

_NAMES = {
    "stddev_pop": ("stddev_pop",),
    "stddev_samp": ("stddev_samp", "stddev"),
    "var_pop": ("var_pop",),
    "var_samp": ("var_samp", "variance"),
}


def is_spread(function: AggregateFunction) -> bool:
    """Whether a function is one of these."""
    return function.name in _NAMES


def in_sums(function: AggregateFunction, call: Call, argument_type: DataType) -> Expression:
    """The same call as an expression of the sum of squared distances and of COUNT."""
    distances, count = (
        Call(name, call.arguments, call.is_distinct, call.condition, position=call.position)
        for name in (_DISTANCES.name, "count")
    )
    result = with_nullable(average_type(argument_type), True)
    variance = Call("/", (distances, count if function.name.endswith("_pop") else _less_one(count)))
    is_deviation = function.name.startswith("stddev")
    return Cast(Call("power", (variance, Literal(0.5, DoubleType(False)))) if is_deviation else variance, result)


def _less_one(count: Expression) -> Expression:
    one = Literal(1, BigIntType(False))
    # NULL for a single value.
    return Case(
        None, ((Call("=", (count, one)), Cast(Literal(None, BigIntType()), BigIntType())),), Call("-", (count, one))
    )


class _DistancesBody(AggregateBody):
    """The number of values, their mean, and the sum of squared distances from it."""

    is_flat = True

    def create(self) -> list[Any]:
        return [0, 0.0, 0.0]

    def accumulate(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        if arguments[0] is None:
            return
        count, mean, distances = accumulator
        value = float(arguments[0])
        # Not by SUM(v * v) - SUM(v) * SUM(v) / n, which loses all digits if the mean is large: of 1e9 and 1e9 + 1, say.
        distance = value - mean
        mean += distance / (count + 1)
        accumulator[:] = [count + 1, mean, distances + distance * (value - mean)]

    def retract(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        if arguments[0] is None:
            return
        count, mean, distances = accumulator
        if count <= 1:
            accumulator[:] = self.create()
            return
        value = float(arguments[0])
        distance = value - mean
        mean -= distance / (count - 1)
        accumulator[:] = [count - 1, mean, distances - distance * (value - mean)]

    def merge(self, accumulator: list[Any], other: list[Any]) -> None:
        count, mean, distances = accumulator
        more, other_mean, other_distances = other
        if more:
            total, gap = count + more, other_mean - mean
            distances += other_distances + gap * gap * count * more / total
            accumulator[:] = [total, mean + gap * more / total, distances]

    def value(self, accumulator: list[Any]) -> SqlValue:
        return accumulator[2] if accumulator[0] else None


class _SpreadBody(_DistancesBody):
    def __init__(self, call: AggregateCall) -> None:
        self._result = call.result
        self._is_sample = call.function.name.endswith("_samp")
        self._is_deviation = call.function.name.startswith("stddev")

    def value(self, accumulator: list[Any]) -> SqlValue:
        count, _, distances = accumulator
        divisor = count - 1 if self._is_sample else count
        if count == 0 or divisor == 0:
            return None
        spread = (distances / divisor) ** 0.5 if self._is_deviation else distances / divisor
        if isinstance(self._result, DecimalType):
            return fitted(from_float(spread), self._result)
        return int(spread) if isinstance(self._result, INTEGRAL) else spread


_DISTANCES = AggregateFunction(
    ("$distances",), "number", always(DoubleType()), lambda call: _DistancesBody(), purpose="For variances."
)
_NAMED = tuple(
    AggregateFunction(
        names,
        "number",
        lambda arguments: with_nullable(average_type(arguments[0].type), True),
        _SpreadBody,
        purpose=f"The {'standard deviation' if name.startswith('stddev') else 'variance'} of "
        f"{'all values' if name.endswith('_pop') else 'a sample'}; that of integers is an integer.",
    )
    for name, names in _NAMES.items()
)
SPREADS = (*_NAMED, _DISTANCES)
