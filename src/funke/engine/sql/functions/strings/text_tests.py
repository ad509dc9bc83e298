"""Tests of texts for letters, digits and numbers, by Java's rules; a number may stand for its text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from funke.engine.sql.functions.function import BoundCall, Function
from funke.engine.types.logical import APPROXIMATE, CHARACTER, INTEGRAL, BooleanType, DataType, Kinds

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["TEXT_TESTS"]

# The texts that Integer.parseInt and Double.parseDouble read. The latter trims, and takes the suffixes f and d.
_WHOLE = re.compile(r"[+-]?\d+")
_FRACTION = re.compile(
    r"[\x00- ]*[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
    r"|0[xX]([\da-fA-F]+\.?[\da-fA-F]*|\.[\da-fA-F]+)[pP][+-]?\d+)[fFdD]?)[\x00- ]*",
    re.ASCII,
)


def _is_number(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None or _FRACTION.fullmatch(text) is not None


def _tested(is_so: Callable[[str], bool], numbers: Kinds) -> Callable[[BoundCall], Callable[[SqlValue], bool]]:
    """A test of texts; numbers of some types pass it, NULL and others do not."""

    def body(call: BoundCall) -> Callable[[SqlValue], bool]:
        data_type: DataType = call.types[0]
        if isinstance(data_type, CHARACTER):
            return lambda text: text is not None and is_so(text)
        passes = isinstance(data_type, numbers)
        return lambda number: passes and number is not None

    return body


def _test(name: str, is_so: Callable[[str], bool], numbers: Kinds, purpose: str) -> Function:
    return Function(
        (name,), "text/number", BooleanType(False), body_for=_tested(is_so, numbers), is_strict=False, purpose=purpose
    )


TEXT_TESTS: tuple[Function, ...] = (
    _test("is_alpha", str.isalpha, (), "Whether a text has letters only; FALSE if it is empty or NULL."),
    _test("is_digit", str.isdecimal, INTEGRAL, "Whether a text has digits only, or a number is whole."),
    _test("is_decimal", _is_number, (*INTEGRAL, *APPROXIMATE), "Whether a text can be read as a number."),
)
