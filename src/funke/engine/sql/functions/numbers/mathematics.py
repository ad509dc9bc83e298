"""Functions of numbers."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from funke.engine.sql.functions.casts.value_casts import BITS
from funke.engine.sql.functions.dates.time_units import ceil_to, floor_to
from funke.engine.sql.functions.function import Argument, BoundCall, Function
from funke.engine.sql.functions.numbers.decimals import EXACT, fitted, from_float, wrapped
from funke.engine.sql.functions.type_rules import like_argument
from funke.engine.types.logical import (
    APPROXIMATE,
    INTEGRAL,
    LONGEST,
    DataType,
    DecimalType,
    DoubleType,
    IntType,
    LocalZonedTimestampType,
    VarCharType,
    any_nullable,
    like_nullable,
    with_nullable,
)
from funke.engine.types.logical.arithmetic_types import round_type

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Body, Kernel
    from funke.engine.types.logical import SqlValue

__all__ = ["MATHEMATICS"]

_DOUBLE, _INT, _STRING = DoubleType(), IntType(), VarCharType(LONGEST)


def _abs_body(call: BoundCall) -> Body:
    bits = BITS.get(type(call.result))
    # In a context: Python's own has fewer digits than a decimal may have.
    if isinstance(call.result, DecimalType):
        return EXACT.abs
    return abs if bits is None else lambda value: wrapped(abs(value), bits)


def _whole_type(arguments: Sequence[Argument]) -> DataType | None:
    """CEIL and FLOOR keep the type; a decimal loses its fraction."""
    input_type = arguments[0].type
    if isinstance(input_type, DecimalType):
        return like_nullable(DecimalType(input_type.precision, 0), input_type)
    return input_type


def _square_root(value: float) -> float:
    """As Java's power of a half: the root of -Infinity is Infinity."""
    return math.inf if math.isinf(value) else math.sqrt(value) + 0.0


def _round_type(arguments: Sequence[Argument]) -> DataType | None:
    digits = 0 if len(arguments) == 1 else arguments[1].value if arguments[1].is_constant else None
    return with_nullable(round_type(arguments[0].type, digits), any_nullable(each.type for each in arguments))


def _rounded(rounding: str) -> Callable[[BoundCall], Body]:
    """Return a rounding to digits behind the point (before it, if negative), by the type of the result."""

    def make(call: BoundCall) -> Body:
        result = call.result

        def round_number(value: SqlValue, digits: int = 0) -> SqlValue:
            if isinstance(value, float):
                return _rounded_float(value, digits, rounding)
            number = _rounded_decimal(Decimal(value), digits, rounding)
            if isinstance(result, DecimalType):
                return fitted(number, result)
            return wrapped(int(number), BITS[type(result)])

        return round_number

    return make


def _rounded_decimal(value: Decimal, digits: int, rounding: str) -> Decimal:
    if digits >= -int(value.as_tuple().exponent):
        return value
    return value.quantize(Decimal(1).scaleb(-digits), rounding, EXACT).scaleb(0, EXACT)


def _rounded_float(value: float, digits: int, rounding: str) -> float:
    # By the digits that are printed, as Java's BigDecimal.valueOf: ROUND(0.285, 2) is 0.29, though the double is less.
    # A zero has no sign then.
    return float(_rounded_decimal(from_float(value), digits, rounding)) + 0.0 if math.isfinite(value) else value


def _floor_body(
    rounding: str, of_float: Callable[[float], float], of_time: Callable[[SqlValue, str], SqlValue]
) -> Callable[[BoundCall], Body]:
    def make(call: BoundCall) -> Body:
        if len(call.types) == 2:
            return _time_body(call, of_time)
        if isinstance(call.types[0], INTEGRAL):
            return lambda value: value
        if isinstance(call.types[0], APPROXIMATE):
            return lambda value: math.copysign(of_float(value), value) if math.isfinite(value) else value
        return lambda value: EXACT.plus(value.quantize(Decimal(1), rounding, EXACT))

    return make


