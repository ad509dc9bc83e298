"""Aggregates that Spark computes exactly as we do: counts, and what integers and ordered values have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from funke.engine.sql.binding.relations import BoundAggregate
from funke.engine.sql.functions.aggregates.counting import COUNT
from funke.engine.sql.functions.aggregates.extremes import MAX, MIN
from funke.engine.sql.functions.aggregates.sums import AVG, SUM, SUM0
from funke.engine.sql.functions.casts.value_casts import BITS
from funke.engine.sql.spark_plans.carried_columns import is_key
from funke.engine.sql.spark_plans.spark_integers import LOW_BITS, SPARK_INTEGERS, joined, wrapped
from funke.engine.types.logical.families import INTEGRAL

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["has_twin", "twin"]


def has_twin(aggregate: BoundAggregate) -> bool:
    """True if Spark gives the same result."""
    call = aggregate.call
    types = call.types
    if call.function is COUNT:
        return not call.is_distinct or (len(types) == 1 and is_key(types[0]))
    if call.function in (SUM, SUM0, AVG):
        # A sum of floats depends on the order of its rows, which Spark does not keep.
        return isinstance(types[0], INTEGRAL) and not call.is_distinct
    return call.function in (MIN, MAX) and is_key(types[0])


def twin(aggregate: BoundAggregate, columns: Sequence[SparkColumn]) -> SparkColumn:
    """The aggregate as Spark's; `columns` are those of the input."""
    call = aggregate.call
    arguments = [columns[index] for index in aggregate.arguments] or [F.lit(1)]
    if aggregate.condition is not None:
        # What is NULL does not count.
        arguments = [F.when(columns[aggregate.condition], each) for each in arguments]
    if call.function is COUNT:
        return F.count_distinct(*arguments) if call.is_distinct else F.count(*arguments)
    if call.function in (MIN, MAX):
        return (F.min if call.function is MIN else F.max)(arguments[0])
    total = _sum(arguments[0])
    if call.function is AVG:
        count = F.count(arguments[0])
        return F.when(count > 0, _quotient(total, count)).cast(_integer(call.result))
    summed = wrapped(total, BITS[type(call.result)])
    return F.coalesce(summed, F.lit(0)).cast(_integer(call.result)) if call.function is SUM0 else summed


def _integer(data_type: Any) -> str:
    return SPARK_INTEGERS[BITS[type(data_type)]]


def _sum(column: SparkColumn) -> SparkColumn:
    """The lowest 64 bits of a sum: those of the upper and of the lower halves are put together."""
    wide = column.cast("bigint")
    return joined(F.sum(F.shiftright(wide, 32)), F.sum(wide.bitwiseAND(F.lit(LOW_BITS))))


def _quotient(total: SparkColumn, count: SparkColumn) -> SparkColumn:
    # Towards zero, as in Java.
    return F.call_function("div", total, count)
