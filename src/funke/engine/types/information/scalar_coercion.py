"""Coercers for single values: what Java's number, string and decimal types make of a Python object."""

from __future__ import annotations

import math
from collections.abc import Callable
from ctypes import c_float
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from funke.engine.errors import TypeMismatchError
from funke.engine.types.information.type_information import Coercer
from funke.engine.types.time import Instant

__all__ = [
    "coerce_boolean",
    "coerce_char",
    "coerce_decimal",
    "coerce_double",
    "coerce_float",
    "coerce_instant",
    "coerce_integer",
    "coerce_string",
    "mismatch",
    "round_to_float32",
    "wrap_integer",
    "wrapping_coercer",
]


def mismatch(type_name: str, needed: str, value: Any) -> NoReturn:
    """Raise the error for a value that does not fit its declared type."""
    text = repr(value)
    if len(text) > 80:
        text = text[:77] + "..."
    raise TypeMismatchError(f"type {type_name} needs {needed}, got {type(value).__name__}: {text}")


def wrap_integer(value: int, bits: int) -> int:
    """Return the two's complement value of the lowest ``bits`` bits, as a Java cast does."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def round_to_float32(value: float) -> float:
    """Return the 32-bit float nearest to ``value``; beyond its range, infinity."""
    return c_float(value).value


def _from_numpy(value: Any) -> Any:
    # numpy scalars are common results of user functions and are not Python numbers.
    return value.item() if hasattr(value, "dtype") and hasattr(value, "item") else value


def _to_int(type_name: str, value: Any) -> int:
    value = _from_numpy(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (float, Decimal)) and math.isfinite(value):
        return int(value)  # Flink's integer coders cut off the fraction
    mismatch(type_name, "an int", value)


def wrapping_coercer(type_name: str, bits: int) -> Coercer:
    """Return a coercer for a Java integer of ``bits`` bits."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def coerce(value: Any) -> Any:
        if type(value) is int:
            return value if low <= value <= high else wrap_integer(value, bits)
        return None if value is None else wrap_integer(_to_int(type_name, value), bits)

    return coerce


def coerce_integer(value: Any) -> Any:
    """Coerce to an integer without limits."""
    return value if type(value) is int or value is None else _to_int("BigInteger", value)


def _to_double(type_name: str, value: Any) -> float:
    value = _from_numpy(value)
    if isinstance(value, (float, int, Decimal)):
        return float(value)
    mismatch(type_name, "a float", value)


def coerce_double(value: Any) -> Any:
    """Coerce to a 64-bit float."""
    return value if type(value) is float or value is None else _to_double("Double", value)


def coerce_float(value: Any) -> Any:
    """Coerce to a 64-bit float that a 32-bit float can hold."""
    if value is None:
        return None
    return c_float(value if type(value) is float else _to_double("Float", value)).value


def coerce_boolean(value: Any) -> Any:
    """Coerce to a bool; numbers are false when they are zero."""
    if value is True or value is False or value is None:
        return value
    value = _from_numpy(value)
    if isinstance(value, int):
        return bool(value)
    mismatch("Boolean", "a bool", value)


def coerce_string(value: Any) -> Any:
    """Coerce to a str."""
    if type(value) is str or value is None:
        return value
    if isinstance(value, str):
        return str(value)
    mismatch("String", "a str", value)


def coerce_char(value: Any) -> Any:
    """Coerce to a str of one character."""
    if value is None or (isinstance(value, str) and len(value) == 1):
        return value
    mismatch("Char", "a str of one character", value)


def coerce_decimal(value: Any) -> Any:
    """Coerce to a Decimal; ints and floats count with the digits they print."""
    if type(value) is not Decimal and value is not None:
        try:
            value = Decimal(str(_from_numpy(value)))
        except InvalidOperation:
            mismatch("BigDecimal", "a Decimal", value)
    # Java's BigDecimal has no negative zero.
    return value if value or value is None else value.copy_abs()


def coerce_instant(value: Any) -> Any:
    """Coerce to an Instant in whole milliseconds."""
    if value is None or (isinstance(value, Instant) and value.nanos % 1_000_000 == 0):
        return value
    if not isinstance(value, Instant):
        mismatch("Instant", "an Instant", value)
    return Instant(value.seconds, value.nanos - value.nanos % 1_000_000)


def expecting(type_name: str, needed: str, *classes: type) -> Callable[[Any], Any]:
    """Return a coercer that lets instances of ``classes`` and None pass."""

    def coerce(value: Any) -> Any:
        return value if value is None or isinstance(value, classes) else mismatch(type_name, needed, value)

    return coerce
