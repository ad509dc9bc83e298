"""Exact decimal arithmetic with Flink's rounding: half up, and NULL for numbers with too many digits."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from funke.engine.types.logical.atomic_types import DecimalType

__all__ = ["EXACT", "QUOTIENT", "fitted", "from_float", "plain_text", "wrapped"]

# Wide enough for the product of two decimals of 38 digits, and for every double.
EXACT = Context(prec=1200, rounding=ROUND_HALF_UP)
# Quotients are rounded to 38 digits first.
QUOTIENT = Context(prec=38, rounding=ROUND_HALF_UP)


def fitted(value: Decimal, data_type: DecimalType) -> Decimal | None:
    """Return the number with the digits of a type; None if it has too many before the point."""
    rounded = value.quantize(Decimal(1).scaleb(-data_type.scale), context=EXACT)
    if rounded and rounded.adjusted() >= data_type.precision - data_type.scale:
        return None
    # There is no negative zero among Java's decimals.
    return rounded if rounded else abs(rounded)


def from_float(value: float) -> Decimal:
    """Return the decimal that a float prints."""
    return Decimal(repr(float(value)))


def plain_text(value: Decimal) -> str:
    """Return the digits without an exponent."""
    return f"{value:f}"


def wrapped(value: int, bits: int) -> int:
    """Return the lowest bits of an integer with their sign, as Java's overflow leaves them."""
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def to_whole(value: Any) -> int:
    """Return a number without its fraction."""
    return int(value.to_integral_value(ROUND_DOWN)) if isinstance(value, Decimal) else int(value)
