"""Functions of the type VARIANT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funke.engine.sql.functions.function import Argument, Function
from funke.engine.types.logical import DataType, VariantType
from funke.engine.types.variant_text import parsed

__all__ = ["VARIANTS"]


def _parse(text: str, allows_repeats: Any = False) -> str:
    try:
        return parsed(text, bool(allows_repeats))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"Failed to parse json string: {text}: {error}") from error


def _try_parse(text: str, allows_repeats: Any = False) -> str | None:
    try:
        return parsed(text, bool(allows_repeats))
    except (ValueError, RecursionError):
        return None


def _maybe(arguments: Sequence[Argument]) -> DataType:
    return VariantType()


VARIANTS: tuple[Function, ...] = (
    Function(
        ("parse_json",),
        "text, boolean?",
        VariantType(),
        _parse,
        purpose="The document of a JSON text; fails if it is none, or if a member comes twice and the flag is FALSE.",
    ),
    Function(
        ("try_parse_json",),
        "text, boolean?",
        _maybe,
        _try_parse,
        may_give_null=True,
        purpose="The same, but NULL instead of a failure.",
    ),
)
