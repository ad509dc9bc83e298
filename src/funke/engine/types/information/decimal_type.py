"""Type of decimals whose digits are limited, as tables and columnar files declare them."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

from funke.engine.errors import TypeMismatchError
from funke.engine.types import BasicType, BasicTypeInfo, TypeInformation

__all__ = ["DecimalTypeInfo"]

# Wide enough for every number that has to be rounded; the default of 28 digits is not.
_ROUNDING = Context(prec=1000, rounding=ROUND_HALF_UP)
# Flink keeps decimals of so many digits in a 64-bit integer, which cannot be null.
_MOST_COMPACT_DIGITS = 18


class DecimalTypeInfo(BasicTypeInfo):
    """Type of Decimal values with `precision` digits, `scale` of them behind the point."""

    def __init__(self, precision: int, scale: int) -> None:
        super().__init__(BasicType.BIG_DEC)
        self.precision = precision
        self.scale = scale

    def fitted(self, value: Decimal) -> Decimal | None:
        """Return the value rounded to the scale; None if that has too many digits, as in Flink.

        >>> DecimalTypeInfo(4, 2).fitted(Decimal("12.345")), DecimalTypeInfo(4, 2).fitted(Decimal("123.4"))
        (Decimal('12.35'), None)
        """
        rounded = Decimal(value).quantize(Decimal(1).scaleb(-self.scale), context=_ROUNDING)
        if not rounded:
            return rounded.copy_abs()  # Java has no negative zero
        return rounded if len(rounded.as_tuple().digits) <= self.precision else None

    def written(self, value: Decimal) -> Decimal | None:
        """Return the fitted value for a sink; where Flink has no null for a number that is too large, reject it."""
        fitted = self.fitted(value)
        if fitted is None and self.precision <= _MOST_COMPACT_DIGITS:
            raise TypeMismatchError(f"{value} does not fit into DECIMAL({self.precision}, {self.scale})")
        return fitted

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DecimalTypeInfo) and (self.precision, self.scale) == (other.precision, other.scale)

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return f"BigDecimal({self.precision}, {self.scale})"
