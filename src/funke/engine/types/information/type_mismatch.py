"""Finds values that do not fit their declared type, although nothing fails yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from funke.engine.errors import TypeMismatchError
from funke.engine.types import Row, TypeInformation

__all__ = ["Mismatch", "mismatch_of"]

_MOST_SHOWN = 80


@dataclass(frozen=True)
class Mismatch:
    """What becomes of a value that does not fit."""

    text: str
    is_rejected: bool = False


def mismatch_of(type_info: TypeInformation, value: Any) -> Mismatch | None:
    """What becomes of a value that does not fit; None if it fits.

    Another precision or another kind of sequence is not a mismatch; a lost fraction, digit or field is, and so is a row
    that is none.

    >>> from funke.engine.types import Types
    >>> mismatch_of(Types.INT(), 1.5).text
    '1.5 becomes 1'
    >>> mismatch_of(Types.DOUBLE(), 1) is None
    True
    """
    coerce = type_info.coercer()
    if coerce is None:
        return None
    try:
        coerced = coerce(value)
    except TypeMismatchError:
        return Mismatch(f"{_value_text(value)} is rejected", is_rejected=True)
    return None if _is_kept(value, coerced) else Mismatch(f"{_value_text(value)} becomes {_value_text(coerced)}")


def _is_kept(value: Any, coerced: Any) -> bool:
    if coerced is value:
        return True
    if isinstance(coerced, Row):
        return isinstance(value, Row) and _are_all_kept(_fields_of(value, coerced), coerced)
    if isinstance(coerced, (tuple, list)):
        return _are_all_kept(value, coerced)
    if isinstance(coerced, dict):
        return _are_all_kept(list(value), list(coerced)) and _are_all_kept(value.values(), coerced.values())
    return not isinstance(coerced, int) or bool(coerced == value)


def _are_all_kept(values: Any, coerced: Any) -> bool:
    return len(values) == len(coerced) and all(map(_is_kept, values, coerced))


def _fields_of(row: Row, coerced: Row) -> list[Any]:
    """The fields of a row in the order of the other's names, if it has names."""
    names = row.__dict__.get("_fields")
    return [row[name] for name in coerced._fields] if names and len(names) == len(coerced) else row._values


def _value_text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 3] + "..."
