"""Types of single values: numbers, booleans, strings, decimals and instants."""

from __future__ import annotations

from enum import Enum
from typing import Any

from funke.engine.types.information import scalar_coercion as scalars
from funke.engine.types.information.type_information import Coercer, TypeInformation
from funke.engine.types.time import Instant

__all__ = ["BasicType", "BasicTypeInfo", "InstantTypeInfo"]


class BasicType(Enum):
    """The basic types, with the names they show."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


INTEGER_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}

_COERCERS: dict[BasicType, Coercer] = {
    BasicType.STRING: scalars.coerce_string,
    BasicType.BOOLEAN: scalars.coerce_boolean,
    BasicType.FLOAT: scalars.coerce_float,
    BasicType.DOUBLE: scalars.coerce_double,
    BasicType.CHAR: scalars.coerce_char,
    BasicType.BIG_INT: scalars.coerce_integer,
    BasicType.BIG_DEC: scalars.coerce_decimal,
    BasicType.INSTANT: scalars.coerce_instant,
}
_COERCERS.update({kind: scalars.wrapping_coercer(kind.value, bits) for kind, bits in INTEGER_BITS.items()})

# The one class whose instances always fit, where there is one: a whole list is then checked without a call per value.
_FITTING_CLASS = {BasicType.STRING: str, BasicType.DOUBLE: float, BasicType.BOOLEAN: bool, BasicType.BIG_INT: int}


class BasicTypeInfo(TypeInformation):
    """Type of a number, bool, str, Decimal or Instant."""

    def __init__(self, basic_type: BasicType) -> None:
        self._basic_type = basic_type

    @property
    def basic_type(self) -> BasicType:
        """Which of the basic types this is."""
        return self._basic_type

    def _build_coercer(self) -> Coercer | None:
        return _COERCERS[self._basic_type]

    def coerce_list(self, values: list[Any]) -> list[Any]:
        """Make every value fit; checks a list of fitting values in C loops."""
        if values and self._fits_all(values):
            return values
        return list(map(_COERCERS[self._basic_type], values))

    def _fits_all(self, values: list[Any]) -> bool:
        classes = set(map(type, values))
        if len(classes) != 1:
            return False
        bits = INTEGER_BITS.get(self._basic_type)
        if bits is None:
            return _FITTING_CLASS.get(self._basic_type) in classes
        return int in classes and -(1 << (bits - 1)) <= min(values) and max(values) < 1 << (bits - 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BasicTypeInfo) and self._basic_type is other._basic_type

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return self._basic_type.value

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """Type of str values."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """Type of bool values."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """Type of 8-bit integers."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """Type of 16-bit integers."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """Type of 32-bit integers."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """Type of 64-bit integers."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """Type of 32-bit floats."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """Type of 64-bit floats."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """Type of single characters."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """Type of integers without limits."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """Type of Decimal values."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo:
        """Type of Instant values."""
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo):
    """Type of :class:`~funke.common.time.Instant` values; internally microseconds since the epoch."""

    def need_conversion(self) -> bool:
        """Instants are stored as microseconds."""
        return True

    def to_internal_type(self, obj: Instant) -> int:
        """Return microseconds since the epoch, cut to milliseconds."""
        return obj.to_epoch_milli() * 1000

    def from_internal_type(self, obj: int) -> Instant:
        """Return the instant of the given microseconds since the epoch."""
        return Instant.of_epoch_milli(obj // 1000)