def _time_body(call: BoundCall, of_time: Callable[[SqlValue, str], SqlValue]) -> Body:
    unit = str(call.arguments[1].value).upper()
    if not isinstance(call.types[0], LocalZonedTimestampType):
        return lambda timestamp, _: of_time(timestamp, unit)
    zone = call.session.zone
    # Rounded as the session's clocks show it.
    return lambda timestamp, _: (
        of_time(timestamp.astimezone(zone).replace(tzinfo=None), unit).replace(tzinfo=zone).astimezone(datetime.UTC)
    )


def _whole_kernel(kernel: Kernel) -> Callable[[BoundCall], Kernel | None]:
    def make(call: BoundCall) -> Kernel | None:
        if isinstance(call.types[0], INTEGRAL):
            return lambda column: column
        return kernel if isinstance(call.types[0], APPROXIMATE) else None

    return make


def _sign_body(call: BoundCall) -> Body:
    if isinstance(call.types[0], DecimalType):
        scale = call.types[0].scale
        return lambda value: Decimal((value > 0) - (value < 0)).quantize(Decimal(1).scaleb(-scale))
    if isinstance(call.types[0], INTEGRAL):
        return lambda value: (value > 0) - (value < 0)
    return lambda value: value if math.isnan(value) or value == 0 else math.copysign(1.0, value)


def _guarded(body: Callable[..., float]) -> Callable[..., float]:
    """Return a function of floats that gives NaN outside of its domain and infinity beyond its range, as Java's do."""

    def guarded(*values: SqlValue) -> float:
        try:
            return body(*map(float, values))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return guarded


