"""Texts, bytes, booleans and numbers in tables."""

from __future__ import annotations

from funke.engine.types.logical.data_type import AtomicType, FractionalType, IntegralType, flag_text, require

__all__ = [
    "BigIntType",
    "BinaryType",
    "BitmapType",
    "BooleanType",
    "CharType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "IntType",
    "SmallIntType",
    "TinyIntType",
    "VarBinaryType",
    "VarCharType",
    "VariantType",
]


class _SizedType(AtomicType):
    """A type whose values have a length."""

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.length = length

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.length}, {flag_text(self._nullable)})"


class CharType(_SizedType):
    """Text of exactly `length` characters."""


class VarCharType(_SizedType):
    """Text of at most `length` characters."""


class BinaryType(_SizedType):
    """Exactly `length` bytes."""


class VarBinaryType(_SizedType):
    """At most `length` bytes."""


class BooleanType(AtomicType):
    """True and False."""


class VariantType(AtomicType):
    """A document of JSON, whose parts are found by name and by index."""


class BitmapType(AtomicType):
    """A set of whole numbers of 32 bits."""


class TinyIntType(IntegralType):
    """Whole numbers of 8 bits."""


class SmallIntType(IntegralType):
    """Whole numbers of 16 bits."""


class IntType(IntegralType):
    """Whole numbers of 32 bits."""


class BigIntType(IntegralType):
    """Whole numbers of 64 bits."""


class FloatType(FractionalType):
    """Floating-point numbers of 32 bits."""


class DoubleType(FractionalType):
    """Floating-point numbers of 64 bits."""


class DecimalType(FractionalType):
    """Decimal numbers with `precision` digits, `scale` of them behind the point."""

    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        require(1 <= precision <= 38, f"a decimal's precision lies between 1 and 38, got {precision}")
        require(0 <= scale <= precision, f"a decimal's scale lies between 0 and its precision {precision}, got {scale}")
        self.precision = precision
        self.scale = scale
        self.has_precision_info = True

    def __repr__(self) -> str:
        return f"DecimalType({self.precision}, {self.scale}, {flag_text(self._nullable)})"
