"""Spark integers that wrap around as in Java, whatever Spark's settings say about overflows.

Only operations on bits, and sums that cannot overflow, are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

__all__ = ["LOW_BITS", "SPARK_INTEGERS", "difference", "joined", "sum_of", "wrapped"]

LOW_BITS = 0xFFFFFFFF
SPARK_INTEGERS = {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}


def sum_of(left: SparkColumn, right: SparkColumn) -> SparkColumn:
    """The lowest 64 bits of the sum of two integers of 64 bits."""
    return joined(_high(left) + _high(right), _low(left) + _low(right))


def difference(left: SparkColumn, right: SparkColumn) -> SparkColumn:
    """The lowest 64 bits of a difference."""
    # a - b is a + ~b + 1.
    inverse = F.bitwise_not(right)
    return joined(_high(left) + _high(inverse), _low(left) + _low(inverse) + F.lit(1).cast("bigint"))


def joined(high: SparkColumn, low: SparkColumn) -> SparkColumn:
    """An integer of the sums of its upper and of its lower halves; both are far from an overflow."""
    # The carry of the low halves goes into the high ones. What exceeds 64 bits is shifted out, as it is lost in Java.
    return F.shiftleft(high + F.shiftright(low, 32), 32).bitwiseOR(_low(low))


def wrapped(value: SparkColumn, bits: int) -> SparkColumn:
    """The lowest bits of an integer of 64 bits, as an integer of so many."""
    # To the left and back: the highest bit that is kept becomes the sign.
    left = 64 - bits
    narrow = F.shiftright(F.shiftleft(value, left), left) if left else value
    return narrow.cast(SPARK_INTEGERS[bits])


def _high(value: SparkColumn) -> SparkColumn:
    return F.shiftright(value, 32)


def _low(value: SparkColumn) -> SparkColumn:
    return value.bitwiseAND(F.lit(LOW_BITS))