def _log_base(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf if value == 0 else math.nan


def _log(*values: float) -> float:
    if len(values) == 1:
        return _log_base(values[0])
    base, value = _log_base(values[0]), _log_base(values[1])
    return value / base if base else math.nan if math.isnan(value) or value == 0 else math.copysign(math.inf, value)


def _log2(value: float) -> float:
    return _log_base(value) / math.log(2)


def _log10(value: float) -> float:
    return math.log10(value) if value > 0 else _log_base(value)


def _power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        # Python raises where Java returns infinity, whose sign for -0.0 depends on the exponent.
        is_odd = exponent == int(exponent) and int(exponent) % 2 == 1 if math.isfinite(exponent) else False
        return math.copysign(math.inf, base) if is_odd else math.inf
    try:
        return math.pow(base, exponent)
    except OverflowError:
        is_odd = exponent == int(exponent) and int(exponent) % 2 == 1
        return -math.inf if base < 0 and is_odd else math.inf


def _cot(value: float) -> float:
    tangent = math.tan(value)
    return 1 / tangent if tangent else math.copysign(math.inf, tangent)


def _sinh(value: float) -> float:
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _bin(value: int) -> str:
    # Of a negative number Java writes the 64 bits.
    return f"{value & 0xFFFFFFFFFFFFFFFF:b}"


def _double(names: str, body: Callable[..., float], purpose: str, forms: str = "number") -> Function:
    return Function(tuple(names.split("/")), forms, _DOUBLE, _guarded(body), purpose=purpose)


class _SeededNumbers:
    """The random numbers of a seed in Flink: those of java.util.Random, by the formula of its documentation."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & (2**48 - 1)

    def _bits(self, count: int) -> int:
        self._state = (self._state * 0x5DEECE66D + 0xB) & (2**48 - 1)
        return self._state >> (48 - count)

    def random(self) -> float:
        return float((self._bits(26) << 27) + self._bits(27)) / 2**53

    def randrange(self, bound: int) -> int:
        if bound <= 0:
            raise ValueError("bound must be positive")
        number = self._bits(31)
        if bound & (bound - 1) == 0:
            return bound * number >> 31
        # Numbers of the last, incomplete range would be more frequent than others.
        while number - number % bound + bound - 1 >= 2**31:
            number = self._bits(31)
        return number % bound


def _numbers_of(seeds: Sequence[Argument]) -> Callable[[Sequence[Any]], random.Random | _SeededNumbers]:
    """The generator for the arguments of a row. With a seed that is not constant each row has a new one."""
    if seeds and not seeds[0].is_constant:
        return lambda values: _SeededNumbers(values[0])
    # With NULL for a seed there is no number.
    has_seed = seeds and seeds[0].value is not None
    numbers = _SeededNumbers(seeds[0].value) if has_seed else random.Random()
    return lambda _: numbers


def _random(call: BoundCall) -> Callable[..., float]:
    numbers = _numbers_of(call.arguments)
    return lambda *values: numbers(values).random()


def _random_integer(call: BoundCall) -> Callable[..., int]:
    numbers = _numbers_of(call.arguments[:-1])
    return lambda *values: numbers(values).randrange(values[-1])


MATHEMATICS: tuple[Function, ...] = (
    Function(
        ("abs",),
        "number",
        like_argument(),
        body_for=_abs_body,
        kernel_for=lambda call: pc.abs,
        purpose="The number without its sign.",
    ),
    Function(
        ("ceil", "ceiling"),
        "number | datetime, symbol",
        _whole_type,
        body_for=_floor_body(ROUND_CEILING, math.ceil, ceil_to),
        kernel_for=_whole_kernel(pc.ceil),
        purpose="The least whole number that is not below; the next start of a unit of time.",
    ),
    Function(
        ("floor",),
        "number | datetime, symbol",
        _whole_type,
        body_for=_floor_body(ROUND_FLOOR, math.floor, floor_to),
        kernel_for=_whole_kernel(pc.floor),
        purpose="The greatest whole number that is not above; the last start of a unit of time.",
    ),
    Function(
        ("round",),
        "number, integer?",
        _round_type,
        body_for=_rounded(ROUND_HALF_UP),
        purpose="The number with so many digits behind the point; halves go away from zero.",
    ),
    Function(
        ("truncate",),
        "number, integer?",
        _round_type,
        body_for=_rounded(ROUND_DOWN),
        purpose="The number cut after so many digits behind the point.",
    ),
    Function(("sign",), "number", like_argument(), body_for=_sign_body, purpose="1, 0 or -1."),
    _double("power", _power, "The first to the power of the second.", "number, number"),
    _double("sqrt", _square_root, "The square root."),
    _double("ln", _log_base, "The natural logarithm."),
    _double("log10", _log10, "The logarithm to the base 10."),
    _double("log2", _log2, "The logarithm to the base 2."),
    _double("log", _log, "The natural logarithm, or the one to a base, which comes first.", "number, number?"),
    _double("exp", math.exp, "e to the power of the number."),
    _double("sin", math.sin, "The sine."),
    _double("cos", math.cos, "The cosine."),
    _double("tan", math.tan, "The tangent."),
    _double("cot", _cot, "The cotangent."),
    _double("asin", math.asin, "The arc sine."),
    _double("acos", math.acos, "The arc cosine."),
    _double("atan", math.atan, "The arc tangent."),
    _double("atan2", math.atan2, "The angle of a point, given as (y, x).", "number, number"),
    _double("sinh", _sinh, "The hyperbolic sine."),
    _double("cosh", math.cosh, "The hyperbolic cosine."),
    _double("tanh", math.tanh, "The hyperbolic tangent."),
    _double("degrees", lambda value: value * (180.0 / math.pi), "The angle in degrees."),
    _double("radians", lambda value: value * (math.pi / 180.0), "The angle in radians."),
    Function(("pi",), "", DoubleType(False), lambda: math.pi, purpose="3.141592653589793"),
    Function(("e",), "", DoubleType(False), lambda: math.e, purpose="2.718281828459045"),
    Function(
        ("rand",), "integer?", _DOUBLE, body_for=_random, is_deterministic=False, purpose="A random number from 0 to 1."
    ),
    Function(
        ("rand_integer",),
        "integer, integer?",
        _INT,
        body_for=_random_integer,
        is_deterministic=False,
        purpose="A random integer from 0 to below the last argument.",
    ),
    Function(("bin",), "integer", _STRING, _bin, purpose="The binary digits."),
)
