"""Floating-point numbers as Java writes them."""

from __future__ import annotations

import math

from funke.engine.types.information.scalar_coercion import round_to_float32

__all__ = ["double_text", "float_text", "shortest_float32"]

_SMALLEST_NORMAL_FLOAT = 1.17549435e-38


def double_text(value: float) -> str:
    """Return the text of a 64-bit float, as Java's Double.toString: 1.0, 1.0E10, NaN."""
    # Here both write the same; the long way takes ten times as long.
    if 1e-3 <= value < 1e7 or -1e7 < value <= -1e-3:
        return repr(float(value))
    return _java_form(value, repr(value))


def float_text(value: float) -> str:
    """Return the text of a 32-bit float, as Java's Float.toString: the fewest digits that identify it."""
    rounded = round_to_float32(value)
    return _java_form(rounded, _shortest_float32_text(rounded))


def shortest_float32(value: float) -> float:
    """Return the 64-bit float that prints the shortest digits of a 32-bit float: 1.1 for 1.100000023841858."""
    rounded = round_to_float32(value)
    return float(_shortest_float32_text(rounded))


def _shortest_float32_text(value: float) -> str:
    # Six digits always survive a trip through 32 bits, so a shorter text shows up there with its zeros stripped.
    first = 6 if abs(value) >= _SMALLEST_NORMAL_FLOAT else 2
    for digits in range(first, 9):
        text = f"{value:.{digits}g}"
        if round_to_float32(float(text)) == value:
            return text
    return f"{value:.9g}"


def _java_form(value: float, shortest: str) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1.0, value) < 0 else "0.0"
    sign, digits, exponent = _scientific(value, shortest)
    # Java writes an exponent below a thousandth and from ten million on.
    if -3 <= exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    if 0 <= exponent < 7:
        digits = digits.ljust(exponent + 1, "0")
        return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _scientific(value: float, shortest: str) -> tuple[str, str, int]:
    """Return sign, significant digits and the exponent of the first digit."""
    mantissa, _, exponent_text = shortest.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(exponent_text or 0) + len(whole) - 1
    digits = whole + fraction
    leading_zeros = len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    if len(digits) == 1:
        digits = _two_digits(value, digits)
    return "-" if value < 0 else "", digits, exponent - leading_zeros


def _two_digits(value: float, digits: str) -> str:
    # Java always writes two digits, and takes the nearest of them: the smallest double is 4.9E-324, not 5.0E-324.
    text = f"{abs(value):.1e}"
    return text[0] + text[2] if float(text) == abs(value) and text[2] != "0" else digits
