"""Aggregates that Spark computes exactly as we do: counts, and what integers and ordered values have.

Sums of integers wrap around as in Java, whatever Spark's settings say of overflows: only operations on bits, and sums
that cannot overflow, are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from funke.engine.sql.binding.relations import BoundAggregate
from funke.engine.sql.functions.aggregates.counting import COUNT
from funke.engine.sql.functions.aggregates.extremes import MAX, MIN
from funke.engine.sql.functions.aggregates.sums import AVG, SUM, SUM0
from funke.engine.sql.functions.value_casts import BITS
from funke.engine.sql.spark_plans.carried_columns import is_key
from funke.engine.types.logical.families import INTEGRAL

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["has_twin", "twin"]

_LOW = 0xFFFFFFFF
_SPARK_INTEGERS = {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}


def has_twin(aggregate: BoundAggregate) -> bool:
    """Whether Spark gives the same result."""
    call = aggregate.call
    types = call.types
    if call.function is COUNT:
        return not call.is_distinct or (len(types) == 1 and is_key(types[0]))
    if call.function in (SUM, SUM0, AVG):
        return isinstance(types[0], INTEGRAL) and not call.is_distinct
    return call.function in (MIN, MAX) and is_key(types[0])


def twin(aggregate: BoundAggregate, columns: Sequence[SparkColumn]) -> SparkColumn:
    """The aggregate as Spark's; `columns` are those of the input."""
    from pyspark.sql import functions as F

    call = aggregate.call
    arguments = [columns[place] for place in aggregate.arguments] or [F.lit(1)]
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
    summed = _wrapped(total, BITS[type(call.result)])
    return F.coalesce(summed, F.lit(0)).cast(_integer(call.result)) if call.function is SUM0 else summed


def _integer(data_type: Any) -> str:
    return _SPARK_INTEGERS[BITS[type(data_type)]]


def _sum(column: SparkColumn) -> SparkColumn:
    """The lowest 64 bits of a sum: those of the upper and of the lower halves are put together."""
    from pyspark.sql import functions as F

    wide, low_bits = column.cast("bigint"), F.lit(_LOW)
    high, low = F.sum(F.shiftright(wide, 32)), F.sum(wide.bitwiseAND(low_bits))
    return F.shiftleft(high + F.shiftright(low, 32), 32).bitwiseOR(low.bitwiseAND(low_bits))


def _wrapped(total: SparkColumn, bits: int) -> SparkColumn:
    from pyspark.sql import functions as F

    left = 64 - bits
    narrow = F.shiftright(F.shiftleft(total, left), left) if left else total
    return narrow.cast(_SPARK_INTEGERS[bits])


def _quotient(total: SparkColumn, count: SparkColumn) -> SparkColumn:
    from pyspark.sql import functions as F

    # Towards zero, as in Java.
    return F.call_function("div", total, count)
