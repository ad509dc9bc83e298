"""Logic with three values: TRUE, FALSE and NULL, which stands for unknown."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from funke.engine.sql.functions.function import Function
from funke.engine.sql.functions.type_rules import like_argument
from funke.engine.types.logical.atomic_types import BooleanType

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Kernel

__all__ = ["LOGIC"]

_NOT_NULL = BooleanType(False)


# FALSE AND NULL is FALSE, whatever NULL stands for. Arrow calls that Kleene's logic.
def _and(*values: bool | None) -> bool | None:
    if any(each is False for each in values):
        return False
    return None if None in values else True


def _or(*values: bool | None) -> bool | None:
    if any(each is True for each in values):
        return True
    return None if None in values else False


def _test(name: str, body: Callable[[bool | None], bool], kernel: Kernel, purpose: str) -> Function:
    return Function(
        (name,), "boolean", _NOT_NULL, body, kernel_for=lambda call: kernel, is_strict=False, purpose=purpose
    )


LOGIC: tuple[Function, ...] = (
    Function(
        ("and",),
        "boolean, boolean...",
        like_argument(),
        _and,
        kernel_for=lambda call: lambda *columns: reduce(pc.and_kleene, columns),
        is_strict=False,
        purpose="TRUE if all are; FALSE if one is.",
    ),
    Function(
        ("or",),
        "boolean, boolean...",
        like_argument(),
        _or,
        kernel_for=lambda call: lambda *columns: reduce(pc.or_kleene, columns),
        is_strict=False,
        purpose="TRUE if one is; FALSE if all are.",
    ),
    Function(
        ("not",),
        "boolean",
        like_argument(),
        lambda value: not value,
        kernel_for=lambda call: pc.invert,
        purpose="The opposite.",
    ),
    _test("is true", lambda value: value is True, lambda column: pc.fill_null(column, False), "Whether it is TRUE."),
    _test(
        "is not true",
        lambda value: value is not True,
        lambda column: pc.invert(pc.fill_null(column, False)),
        "Whether it is FALSE or NULL.",
    ),
    _test(
        "is false",
        lambda value: value is False,
        lambda column: pc.invert(pc.fill_null(column, True)),
        "Whether it is FALSE.",
    ),
    _test(
        "is not false",
        lambda value: value is not False,
        lambda column: pc.fill_null(column, True),
        "Whether it is TRUE or NULL.",
    ),
    _test("is unknown", lambda value: value is None, pc.is_null, "Whether it is NULL."),
    _test("is not unknown", lambda value: value is not None, pc.is_valid, "Whether it is TRUE or FALSE."),
)
